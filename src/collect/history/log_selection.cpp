// SPDX-License-Identifier: Apache-2.0
#include "collect/history/log_selection.hpp"

#include <algorithm>

#include "record/record_traits.hpp"

namespace prof {
namespace {

// The stack that an opening or closing record belongs to: a domain's, or that of the declared parents.
constexpr int stack_of(const record& r) noexcept {
    const bool is_range = r.kind == record_kind::range_push || r.kind == record_kind::range_pop;
    return is_range ? r.domain : UINT16_MAX + 1;
}

}  // namespace

bool wanted_records::wants(const observed_record& observed) const noexcept {
    const bool is_node = observed.r.kind == record_kind::graph_node;
    const std::vector<std::uint64_t>& among = is_node ? serials : places;
    return std::binary_search(among.begin(), among.end(), is_node ? observed.serial : observed.r.value) &&
           !is_emitted(observed);
}

bool wanted_records::holds_any(std::uint64_t from_ticks, std::uint64_t to_ticks) const noexcept {
    const auto first = std::lower_bound(holds.begin(), holds.end(), from_ticks);
    return first != holds.end() && *first <= to_ticks;
}

log_selection::log_selection(std::span<const observed_record> records, const wanted_records& wanted,
                             std::size_t settled, std::uint64_t ended_ticks, bool is_over)
    : records_(records),
      wanted_(wanted),
      settled_(settled),
      kept_(records.size(), 0),
      capture_begin_(records.size()),
      may_be_worked_for_(!is_over || (!records.empty() && wanted.holds_any(records.front().r.ticks, ended_ticks))),
      last_own_(records.size(), records.size()) {
    for (std::size_t i = 0; i < records.size(); ++i) visit(i);
    keep_ends();
    const bool lives = ended_ticks == 0;
    end_open(lives ? UINT64_MAX : ended_ticks, lives && !is_emitting());
    keep_outlived();
    drop_idle_windows();
}

void log_selection::visit(std::size_t i) {
    const observed_record& observed = records_[i];
    switch (traits_of(observed.r.kind).role) {
        case record_role::opens:
            open(i);
            break;
        case record_role::closes:
            close(i);
            break;
        case record_role::graph_node:
        case record_role::place:
            kept_[i] = wanted_.wants(observed) ? 1 : 0;
            break;
        case record_role::enters_call:
            end_capture_begin(observed.r.ticks);
            capture_begin_ = i;
            break;
        case record_role::window:
            end_open(observed.r.ticks, !is_settled(i));
            kept_[i] = 1;
            break;
        case record_role::none:
        case record_role::starts:
        case record_role::ends:
        case record_role::mark:
        case record_role::payload:
        case record_role::leaves_call:
        case record_role::graph_change:
        case record_role::sync:
        case record_role::code:
        case record_role::collective:
        case record_role::memory:
            break;
    }
}

bool log_selection::is_held(std::size_t first, std::uint64_t until_ticks) const noexcept {
    return wanted_.holds_any(records_[first].r.ticks, until_ticks);
}

void log_selection::open(std::size_t i) {
    const bool adopts = records_[i].r.kind == record_kind::adopt_push;
    const bool is_own = !adopts && (open_.empty() || open_.back().is_own);
    open_.push_back({i, is_own});
    // Other threads may work for a thread between its first range and its last. So these two are kept whatever they
    // enclose.
    if (!is_own || any_own_ || !may_be_worked_for_) return;
    any_own_ = true;
    kept_[i] = wanted_.is_emitted(records_[i]) ? 0 : 1;
}

void log_selection::close(std::size_t i) {
    const record& r = records_[i].r;
    const auto found = std::find_if(open_.rbegin(), open_.rend(), [&](const opened& range) {
        return stack_of(records_[range.index].r) == stack_of(r);
    });
    if (found == open_.rend()) {
        kept_[i] = is_settled(i) ? 0 : 1;
        return;
    }
    const opened closed = *found;
    open_.erase(std::next(found).base());
    if (kept_[closed.index] != 0 || !is_settled(i) || is_held(closed.index, r.ticks)) {
        kept_[closed.index] = kept_[i] = 1;
    } else if (!open_.empty() && open_.back().index > closed.index) {
        outlived& pair = outlived_.emplace_back(outlived{closed.index, i, {}});
        for (auto above = open_.rbegin(); above != open_.rend() && above->index > closed.index; ++above) {
            pair.inner.push_back(above->index);
        }
    }
    if (closed.is_own) last_own_ = {closed.index, i};
}

void log_selection::end_open(std::uint64_t ticks, bool keep_all) {
    for (const opened& range : open_) {
        if (keep_all || is_held(range.index, ticks)) kept_[range.index] = 1;
    }
    open_.clear();
}

// Only the latest graph capture that began before a node counts for it.
void log_selection::end_capture_begin(std::uint64_t ticks) {
    if (capture_begin_ != records_.size() && is_held(capture_begin_, ticks)) kept_[capture_begin_] = 1;
}

void log_selection::keep_ends() {
    if (may_be_worked_for_ && last_own_.first != records_.size() && !wanted_.is_emitted(records_[last_own_.first])) {
        kept_[last_own_.first] = kept_[last_own_.second] = 1;
    }
    end_capture_begin(UINT64_MAX);
    if (!is_emitting() && capture_begin_ != records_.size()) kept_[capture_begin_] = 1;
}

// A range hangs under the range in which it was opened, even if it outlives that one (a range of another domain, or
// work for another thread). As long as it is kept, its parent is kept too. Latest first, since an outliving range may
// itself be outlived.
void log_selection::keep_outlived() {
    for (auto pair = outlived_.rbegin(); pair != outlived_.rend(); ++pair) {
        const bool matters =
            std::any_of(pair->inner.begin(), pair->inner.end(), [&](std::size_t i) { return keeps(i); });
        if (matters) kept_[pair->opening] = kept_[pair->closing] = 1;
    }
}

// A window record marks the end of what came before it. With nothing kept before it, it is redundant.
void log_selection::drop_idle_windows() {
    bool section_is_empty = true;
    for (std::size_t i = 0; i < records_.size(); ++i) {
        if (kept_[i] == 0) continue;
        const bool is_window = records_[i].r.kind == record_kind::window;
        if (is_window && section_is_empty && is_settled(i)) kept_[i] = 0;
        section_is_empty = is_window;
    }
}

}  // namespace prof
