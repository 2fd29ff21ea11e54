// SPDX-License-Identifier: Apache-2.0
// libprof's one CUPTI client: it owns the subscription, the callbacks at CUDA calls and the activity records.
//
// Threads: one thread at a time calls attach(), flush() and detach(). It never calls them from a CUPTI callback, and
// never while it holds a lock that a callback may need.
//
// Cost: CUPTI runs the callbacks on the application's threads, so they are the hot path. They read the clock once and
// write one ring record at the entry and at the exit of each launching call, and for each new node of a CUDA graph
// (graph_nodes.hpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/outcome.hpp"
#include "hooks/cupti/activity.hpp"
#include "hooks/cupti/buffers.hpp"
#include "hooks/cupti/cupti_library.hpp"
#include "record/activities.hpp"
#include "record/launch_calls.hpp"
#include "ring/region.hpp"

namespace prof {

struct tracer_options {
    std::string library;                  // PROF_CUPTI_LIBRARY
    std::vector<std::string> toolkits{};  // folders to search for libcupti
    std::function<bool()> may_call{};     // asked when libcupti is loaded; false: none of its functions is called
    std::size_t buffer_bytes = 1U << 20;
    std::uint32_t buffer_count = 20;
};

class cupti_tracer {
public:
    // Opens libcupti. If that fails, library_opened() is the failure and the tracer does nothing.
    cupti_tracer(region& where, const tracer_options& options);
    ~cupti_tracer() = default;  // REQUIRES: detached
    cupti_tracer(const cupti_tracer&) = delete;
    cupti_tracer& operator=(const cupti_tracer&) = delete;

    // Starts recording the activities `activities` under the epoch `epoch`. After a failure nothing is attached, and
    // CUPTI is as it was before the call.
    //
    // `whole_graphs`: a launch of a CUDA graph becomes one record, if this CUPTI supports that. REQUIRES: no graph was
    // instantiated before in this process; otherwise the next launch of that graph crashes.
    //
    // `runtime_calls`: calls of the CUDA runtime are recorded. Otherwise the driver call inside each of them is
    // recorded; it has the same correlation id and costs the launching thread far less (docs/reference/overhead.md).
    // REQUIRES: CUPTI may stay in the process, because it is not finalized from then on. The reason: when a callback is
    // switched on or off while its runtime call is under way, CUPTI may leave a hook in the runtime. After a finalize
    // that hook would write to memory that CUPTI has freed (docs/internals/reliability.md).
    //
    // `memory_calls`: what calls do with CUDA's own memory is recorded (memory_calls.hpp), if calls that allocate are.
    outcome attach(std::uint32_t epoch, activity_set activities = activity_set::all(), bool whole_graphs = false,
                   bool runtime_calls = false, bool memory_calls = false) noexcept;

    // Calls `on_call` for cudaProfilerStart (true) and cudaProfilerStop (false), inside the call, on the thread that
    // makes it. Nothing else is observed. attach() keeps this running, and detach() ends it. `on_call` may call
    // attach() and stop_recording(). It must not wait for a thread that is in another function of this class. While
    // `on_call` waits for something else, detach() does not finalize CUPTI.
    outcome observe_profiler_calls(void (*on_call)(bool starts) noexcept) noexcept;

    // Observes new nodes of CUDA graphs and the calls that begin a graph capture: the events that are needed even while
    // nothing is recorded. As with observe_profiler_calls(), attach() keeps this running and detach() ends it.
    outcome observe_graphs() noexcept;

    // The correlation id of the latest call that was made while this was attached but was not recorded; 0 if there is
    // none.
    static std::uint32_t last_unrecorded_call() noexcept;
    bool attached() const noexcept { return attached_.load(); }
    bool records_whole_graphs() const noexcept { return whole_graphs_; }
    bool records_runtime_calls() const noexcept { return runtime_calls_; }

    // Asks CUPTI to hand over its completed buffers. `forced`: all buffers, including records that have not ended.
    void flush(bool forced) noexcept;

    // First half of detach(). From here on new GPU work is not recorded, while launches still are. The caller shuts the
    // gate before it calls detach(), so that launches and GPU records stay matched.
    void stop_recording() noexcept;

    // Stops recording, switches the callbacks off and flushes. Afterwards CUPTI has no more records. The completed
    // buffers must be read before detach() finalizes CUPTI, because the kernel names in them are CUPTI's memory.
    void disable() noexcept;

    // Call it after disable(). Waits until no thread can still be in a callback. Then flushes again, since a thread
    // that was in one may have added a record or a buffer. Returns false, perhaps at once, if CUPTI must not be
    // finalized. Only the first call waits; later calls return the same result until detach().
    bool wait_until_left() noexcept;

    // Does what disable() does, then gives up the subscription. `finalize` also removes CUPTI from the process, after
    // wait_until_left(); only that ends CUPTI's cost on each launch. CUPTI is not finalized once whole graphs were
    // recorded, because their next launch would crash, nor once runtime calls were. At process exit do not pass
    // `finalize`: the driver may be half shut down.
    void detach(bool finalize) noexcept;

    // Whether this thread is inside a recorded CUDA call, or is a thread on which CUPTI hands over buffers. Such a
    // thread may hold what other threads wait for in these functions.
    static bool is_in_call() noexcept;

    // For a process that exits without waiting for a thread in one of these functions. From now on libprof does not
    // call CUPTI, whose exit handlers are about to run. Never waits; any thread.
    static void abandon() noexcept;

    // For a forked child whose parent had a tracer; called from pthread_atfork. CUPTI and its buffers stay the
    // parent's. From now on callbacks record nothing in the child, and libprof does not call CUPTI there. Takes no
    // lock.
    static void leave_to_parent() noexcept;

    // For the drain thread. read_completed() reads one completed buffer into `out`, and returns false if there is none.
    // Call give_back() once its records are in the capture: until then they can be recovered if the process is killed.
    // A buffer that was completed too late to be read yields no records and is counted as cupti_error.
    bool read_completed(activity_batch& out);
    void give_back(const activity_batch& read) noexcept;
    // Gives back completed buffers unread. REQUIRES: no drain thread reads them.
    void discard_completed() noexcept;
    // Asks CUPTI for the buffers that it has completed. Does nothing while another libprof thread flushes CUPTI or
    // detaches from it, or before attach() has finished.
    void ask_for_completed() noexcept;
    // Adds CUPTI's own count of dropped records to the region's counters.
    void count_dropped() noexcept;

    // Whether another client of CUPTI's activity records was found that has no subscription. Records then went to one
    // client or the other, and CUPTI is never finalized from then on. The answer is certain once detach() was called.
    bool met_another_client() const noexcept;

    // Whether a module whose kernels can launch kernels was loaded while a tracer of this process was attached.
    static bool kernels_may_launch() noexcept;

    const outcome& library_opened() const noexcept { return library_opened_; }
    const cupti_library& library() const noexcept { return cupti_; }
    // The driver's functions, which were looked up when this subscribed first.
    const driver_functions& driver() const noexcept { return driver_; }
    // Reads all clocks, including CUPTI's while it is attached. Any thread.
    clock_snapshot snapshot() noexcept;

private:
    outcome subscribe() noexcept;
    CUptiResult switch_callback(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, bool on) noexcept;
    CUptiResult switch_call(const launch_call& call, bool on) noexcept;
    bool observes_domain_of(const launch_call& call) const noexcept;
    void switch_graph_nodes(bool on) noexcept;
    void stop_observing_profiler_calls() noexcept;
    static std::uint64_t entered_callbacks() noexcept;
    static bool nobody_is_in_callback() noexcept;
    bool callbacks_are_left() noexcept;
    outcome enable(bool whole_graphs) noexcept;
    CUptiResult enable_calls() noexcept;
    CUptiResult enable_records() noexcept;
    outcome failed(const char* action, CUptiResult result) const;
    bool may_be_called() const noexcept;
    // REQUIRES: asking_ is held.
    void flush_alone(bool forced) noexcept;
    void count_dropped_alone() noexcept;
    bool finalize_alone() noexcept;

    region& region_;
    cupti_library cupti_;
    driver_functions driver_;
    activity_buffers buffers_;
    outcome library_opened_;
    CUpti_SubscriberHandle subscriber_ = nullptr;  // null: not subscribed
    std::uint32_t epoch_ = 0;
    std::uint64_t since_ns_ = 0;           // when it was attached, on CUPTI's clock
    std::atomic<bool> attached_{false};    // set by the session, read by the drain thread
    bool observes_graphs_ = false;         // observe_graphs() was called since the subscription
    bool is_disabled_ = false;             // disable() was called since the subscription
    std::optional<bool> is_left_;          // the result of wait_until_left() since then
    std::uint64_t entered_when_left_ = 0;  // entered_callbacks() when all callbacks were left
    // Held while CUPTI is flushed or detached from. The drain thread then skips its call and never waits.
    std::mutex asking_;
    // Held while a buffer is read or CUPTI is finalized, because finalizing frees the kernel names.
    std::mutex reading_;
    std::uint64_t unreadable_until_ = 0;  // buffer uses up to this number cannot be read: CUPTI was finalized since
    activity_set activities_;
    // Read by the thread that begins a capture, perhaps while another thread attaches again. That thread then sets the
    // capture's properties once more.
    std::atomic<bool> runtime_calls_{false};
    std::atomic<bool> whole_graphs_{false};
    bool must_not_finalize_ = false;  // whole graphs or runtime calls were recorded once
};

}  // namespace prof
