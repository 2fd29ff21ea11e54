#include "collect/collector.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "record/clock.hpp"

namespace prof {
namespace {

constexpr std::size_t names_at_a_time = 4096;
constexpr std::size_t records_at_a_time = 8192;

// The kernel's name of a live thread now; false if it is gone.
bool read_thread_name(std::uint32_t tid, std::array<char, 32>& name) noexcept {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/self/task/%u/comm", tid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    std::array<char, 32> text{};
    const ssize_t bytes = read(fd, text.data(), text.size() - 1);
    close(fd);
    if (bytes <= 0) return false;
    auto end = static_cast<std::size_t>(bytes);
    if (text[end - 1] == '\n') text[--end] = 0;
    name = text;
    return true;
}

}  // namespace

collector::collector(region& where, capture_writer& out, const drop_counts& drops_before, const keep_limits& limits,
                     const property_list& said)
    : region_(where), out_(out), drops_before_(drops_before) {
    if (limits.any()) keeper_ = std::make_unique<keeper>(limits, said);
    write_drops_before();
    write_clock();
}

// The counters of the mapping go on from recording to recording, and whoever recovers them must know where this began.
void collector::write_drops_before() {
    std::string counts;
    for (std::size_t cause = 0; cause < drops_before_.size(); ++cause) {
        if (drops_before_[cause] == 0) continue;
        if (!counts.empty()) counts += ' ';
        counts += std::to_string(cause) + ':' + std::to_string(drops_before_[cause]);
    }
    if (counts.empty()) return;
    property("drops_before", counts);
    out_.flush();  // who recovers this may come at once
}

void collector::property(const std::string& key, const std::string& value) {
    out_.property(key, value);
    if (keeper_ != nullptr) keeper_->note_property(key, value);
}

void collector::window(const format::window_entry& window) {
    out_.window(window);
    if (keeper_ != nullptr) keeper_->note_window(window);
}

collector::round_result collector::round() {
    round_result result;
    region_.extend_names();
    write_names(name_cursor_);
    write_labels(label_cursor_);
    drain_rings(result);
    drain_gpu(result);
    out_.flush();
    release_rings();
    return result;
}

void collector::release_rings() {
    for (drained& d : drained_) {
        d.found.consumer.release(d.found.view.end);
        if (d.found.state == ring_state::retired) {
            // relaxed: the retired thread's claim was published with the state.
            forget_thread(d.ring->thread_uid.load(std::memory_order_relaxed));
            region_.free_ring(*d.ring);
        }
    }
    drained_.clear();
}

// A key frame may still have to name it: what it started others may end.
void collector::forget_thread(std::uint64_t uid) {
    if (keeper_ == nullptr) {
        threads_.erase(uid);
        return;
    }
    keeper_->open().end_thread(uid);
    if (const auto known = threads_.find(uid); known != threads_.end()) known->second.has_ended = true;
}

void collector::write_names(std::uint32_t& cursor) {
    std::uint32_t id = 0;
    std::string_view text;
    do {
        names_.clear();
        while (names_.size() < names_at_a_time && region_.names().next_entry(cursor, id, text)) {
            names_.emplace_back(id, text);
        }
        if (!names_.empty()) out_.names(names_);
    } while (names_.size() == names_at_a_time);
}

void collector::write_labels(std::uint32_t& cursor) {
    labels_.clear();
    for (label l; region_.label_at(cursor, l); ++cursor) labels_.push_back(l);
    if (!labels_.empty()) out_.labels(labels_);
}

void collector::describe_thread(const ring_header& ring, bool look_again) {
    // acquire: name and tid were written before the uid.
    const std::uint64_t uid = ring.thread_uid.load(std::memory_order_acquire);
    if (uid == 0) return;  // being claimed just now
    const auto [known, is_new] = threads_.try_emplace(uid);
    if (!is_new && !look_again) return;
    format::thread_entry& entry = known->second.entry;
    const auto before = entry.name;
    entry.uid = uid;
    // relaxed: ordered by the uid.
    entry.tid = ring.tid.load(std::memory_order_relaxed);
    // The name it has now: a pool may name its threads after their first range.
    if (!read_thread_name(entry.tid, entry.name) && is_new) entry.name = ring.name;
    if (is_new || entry.name != before) out_.thread(entry);
}

void collector::drain_rings(round_result& result) {
    drained_.clear();
    for (ring_header& ring : region_.rings()) {
        const auto found = glance<record>(ring, region_.slots(ring));
        const auto& view = found.view;
        if (found.state == ring_state::free) continue;
        if (view.size() == 0 && found.state != ring_state::retired) continue;
        if (view.size() != 0) write_records(ring, view);
        result.records += view.size();
        result.fullest = std::max(result.fullest, static_cast<double>(view.size()) / ring.capacity);
        drained_.push_back({&ring, found});
    }
}

void collector::write_records(const ring_header& ring, const ring_view<record>& view) {
    describe_thread(ring, false);
    // relaxed: whoever wrote these records wrote the uid before.
    const std::uint64_t uid = ring.thread_uid.load(std::memory_order_relaxed);
    std::uint64_t number = view.begin;
    for (std::span<const record> part : {view.first, view.second}) {
        while (!part.empty()) {
            const auto some = part.first(std::min(part.size(), records_at_a_time));
            out_.records(uid, number, some);
            if (keeper_ != nullptr) keeper_->note_records(uid, number, some);
            number += some.size();
            part = part.subspan(some.size());
        }
    }
}

void collector::drain_gpu(round_result& result) {
    cupti_tracer* tracer = tracer_.load();
    if (tracer == nullptr) return;
    do {
        batch_.clear();
        if (!tracer->read_completed(batch_)) return;
        write_names(name_cursor_);  // the kernels'
        if (!batch_.kernels.empty()) out_.kernels(batch_.kernels, batch_.number);
        if (!batch_.transfers.empty()) out_.transfers(batch_.transfers, batch_.number);
        if (!batch_.graphs.empty()) out_.graphs(batch_.graphs, batch_.number);
        if (!batch_.devices.empty()) out_.devices(batch_.devices, batch_.number);
        out_.flush();
        const std::uint64_t count = batch_.kernels.size() + batch_.transfers.size() + batch_.graphs.size();
        if (keeper_ != nullptr) {
            keeper_->note_gpu_records(count);
            keeper_->note_devices(batch_.devices);
        }
        tracer->give_back(batch_);
        result.records += count;
    } while (true);
}

void collector::write_clock() {
    cupti_tracer* tracer = tracer_.load();
    const clock_snapshot now = tracer != nullptr ? tracer->snapshot() : take_clock_snapshot(nullptr);
    out_.clocks({&now, 1});
    if (keeper_ != nullptr) keeper_->note_clock(now);
}

void collector::write_drops(bool changed_only) {
    std::vector<std::pair<drop_cause, std::uint64_t>> changed;
    const auto now = region_.drops();
    for (std::size_t i = 0; i < now.size(); ++i) {
        const std::uint64_t count = now[i] - drops_before_[i];
        if (count == (changed_only ? drops_written_[i] : 0)) continue;
        drops_written_[i] = count;
        changed.emplace_back(static_cast<drop_cause>(i), count);
    }
    if (!changed.empty()) out_.drops(changed);
}

void collector::keep(std::uint64_t now_ns) {
    // Of a capture that goes on no more nothing is let go either.
    if (keeper_ == nullptr || out_.failed()) return;
    if (keeper_->wants_key_frame(now_ns, out_)) write_key_frame(now_ns);
    keeper_->let_go(now_ns, out_);
}

// The rings once more, so that of all GPU work that is before the key frame the launch is, too.
void collector::write_key_frame(std::uint64_t now_ns) {
    const std::uint64_t begin_ticks = ticks_now();
    round_result ignored;
    drain_rings(ignored);
    out_.flush();
    release_rings();
    const auto open = keeper_->open().all();
    keeper_->begin_key_frame(begin_ticks, now_ns, open, out_);
    std::uint32_t names = 0;
    std::uint32_t labels = 0;
    write_names(names);
    write_labels(labels);
    std::erase_if(threads_, [&](const auto& known) { return known.second.has_ended && !open.contains(known.first); });
    for (const auto& [uid, known] : threads_) out_.thread(known.entry);
    write_drops(false);
    write_clock();
    out_.flush();
    keeper_->end_key_frame(out_);
}

void collector::housekeeping() {
    for (const ring_header& ring : region_.rings()) {
        // relaxed: a thread that is missed now is described with its records.
        if (ring.state.load(std::memory_order_relaxed) == static_cast<std::uint32_t>(ring_state::claimed)) {
            const std::uint64_t uid = ring.thread_uid.load(std::memory_order_relaxed);
            if (threads_.contains(uid)) describe_thread(ring, true);
        }
    }
    if (cupti_tracer* tracer = tracer_.load()) tracer->count_dropped();
    write_clock();
    write_drops(true);
    out_.flush();
}

void collector::ask_for_gpu_records() noexcept {
    if (cupti_tracer* tracer = tracer_.load()) tracer->ask_for_completed();
}

void collector::finish(format::end_reason reason) {
    while (round().records != 0) {
    }
    housekeeping();
    out_.end(reason);
    out_.flush();
}

}  // namespace prof
