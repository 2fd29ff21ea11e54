// SPDX-License-Identifier: Apache-2.0
// Collects the events of a trace, and makes of them the contents that a capture of the same run would have
// (docs/guide/kineto.md says how). One thread; about 150 bytes for each event that is kept.
#pragma once

#include <cstdint>
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

class trace_contents {
public:
    void add(const trace_event& event);
    // The trace's head has been read, and libprof wrote it: names and rows have its conventions.
    void expect_libprof() noexcept { is_of_libprof_ = true; }
    // Call once.
    capture_contents finish(const trace_head& head);

    std::uint64_t events() const noexcept { return events_; }
    // Whether any event was of a profiler's category.
    bool has_known() const noexcept { return has_known_; }

private:
    struct host_thread {
        trace_place at;
        std::vector<trace_item> items{};
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
    std::uint32_t name_id(std::string_view text);
    std::uint16_t domain_id(std::string_view text);
    template <typename TRecord>
    void place_on_gpu(TRecord& record, const trace_event& event);
    void count_unused(const trace_event& event);
    void note_step_on_gpu(const trace_event& event);

    std::uint32_t module_name(std::uint32_t around, std::uint32_t own);
    void settle_calls();
    void leave_out_duplicates();
    std::int64_t move_times(std::int64_t base_ns);
    void write_threads(capture_contents& out);
    void describe(capture_contents& out, const trace_head& head);
    void take_devices(capture_contents& out, const trace_head& head);
    void write_notes(capture_contents& out, const trace_head& head);
    bool works_for_others(const host_thread& thread, const std::vector<record>& records) const;
    std::string thread_name(const trace_place& at) const;

    capture_contents out_;
    std::vector<host_thread> threads_;
    std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> thread_index_;
    std::size_t latest_thread_ = 0;
    std::unordered_map<std::string, std::uint32_t> name_ids_;
    std::map<std::string, std::uint16_t, std::less<>> domains_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> module_names_;  // by the one around, and its own
    std::map<operator_arguments, std::uint32_t> argument_ids_;
    std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::string>> thread_names_;
    std::map<std::int64_t, std::string> process_names_;
    std::map<std::string, std::uint64_t> unused_;  // events by category or phase
    std::uint64_t events_ = 0;
    std::uint64_t python_functions_ = 0;
    std::uint64_t without_time_ = 0;
    std::uint64_t negative_ = 0;
    std::uint64_t duplicates_ = 0;
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
