// SPDX-License-Identifier: Apache-2.0
// Decides for which thread a thread that matches the adoption pattern works at a given moment. It is the one other
// thread that fulfils three conditions; docs/reference/attribution.md has the reasons.
// - The moment lies in its annotated time, from its first range to its last.
// - It has launched on the same stream; if no thread has, on the same device.
// - It has a range open at the moment.
//
// A range in which a thread itself works for another one by declaration does not make that work its own. An
// adoption_rule is made once for a timeline, linear in its ranges and operations. A decision then costs one binary
// search for each candidate thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "timeline/timeline.hpp"

namespace prof {

struct adoption {
    enum class outcome : std::uint8_t {
        none,       // no thread, or that thread has no range open: the work is the thread's own
        adopted,    // the work goes under `open`
        ambiguous,  // several threads are possible
    };
    outcome kind = outcome::none;
    open_node_id open = npos;  // node of the innermost range that is open on the other thread
};

class adoption_rule {
public:
    // Threads whose system name matches `pattern` work for others; "" matches none. The states of the other threads
    // become nodes in `extra_nodes`, numbered after the timeline's own. `with_graph_context`: ranges from times in
    // which nothing was recorded count as open too.
    adoption_rule(const timeline& data, const std::string& pattern, std::vector<open_node>& extra_nodes,
                  bool with_graph_context = false);

    bool works_for_others(thread_id thread) const noexcept { return works_for_others_[thread] != 0; }

    // Decides at `time_ns` for work of `worker` on the stream of `op`. Candidates are of the same process.
    adoption decide(std::int64_t time_ns, thread_id worker, const gpu_op& op) const;
    // The same for a range without launches: every thread that launched anywhere is a candidate.
    adoption decide(std::int64_t time_ns, thread_id worker) const;

private:
    struct state {
        std::int64_t since_ns = 0;
        open_node_id open = npos;
    };
    using thread_set = std::vector<thread_id>;  // sorted

    void find_launchers();
    void record_states(const timeline& data, std::vector<open_node>& extra_nodes, bool with_graph_context);
    // For one thread, whose push/pop ranges are `opened`.
    static std::vector<state> states_of(const timeline& data, const std::vector<range_id>& opened,
                                        std::vector<open_node>& extra_nodes);
    open_node_id open_on(thread_id thread, std::int64_t time_ns) const;
    bool is_annotated(thread_id thread, std::int64_t time_ns) const noexcept;
    // False if no thread in `launched` is possible.
    bool choose(const thread_set& launched, std::int64_t time_ns, thread_id worker, adoption& choice) const;

    row_values<thread_id, std::uint8_t> works_for_others_;  // by thread
    row_values<thread_id, std::vector<state>> states_;      // by thread, then by time
    const timeline& data_;
    row_values<place_id, thread_set> by_stream_;
    std::map<std::uint32_t, thread_set> by_device_;
    thread_set launchers_;
};

}  // namespace prof
