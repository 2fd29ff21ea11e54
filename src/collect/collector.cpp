// SPDX-License-Identifier: Apache-2.0
#include "collect/collector.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <new>
#include <string>

#include "base/clock.hpp"
#include "base/own_descriptor.hpp"
#include "capture/gpu_chunks.hpp"
#include "collect/drain_pause.hpp"

namespace prof {
namespace {

constexpr std::size_t records_at_a_time = 8192;

// Reads the present kernel name (comm) of a live thread; false if the thread is gone.
bool read_thread_name(std::uint32_t tid, std::array<char, 32>& name) noexcept {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/self/task/%u/comm", tid);
    own_descriptor file;
    file.take(open(path, O_RDONLY | O_CLOEXEC));
    std::array<char, 32> text{};
    const ssize_t bytes = read(file.get(), text.data(), text.size() - 1);
    file.close();
    if (bytes <= 0) return false;
    auto end = static_cast<std::size_t>(bytes);
    if (text[end - 1] == '\n') text[--end] = 0;
    name = text;
    return true;
}

}  // namespace

collector::collector(region& where, const drop_counts& drops_before, graph_history* history, const keep_limits& limits,
                     const property_list& written)
    : region_(where),
      history_(history),
      names_(where, [this](std::uint32_t id) { return held_name(id); }),
      recycling_(where),
      names_end_(where.passing().end()),
      drops_before_(drops_before) {
    if (limits.any()) {
        retention_ = std::make_unique<retention>(limits, written);
        // Graph captures in the trimmed part are written again in each key frame, so a history is needed.
        if (history_ == nullptr) own_history_ = std::make_unique<graph_history>(where);
        if (history_ == nullptr) history_ = own_history_.get();
    }
}

void collector::begin_capture(capture_writer& out) {
    out_ = &out;
    if (history_ != nullptr) history_->begin_capture();
    write_drops_before();
    const clock_snapshot now = clock();
    write_clock(now);
    // Without another snapshot the counter's rate is unknown if the process ends soon. A machine that was suspended may
    // have set its counter back. Between snapshots that are far apart a clock may have been set.
    constexpr std::uint64_t most_ns_between = 60'000'000'000;
    const clock_snapshot& earlier = region_.made_at();
    if (earlier.ticks < now.ticks && now.monotonic_ns - earlier.monotonic_ns < most_ns_between) {
        out_->clocks({&earlier, 1});
    }
}

// The drop counters of the mapping run on across recordings. Recovery needs their values at the start of this one.
void collector::write_drops_before() {
    std::string counts;
    for (std::size_t cause = 0; cause < drops_before_.size(); ++cause) {
        if (drops_before_[cause] == 0) continue;
        if (!counts.empty()) counts += ' ';
        counts += std::to_string(cause) + ':' + std::to_string(drops_before_[cause]);
    }
    if (counts.empty()) return;
    property("drops_before", counts);
    flush();  // so that recovery finds it even if the process dies at once
}

void collector::property(const std::string& key, const std::string& value) {
    const std::uint64_t position = out_->position();
    out_->property(key, value);
    if (retention_ != nullptr) retention_->note_property(key, value, position);
}

void collector::window(const format::window_entry& window) {
    out_->window(window);
    if (retention_ != nullptr) retention_->note_window(window);
    is_open_ = window.end_ticks == 0;
    emits_history_ = emits_history_ || is_open_;
}

collector::round_result collector::round() {
    round_result result;
    region_.extend_names();
    result.fullest = used_up_names();
    bool frees_names = false;
    try {
        frees_names = recycling_.prepare();
        drain(result);
    } catch (const std::bad_alloc&) {
        // Out of memory. Records that were not read stay in their rings for the next round.
        frees_names = false;
    }
    release_rings();
    if (frees_names) free_names();
    if (out_ != nullptr) note_totals(result.records);
    return result;
}

void collector::release_rings() {
    if (out_ != nullptr) flush();
    for (drained& d : drained_) {
        d.found.consumer.release(d.found.view.end);
        if (d.found.state == ring_state::retired) {
            // relaxed: the uid was published with the ring's state, by the thread that has ended.
            forget_thread(d.ring->thread_uid.load(std::memory_order_relaxed));
            region_.free_ring(*d.ring);
        }
    }
    drained_.clear();
}

void collector::forget_thread(std::uint64_t uid) {
    if (history_ != nullptr) history_->end_thread(uid, ticks_now());
    if (retention_ == nullptr) {
        threads_.erase(uid);
        return;
    }
    // A key frame may still have to describe the thread, since other threads may end ranges that it started.
    retention_->open().end_thread(uid);
    if (const auto known = threads_.find(uid); known != threads_.end()) known->second.has_ended = true;
}

void collector::drain(round_result& result) {
    if (out_ != nullptr) {
        write_labels(label_cursor_);
    }
    drain_rings(result);
    if (history_ != nullptr) emit_history();
    if (out_ != nullptr) drain_gpu(result);
}

// Records that a failed capture does not accept are counted in the region, where the count outlives the process. This
// happens before their slots are released.
void collector::flush() noexcept {
    out_->flush();
    const std::uint64_t lost = out_->records_lost();
    if (lost != lost_) region_.count_drop(drop_cause::write_failed, lost - lost_);
    lost_ = lost;
}

void collector::note_totals(std::uint64_t more_records) noexcept {
    // relaxed: statistics only.
    records_.fetch_add(more_records, std::memory_order_relaxed);
    bytes_.store(out_->bytes_written(), std::memory_order_relaxed);
}

collector::totals collector::so_far() const noexcept {
    totals out{.records = records_.load(std::memory_order_relaxed),
               .bytes = bytes_.load(std::memory_order_relaxed),
               .dropped = region_.drops()};
    for (std::size_t i = 0; i < out.dropped.size(); ++i) out.dropped[i] -= drops_before_[i];
    return out;
}

// A thread may have passed the gate before the window began and write its record afterwards. So this is repeated in
// each round while a window is open, and after it until nothing is pending.
void collector::emit_history() {
    history_->end_round();
    if (out_ == nullptr || !emits_history_) return;
    emits_history_ = is_open_ || history_->expects_more();
    if (history_->has_unemitted() && !history_->expects_more()) write_history(format::chunk_type::graph_context);
}

// Writes what the graph history has and the capture lacks.
void collector::write_history(format::chunk_type as) {
    history_->emit([&](const format::thread_entry& thread, std::span<const record> section) {
        if (threads_.try_emplace(thread.uid, known_thread{thread, true}).second) out_->thread(thread);
        names_.use(section);
        names_.write(*out_);
        std::uint64_t& number = emitted_[thread.uid];
        out_->graph_context(thread.uid, number, section, as);
        number += section.size();
    });
    constexpr std::size_t few = 64;
    if (emitted_.size() > few + 2 * history_->thread_count()) {
        std::erase_if(emitted_, [this](const auto& thread) { return !history_->keeps_thread(thread.first); });
    }
}

// The text of a freed name, from the part that keeps records with it.
std::string_view collector::held_name(std::uint32_t id) const {
    const std::string_view open = retention_ != nullptr ? retention_->open().held_name(id) : std::string_view{};
    return open.empty() && history_ != nullptr ? history_->held_name(id) : open;
}

// As a share of the free memory for names. The factor 2: at least half of the arena is free after each round.
double collector::used_up_names() noexcept {
    const std::uint64_t end = region_.passing().end();
    const double bytes = static_cast<double>(end - names_end_);
    names_end_ = end;
    return 2 * bytes / static_cast<double>(region_.passing().arena_bytes());
}

// Called when no record in a ring uses these names any more.
void collector::free_names() {
    try {
        if (retention_ != nullptr) retention_->open().hold_names(region_, recycling_.to());
        if (history_ != nullptr) history_->hold_names(recycling_.to());
    } catch (const std::bad_alloc&) {
        // Out of memory: a text that is not held is counted as names_full when a record needs it.
    }
    names_.forget(recycling_.from(), recycling_.to());
    recycling_.finish();
}

void collector::write_labels(std::uint32_t& cursor) {
    labels_.clear();
    // `cursor` moves only at the end, so that no label is skipped when an allocation throws.
    std::uint32_t next = cursor;
    for (label l; region_.label_at(next, l); ++next) labels_.push_back(l);
    for (const label& l : labels_) names_.use(l.name);
    names_.write(*out_);
    if (!labels_.empty()) out_->labels(labels_);
    cursor = next;
}

void collector::describe_thread(const ring_header& ring, bool rereads_name) {
    // acquire: name and tid were written before the uid.
    const std::uint64_t uid = ring.thread_uid.load(std::memory_order_acquire);
    if (uid == 0) return;  // the ring is being claimed right now
    const auto [known, is_new] = threads_.try_emplace(uid);
    known->second.has_ended = false;
    if (!is_new && !rereads_name) return;
    format::thread_entry& entry = known->second.entry;
    const auto before = entry.name;
    entry.uid = uid;
    // relaxed: ordered by the load of the uid.
    entry.tid = ring.tid.load(std::memory_order_relaxed);
    // Read the present name, since a pool may name its threads after their first range. Checked before and after: once
    // a thread has ended, its tid may belong to another thread.
    const auto lives = [&] {
        return ring.state.load(std::memory_order_relaxed) == static_cast<std::uint32_t>(ring_state::claimed) &&
               ring.thread_uid.load(std::memory_order_relaxed) == uid;
    };
    std::array<char, 32> name{};
    if (lives() && read_thread_name(entry.tid, name) && lives()) {
        entry.name = name;
    } else if (is_new) {
        entry.name = ring.name;
    }
    if (!is_new && entry.name == before) return;
    if (out_ != nullptr) out_->thread(entry);
    if (history_ != nullptr) history_->describe(entry);
}

// Stretches that are observed only go to the graph history. Of each, the capture gets just the window record at its
// start.
void collector::take(std::uint64_t uid, std::uint64_t number, std::span<const record> records) {
    if (history_ == nullptr) return write_records(uid, number, records);
    const auto is_window = [](const record& r) { return r.kind == record_kind::window; };
    bool observed_only = history_->observed_only(uid);
    while (!records.empty()) {
        const bool begins = is_window(records.front());
        if (begins) observed_only = is_observed_only(records.front().value);
        const auto end = std::find_if(records.begin() + 1, records.end(), is_window);
        const auto stretch = records.first(static_cast<std::size_t>(end - records.begin()));
        if (out_ != nullptr && (begins || !observed_only))
            write_records(uid, number, observed_only ? stretch.first(1) : stretch);
        history_->observe(uid, stretch, !observed_only);
        number += stretch.size();
        records = records.subspan(stretch.size());
    }
}

void collector::write_records(std::uint64_t uid, std::uint64_t number, std::span<const record> records) {
    while (!records.empty()) {
        const auto some = records.first(std::min(records.size(), records_at_a_time));
        names_.use(some);
        names_.write(*out_);
        out_->records(uid, number, some);
        if (retention_ != nullptr) retention_->note_records(uid, number, some);
        number += some.size();
        records = records.subspan(some.size());
    }
}

void collector::drain_rings(round_result& result) {
    const std::span<ring_header> rings = region_.rings();
    // If there is no memory for this, nothing is drained: a ring whose records were written is always released.
    drained_.reserve(rings.size());
    for (ring_header& ring : rings) {
        const auto found = glance<record>(ring, region_.slots(ring));
        const auto& view = found.view;
        if (found.state == ring_state::free) continue;
        result.has_small_ring |= found.state != ring_state::retired && ring.capacity < small_ring_slots;
        if (view.size() == 0 && found.state != ring_state::retired) continue;
        if (view.size() != 0) {
            describe_thread(ring, false);
            // relaxed: the thread that wrote these records wrote the uid before them.
            const std::uint64_t uid = ring.thread_uid.load(std::memory_order_relaxed);
            std::uint64_t number = view.begin;
            for (const std::span<const record> part : {view.first, view.second}) {
                take(uid, number, part);
                number += part.size();
            }
        }
        result.records += view.size();
        result.fullest = std::max(result.fullest, static_cast<double>(view.size()) / ring.capacity);
        drained_.push_back({&ring, found});
    }
    if (retention_ != nullptr) retention_->open().end_round();
}

void collector::drain_gpu(round_result& result) {
    cupti_tracer* tracer = tracer_.load();
    if (tracer == nullptr) return;
    do {
        batch_.clear();
        if (!tracer->read_completed(batch_)) return;
        for (const kernel_record& kernel : batch_.kernels) names_.use(kernel.name);
        for (const device_record& device : batch_.devices) names_.use(device.name);
        names_.write(*out_);
        out_->gpu(batch_, batch_.number);
        flush();
        std::uint64_t count = 0;
        batch_.for_each([&]<typename TRecord>(const std::vector<TRecord>& records) {
            if (gpu_chunk<TRecord>::is_work) count += records.size();
        });
        if (retention_ != nullptr) {
            retention_->note_gpu_records(count);
            retention_->note_devices(batch_.devices);
        }
        tracer->give_back(batch_);
        result.records += count;
    } while (true);
}

clock_snapshot collector::clock() noexcept {
    cupti_tracer* tracer = tracer_.load();
    return tracer != nullptr ? tracer->snapshot() : take_clock_snapshot(nullptr);
}

void collector::write_clock(const clock_snapshot& now) {
    out_->clocks({&now, 1});
    if (retention_ != nullptr) retention_->note_clock(now);
}

void collector::write_drops(bool changed_only) {
    if (out_->failed()) return;
    std::vector<std::pair<drop_cause, std::uint64_t>> changed;
    const auto now = region_.drops();
    for (std::size_t i = 0; i < now.size(); ++i) {
        const std::uint64_t count = now[i] - drops_before_[i];
        if (count == (changed_only ? drops_written_[i] : 0)) continue;
        drops_written_[i] = count;
        changed.emplace_back(static_cast<drop_cause>(i), count);
    }
    if (!changed.empty()) out_->drops(changed);
}

std::uint64_t collector::unwritten_drops() const noexcept {
    const auto now = region_.drops();
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < now.size(); ++i) {
        if (i == static_cast<std::size_t>(drop_cause::write_failed)) continue;  // counted in the region by flush()
        sum += now[i] - drops_before_[i] - drops_written_[i];
    }
    return sum;
}

void collector::housekeeping() {
    for (const ring_header& ring : region_.rings()) {
        // relaxed: a thread that is missed here is described together with its records.
        if (ring.state.load(std::memory_order_relaxed) == static_cast<std::uint32_t>(ring_state::claimed)) {
            const std::uint64_t uid = ring.thread_uid.load(std::memory_order_relaxed);
            if (threads_.contains(uid)) describe_thread(ring, true);
        }
    }
    if (out_ == nullptr) return;
    if (cupti_tracer* tracer = tracer_.load()) tracer->count_dropped();
    write_clock(clock());
    write_drops(true);
    flush();
}

void collector::ask_for_gpu_records() noexcept {
    if (cupti_tracer* tracer = tracer_.load()) tracer->ask_for_completed();
}

void collector::discard_gpu_records() noexcept {
    cupti_tracer* const tracer = tracer_.load();
    try {
        while (tracer != nullptr && tracer->read_completed(batch_)) {
            tracer->give_back(batch_);
            batch_.clear();
        }
    } catch (const std::bad_alloc&) {
        // Out of memory.
    }
}

void collector::finish(format::end_reason reason) {
    while (round().records != 0) {
    }
    if (out_ == nullptr) return;
    housekeeping();
    out_->end(reason);
    flush();
    note_totals(0);
}

}  // namespace prof
