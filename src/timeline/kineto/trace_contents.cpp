// SPDX-License-Identifier: Apache-2.0
#include "timeline/kineto/trace_contents.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include "base/json_text.hpp"
#include "base/number.hpp"
#include "record/label.hpp"
#include "record/transfer_words.hpp"
#include "timeline/kineto/trace_calls.hpp"
#include "timeline/kineto/trace_modules.hpp"

namespace prof {
namespace {

// libprof draws what does not fit a thread's row on rows of its own (export/chrome/trace_parts.hpp).
constexpr std::int64_t spill_row_step = 10'000'000;

std::uint32_t low_half(std::int64_t value) noexcept { return static_cast<std::uint32_t>(value); }

// Ids of 32 bits, of each process its own; libprof numbers those of further attachments on.
std::uint64_t key_of(std::uint64_t correlation, std::uint32_t process) noexcept {
    return correlation == 0 ? 0 : correlation_key(only_epoch + process, 0) + correlation;
}

// From one event to another one.
bool is_arrow(const trace_event& event) noexcept {
    return event.phase == 's' || event.phase == 't' || event.phase == 'f';
}

// What PyTorch's profiler makes ranges of in newer versions.
bool is_annotation(std::string_view name) noexcept {
    constexpr std::array<std::string_view, 3> prefixes = {"ProfilerStep#", "Optimizer.", "enumerate(DataLoader)#"};
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](std::string_view prefix) { return name.starts_with(prefix); });
}

template <std::size_t size>
std::uint8_t index_of(const std::array<std::string_view, size>& words, std::string_view word) noexcept {
    const auto found = std::find(words.begin(), words.end(), word);
    return found == words.end() ? 0 : static_cast<std::uint8_t>(found - words.begin());
}

std::uint8_t memory_kind(std::string_view word) noexcept {
    // ROCm does not distinguish pinned memory.
    return word == "Host" ? std::uint8_t{0} : index_of(memory_kinds, word);
}

// "Memcpy HtoD (Pinned -> Device)", "Memset (Device)".
void read_transfer_name(std::string_view name, transfer_record& out) noexcept {
    const std::size_t open = name.find(" (");
    if (open == std::string_view::npos || !name.ends_with(')')) return;
    const std::string_view memory = name.substr(open + 2, name.size() - open - 3);
    if (out.kind == transfer_kind::memset) {
        out.destination_kind = memory_kind(memory);
        return;
    }
    const std::string_view head = name.substr(0, open);
    out.copy_kind = index_of(copy_directions, head.substr(head.find_last_of(' ') + 1));
    constexpr std::string_view arrow = " -> ";
    const std::size_t at = memory.find(arrow);
    if (at == std::string_view::npos) return;
    out.source_kind = memory_kind(memory.substr(0, at));
    out.destination_kind = memory_kind(memory.substr(at + arrow.size()));
}

struct payload_value {
    std::uint64_t bits = 0;
    payload_type type = payload_type::none;
};

payload_value payload_of(const std::string& text) {
    if (const auto whole = parse_number<std::uint64_t>(text)) return {*whole, payload_type::u64};
    if (const auto whole = parse_number<std::int64_t>(text)) {
        return {static_cast<std::uint64_t>(*whole), payload_type::i64};
    }
    double value = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || status != std::errc{} || end != text.data() + text.size()) return {};
    return {std::bit_cast<std::uint64_t>(value), payload_type::f64};
}

}  // namespace

void trace_contents::add(trace_event& event) {
    using enum trace_category;
    ++events_;
    if (!event.process.empty()) event.at.process = process_number(event.process);
    if (event.category != none && event.category != unknown) has_known_ = true;
    switch (event.category) {
        case none:
            return event.phase == 'M' ? add_metadata(event) : count_without_category(event);
        case unknown:
            return is_arrow(event) ? void() : count_unused(event);
        case kernel:
            if (has_span(event)) add_kernel(event);
            return;
        case gpu_memcpy:
        case gpu_memset:
            if (has_span(event)) add_transfer(event);
            return;
        case runtime_call:
        case driver_call:
            if (has_span(event)) add_call(event);
            return;
        case user_annotation:
            if (event.phase != 'X') return add_instant(event);
            if (has_span(event)) add_range(event);
            return;
        case cpu_op:
        case trace_category::module:
            if (has_span(event)) add_range(event);
            return;
        case python_function:
            return add_python_function(event);
        case overhead:
            ++overheads_;
            overhead_ns_ += std::max<std::int64_t>(event.duration_ns.value_or(0), 0) / 1000 * 1000;
            return;
        case derived:
            return note_step_on_gpu(event);
        case not_used:
            return;
    }
}

void trace_contents::note_step_on_gpu(const trace_event& event) {
    if (event.phase != 'X' || !event.time_ns || !event.name.starts_with("ProfilerStep#")) return;
    last_step_on_gpu_ns_ = std::max(last_step_on_gpu_ns_.value_or(*event.time_ns), *event.time_ns);
}

bool trace_contents::has_span(const trace_event& event) {
    if (event.phase != 'X') {
        count_unused(event);
    } else if (!event.time_ns || !event.duration_ns) {
        ++without_time_;
    } else if (*event.duration_ns < 0) {
        ++negative_;
    } else {
        return true;
    }
    return false;
}

void trace_contents::count_unused(const trace_event& event) {
    constexpr std::size_t most_kinds = 64;
    std::string kind =
        event.category == trace_category::unknown ? event.other_category : event.other_category + "/" + event.phase;
    if (unused_.size() >= most_kinds && !unused_.contains(kind)) kind = "…";
    ++unused_[kind];
}

// PyTorch's profilers give a category to all but metadata and a few moments in time.
void trace_contents::count_without_category(const trace_event& event) {
    constexpr std::size_t most_rows = 1024;
    if (event.phase != 'X' && event.phase != 'B') return;
    const trace_place row{.pid = event.at.pid, .process = event.at.process};
    if (without_category_.size() < most_rows || without_category_.contains(row)) ++without_category_[row];
}

std::uint32_t trace_contents::process_number(std::string_view text) {
    constexpr std::size_t most = 65'536;
    if (const auto known = processes_.find(text); known != processes_.end()) return known->second;
    if (processes_.size() == most) return most;
    return processes_.try_emplace(std::string(text), static_cast<std::uint32_t>(processes_.size() + 1)).first->second;
}

std::uint64_t trace_contents::correlation_of(const trace_event& event) const noexcept {
    return key_of(event.args.correlation, event.at.process);
}

// Each process numbers autograd's nodes from 0 on.
std::int64_t trace_contents::sequence_of(const trace_event& event, std::int64_t number) const noexcept {
    constexpr std::int64_t most_of_process = std::int64_t{1} << 40;
    return number < 0 || event.at.process == 0 ? number : number % most_of_process + event.at.process * most_of_process;
}

// number_gpus() replaces it by the number that is shown.
std::uint32_t trace_contents::gpu_number(const trace_event& event, std::int64_t device) {
    const auto next = static_cast<std::uint32_t>(gpu_numbers_.size());
    return gpu_numbers_.try_emplace({event.at.process, low_half(device)}, next).first->second;
}

void trace_contents::add_metadata(const trace_event& event) {
    constexpr std::size_t most_names = 4;
    if (event.name == "process_name") {
        process_names_.try_emplace({.pid = event.at.pid, .process = event.at.process}, event.args.name);
    } else if (event.name == "thread_name") {
        std::vector<std::string>& names = thread_names_[event.at];
        if (names.size() < most_names) names.push_back(event.args.name);
    }
}

name_id trace_contents::id_of_name(std::string_view text) {
    if (text.empty()) return {};
    const std::string name = is_of_libprof_ ? original_bytes(text) : std::string(text);
    const auto [known, is_new] = name_ids_.try_emplace(name, name_ids_.size() + 1);
    if (is_new) out_.names.emplace(known->second, name);
    return known->second;
}

std::uint16_t trace_contents::domain_id(std::string_view text) {
    if (text.empty()) return 0;
    if (const auto known = domains_.find(text); known != domains_.end()) return known->second;
    constexpr std::size_t most_domains = UINT16_MAX - 1;
    if (domains_.size() >= most_domains) return 0;
    const auto id = static_cast<std::uint16_t>(domains_.size() + 1);
    domains_.emplace(text, id);
    out_.labels.push_back({label_kind::domain, id_of_name(text), id});
    return id;
}

trace_contents::host_thread& trace_contents::thread_at(const trace_place& place) {
    trace_place at = place;
    if (is_of_libprof_ && at.tid >= 0) at.tid %= spill_row_step;
    if (latest_thread_ < threads_.size() && threads_[latest_thread_].at == at) return threads_[latest_thread_];
    const auto [known, is_new] = thread_index_.try_emplace(at, threads_.size());
    if (is_new) threads_.push_back({.at = at});
    latest_thread_ = known->second;
    return threads_[latest_thread_];
}

void trace_contents::add_range(const trace_event& event) {
    // The trace also has the range or mark from which this was made.
    if (event.args.has_source && event.name.starts_with("ProfilerStep#")) return;
    trace_item item{.start_ns = *event.time_ns,
                    .end_ns = *event.time_ns + *event.duration_ns,
                    .name = id_of_name(event.name),
                    .has_ended = !event.args.is_open_at_end};
    host_thread& thread = thread_at(event.at);
    payload_value payload = payload_of(event.args.payload);
    if (event.category == trace_category::module) {
        item.kind = trace_item_kind::module;
        item.domain = domain_id(module_domain);
        item.sequence = sequence_of(event, event.args.next_sequence);
        if (item.sequence < 0) payload = {};  // what it made would go on without an end
    } else {
        item.domain = domain_id(event.args.domain);
        if (!is_of_libprof_ || event.args.has_record_function) {
            payload = {event.args.record_function_id, payload_type::torch};
        } else if (payload.type == payload_type::none && event.args.bytes != 0) {
            payload = {event.args.bytes, payload_type::bytes};
        }
        if (event.category == trace_category::cpu_op && !is_annotation(event.name)) {
            item.kind = trace_item_kind::torch_op;
            item.sequence = sequence_of(event, event.args.sequence);
            item.is_backward = event.args.forward_thread > 0;
            has_ops_ = true;
        }
    }
    item.value = payload.bits;
    item.flags = static_cast<std::uint8_t>(payload.type);
    thread.items.push_back(item);
    if (event.args.multiplies) add_multiplication(event, item);
}

void trace_contents::add_python_function(const trace_event& event) {
    const std::optional<std::string_view> module = module_in_trace(event.name);
    if (!has_span(event)) return;
    const std::int64_t end_ns = *event.time_ns + *event.duration_ns;
    if (module) {
        thread_at(event.at).items.push_back({.start_ns = *event.time_ns,
                                             .end_ns = end_ns,
                                             .name = id_of_name(*module),
                                             .domain = domain_id(module_domain),
                                             .kind = trace_item_kind::module});
        return;
    }
    auto known = functions_.find(event.name);
    if (known == functions_.end()) {
        const std::optional<trace_function> function = function_in_trace(event.name);
        const std::pair<name_id, bool> of =
            function ? std::pair(id_of_name(function->name), function->is_library) : std::pair(name_id(), true);
        known = functions_.emplace(event.name, of).first;
    }
    const auto [name, is_library] = known->second;
    if (name == 0) {
        ++python_functions_;
        return;
    }
    has_stacks_ = true;
    thread_at(event.at).stacks.add(
        {.start_ns = *event.time_ns, .end_ns = end_ns, .name = name, .is_library = is_library});
}

// Threads get their uids in the order in which they are found, from 1 on. REQUIRES: thread_at() was called for it.
void trace_contents::add_multiplication(const trace_event& event, const trace_item& item) {
    matrix_calls& to = out_.multiplications;
    const auto [known, is_new] = argument_ids_.try_emplace({*event.args.multiplies, event.args.inputs},
                                                           static_cast<std::uint32_t>(to.arguments.size()));
    if (is_new) to.arguments.push_back(known->first);
    to.list.push_back({.start_ns = item.start_ns,
                       .end_ns = item.end_ns,
                       .thread = thread_id(latest_thread_ + 1),  // its uid
                       .arguments = known->second});
}

// A mark, a counter, or one end of a process-wide range.
void trace_contents::add_instant(const trace_event& event) {
    if (!event.time_ns) {
        ++without_time_;
        return;
    }
    trace_item item{.start_ns = *event.time_ns,
                    .end_ns = *event.time_ns,
                    .name = id_of_name(event.name),
                    .domain = domain_id(event.args.domain),
                    .kind = trace_item_kind::mark};
    const payload_value payload = payload_of(event.args.payload);
    item.value = payload.bits;
    item.flags = static_cast<std::uint8_t>(payload.type);
    switch (event.phase) {
        case 'i':
        case 'I':
            break;
        case 'C':
            item.domain = domain_id(counter_domain);
            break;
        case 'b':
        case 'e':
            item.kind = event.phase == 'b' ? trace_item_kind::range_start : trace_item_kind::range_end;
            item.value = event.id;
            item.flags = 0;
            break;
        default:
            return count_unused(event);
    }
    thread_at(event.at).items.push_back(item);
}

void trace_contents::add_call(const trace_event& event) {
    const bool is_driver = event.category == trace_category::driver_call || !event.args.call.empty();
    const std::string& name = event.args.call.empty() ? event.name : event.args.call;
    const trace_call call = call_of(is_driver ? api_domain::driver : api_domain::runtime, name, event.args.cbid);
    has_calls_ = true;
    has_hip_ = has_hip_ || call.is_hip;
    trace_item item{.start_ns = *event.time_ns,
                    .end_ns = *event.time_ns + *event.duration_ns,
                    .value = correlation_of(event),
                    .name = id_of_name(event.args.kernel),
                    .cbid = call.cbid,
                    .domain = static_cast<std::uint16_t>(call.domain),
                    .kind = trace_item_kind::call,
                    .flags = static_cast<std::uint8_t>(call.kind),
                    .has_ended = event.args.has_returned,
                    .launches_kernel = call.launches_kernel,
                    .is_recorded = call.is_recorded,
                    .ends_capture = call.ends_capture};
    if (call.is_hip) item.name = {};  // of HIP's calls the argument is an address or a symbol
    thread_at(event.at).items.push_back(item);
}

template <typename TRecord>
void trace_contents::place_on_gpu(TRecord& record, const trace_event& event) {
    record.start_ns = static_cast<std::uint64_t>(*event.time_ns);
    record.end_ns = static_cast<std::uint64_t>(*event.time_ns + *event.duration_ns);
    record.correlation = correlation_of(event);
    record.graph_id = static_cast<std::uint32_t>(event.args.graph_id);
    record.device = gpu_number(event, event.args.device >= 0 ? event.args.device : event.at.pid);
    record.stream = low_half(event.args.stream >= 0 ? event.args.stream : event.at.tid);
    record.context = low_half(event.args.context);
}

void trace_contents::add_kernel(const trace_event& event) {
    constexpr std::string_view whole_graph = "CUDA graph ";
    if (is_of_libprof_ && !event.args.has_grid && event.name.starts_with(whole_graph)) {
        place_on_gpu(out_.graphs.emplace_back(), event);
        return;
    }
    kernel_record& kernel = out_.kernels.emplace_back();
    place_on_gpu(kernel, event);
    kernel.name = id_of_name(event.name);
    kernel.completed_ns = 0;
    kernel.queued_ns = event.args.queued * 1000;
    kernel.graph_node_id = event.args.graph_node_id;
    kernel.registers_per_thread = static_cast<std::uint16_t>(std::min<std::uint64_t>(event.args.registers, UINT16_MAX));
    kernel.dynamic_shared_bytes =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(event.args.shared_bytes, UINT32_MAX));
    std::copy_n(event.args.grid, 3, kernel.grid);
    std::copy_n(event.args.block, 3, kernel.block);
    std::copy_n(event.args.cluster, 3, kernel.cluster);
    if (event.args.collective && !event.args.collective->name.empty() && kernel.correlation != 0) {
        out_.collectives.push_back(read_collective(*event.args.collective));
        out_.collectives.back().correlation = kernel.correlation;
    }
}

void trace_contents::add_transfer(const trace_event& event) {
    transfer_record& transfer = out_.transfers.emplace_back();
    place_on_gpu(transfer, event);
    transfer.kind = event.category == trace_category::gpu_memset ? transfer_kind::memset : transfer_kind::memcpy;
    transfer.bytes = event.args.bytes;
    transfer.graph_node_id = event.args.graph_node_id;
    read_transfer_name(event.name, transfer);
    if (event.args.from_device >= 0 && event.args.to_device >= 0) {
        transfer.kind = transfer_kind::memcpy_peer;
        transfer.source_device = gpu_number(event, event.args.from_device);
        transfer.destination_device = gpu_number(event, event.args.to_device);
    }
}

}  // namespace prof
