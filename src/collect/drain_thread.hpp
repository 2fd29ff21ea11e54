// The one thread of ours in the process: makes the capture, then drains in rounds, as often as the load asks for, until
// finish() is called. It blocks every signal that others send (helper_thread.hpp).
//
// Whatever the storage does is waited for on this thread. Until the capture is made all is as with a disk that does not
// answer later: what finds no room in rings and buffers is counted there.
#pragma once

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/disk_watch.hpp"
#include "capture/format.hpp"
#include "capture/writer.hpp"
#include "collect/collector.hpp"

namespace prof {

class drain_thread {
public:
    // Called once, on the drain thread. Where it throws there is no capture, and nothing is drained.
    using capture_maker = std::function<std::unique_ptr<capture_writer>()>;

    // Throws prof::error if there can be no thread. The rest as collector's. Without `make` nothing is recorded, and it
    // listens: then there is a memory.
    drain_thread(region& where, capture_maker make, const drop_counts& drops_before, graph_history* memory = nullptr,
                 const keep_limits& limits = {}, const property_list& said = {});
    ~drain_thread();  // REQUIRES: finish() was called
    drain_thread(const drain_thread&) = delete;
    drain_thread& operator=(const drain_thread&) = delete;

    // A window is about to begin.
    void set_tracer(cupti_tracer* tracer) noexcept;

    // Returns when the capture is made or cannot be; false if that takes longer. Any thread.
    bool await_capture(std::chrono::milliseconds longest);
    // The same, however long it takes; false if the disk has not answered a call for as long as `patience`.
    bool await_capture_while_disk_answers(std::chrono::nanoseconds patience);
    // Why there is no capture, in one line; "" while it is being made and once it is. Any thread.
    std::string making_problem();

    // Written to the capture in the next round. Any thread.
    void set_property(const std::string& key, const std::string& value);

    // Likewise: a window began or ended.
    void set_window(const format::window_entry& window);

    // Nothing is recorded until the next set_tracer() or set_window(): it looks once a second. What is there all the
    // same (a record that was under way) has so long, a sync() has not.
    void rest();

    // What the capture has so far. Any thread, also after finish().
    collector::totals so_far() const noexcept { return collector_.so_far(); }

    // Returns when everything that was in rings and queue at the call is in the file, or cannot come there: the disk is
    // full, or has not answered a call for as long as `patience`. Any thread.
    enum class sync_result : std::uint8_t { done, full, no_answer };
    sync_result sync(std::chrono::nanoseconds patience = for_ever);
    // As sync(), for who cannot come back later: where the disk is full, the capture ends there. False: no answer.
    bool sync_at_last(std::chrono::nanoseconds patience = for_ever);
    static constexpr std::chrono::nanoseconds for_ever = std::chrono::nanoseconds::max();

    // What the thread spends in calls to the storage. Any thread.
    const disk_watch& disk() const noexcept { return disk_; }

    // Writes what the capture has now, with all that was recorded before the call, as one of its own, which says why
    // (`reason`, one line). Recording goes on, and nothing is dropped meanwhile. Throws prof::error: then there is no
    // such file. `path` must be none yet. Any thread of ours: it takes as long as copying the file does.
    void dump(const std::string& path, const std::string& reason);

    // Drains what is left, closes the capture with `reason`, ends the thread. Returns why the capture lacks something;
    // "" if it has all.
    std::string finish(format::end_reason reason);
    // If the thread waits for its next round, the calling thread does its work from now on, in sync_at_last() and
    // finish(). Nobody else may ask for anything then. False: all is as before.
    bool take_over();

    // Before one of the two: whether that would not wait for ever. False if the disk has not answered a call for as
    // long as `patience`: then neither may be called, and the object has to stay.
    bool is_finished(format::end_reason reason, std::chrono::nanoseconds patience);
    // The same, but that the thread may be about to end still: the object has to stay. A thread that ends gives memory
    // back, and waits for the allocator.
    std::string close(format::end_reason reason);

private:
    static void* enter(void* self) noexcept;
    void run() noexcept;
    void ask_to_finish(format::end_reason reason);
    std::string shortcoming();
    bool make_capture() noexcept;
    void note_making_problem(std::string_view problem) noexcept;
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
    std::unique_ptr<capture_writer> out_;  // the drain thread's, and after is_made_ whoever asks for a dump's
    collector collector_;
    std::recursive_mutex front_;  // held while the capture's front must stay where it is, or is dropped
    pthread_t thread_{};
    disk_watch disk_;

    std::mutex mutex_;
    std::condition_variable wake_;
    std::condition_variable synced_;
    std::condition_variable made_;
    bool is_made_ = false;  // or cannot be
    std::string making_problem_;
    std::uint64_t syncs_wanted_ = 0;
    std::uint64_t syncs_done_ = 0;
    struct synced_state {
        capture_extent extent;
        bool has_end = false;  // the capture is closed, and the thread at its end
        std::string failure;   // of the writer
    };
    synced_state synced_state_;  // at the latest of them
    bool waits_ = false;         // for the next round
    bool is_relieved_ = false;   // by take_over()
    bool rests_ = false;
    bool finish_ = false;
    bool ends_where_full_ = false;
    bool is_full_ = false;              // the disk, and the drain thread waits
    std::uint64_t first_full_ns_ = 0;   // by CLOCK_REALTIME
    std::uint64_t latest_full_ns_ = 0;  // since when it is, by CLOCK_MONOTONIC
    std::uint64_t full_ns_ = 0;         // in all
    property_list properties_;
    std::vector<format::window_entry> windows_;
    format::end_reason reason_ = format::end_reason::none;
};

}  // namespace prof
