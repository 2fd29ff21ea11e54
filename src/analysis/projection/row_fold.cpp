// SPDX-License-Identifier: Apache-2.0
#include "analysis/projection/row_fold.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "analysis/projection/compilation_stages.hpp"
#include "base/number.hpp"
#include "base/statistics.hpp"

namespace prof {
namespace {

// The rows kept so far, and the lines they take: one for each row, and one for each row with children that are not
// kept.
class selection {
public:
    explicit selection(const std::vector<weighed_row>& rows)
        : rows_(rows), kept_(rows.size(), 0), left_out_(rows.size() + 1, 0) {
        for (const weighed_row& row : rows) {
            if (!row.is_hidden) ++left_out_[place(row.parent)];
        }
        lines_ = left_out_[place(npos)] == 0 ? 0 : 1;
    }

    std::size_t lines() const noexcept { return lines_; }
    bool has(std::uint32_t row) const noexcept { return row == npos || kept_[row] != 0; }
    std::uint32_t left_out(std::uint32_t row) const noexcept { return left_out_[place(row)]; }
    std::vector<std::uint8_t> take() { return std::move(kept_); }

    // Keeps the row and all rows above it. The newly kept rows are appended to `added`, outermost first.
    void keep(std::uint32_t row, std::vector<std::uint32_t>& added) {
        const std::size_t first = added.size();
        for (; !has(row); row = rows_[row].parent) added.push_back(row);
        std::reverse(added.begin() + static_cast<std::ptrdiff_t>(first), added.end());
        for (std::size_t i = first; i < added.size(); ++i) {
            kept_[added[i]] = 1;
            if (--left_out_[place(rows_[added[i]].parent)] != 0) ++lines_;
            if (left_out(added[i]) != 0) ++lines_;
        }
    }

    // Undoes a keep(); `added` is what that call appended.
    void trim(const std::vector<std::uint32_t>& added) {
        for (auto row = added.rbegin(); row != added.rend(); ++row) {
            if (left_out(*row) != 0) --lines_;
            if (left_out_[place(rows_[*row].parent)]++ != 0) --lines_;
            kept_[*row] = 0;
        }
    }

private:
    static std::size_t place(std::uint32_t row) noexcept { return row == npos ? 0 : std::size_t{row} + 1; }

    const std::vector<weighed_row>& rows_;
    std::vector<std::uint8_t> kept_;
    std::vector<std::uint32_t> left_out_;  // number of children not kept: at the root level, then by row
    std::size_t lines_ = 0;
};

// The outermost phases and those directly below them are fixed, so that a wait for data, which has no GPU time, is
// shown. A program may compile and execute any number of functions: their rows are not fixed.
bool is_fixed(const std::vector<projection_row>& rows, const projection_row& row) noexcept {
    if (row.kind != row_kind::range) return true;
    if (!row.is_observed || row.is_execution) return false;
    if (row.depth == 0) return true;
    const projection_row& above = rows[row.parent];
    return row.depth == 1 && above.is_observed && !above.is_execution && above.path != compilation_phase;
}

std::vector<weighed_row> weigh(const std::vector<projection_row>& rows, std::uint32_t deepest) {
    std::vector<weighed_row> out;
    out.reserve(rows.size());
    for (const projection_row& row : rows) {
        out.push_back({.parent = row.parent,
                       .gpu_ns = row.gpu_sum_ns,
                       .host_ns = row.host_ns,
                       .is_fixed = is_fixed(rows, row),
                       .is_hidden = row.depth > deepest});
    }
    return out;
}

// Puts kept rows, and rows that stand for others, in their order.
class arrangement {
public:
    arrangement(const std::vector<projection_row>& rows, const std::vector<weighed_row>& weighed,
                const std::vector<std::uint8_t>& kept)
        : rows_(rows), weighed_(weighed), kept_(kept), stands_in_(rows.size(), none) {
        for (std::uint32_t i = 0; i < rows.size(); ++i) {
            if (kept[i] == 0) fold(i);
        }
    }

    std::vector<shown_row> run() {
        for (std::uint32_t i = 0; i < rows_.size(); ++i) {
            if (kept_[i] == 0) continue;
            close(rows_[i].parent);
            if (rows_[i].kind != row_kind::range) close_outermost();
            out_.push_back({.figures = rows_[i], .row = i});
            open_.push_back(i);
        }
        close(npos);
        close_outermost();
        return std::move(out_);
    }

private:
    static constexpr std::uint32_t none = npos - 1;

    void fold(std::uint32_t index) {
        const projection_row& row = rows_[index];
        const bool is_outermost = row.parent == npos || kept_[row.parent] != 0;
        if (is_outermost && weighed_[index].is_hidden) return;
        const std::uint32_t at = is_outermost ? row.parent : stands_in_[row.parent];
        stands_in_[index] = at;
        if (at == none) return;
        shown_row& fold = folds_[at];
        projection_row& sums = fold.figures;
        sums.parent = at;
        sums.depth = at == npos ? 0 : rows_[at].depth + 1;
        sums.gpu_self_ns += row.gpu_self_ns;
        sums.host_self_ns += row.host_self_ns;
        sums.self_ops += row.self_ops;
        sums.gpu_sum_ns = sums.gpu_self_ns;
        sums.ops = sums.self_ops;
        add_saturating(sums.payload_bytes, row.payload_bytes);
        if (is_outermost) {
            sums.host_ns += row.host_ns;
            sums.wait_ns += row.wait_ns;
            sums.communication_ns += row.communication_ns;
        }
        if (weighed_[index].is_hidden) return;
        sums.instances += row.instances;
        ++fold.stands_for;
    }

    // Ends the open rows that are not above a row with this parent.
    void close(std::uint32_t parent) {
        while (!open_.empty() && open_.back() != parent) {
            show_fold(open_.back());
            open_.pop_back();
        }
    }
    void close_outermost() {
        show_fold(npos);
        folds_.erase(npos);
    }
    void show_fold(std::uint32_t parent) {
        const auto fold = folds_.find(parent);
        if (fold != folds_.end()) out_.push_back(fold->second);
    }

    const std::vector<projection_row>& rows_;
    const std::vector<weighed_row>& weighed_;
    const std::vector<std::uint8_t>& kept_;
    std::vector<std::uint32_t> stands_in_;  // by row that is not kept: the kept row under which it is folded
    std::unordered_map<std::uint32_t, shown_row> folds_;  // key: the row under which they are shown
    std::vector<std::uint32_t> open_;                     // the latest shown row, and those above it
    std::vector<shown_row> out_;
};

}  // namespace

std::vector<std::uint8_t> choose_rows(const std::vector<weighed_row>& rows, std::size_t most) {
    selection chosen(rows);
    std::vector<std::uint32_t> added;
    std::vector<std::uint32_t> by_weight;
    for (std::uint32_t i = 0; i < rows.size(); ++i) {
        if (rows[i].is_hidden) continue;
        by_weight.push_back(i);
        if (rows[i].is_fixed) chosen.keep(i, added);
    }
    std::sort(by_weight.begin(), by_weight.end(), [&](std::uint32_t a, std::uint32_t b) {
        return std::tie(rows[b].gpu_ns, rows[b].host_ns, a) < std::tie(rows[a].gpu_ns, rows[a].host_ns, b);
    });
    for (const std::uint32_t row : by_weight) {
        added.clear();
        chosen.keep(row, added);
        if (chosen.lines() <= most) continue;
        chosen.trim(added);
        break;
    }
    // A single row takes no more room than the row that would stand for it.
    for (const std::uint32_t row : by_weight) {
        const bool is_alone = chosen.has(rows[row].parent) && chosen.left_out(rows[row].parent) == 1;
        if (is_alone && !chosen.has(row) && chosen.left_out(row) == 0) chosen.keep(row, added);
    }
    return chosen.take();
}

std::vector<shown_row> rows_to_show(const std::vector<projection_row>& rows, const row_limits& limits) {
    const std::vector<weighed_row> weighed = weigh(rows, limits.deepest);
    const std::vector<std::uint8_t> kept = choose_rows(weighed, limits.most);
    return arrangement(rows, weighed, kept).run();
}

}  // namespace prof
