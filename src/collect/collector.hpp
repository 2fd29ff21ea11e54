// SPDX-License-Identifier: Apache-2.0
// Drains the rings and CUPTI's completed buffers into the capture, one round at a time. Used by one thread at a time:
// the drain thread, or a test. Functions marked "any thread" are the exception.
//
// Order within a round: labels, then the rings, then GPU records; each is preceded by the names that it uses. Then the
// capture is flushed to the kernel. Only after that are the slots released to their producers and the buffers returned
// to CUPTI. So at any moment each record is in its ring, in its buffer or in the file, and killing the process loses
// none.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "capture/writer.hpp"
#include "collect/history/graph_history.hpp"
#include "collect/history/retention.hpp"
#include "collect/name_writer.hpp"
#include "hooks/cupti/tracer.hpp"
#include "ring/name_recycling.hpp"
#include "ring/region.hpp"

namespace prof {

class collector {
public:
    // All arguments must outlive the collector.
    // - `drops_before`: the region's drop counts at the start of this recording.
    // - `history`: may be null; observes everything that is drained, and provides what a capture lacks from before it
    //   began.
    // - `limits`: if any is set, only the latest part of the capture is kept.
    // - `written`: the properties that the capture already contains at its start.
    explicit collector(region& where, const drop_counts& drops_before = {}, graph_history* history = nullptr,
                       const keep_limits& limits = {}, const property_list& written = {});

    // Call before the first round. Without a capture nothing is recorded and the collector only feeds the graph history
    // (REQUIRES then: `history` is not null).
    void begin_capture(capture_writer& out);

    // May be called while the collector runs, since CUDA may be initialised late. Any thread.
    void set_tracer(cupti_tracer* tracer) noexcept { tracer_.store(tracer); }

    struct round_result {
        std::uint64_t records = 0;  // records taken from rings, plus GPU records
        // How full the fullest ring was when it was read, 0 … 1; or, if larger, the share of the free name memory that
        // was used up since the previous round.
        double fullest = 0;
        bool has_small_ring = false;  // of a living thread: fewer slots than small_ring_slots
    };
    round_result round();

    // Writes a property to the capture.
    void property(const std::string& key, const std::string& value);
    // Writes the beginning or the end of a window to the capture. From the beginning of a window on, rounds also write
    // what the graph history has and the capture lacks.
    void window(const format::window_entry& window);

    // Call after a round. Writes a key frame if one is due, then trims the capture if `may_trim`. `now_ns`:
    // CLOCK_MONOTONIC. Without limits it does nothing.
    void keep(std::uint64_t now_ns, bool may_trim = true);

    // Writes what is not needed in every round: a clock snapshot, drop counts, new names of threads. To be called about
    // once a second.
    void housekeeping();

    // For a recording without a capture: discards the completed GPU records, so that they do not enter the next
    // capture.
    void discard_gpu_records() noexcept;

    // Asks CUPTI for the records that it still holds back; they arrive shortly after. Call only on a thread that may
    // block in CUPTI.
    void ask_for_gpu_records() noexcept;

    // The totals so far. Any thread.
    struct totals {
        std::uint64_t records = 0;  // taken from rings, plus GPU records
        std::uint64_t bytes = 0;    // written to the capture
        drop_counts dropped{};
    };
    totals so_far() const noexcept;

    // Drops that are counted but missing from the capture, because the capture has failed. Call on the drain thread, or
    // after it has ended.
    std::uint64_t unwritten_drops() const noexcept;

    // Drains everything that is left, then writes the end chunk. REQUIRES: the gate is shut and the tracer is detached.
    void finish(format::end_reason reason);

private:
    struct known_thread {
        format::thread_entry entry;  // as it was last written to the capture
        bool has_ended = false;      // also true for a thread that only the graph history has described
    };
    struct drained {
        ring_header* ring;
        ring_glance<ring_consumer<record>> found;
    };

    void take(std::uint64_t uid, std::uint64_t number, std::span<const record> records);
    void write_records(std::uint64_t uid, std::uint64_t number, std::span<const record> records);
    void emit_history();
    void write_history(format::chunk_type as);
    std::string_view held_name(std::uint32_t id) const;
    double used_up_names() noexcept;
    void free_names();
    void write_labels(std::uint32_t& cursor);
    void write_key_frame(std::uint64_t now_ns);
    void settle_rings();
    void drain(round_result& result);
    void drain_rings(round_result& result);
    void release_rings();
    void forget_thread(std::uint64_t uid);
    void drain_gpu(round_result& result);
    void write_drops(bool changed_only);
    void write_drops_before();
    clock_snapshot clock() noexcept;
    void write_clock(const clock_snapshot& now);
    void flush() noexcept;
    void note_totals(std::uint64_t more_records) noexcept;
    void describe_thread(const ring_header& ring, bool rereads_name);

    region& region_;
    capture_writer* out_ = nullptr;
    std::unique_ptr<graph_history> own_history_;
    graph_history* history_ = nullptr;  // own_history_, the process's history, or null
    bool is_open_ = false;              // a window is open
    bool emits_history_ = false;        // the next round emits what the graph history has
    std::atomic<cupti_tracer*> tracer_{nullptr};
    std::uint32_t label_cursor_ = 0;
    std::unordered_map<std::uint64_t, known_thread> threads_;   // key: thread uid
    std::unordered_map<std::uint64_t, std::uint64_t> emitted_;  // key: thread uid; context records written
    std::unique_ptr<retention> retention_;                      // null: the whole capture is kept
    name_writer names_;
    name_recycling recycling_;
    std::uint64_t names_end_ = 0;  // end of the name positions after the last round
    const drop_counts drops_before_{};
    drop_counts drops_written_{};
    std::uint64_t lost_ = 0;  // records given to the capture after it failed
    std::atomic<std::uint64_t> records_{0};
    std::atomic<std::uint64_t> bytes_{0};
    // Reused between rounds, so that a round allocates nothing once it is warm.
    std::vector<label> labels_;
    std::vector<drained> drained_;
    activity_batch batch_;
};

}  // namespace prof
