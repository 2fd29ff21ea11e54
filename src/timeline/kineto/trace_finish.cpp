// SPDX-License-Identifier: Apache-2.0
// The second half of trace_contents: what needs all events.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <set>
#include <tuple>

#include "base/number.hpp"
#include "record/label.hpp"
#include "timeline/kineto/trace_contents.hpp"
#include "timeline/kineto/trace_modules.hpp"

namespace prof {
namespace {

constexpr std::string_view autograd_prefix = "pt_autograd_";

void move(std::uint64_t& ns, std::int64_t by) noexcept {
    ns = static_cast<std::uint64_t>(static_cast<std::int64_t>(ns) + by);
}

// "thread 513 (pt_autograd_0)" → "pt_autograd_0"
std::string system_name_of(const std::string& shown) {
    const std::size_t open = shown.find(" (");
    if (!shown.starts_with("thread ") || open == std::string::npos || !shown.ends_with(')')) return shown;
    return shown.substr(open + 2, shown.size() - open - 3);
}

// 12090 → "12.9", as in CUDA's cudaRuntimeGetVersion().
std::string cuda_version(const std::string& number) {
    const auto value = parse_number<std::uint32_t>(number);
    return value ? fmt::format("{}.{}", *value / 1000, *value % 1000 / 10) : number;
}

std::string counted(std::uint64_t count, std::string_view one, std::string_view many) {
    return fmt::format("{} {}", count, count == 1 ? one : many);
}

// Removes records that say the same as another one; returns their number.
template <typename TRecord, typename TKey>
std::uint64_t leave_out_alike(std::vector<TRecord>& records, TKey&& key) {
    std::vector<std::uint32_t> order(records.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return key(records[a]) < key(records[b]); });
    std::vector<std::uint8_t> is_alike(records.size());
    std::uint64_t count = 0;
    for (std::size_t i = 1; i < order.size(); ++i) {
        if (key(records[order[i - 1]]) != key(records[order[i]])) continue;
        is_alike[order[i]] = 1;
        ++count;
    }
    if (count == 0) return 0;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < records.size(); ++i) {
        if (is_alike[i] == 0) records[kept++] = records[i];
    }
    records.resize(kept);
    return count;
}

}  // namespace

capture_contents trace_contents::finish(const trace_head& head) {
    leave_out_duplicates();
    settle_calls();
    const std::int64_t first_ns = move_times(head.base_ns);
    out_.ticks = tick_source::monotonic_ns;
    const auto first = static_cast<std::uint64_t>(first_ns);
    out_.clocks.push_back(
        {.ticks = first, .monotonic_ns = 0, .realtime_ns = first, .cupti_ns = first, .spread_ticks = 0});
    out_.created_realtime_ns = first;
    out_.ended = true;
    out_.end.reason = format::end_reason::stopped;
    describe(out_, head);
    take_devices(out_, head);
    write_threads(out_);
    write_notes(out_, head);
    return std::move(out_);
}

void trace_contents::leave_out_duplicates() {
    const auto key = [](const auto& r) {
        return std::tuple(r.correlation, r.start_ns, r.end_ns, r.device, r.context, r.stream);
    };
    duplicates_ += leave_out_alike(out_.kernels,
                                   [&](const kernel_record& r) { return std::tuple_cat(key(r), std::tuple(r.name)); });
    duplicates_ += leave_out_alike(
        out_.transfers, [&](const transfer_record& r) { return std::tuple_cat(key(r), std::tuple(r.kind, r.bytes)); });
}

// A call that libprof would not have recorded stays if it put work on a GPU. A launch has the name of its kernel.
void trace_contents::settle_calls() {
    std::vector<std::pair<std::uint64_t, std::uint32_t>> ops;  // correlation key, the kernel's name
    ops.reserve(out_.kernels.size() + out_.transfers.size() + out_.graphs.size());
    for (const kernel_record& r : out_.kernels) ops.emplace_back(r.correlation, r.name);
    for (const transfer_record& r : out_.transfers) ops.emplace_back(r.correlation, 0U);
    for (const graph_record& r : out_.graphs) ops.emplace_back(r.correlation, 0U);
    std::sort(ops.begin(), ops.end());
    const std::uint32_t unseen = name_id("(not recorded)");
    for (host_thread& thread : threads_) {
        for (trace_item& item : thread.items) {
            if (item.kind != trace_item_kind::call) continue;
            const auto op = std::lower_bound(ops.begin(), ops.end(), std::pair(item.value, std::uint32_t{0}));
            const bool has_op = item.value != 0 && op != ops.end() && op->first == item.value;
            if (!has_op && !item.is_recorded) item.kind = trace_item_kind::left_out;
            if (!item.launches_kernel || item.name != 0) continue;
            item.name = has_op ? op->second : unseen;
        }
        std::erase_if(thread.items, [](const trace_item& item) { return item.kind == trace_item_kind::left_out; });
    }
}

// From times since the trace's base to times in nanoseconds of the clock; returns the first. A trace without a base may
// begin at 0, which means "no time" in a record.
std::int64_t trace_contents::move_times(std::int64_t base_ns) {
    std::int64_t first = INT64_MAX;
    const auto see = [&](std::int64_t ns) { first = std::min(first, ns); };
    const auto see_all = [&](const auto& records) {
        for (const auto& r : records) see(static_cast<std::int64_t>(r.start_ns));
    };
    see_all(out_.kernels);
    see_all(out_.transfers);
    see_all(out_.graphs);
    for (const host_thread& thread : threads_) {
        for (const trace_item& item : thread.items) see(item.start_ns);
    }
    if (first == INT64_MAX) first = 0;
    const std::int64_t by = base_ns + first < 1 ? 1 - first : base_ns;
    const auto move_all = [&](auto& records) {
        for (auto& r : records) {
            move(r.start_ns, by);
            move(r.end_ns, by);
        }
    };
    move_all(out_.kernels);
    move_all(out_.transfers);
    move_all(out_.graphs);
    for (host_thread& thread : threads_) {
        for (trace_item& item : thread.items) {
            item.start_ns += by;
            item.end_ns += by;
        }
    }
    for (matrix_call& call : out_.multiplications.list) {
        call.start_ns += by;
        call.end_ns += by;
    }
    if (last_step_on_gpu_ns_) *last_step_on_gpu_ns_ += by;
    return first + by;
}

// Of several names of a thread the one that autograd gave it counts: it was given later than the first.
std::string trace_contents::thread_name(const trace_place& at) const {
    const auto found = thread_names_.find({at.pid, at.tid});
    if (found == thread_names_.end() || found->second.empty()) return "thread " + std::to_string(at.tid);
    std::string name = system_name_of(found->second.front());
    for (const std::string& other : found->second) {
        if (std::string given = system_name_of(other); given.starts_with(autograd_prefix)) name = std::move(given);
    }
    return name;
}

// Whether the thread's outermost ranges are mostly those that autograd's engine opens around backward nodes. Older
// traces give all threads the process's name.
bool trace_contents::works_for_others(const host_thread& thread, const std::vector<record>& records) const {
    if (thread.at.pid == thread.at.tid) return false;
    std::uint64_t outermost = 0;
    std::uint64_t of_engine = 0;
    std::uint64_t depth = 0;
    const auto modules = domains_.find(module_domain);
    for (const record& r : records) {
        if (modules != domains_.end() && r.domain == modules->second) continue;
        if (r.kind == record_kind::range_pop) --depth;
        if (r.kind != record_kind::range_push || depth++ != 0) continue;
        ++outermost;
        const auto name = out_.names.find(r.name);
        if (name != out_.names.end() && name->second.starts_with(engine_prefix)) ++of_engine;
    }
    return of_engine * 2 > outermost;
}

std::uint32_t trace_contents::module_name(std::uint32_t around, std::uint32_t own) {
    constexpr std::size_t longest_path = 4096;
    if (own == 0) return 0;
    const auto [known, is_new] = module_names_.try_emplace({around, own}, 0U);
    const std::string_view outer = around == 0 ? std::string_view{} : std::string_view(out_.names.at(around));
    const std::string_view inner = out_.names.at(own);
    if (is_new && outer.size() + inner.size() < longest_path) known->second = name_id(name_of_module(outer, inner));
    return known->second;
}

void trace_contents::write_threads(capture_contents& out) {
    std::uint64_t next_range_id = std::uint64_t{1} << 62;
    std::uint64_t uid = 0;
    for (host_thread& thread : threads_) {
        put_in_order(thread.items, counts_);
        if (!is_of_libprof_) {
            complete_modules(thread.items,
                             [this](std::uint32_t around, std::uint32_t own) { return module_name(around, own); });
        }
        std::vector<record> records = records_of(thread.items, next_range_id, counts_);
        thread.items = {};
        const std::string name = thread_name(thread.at);
        std::string system_name = name;
        if (!name.starts_with(autograd_prefix) && works_for_others(thread, records)) {
            system_name = std::string(autograd_prefix) + "0";
            ++renamed_threads_;
        }
        format::thread_entry entry{.uid = ++uid, .tid = static_cast<std::uint32_t>(thread.at.tid)};
        std::memcpy(entry.name.data(), system_name.data(), std::min(system_name.size(), entry.name.size() - 1));
        out.threads.push_back(entry);
        if (system_name != name || name.size() >= entry.name.size()) {
            out.labels.push_back({label_kind::thread, name_id(name), thread_key(uid, entry.tid)});
        }
        out.runs.push_back({.thread_uid = uid, .records = std::move(records)});
    }
}

void trace_contents::describe(capture_contents& out, const trace_head& head) {
    std::map<std::int64_t, std::size_t> items_by_pid;
    for (const host_thread& thread : threads_) items_by_pid[thread.at.pid] += thread.items.size();
    const auto main = std::max_element(items_by_pid.begin(), items_by_pid.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    const auto note_step = [&] {
        if (last_step_on_gpu_ns_) out.properties["last_step_on_gpu_ns"] = std::to_string(*last_step_on_gpu_ns_);
    };
    if (head.is_of_libprof) {
        out.properties = head.capture;
        out.properties["trace"] = "read from a trace that prof export wrote";
        note_step();
        return;
    }
    note_step();
    const auto put = [&](const char* key, const std::string& value) {
        if (!value.empty()) out.properties[key] = value;
    };
    const auto member = [&](const char* key) {
        const auto found = head.members.find(key);
        return found == head.members.end() ? std::string() : found->second;
    };
    if (main != items_by_pid.end() && main->first >= 0) {
        put("pid", std::to_string(main->first));
        const auto name = process_names_.find(main->first);
        put("name", name == process_names_.end() ? "" : name->second);
        put("executable", name == process_names_.end() ? "" : name->second);
    }
    put("rank", member("rank"));
    put("world_size", member("world_size"));
    put("hostname", member("host_name"));
    put("pytorch", has_ops_ ? "ops" : "ranges");
    std::string heading = "read from a trace of torch.profiler";
    if (const std::string version = member("cuda_runtime_version"); !version.empty()) {
        heading +=
            fmt::format(" (CUDA {}, driver {})", cuda_version(version), cuda_version(member("cuda_driver_version")));
    } else if (!member("hip_runtime_version").empty()) {
        heading += " (ROCm)";
    }
    put("trace", heading);
    if (items_by_pid.size() > 1) {
        std::set<std::int64_t> pids;
        for (const host_thread& thread : threads_) {
            if (std::any_of(thread.items.begin(), thread.items.end(),
                            [](const trace_item& item) { return item.kind == trace_item_kind::call; })) {
                pids.insert(thread.at.pid);
            }
        }
        if (pids.size() > 1) {
            out.warnings.push_back(
                fmt::format("the trace is of {} processes with CUDA calls, which are read as one", pids.size()));
        }
    }
}

// Kineto describes all GPUs of the host; only those that were used are the process's.
void trace_contents::take_devices(capture_contents& out, const trace_head& head) {
    std::set<std::uint32_t> used;
    for (const kernel_record& r : out.kernels) used.insert(r.device);
    for (const transfer_record& r : out.transfers) used.insert(r.device);
    for (const trace_device& device : head.devices) {
        if (!head.is_of_libprof && !used.contains(device.properties.device)) continue;
        out.devices.push_back(device.properties);
        out.devices.back().name = name_id(device.name);
    }
}

void trace_contents::write_notes(capture_contents& out, const trace_head& head) {
    const bool has_gpu_work = !out.kernels.empty() || !out.transfers.empty() || !out.graphs.empty();
    if (!has_gpu_work && !head.is_of_libprof) {
        out.properties["missing"] =
            has_calls_ ? "the trace has CUDA calls, and no GPU work"
                       : "the trace has no GPU work: none was done, or ProfilerActivity.CUDA was not on";
    }
    const auto warn = [&](std::uint64_t count, const std::string& text) {
        if (count != 0) out.warnings.push_back(text);
    };
    warn(has_gpu_work && !has_calls_ ? 1 : 0, "the trace has GPU work and no CUDA calls, so the work is in no range");
    warn(without_time_,
         counted(without_time_, "event without a time was left out", "events without a time were left out"));
    warn(negative_, counted(negative_, "event with a negative duration was left out",
                            "events with a negative duration were left out"));
    warn(counts_.overlapping_ops, counted(counts_.overlapping_ops, "operator that overlaps another one was left out",
                                          "operators that overlap others of their thread were left out"));
    warn(counts_.overlapping_modules,
         counted(counts_.overlapping_modules, "call of a module that overlaps another one was left out",
                 "calls of modules that overlap others of their thread were left out"));
    const auto note = [&](std::uint64_t count, const std::string& text) {
        if (count != 0) out.notes.push_back(text);
    };
    note(duplicates_, counted(duplicates_, "GPU operation was in the trace twice and counts once",
                              "GPU operations were in the trace twice and count once"));
    note(counts_.overlapping_ranges,
         counted(counts_.overlapping_ranges, "range overlaps another one of its thread and stands",
                 "ranges overlap others of their thread and stand") +
             " with the process-wide ranges");
    note(renamed_threads_,
         counted(renamed_threads_, "thread is taken for autograd's", "threads are taken for autograd's") +
             ", by the backward nodes run there");
    note(python_functions_, counted(python_functions_, "Python function call is not used (with_stack)",
                                    "Python function calls are not used (with_stack)"));
    note(overheads_, fmt::format("the profiler's own work took {:.3f} ms of host time, in {}",
                                 static_cast<double>(overhead_ns_) * 1e-6, counted(overheads_, "period", "periods")));
    note(has_hip_ ? 1 : 0, "HIP's calls have the names of CUDA's");
    std::uint64_t unused = 0;
    std::string kinds;
    for (const auto& [kind, count] : unused_) {
        unused += count;
        kinds += fmt::format("{}{} ({})", kinds.empty() ? "" : ", ", kind, count);
    }
    note(unused,
         counted(unused, "event is of a kind that is not read: ", "events are of kinds that are not read: ") + kinds);
    for (const std::string& complaint : head.complaints) {
        const bool is_known = std::any_of(out.properties.begin(), out.properties.end(),
                                          [&](const auto& property) { return property.second == complaint; });
        if (!is_known) out.notes.push_back("its profiler reported: " + complaint);
    }
}

}  // namespace prof
