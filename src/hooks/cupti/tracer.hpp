// Our one CUPTI client: subscription, launch callbacks, activity records.
//
// attach(), flush() and detach() are called by one thread at a time, never from a CUPTI callback, and never with a lock
// held that a callback could want. CUPTI calls back on the application's threads; that code is the hot path: one clock
// read and one ring write at the entry and at the exit of each launching call, and for each node that a CUDA graph
// gets (graph_nodes.hpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "hooks/cupti/activity.hpp"
#include "hooks/cupti/buffers.hpp"
#include "hooks/cupti/launch_calls.hpp"
#include "hooks/cupti/library.hpp"
#include "record/activities.hpp"
#include "ring/region.hpp"

namespace prof {

struct tracer_options {
    std::string library;                  // PROF_CUPTI_LIBRARY
    std::vector<std::string> toolkits{};  // folders
    std::size_t buffer_bytes = 1U << 20;
    std::uint32_t buffer_count = 20;
};

class cupti_tracer {
public:
    // Opens libcupti. A tracer whose problem() is not empty does nothing.
    cupti_tracer(region& where, const tracer_options& options);
    ~cupti_tracer() = default;  // REQUIRES: detached
    cupti_tracer(const cupti_tracer&) = delete;
    cupti_tracer& operator=(const cupti_tracer&) = delete;

    // Starts recording `what` under `epoch`. Returns "" or one line that says what failed; then nothing is attached
    // and CUPTI is as it was before. `whole_graphs`: a launch of a CUDA graph is one record, if CUPTI can do that.
    // REQUIRES for it: no graph was instantiated before in this process, or its next launch crashes.
    // `runtime_calls`: a call of the runtime is recorded as such, else as the driver's call inside it, which has the
    // same correlation id and costs the launching thread far less (docs/overhead.md). REQUIRES for it: that CUPTI stays
    // in the process does no harm. It is not finalized from then on: of a call that was under way when its callback was
    // switched on or off, CUPTI may leave a hook in the runtime, which then writes to memory that is no longer CUPTI's
    // (docs/reliability.md).
    std::string attach(std::uint32_t epoch, activity_set what = activity_set::all(), bool whole_graphs = false,
                       bool runtime_calls = false) noexcept;

    // Hears cudaProfilerStart (true) and cudaProfilerStop, inside them on the thread that calls them, and nothing else;
    // attach() goes on hearing them, detach() ends it. `heard` may call attach() and stop_recording(), and must not
    // wait for a thread that is in another function of this class. detach() does not finalize CUPTI while it waits for
    // something else. Returns "" or one line.
    std::string listen(void (*heard)(bool starts) noexcept) noexcept;

    // Hears of the nodes that CUDA graphs get, and of the calls that begin a capture: what is to be known while nothing
    // is recorded. As listen(), attach() goes on from there and detach() ends it. Returns "" or one line.
    std::string observe_graphs() noexcept;

    // The latest correlation id of a call that was made while this was attached and not recorded; 0 if there was none.
    static std::uint32_t last_unrecorded_call() noexcept;
    bool attached() const noexcept { return attached_.load(); }
    bool records_whole_graphs() const noexcept { return whole_graphs_; }
    bool records_runtime_calls() const noexcept { return runtime_calls_; }

    // Asks CUPTI for its buffers: complete ones, or all of them (`forced`: also with records that have not ended).
    void flush(bool forced) noexcept;

    // No GPU work launched from here on is recorded; launches still are. First half of detach(): between the two the
    // gate is shut, so that neither side lacks the other.
    void stop_recording() noexcept;

    // Stops, calls back no more and flushes: CUPTI has no more records. What is completed now has to be read before
    // detach() finalizes: kernels' names are CUPTI's memory.
    void disable() noexcept;

    // After disable(): waits until no thread can still be in a callback, and flushes again: one that was has
    // brought its record, or a buffer. False, perhaps at once, if CUPTI is not to be finalized. Waits once: then it
    // says the same until detach().
    bool wait_until_left() noexcept;

    // As disable(), and gives up the subscription. `finalize` also takes CUPTI out of the process's way (its
    // cost on each launch ends with that, not before), after wait_until_left(); not at process exit, where the driver
    // may be half gone, and not once whole graphs were recorded, whose next launch would crash, or the runtime's calls.
    void detach(bool finalize) noexcept;

    // This thread is in the middle of a call to CUDA that is recorded, or CUPTI has handed it buffers: what it holds
    // may be what others need in these functions.
    static bool is_in_call() noexcept;

    // The process ends without waiting for a thread in one of these functions: CUPTI, whose exit handlers are about to
    // run, is not called from now on. Never waits; any thread.
    static void abandon() noexcept;

    // In a forked child whose parent had a tracer, from pthread_atfork: CUPTI and its buffers stay the parent's. What
    // CUPTI calls back records nothing, and CUPTI is not called. For ever; takes no lock.
    static void leave_to_parent() noexcept;

    // The drain thread's. read_completed() reads a completed buffer into `out`, and says false if there is none; then
    // give_back(), once what was read is in the capture: until that a process that is killed still has it. A buffer
    // that came too late to be read is counted (cupti_error) and has nothing in it.
    bool read_completed(activity_batch& out);
    void give_back(const activity_batch& read) noexcept;
    // Asks CUPTI for the buffers it has completed. Not while another thread of ours asks, or attaches to CUPTI or
    // detaches from it.
    void ask_for_completed() noexcept;
    // Collects CUPTI's own count of records it dropped into the region's counters.
    void count_dropped() noexcept;

    // Another client of CUPTI's activity records was met, which has not subscribed: records went to the one or the
    // other. CUPTI is never finalized from then on. Certain once detach() was called.
    bool met_another_client() const noexcept;

    // A module of kernels that can launch kernels was loaded while a tracer of this process was attached.
    static bool kernels_may_launch() noexcept;

    const std::string& problem() const noexcept { return problem_; }
    const cupti_library& library() const noexcept { return cupti_; }
    // The clocks now, CUPTI's among them while it is attached. Any thread.
    clock_snapshot snapshot() noexcept;

private:
    std::string subscribe() noexcept;
    CUptiResult switch_callback(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, bool on) noexcept;
    CUptiResult switch_call(const launch_call& call, bool on) noexcept;
    bool hears(const launch_call& call) const noexcept;
    void switch_graph_nodes(bool on) noexcept;
    void stop_observing_profiler_calls() noexcept;
    static bool nobody_sleeps_in_callback() noexcept;
    static bool callbacks_are_left() noexcept;
    std::string enable(bool whole_graphs) noexcept;
    CUptiResult enable_calls() noexcept;
    CUptiResult enable_records() noexcept;
    std::string failed(const char* what, CUptiResult result) const;
    bool may_be_called() const noexcept;
    // REQUIRES: asking_ is held.
    void flush_alone(bool forced) noexcept;
    void count_dropped_alone() noexcept;
    bool finalize_alone() noexcept;

    region& region_;
    cupti_library cupti_;
    activity_buffers buffers_;
    std::string problem_;
    CUpti_SubscriberHandle subscriber_ = nullptr;  // null: not subscribed
    std::uint32_t epoch_ = 0;
    std::uint64_t since_ns_ = 0;         // when it was attached, by CUPTI's clock
    std::atomic<bool> attached_{false};  // set by the session, looked at by the drain thread
    bool observes_graphs_ = false;       // observe_graphs() was called since the subscription
    bool is_silent_ = false;             // disable() was called since the subscription
    std::optional<bool> is_left_;        // what wait_until_left() said since
    std::mutex
        asking_;  // held while CUPTI is flushed or detached from: the drain thread then keeps out, and never waits
    std::mutex reading_;  // held while a buffer is read, or CUPTI finalized: that takes kernels' names along
    std::uint64_t unreadable_until_ = 0;  // uses of buffers up to this number: CUPTI was finalized since
    activity_set what_;
    // Asked for by who begins a capture, perhaps while another thread attaches anew and says so again afterwards.
    std::atomic<bool> runtime_calls_{false};
    std::atomic<bool> whole_graphs_{false};
    bool must_not_finalize_ = false;  // whole graphs were recorded once, or the runtime's calls
};

}  // namespace prof
