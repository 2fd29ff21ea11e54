// For whom a thread that matches the adoption pattern works at a given moment: the one other thread in whose annotated
// time (from its first range to its last) the moment lies and that has launched on the same stream, else on the same
// device; if it has a range open. docs/attribution.md gives the reasons. Ranges by which a thread itself works for
// another, declared to do so, make nobody's work its own.
//
// Made once for a timeline (linear in its ranges and operations), then asked: one binary search for each thread that
// could be meant.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "timeline/timeline.hpp"

namespace prof {

struct adoption {
    enum class outcome : std::uint8_t {
        none,       // nobody, or the one has no range open: the work is the thread's own
        adopted,    // it hangs under `open`
        ambiguous,  // several threads could be meant
    };
    outcome kind = outcome::none;
    std::uint32_t open = npos;  // node of the innermost range open on the thread it works for
};

class adoption_rule {
public:
    // Threads whose system name matches `pattern` work for others; "" means none does. The states of the other threads
    // become nodes in `extra_nodes`, numbered after the timeline's own.
    // `with_earlier`: ranges of times in which nothing was recorded are among what threads had open.
    adoption_rule(const timeline& data, const std::string& pattern, std::vector<open_node>& extra_nodes,
                  bool with_earlier = false);

    bool works_for_others(std::uint32_t thread) const noexcept { return works_for_others_[thread] != 0; }

    // At `time_ns`, for work on the stream of `op`.
    adoption decide(std::int64_t time_ns, const gpu_op& op) const;
    // The same for a range in which nothing was launched: any thread that launched anywhere may be meant.
    adoption decide(std::int64_t time_ns) const;

private:
    struct state {
        std::int64_t since_ns = 0;
        std::uint32_t open = npos;
    };
    using thread_set = std::vector<std::uint32_t>;  // sorted

    void find_launchers(const timeline& data);
    void record_states(const timeline& data, std::vector<open_node>& extra_nodes, bool with_earlier);
    // Of one thread, whose push/pop ranges are `opened`.
    static std::vector<state> states_of(const timeline& data, const std::vector<std::uint32_t>& opened,
                                        std::vector<open_node>& extra_nodes);
    std::uint32_t open_on(std::uint32_t thread, std::int64_t time_ns) const;
    bool is_annotated(std::uint32_t thread, std::int64_t time_ns) const noexcept;
    // False where none of `launched` may be meant.
    bool choose(const thread_set& launched, std::int64_t time_ns, adoption& choice) const;

    std::vector<std::uint8_t> works_for_others_;  // per thread
    std::vector<std::vector<state>> states_;      // per thread, by time
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, thread_set>
        by_stream_;  // device, context, stream
    std::map<std::uint32_t, thread_set> by_device_;
    thread_set launchers_;
};

}  // namespace prof
