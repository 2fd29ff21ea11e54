// One drain: from the rings and CUPTI's completed buffers into the capture. Belongs to one thread at a time (the drain
// thread, or a test).
//
// Order within a round: labels, rings, GPU records, each behind the names that it has; then the capture is handed to
// the kernel, and only then are the slots given back to their producers, and the buffer to CUPTI. So at any moment each
// record is in its ring or buffer or in the file, and a process that is killed loses neither.
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
    // All that is given must outlive the collector. `drops_before`: what the region had counted before the recording.
    // `memory`, if there is one, gets all that is drained, and gives the capture what came before it. With limits
    // only the latest part of the capture is kept; `said` are the properties that stand in it from the start.
    explicit collector(region& where, const drop_counts& drops_before = {}, graph_history* memory = nullptr,
                       const keep_limits& limits = {}, const property_list& said = {});

    // Before the first round. Without it nothing is recorded, and the memory, which must be there then, listens.
    void begin_capture(capture_writer& out);

    // The tracer may come while the collector runs (CUDA is initialised late). Any thread.
    void set_tracer(cupti_tracer* tracer) noexcept { tracer_.store(tracer); }

    struct round_result {
        std::uint64_t records = 0;  // moved from rings, and GPU records
        // The fullest ring, 0 … 1, as it was found; or the part of the names' room that was used up since the last
        // round.
        double fullest = 0;
    };
    round_result round();

    // Written to the capture.
    void property(const std::string& key, const std::string& value);
    // Likewise: a window begins or has ended. From its beginning on the capture knows what the memory does.
    void window(const format::window_entry& window);

    // After a round: a key frame if it is time for one; then, if it may be, what need not be kept is dropped. `now_ns`:
    // monotonic.
    void keep(std::uint64_t now_ns, bool may_trim = true);

    // What need not be written in each round: a clock snapshot, drop counts, threads' new names. Once a second or so.
    void housekeeping();

    // Where there is no capture: what CUPTI has completed is not the next one's.
    void discard_gpu_records() noexcept;

    // GPU records that CUPTI holds back come soon after. For a thread that may wait for CUPTI.
    void ask_for_gpu_records() noexcept;

    // What has been taken in so far; any thread.
    struct totals {
        std::uint64_t records = 0;  // from rings, and GPU records
        std::uint64_t bytes = 0;    // of the capture
        drop_counts dropped{};
    };
    totals so_far() const noexcept;

    // Counted, and not in the capture: it has failed. The drain thread's, or after its end.
    std::uint64_t unwritten_drops() const noexcept;

    // The last words: everything that is left, then the end chunk. REQUIRES: the gate is shut, the tracer detached.
    void finish(format::end_reason reason);

private:
    struct known_thread {
        format::thread_entry entry;  // as last written
        bool has_ended = false;      // or is known from memory alone
    };
    struct drained {
        ring_header* ring;
        ring_glance<ring_consumer<record>> found;
    };

    void take(std::uint64_t uid, std::uint64_t number, std::span<const record> records);
    void write_records(std::uint64_t uid, std::uint64_t number, std::span<const record> records);
    void emit_news();
    void tell(format::chunk_type as);
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
    void write_clock();
    void flush() noexcept;
    void note_totals(std::uint64_t more_records) noexcept;
    void describe_thread(const ring_header& ring, bool look_again);

    region& region_;
    capture_writer* out_ = nullptr;
    std::unique_ptr<graph_history> own_memory_;
    graph_history* memory_ = nullptr;  // or that of the process
    bool is_open_ = false;             // a window
    bool tells_ = false;               // in the next round at least
    std::atomic<cupti_tracer*> tracer_{nullptr};
    std::uint32_t label_cursor_ = 0;
    std::unordered_map<std::uint64_t, known_thread> threads_;   // by uid
    std::unordered_map<std::uint64_t, std::uint64_t> emitted_;  // by uid: earlier records written
    std::unique_ptr<retention> retention_;                      // null: everything is kept
    name_writer names_;
    name_recycling recycling_;
    std::uint64_t names_end_ = 0;  // after the last round
    const drop_counts drops_before_{};
    drop_counts drops_written_{};
    std::uint64_t lost_ = 0;  // of what was given to the capture
    std::atomic<std::uint64_t> records_{0};
    std::atomic<std::uint64_t> bytes_{0};
    // Kept between rounds so that a round allocates nothing once warm.
    std::vector<label> labels_;
    std::vector<drained> drained_;
    activity_batch batch_;
};

}  // namespace prof
