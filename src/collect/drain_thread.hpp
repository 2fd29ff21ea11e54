// SPDX-License-Identifier: Apache-2.0
// libprof's own thread that owns the recording's capture: it creates the file, then drains in rounds until finish() is
// called. The pause between rounds follows the load. The thread blocks every signal that is sent from outside
// (base/helper_thread.hpp).
//
// This thread, and no thread of the program, waits for the storage. While it creates the capture or waits for a disk
// that does not answer, nothing is drained: records that find no room in rings and buffers are counted there as
// dropped.
#pragma once

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/disk_watch.hpp"
#include "base/outcome.hpp"
#include "capture/format.hpp"
#include "capture/writer.hpp"
#include "collect/collector.hpp"
#include "record/keep_limits.hpp"

namespace prof {

class drain_thread {
public:
    // Called once, on the drain thread. If it throws, there is no capture and nothing is drained.
    using capture_maker = std::function<std::unique_ptr<capture_writer>()>;

    // Throws prof::error if the thread cannot be created. The other parameters are the collector's. Without `make`
    // nothing is recorded, and the thread only feeds the graph history (REQUIRES then: `history` is not null).
    drain_thread(region& where, capture_maker make, const drop_counts& drops_before, graph_history* history = nullptr,
                 const keep_limits& limits = {}, const property_list& written = {});
    ~drain_thread();  // REQUIRES: finish() or close() was called
    drain_thread(const drain_thread&) = delete;
    drain_thread& operator=(const drain_thread&) = delete;

    // Call when a window is about to begin: also ends rest().
    void set_tracer(cupti_tracer* tracer) noexcept;

    // Waits until the capture is created or its creation has failed; false after `longest`. Any thread.
    bool await_capture(std::chrono::milliseconds longest);
    // The same without a time limit; false if one call to the storage has been pending for as long as `patience`. Any
    // thread.
    bool await_capture_while_disk_answers(std::chrono::nanoseconds patience);
    // Why there is no capture; ok during its creation and after success. Any thread.
    outcome creation();

    // Writes a property to the capture in the next round. Any thread.
    void set_property(const std::string& key, const std::string& value);

    // The same for a text of the program's; its key has format::text_prefix. Fails if the capture cannot take it:
    // because it could not be written, or because too many texts wait for the disk, or have to be kept (keep_limits).
    outcome keep_text(const std::string& key, const std::string& text);

    // Writes the beginning or the end of a window in the next round, and ends rest(). Any thread.
    void set_window(const format::window_entry& window);

    // Call when nothing is recorded until the next set_tracer() or set_window(): the rounds are then one second apart.
    // A record that was being written at the call may wait that long to be drained; sync() still takes effect at once.
    // Any thread.
    void rest();

    // The totals of the capture so far. Any thread, also after finish().
    collector::totals so_far() const noexcept { return collector_.so_far(); }

    // Waits until everything that was in rings and in CUPTI's buffers at the call, and has completed, is in the file.
    // Returns early if the disk is full, or if one call to the storage has been pending for as long as `patience`. Any
    // thread.
    enum class sync_result : std::uint8_t { done, full, no_answer };
    sync_result sync(std::chrono::nanoseconds patience = for_ever);
    // As sync(), for a caller that has no later chance: if the disk is full, the capture ends there. False if the
    // storage did not answer within `patience`.
    bool sync_at_last(std::chrono::nanoseconds patience = for_ever);
    static constexpr std::chrono::nanoseconds for_ever = std::chrono::nanoseconds::max();

    // The time that the drain thread spends in calls to the storage. Any thread.
    const disk_watch& disk() const noexcept { return disk_; }

    // Writes a dump: a copy of the capture so far, with everything recorded before the call, as a capture of its own
    // with the property `dump` = `reason` (one line). Recording goes on, and nothing is trimmed meanwhile. Throws
    // prof::error, and then leaves no file. `path` must not exist. Costs the time to copy the file. Call on any of
    // libprof's own threads.
    void dump(const std::string& path, const std::string& reason);

    // Drains what is left, closes the capture with `reason`, and ends the thread. Ok if the capture is complete.
    outcome finish(format::end_reason reason);
    // If the drain thread waits for its next round, the calling thread takes its place: sync_at_last() and finish()
    // then do the work on the calling thread. No other thread may use the object after that. False: nothing has
    // changed.
    bool take_over();

    // Ends the thread until resume(), with all that was recorded until now in the file. False, with nothing changed:
    // the disk is full, or one call to it has been pending for as long as `patience`. While the thread rests finish()
    // works on the calling thread, and other functions wait for resume(). REQUIRES: no other thread uses the object.
    bool rest_thread(std::chrono::nanoseconds patience);
    // Makes the thread again. False: there can be none.
    bool resume();

    // Call before finish() or close(): true if that call will not wait for ever. False if one call to the storage has
    // been pending for as long as `patience`; then neither may be called, and the object must not be destroyed.
    bool is_finished(format::end_reason reason, std::chrono::nanoseconds patience);
    // As finish(), but does not join the thread, which may still be about to end. So the object must not be destroyed.
    // For a caller that must not wait for the allocator: a thread that ends frees memory and may block there.
    outcome close(format::end_reason reason);

private:
    static void* enter(void* self) noexcept;
    void run() noexcept;
    void ask_to_finish(format::end_reason reason);
    outcome completeness();
    bool make_capture() noexcept;
    void note_creation_failure(std::string_view reason) noexcept;
    void drain_to_the_end();
    bool rounds();
    void write_notes();
    bool wait_for_room();
    void note_room();
    void note_sync(bool has_end);
    void go_on();
    void write_last_words();
    template <typename TCondition>
    bool wait_for_disk(std::unique_lock<std::mutex>& lock, std::chrono::nanoseconds patience, TCondition&& is_over);

    const capture_maker make_;
    std::unique_ptr<capture_writer> out_;  // used by the drain thread; after is_made_ also read by dump()
    collector collector_;
    std::recursive_mutex front_;  // held while the capture's front must not move, or is trimmed
    pthread_t thread_{};
    disk_watch disk_;

    std::mutex mutex_;
    std::condition_variable wake_;
    std::condition_variable synced_;
    std::condition_variable made_;
    bool is_made_ = false;          // true also if creation failed
    std::string creation_failure_;  // "" unless creation failed
    std::uint64_t syncs_wanted_ = 0;
    std::uint64_t syncs_done_ = 0;
    bool syncs_gpu_records_ = false;  // the next round asks CUPTI for its completed buffers first
    struct synced_state {
        capture_extent extent;
        bool has_end = false;  // the capture is closed, and the thread is at its end
        std::string failure;   // the writer's failure()
    };
    synced_state synced_state_;  // as of the latest sync
    bool waits_ = false;         // waits for the next round
    bool is_relieved_ = false;   // take_over() succeeded, or the thread rests
    bool has_thread_ = true;     // to be joined or detached
    bool leaves_ = false;        // rest_thread() asks the thread to end
    bool has_left_ = false;      // it is at its end for that
    bool rests_ = false;
    bool finish_ = false;
    bool ends_where_full_ = false;
    bool is_full_ = false;              // the disk is full, and the drain thread waits for room
    std::uint64_t first_full_ns_ = 0;   // CLOCK_REALTIME
    std::uint64_t latest_full_ns_ = 0;  // start of the present wait, CLOCK_MONOTONIC
    std::uint64_t full_ns_ = 0;         // all such waits together
    property_list properties_;
    std::vector<format::window_entry> windows_;
    const keep_limits limits_;
    bool has_failed_ = false;                    // the capture cannot be written any more
    std::uint64_t waiting_bytes_ = 0;            // of texts in properties_
    std::uint64_t kept_bytes_ = 0;               // of texts that are to be kept, if there are limits
    std::map<std::string, std::uint64_t> kept_;  // their sizes, with their keys
    format::end_reason reason_ = format::end_reason::none;
};

}  // namespace prof
