// SPDX-License-Identifier: Apache-2.0
// The second half of trace_contents: what needs all events.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <numeric>
#include <set>
#include <tuple>
#include <unordered_set>
#include <utility>

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
    if (!is_of_libprof_) {
        leave_out_far();
        join_rows();
    }
    leave_out_duplicates();
    settle_calls();
    number_gpus();
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
    std::vector<std::pair<std::uint64_t, name_id>> ops;  // correlation key, the kernel's name
    ops.reserve(out_.kernels.size() + out_.transfers.size() + out_.graphs.size());
    for (const kernel_record& r : out_.kernels) ops.emplace_back(r.correlation, r.name);
    for (const transfer_record& r : out_.transfers) ops.emplace_back(r.correlation, 0U);
    for (const graph_record& r : out_.graphs) ops.emplace_back(r.correlation, 0U);
    std::sort(ops.begin(), ops.end());
    const auto op_of = [&](const trace_item& item) {
        const auto op = std::lower_bound(ops.begin(), ops.end(), std::pair(item.value, name_id()));
        return item.value != 0 && op != ops.end() && op->first == item.value ? op : ops.end();
    };
    if (!is_of_libprof_) refuse_mixed_launches(ops);
    find_captured([&](const trace_item& item) { return op_of(item) != ops.end(); });
    const name_id unseen = id_of_name("(not recorded)");
    for (host_thread& thread : threads_) {
        for (trace_item& item : thread.items) {
            if (item.kind != trace_item_kind::call) continue;
            const auto op = op_of(item);
            if (op == ops.end() && !item.is_recorded) item.kind = trace_item_kind::left_out;
            if (!item.launches_kernel || item.name != 0) continue;
            item.name = op != ops.end() ? op->second : unseen;
        }
        std::erase_if(thread.items, [](const trace_item& item) { return item.kind == trace_item_kind::left_out; });
    }
}

// While a stream is captured, launches become nodes of a graph and run nothing. A trace does not name the stream of a
// call, and autograd's threads launch into a stream that another thread captures. So between a call that begins a
// capture and the same thread's call that ends it, those launches of the process are captured that no operation has.
void trace_contents::find_captured(const std::function<bool(const trace_item&)>& has_op) {
    struct boundary {
        std::int64_t ns = 0;
        bool begins = false;
    };
    std::map<std::uint32_t, std::vector<std::pair<std::int64_t, std::int64_t>>> captures;  // by process
    for (const host_thread& thread : threads_) {
        std::vector<boundary> boundaries;
        for (const trace_item& item : thread.items) {
            if (item.kind != trace_item_kind::call) continue;
            if (item.flags == static_cast<std::uint8_t>(api_class::begins_graph_capture)) {
                boundaries.push_back({item.start_ns, true});
            } else if (item.ends_capture) {
                boundaries.push_back({item.end_ns, false});
            }
        }
        std::sort(boundaries.begin(), boundaries.end(),
                  [](const boundary& a, const boundary& b) { return a.ns < b.ns; });
        auto& of_process = captures[thread.at.process];
        std::int64_t begun_ns = INT64_MIN;  // the trace may begin within one
        bool is_open = !boundaries.empty() && !boundaries.front().begins;
        for (const boundary& at : boundaries) {
            if (is_open && !at.begins) of_process.emplace_back(begun_ns, at.ns);
            if (at.begins && !is_open) begun_ns = at.ns;
            is_open = at.begins;
        }
        if (is_open) of_process.emplace_back(begun_ns, INT64_MAX);
    }
    for (auto& [process, list] : captures) std::sort(list.begin(), list.end());
    for (host_thread& thread : threads_) {
        auto& list = captures[thread.at.process];
        if (list.empty()) continue;
        for (trace_item& item : thread.items) {
            const bool launches = item.launches_kernel || item.flags == static_cast<std::uint8_t>(api_class::launch);
            if (item.kind != trace_item_kind::call || !item.is_recorded || !launches || has_op(item)) continue;
            // Captures overlap only where several threads capture at once: of those that have begun, some look back.
            constexpr std::ptrdiff_t most_back = 8;
            const auto after = std::upper_bound(list.begin(), list.end(), std::pair(item.start_ns, INT64_MAX));
            for (std::ptrdiff_t back = 1; back <= std::min(after - list.begin(), most_back); ++back) {
                item.is_captured = item.is_captured || item.start_ns < (after - back)->second;
            }
            if (item.is_captured) ++captured_;
        }
    }
}

// A process does not give one number to two launches. In a trace that was merged of several processes, they have the
// same numbers, and nothing says to which of them a GPU operation belongs, unless its row names the process.
void trace_contents::refuse_mixed_launches(const std::vector<std::pair<std::uint64_t, name_id>>& ops) {
    struct launching {
        std::uint64_t key;
        std::int64_t start_ns;
        std::int64_t end_ns;
        std::int64_t pid;
        std::size_t thread;
    };
    std::vector<launching> list;
    for (std::size_t at = 0; at < threads_.size(); ++at) {
        for (const trace_item& item : threads_[at].items) {
            if (item.kind != trace_item_kind::call || item.value == 0) continue;
            list.push_back({item.value, item.start_ns, item.end_ns, threads_[at].at.pid, at});
        }
    }
    std::sort(list.begin(), list.end(), [](const launching& a, const launching& b) {
        return std::tie(a.key, a.start_ns, b.end_ns) < std::tie(b.key, b.start_ns, a.end_ns);
    });
    std::set<std::int64_t> mixed;
    const launching* outer = nullptr;
    for (const launching& call : list) {
        const launching* const before = std::exchange(outer, &call);
        if (before == nullptr || before->key != call.key) continue;
        const bool is_inside = before->thread == call.thread && call.start_ns <= before->end_ns;
        if (is_inside) {
            outer = before;
            continue;
        }
        const auto op = std::lower_bound(ops.begin(), ops.end(), std::pair(call.key, name_id()));
        if (op == ops.end() || op->first != call.key) continue;
        ++same_ids_;
        if (before->pid != call.pid) mixed.insert({before->pid, call.pid});
    }
    if (mixed.empty()) return;
    throw mixed_processes({mixed.begin(), mixed.end()});
}

// A time of 0, or one of another clock, would make the trace as long as that clock is old.
void trace_contents::leave_out_far() {
    constexpr std::int64_t week_ns = std::int64_t{7} * 24 * 3600 * 1'000'000'000;
    const auto visit_all = [&](auto&& visit) {
        visit(out_.kernels, [](const auto& r) { return static_cast<std::int64_t>(r.start_ns); });
        visit(out_.transfers, [](const auto& r) { return static_cast<std::int64_t>(r.start_ns); });
        for (host_thread& thread : threads_) visit(thread.items, [](const auto& item) { return item.start_ns; });
    };
    const auto for_each_start = [&](auto&& take) {
        visit_all([&](const auto& list, auto&& start_of) {
            for (const auto& each : list) take(start_of(each));
        });
    };
    std::int64_t first_ns = INT64_MAX;
    std::int64_t last_ns = INT64_MIN;
    std::size_t count = 0;
    for_each_start([&](std::int64_t ns) {
        first_ns = std::min(first_ns, ns);
        last_ns = std::max(last_ns, ns);
        ++count;
    });
    constexpr std::size_t least = 3;  // of two, none lies apart
    if (count < least || last_ns - first_ns <= week_ns) return;
    std::vector<std::int64_t> starts_ns;
    starts_ns.reserve(count);
    for_each_start([&](std::int64_t ns) { starts_ns.push_back(ns); });
    const auto middle = starts_ns.begin() + static_cast<std::ptrdiff_t>(starts_ns.size() / 2);
    std::nth_element(starts_ns.begin(), middle, starts_ns.end());
    const std::int64_t middle_ns = *middle;
    visit_all([&](auto& list, auto&& start_of) {
        far_ += std::erase_if(list, [&](const auto& each) {
            const std::int64_t ns = start_of(each);
            return ns < middle_ns - week_ns || ns > middle_ns + week_ns;
        });
    });
    std::erase_if(out_.multiplications.list, [&](const matrix_call& call) {
        return call.start_ns < middle_ns - week_ns || call.start_ns > middle_ns + week_ns;
    });
}

// Rows of the host and of the GPU may begin with different texts (`rank 1 host 84`, `rank 1 GPU 0`). A row with GPU
// work and without calls belongs to the process with calls whose text begins as its own does, or to the only one.
void trace_contents::join_rows() {
    if (processes_.empty()) return;
    std::set<std::uint32_t> with_calls;
    for (const host_thread& thread : threads_) {
        if (std::any_of(thread.items.begin(), thread.items.end(),
                        [](const trace_item& item) { return item.kind == trace_item_kind::call; })) {
            with_calls.insert(thread.at.process);
        }
    }
    std::map<std::uint32_t, std::string_view> texts;
    for (const auto& [text, process] : processes_) texts.emplace(process, text);
    const auto alike = [&](std::uint32_t a, std::uint32_t b) {
        const std::string_view one = texts[a];
        const std::string_view other = texts[b];
        return std::mismatch(one.begin(), one.end(), other.begin(), other.end()).first - one.begin();
    };
    std::map<std::uint32_t, std::uint32_t> joined;
    const auto join = [&](auto& records) {
        for (auto& r : records) {
            if (r.correlation == 0) continue;
            const auto process = static_cast<std::uint32_t>(r.correlation >> 32) - only_epoch;
            const auto [known, is_new] = joined.try_emplace(process, process);
            if (is_new && !with_calls.contains(process)) {
                std::ptrdiff_t most = with_calls.size() == 1 ? -1 : 0;
                for (const std::uint32_t candidate : with_calls) {
                    const std::ptrdiff_t length = alike(process, candidate);
                    if (length == most) known->second = process;  // several are equally alike
                    if (length > most) known->second = candidate;
                    most = std::max(most, length);
                }
            }
            r.correlation += (std::uint64_t{known->second} << 32) - (std::uint64_t{process} << 32);
        }
    };
    join(out_.kernels);
    join(out_.transfers);
    join(out_.collectives);
}

// The GPU of a merged process has the number that the process gives it, or a free one if another process's GPU has
// that: ranks of several hosts, or each with one visible GPU, call theirs 0.
void trace_contents::number_gpus() {
    std::vector<std::pair<std::uint32_t, std::int64_t>> by_number(gpu_numbers_.size());
    for (const auto& [gpu, number] : gpu_numbers_) by_number[number] = gpu;
    std::set<std::int64_t> taken;
    for (const auto& gpu : by_number) taken.insert(gpu.second);
    std::int64_t free = taken.empty() ? 0 : *taken.rbegin() + 1;
    std::set<std::int64_t> given;
    for (const auto& [process, number] : by_number) {
        const std::int64_t shown = given.insert(number).second ? number : free++;
        if (shown != number) ++renumbered_gpus_;
        shown_gpus_.emplace_back(static_cast<std::uint32_t>(shown), static_cast<std::uint32_t>(number));
    }
    const auto move_to = [&](std::uint32_t& device) { device = shown_gpus_[device].first; };
    for (kernel_record& r : out_.kernels) move_to(r.device);
    for (graph_record& r : out_.graphs) move_to(r.device);
    for (transfer_record& r : out_.transfers) {
        move_to(r.device);
        if (r.kind != transfer_kind::memcpy_peer) continue;
        move_to(r.source_device);
        move_to(r.destination_device);
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
        thread.stacks.settle(by);
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
    const auto found = thread_names_.find(at);
    if (found == thread_names_.end() || found->second.empty()) return "thread " + std::to_string(at.tid);
    std::string name = system_name_of(found->second.front());
    for (const std::string& other : found->second) {
        if (std::string given = system_name_of(other); given.starts_with(autograd_prefix)) name = std::move(given);
    }
    return name;
}

bool trace_contents::is_node(const trace_item& item) {
    if (item.kind != trace_item_kind::torch_op) return false;
    const auto [known, is_new] = is_node_.try_emplace(item.name, false);
    if (!is_new) return known->second;
    const auto name = out_.names.find(item.name);
    return known->second = name != out_.names.end() && is_backward_node(name->second);
}

// Whether autograd's engine runs backward nodes on the thread for another one. Older traces give all threads the
// process's name. Where nodes have numbers, those count whose operator this thread has not run itself; where none has,
// the thread's outermost time. The number of ranges decides nothing: any number of them may be short. REQUIRES: the
// items are in order.
bool trace_contents::works_for_others(const host_thread& thread) {
    if (thread.at.pid == thread.at.tid) return false;
    const auto runs_node = [&](const trace_item& item) { return item.is_backward || is_node(item); };
    if (std::none_of(thread.items.begin(), thread.items.end(), runs_node)) return false;
    std::unordered_set<std::int64_t> own;  // operators that autograd has numbered
    for (const trace_item& item : thread.items) {
        const bool is_numbered = item.kind == trace_item_kind::torch_op && item.sequence >= 0;
        if (is_numbered && !runs_node(item)) own.insert(item.sequence);
    }
    std::int64_t of_own_ns = 0;
    std::int64_t of_others_ns = 0;
    std::int64_t nodes_ns = 0;
    std::int64_t rest_ns = 0;
    std::int64_t until_ns = INT64_MIN;
    for (const trace_item& item : thread.items) {
        if (item.kind != trace_item_kind::range && item.kind != trace_item_kind::torch_op) continue;
        if (item.start_ns < until_ns) continue;
        until_ns = item.end_ns;
        // The shortest has less than a nanosecond of older traces' microseconds.
        const std::int64_t ns = std::max<std::int64_t>(item.end_ns - item.start_ns, 1);
        if (!runs_node(item)) {
            rest_ns += ns;
            continue;
        }
        nodes_ns += ns;
        if (item.sequence >= 0) (own.contains(item.sequence) ? of_own_ns : of_others_ns) += ns;
    }
    if (of_own_ns + of_others_ns != 0) return of_others_ns > of_own_ns;
    return nodes_ns > rest_ns;
}

name_id trace_contents::module_name(name_id around, name_id own) {
    constexpr std::size_t longest_path = 4096;
    if (own == 0) return {};
    const auto [known, is_new] = module_names_.try_emplace({around, own});
    const std::string_view outer = around == 0 ? std::string_view{} : std::string_view(out_.names.at(around));
    const std::string_view inner = out_.names.at(own);
    if (is_new && outer.size() + inner.size() < longest_path) known->second = id_of_name(name_of_module(outer, inner));
    return known->second;
}

void trace_contents::write_threads(capture_contents& out) {
    std::uint64_t next_range_id = std::uint64_t{1} << 62;
    std::uint64_t uid = 0;
    std::map<trace_place, std::uint32_t> processes;  // by the text, or the number, that tells merged processes apart
    for (host_thread& thread : threads_) {
        ++uid;
        if (thread.items.empty() && !thread.stacks.is_empty()) continue;  // nothing but Python ran there
        put_in_order(thread.items, counts_);
        const bool is_for_others = works_for_others(thread);
        if (!is_of_libprof_) {
            complete_modules(thread.items, [this](name_id around, name_id own) { return module_name(around, own); });
        }
        std::vector<record> records = records_of(thread.items, thread.stacks, next_range_id, counts_);
        thread.items = {};
        thread.stacks = {};
        const std::string name = thread_name(thread.at);
        std::string system_name = name;
        if (!name.starts_with(autograd_prefix) && is_for_others) {
            system_name = std::string(autograd_prefix) + "0";
            ++renamed_threads_;
        }
        format::thread_entry entry{.uid = uid, .tid = static_cast<std::uint32_t>(thread.at.tid)};
        std::memcpy(entry.name.data(), system_name.data(), std::min(system_name.size(), entry.name.size() - 1));
        out.threads.push_back(entry);
        if (!is_of_libprof_) {
            const trace_place process{.pid = thread.at.pid, .process = thread.at.process};
            const auto number = static_cast<std::uint32_t>(processes.size());
            out.processes.emplace(uid, processes.try_emplace(process, number).first->second);
        }
        if (system_name != name || name.size() >= entry.name.size()) {
            out.labels.push_back({label_kind::thread, id_of_name(name), thread_key(uid, entry.tid)});
        }
        out.runs.push_back({.thread_uid = uid, .records = std::move(records)});
    }
}

void trace_contents::describe(capture_contents& out, const trace_head& head) {
    // The one that put work on a GPU, of several that with most events.
    std::map<trace_place, std::pair<bool, std::size_t>> items_by_process;
    for (const host_thread& thread : threads_) {
        auto& [has_calls, items] = items_by_process[{.pid = thread.at.pid, .process = thread.at.process}];
        items += thread.items.size();
        has_calls = has_calls || std::any_of(thread.items.begin(), thread.items.end(),
                                             [](const trace_item& item) { return item.kind == trace_item_kind::call; });
    }
    const auto main = std::max_element(items_by_process.begin(), items_by_process.end(),
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
    if (main != items_by_process.end() && main->first.pid >= 0) {
        put("pid", std::to_string(main->first.pid));
        const auto name = process_names_.find(main->first);
        put("name", name == process_names_.end() ? "" : name->second);
        put("executable", name == process_names_.end() ? "" : name->second);
    }
    put("rank", member("rank"));
    put("world_size", member("world_size"));
    put("hostname", member("host_name"));
    put("pytorch", has_ops_ ? "ops" : "ranges");
    put("lines", has_stacks_ ? "functions" : "");
    std::string heading = "read from a trace of torch.profiler";
    if (const std::string version = member("cuda_runtime_version"); !version.empty()) {
        heading +=
            fmt::format(" (CUDA {}, driver {})", cuda_version(version), cuda_version(member("cuda_driver_version")));
    } else if (!member("hip_runtime_version").empty()) {
        heading += " (ROCm)";
    }
    put("trace", heading);
    std::set<trace_place> with_calls;
    for (const host_thread& thread : threads_) {
        if (std::any_of(thread.items.begin(), thread.items.end(),
                        [](const trace_item& item) { return item.kind == trace_item_kind::call; })) {
            with_calls.insert({.pid = thread.at.pid, .process = thread.at.process});
        }
    }
    if (with_calls.size() < 2) return;
    std::string list;
    for (const trace_place& each : with_calls) {
        const auto text = std::find_if(processes_.begin(), processes_.end(),
                                       [&](const auto& process) { return process.second == each.process; });
        if (list.size() > 200) {
            list += ", …";
            break;
        }
        list += (list.empty() ? "" : ", ") + (text == processes_.end() ? "" : text->first + " ") +
                (each.pid < 0 ? "" : std::to_string(each.pid));
    }
    out.warnings.push_back(
        fmt::format("the trace is of {} processes ({}): each one's GPU work counts for its own "
                    "ranges, and steps are those of one of them",
                    with_calls.size(), list));
}

// Kineto describes all GPUs of the host; only those that were used are the process's. ROCm's operations may have the
// number of the node in the system in place of the GPU's: then GPUs that are all alike say what such a one is.
void trace_contents::take_devices(capture_contents& out, const trace_head& head) {
    std::set<std::uint32_t> used;
    for (const kernel_record& r : out.kernels) used.insert(r.device);
    for (const transfer_record& r : out.transfers) used.insert(r.device);
    const auto add = [&](const trace_device& device, std::uint32_t number) {
        out.devices.push_back(device.properties);
        out.devices.back().device = number;
        out.devices.back().name = id_of_name(device.name);
    };
    if (head.is_of_libprof) {
        for (const trace_device& device : head.devices) add(device, device.properties.device);
        return;
    }
    const bool are_alike = std::all_of(head.devices.begin(), head.devices.end(), [&](const trace_device& device) {
        return device.name == head.devices.front().name &&
               device.properties.multiprocessors == head.devices.front().properties.multiprocessors &&
               device.properties.global_memory_bytes == head.devices.front().properties.global_memory_bytes;
    });
    for (const std::uint32_t number : used) {
        const auto shown =
            std::find_if(shown_gpus_.begin(), shown_gpus_.end(), [&](const auto& gpu) { return gpu.first == number; });
        const std::uint32_t described = shown == shown_gpus_.end() ? number : shown->second;
        const auto found = std::find_if(head.devices.begin(), head.devices.end(), [&](const trace_device& device) {
            return device.properties.device == described;
        });
        if (found != head.devices.end()) {
            add(*found, number);
        } else if (!head.devices.empty() && are_alike) {
            add(head.devices.front(), number);
        }
    }
}

// A line for each reason why events were not read.
std::vector<std::string> trace_contents::unread() const {
    std::vector<std::string> out;
    const auto add = [&](const std::map<std::string, std::uint64_t>& kinds, std::string_view one,
                         std::string_view many) {
        std::uint64_t count = 0;
        std::string list;
        for (const auto& [kind, events] : kinds) {
            constexpr std::size_t longest = 400;
            count += events;
            if (list.size() < longest) list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", kind, events);
        }
        if (count != 0) out.push_back(counted(count, one, many) + list);
    };
    add(unused_, "event is of a kind that is not read: ", "events are of kinds that are not read: ");
    std::map<std::string, std::uint64_t> rows;
    for (const auto& [row, events] : without_category_) {
        const auto name = process_names_.find(row);
        rows[name == process_names_.end() ? "pid " + std::to_string(row.pid) : name->second] += events;
    }
    add(rows, "event has no category and is not read: row of ", "events have no category and are not read: rows of ");
    return out;
}

void trace_contents::write_notes(capture_contents& out, const trace_head& head) {
    const bool has_gpu_work = !out.kernels.empty() || !out.transfers.empty() || !out.graphs.empty();
    const std::vector<std::string> not_read = unread();
    if (!has_gpu_work && !head.is_of_libprof) {
        out.properties["missing"] =
            has_calls_ ? "the trace has CUDA calls, and no GPU work"
            : not_read.empty()
                ? "the trace has no GPU work: none was done, or ProfilerActivity.CUDA was not on"
                : "no GPU work was read: there is none of CUDA, ROCm or XPU, and events that are not read "
                  "may be another device's (see the notes)";
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
    warn(far_, counted(far_, "event lies more than a week from the others and was left out",
                       "events lie more than a week from the others and were left out"));
    warn(same_ids_, counted(same_ids_, "launch has", "launches have") +
                        " the number of another one, as in a trace that was merged of several: GPU work may count for "
                        "the wrong one");
    const auto note = [&](std::uint64_t count, const std::string& text) {
        if (count != 0) out.notes.push_back(text);
    };
    note(captured_, counted(captured_, "launch was", "launches were") + " captured into CUDA graphs, and ran nothing");
    note(renumbered_gpus_,
         counted(renumbered_gpus_, "GPU has", "GPUs have") + " a new number, since another process uses it, too");
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
    note(has_stacks_ ? 1 : 0,
         "places have the Python function and the line at which it begins; its trace has no other lines");
    note(overheads_, fmt::format("the profiler's own work took {:.3f} ms of host time, in {}",
                                 static_cast<double>(overhead_ns_) * 1e-6, counted(overheads_, "period", "periods")));
    note(has_hip_ ? 1 : 0, "HIP's calls have the names of CUDA's");
    out.notes.insert(out.notes.end(), not_read.begin(), not_read.end());
    for (const std::string& complaint : head.complaints) {
        const bool is_known = std::any_of(out.properties.begin(), out.properties.end(),
                                          [&](const auto& property) { return property.second == complaint; });
        if (!is_known) out.notes.push_back("its profiler reported: " + complaint);
    }
}

}  // namespace prof
