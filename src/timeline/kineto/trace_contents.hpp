// SPDX-License-Identifier: Apache-2.0
// Collects the events of a trace, and makes of them the contents that a capture of the same run would have
// (docs/guide/kineto.md says how). One thread; about 150 bytes for each event that is kept.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "timeline/contents.hpp"
#include "timeline/kineto/trace_event.hpp"
#include "timeline/kineto/trace_head.hpp"
#include "timeline/kineto/trace_items.hpp"

namespace prof {

// The upper half of correlation keys, of a process that was not merged with others. Those of others follow.
inline constexpr std::uint32_t only_epoch = 1;

// The trace was merged of these processes, whose GPU operations cannot be told apart.
struct mixed_processes {
    std::vector<std::int64_t> pids;
};

class trace_contents {
public:
    // Completes the event's place.
    void add(trace_event& event);
    // The trace's head has been read, and libprof wrote it: names and rows have its conventions.
    void expect_libprof() noexcept { is_of_libprof_ = true; }
    // Call once. Throws mixed_processes.
    capture_contents finish(const trace_head& head);

    std::uint64_t events() const noexcept { return events_; }
    // Whether any event was of a profiler's category.
    bool has_known() const noexcept { return has_known_; }

private:
    struct host_thread {
        trace_place at;
        std::vector<trace_item> items{};
        trace_stacks stacks{};
    };

    void add_metadata(const trace_event& event);
    void add_host(const trace_event& event);
    void add_instant(const trace_event& event);
    void add_kernel(const trace_event& event);
    void add_transfer(const trace_event& event);
    void add_call(const trace_event& event);
    void add_range(const trace_event& event);
    void add_python_function(const trace_event& event);
    void add_multiplication(const trace_event& event, const trace_item& item);
    bool has_span(const trace_event& event);
    host_thread& thread_at(const trace_place& place);
    name_id id_of_name(std::string_view text);
    std::uint16_t domain_id(std::string_view text);
    template <typename TRecord>
    void place_on_gpu(TRecord& record, const trace_event& event);
    std::uint32_t process_number(std::string_view text);
    std::uint32_t gpu_number(const trace_event& event, std::int64_t device);
    std::uint64_t correlation_of(const trace_event& event) const noexcept;
    std::int64_t sequence_of(const trace_event& event, std::int64_t number) const noexcept;
    void count_unused(const trace_event& event);
    void count_without_category(const trace_event& event);
    void note_step_on_gpu(const trace_event& event);

    name_id module_name(name_id around, name_id own);
    void settle_calls();
    void find_captured(const std::function<bool(const trace_item&)>& has_op);
    void refuse_mixed_launches(const std::vector<std::pair<std::uint64_t, name_id>>& ops);
    void leave_out_far();
    std::vector<std::string> unread() const;
    void join_rows();
    void number_gpus();
    void leave_out_duplicates();
    std::int64_t move_times(std::int64_t base_ns);
    void write_threads(capture_contents& out);
    void describe(capture_contents& out, const trace_head& head);
    void take_devices(capture_contents& out, const trace_head& head);
    void write_notes(capture_contents& out, const trace_head& head);
    bool is_node(const trace_item& item);
    bool works_for_others(const host_thread& thread);
    std::string thread_name(const trace_place& at) const;

    capture_contents out_;
    std::vector<host_thread> threads_;
    std::map<trace_place, std::size_t> thread_index_;
    // The processes that were merged, by the text that their rows begin with, from 1 on. Each numbers its launches,
    // threads and GPUs on its own.
    std::map<std::string, std::uint32_t, std::less<>> processes_;
    std::map<std::pair<std::uint32_t, std::int64_t>, std::uint32_t>
        gpu_numbers_;                                                  // by process and its number of the GPU
    std::vector<std::pair<std::uint32_t, std::uint32_t>> shown_gpus_;  // of those: shown number, own number
    std::size_t latest_thread_ = 0;
    std::unordered_map<std::string, name_id> name_ids_;
    std::map<std::string, std::uint16_t, std::less<>> domains_;
    std::map<std::pair<name_id, name_id>, name_id> module_names_;  // by the one around, and its own
    std::map<operator_arguments, std::uint32_t> argument_ids_;
    std::map<trace_place, std::vector<std::string>> thread_names_;
    std::map<trace_place, std::string> process_names_;       // by a place without a thread
    std::unordered_map<name_id, bool> is_node_;              // by name
    std::map<std::string, std::uint64_t> unused_;            // events by category or phase
    std::map<trace_place, std::uint64_t> without_category_;  // events by their place without a thread
    std::uint64_t events_ = 0;
    std::uint64_t python_functions_ = 0;  // that are not used
    bool has_stacks_ = false;
    std::map<std::string, std::pair<name_id, bool>, std::less<>> functions_;  // by an event's name: name, library
    std::uint64_t without_time_ = 0;
    std::uint64_t negative_ = 0;
    std::uint64_t duplicates_ = 0;
    std::uint64_t far_ = 0;       // events long before or after all others
    std::uint64_t captured_ = 0;  // launches while a graph was captured
    std::uint64_t same_ids_ = 0;  // launches with the number of another one
    std::uint64_t renumbered_gpus_ = 0;
    std::uint64_t overheads_ = 0;
    std::int64_t overhead_ns_ = 0;
    std::uint64_t backward_nodes_ = 0;  // on threads that are named otherwise
    std::uint64_t renamed_threads_ = 0;
    item_counts counts_;
    std::optional<std::int64_t> last_step_on_gpu_ns_;  // start of the latest ProfilerStep#N on a GPU's row
    bool is_of_libprof_ = false;
    bool has_known_ = false;
    bool has_ops_ = false;
    bool has_calls_ = false;
    bool has_hip_ = false;
};

}  // namespace prof
