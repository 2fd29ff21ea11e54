// SPDX-License-Identifier: Apache-2.0
// The part of the collector for captures of which only the latest part is kept: key frames and trimming.
#include <new>

#include "base/clock.hpp"
#include "collect/collector.hpp"

namespace prof {

void collector::keep(std::uint64_t now_ns, bool may_trim) {
    // A capture that can no longer be written is not trimmed either.
    if (retention_ == nullptr || out_->failed()) return;
    if (retention_->wants_key_frame(now_ns, *out_)) write_key_frame(now_ns);
    if (may_trim) retention_->trim(now_ns, *out_);
}

// Drains the rings once more, so that the launch of any GPU work before the key frame is also before it.
void collector::settle_rings() {
    try {
        round_result ignored;
        drain_rings(ignored);
    } catch (const std::bad_alloc&) {
        // Out of memory, as in a round.
    }
    release_rings();
    if (history_ == nullptr) return;
    // The first call settles what was observed in the previous round, the second settles everything else.
    history_->end_round();
    history_->end_round();
    if (history_->has_unemitted()) write_history(format::chunk_type::graph_context);
}

void collector::write_key_frame(std::uint64_t now_ns) {
    const std::uint64_t begin_ticks = ticks_now();
    settle_rings();
    const auto open = retention_->open().all();
    retention_->begin_key_frame(begin_ticks, now_ns, open, *out_);
    names_.begin_anew();
    for (const auto& [uid, thread] : open) names_.use(thread.records);
    for (const auto& [index, device] : retention_->devices()) names_.use(device.name);
    names_.write(*out_);
    std::uint32_t labels = 0;
    write_labels(labels);
    std::erase_if(threads_, [&](const auto& known) { return known.second.has_ended && !open.contains(known.first); });
    for (const auto& [uid, known] : threads_) out_->thread(known.entry);
    if (history_ != nullptr) {
        history_->begin_capture();
        if (history_->has_unemitted()) write_history(format::chunk_type::known_graphs);
    }
    write_drops(false);
    write_clock(clock());
    out_->flush();
    retention_->end_key_frame(*out_);
}

}  // namespace prof
