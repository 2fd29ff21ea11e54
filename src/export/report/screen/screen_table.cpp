// SPDX-License-Identifier: Apache-2.0
#include "export/report/screen/screen_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/apportioned.hpp"
#include "base/display_text.hpp"

namespace prof {
namespace {

constexpr double least_row = 0.01;      // of the step
constexpr double least_cpu_row = 0.02;  // of the CPU's time
constexpr double least_column = 0.01;   // of the step: an idle cause
constexpr double least_busy_column = 0.02;
constexpr double least_narrow_column = 0.1;  // the same on a narrow screen
constexpr double least_waits = 0.05;
constexpr double least_inside = 0.02;  // of the step: a row below another
constexpr std::size_t column_gap = 2;  // cells between columns
constexpr std::size_t wide = 100;      // cells from which rows have a bar

constexpr std::array idle_uses{step_column::launches,        step_column::cpu_code,     step_column::syncs,
                               step_column::unpinned_copies, step_column::memory_calls, step_column::compilation,
                               step_column::short_gaps,      step_column::other};

std::int64_t sum_of(const step_table_row& row, const std::vector<step_column>& uses) {
    std::int64_t out = 0;
    for (const step_column use : uses) out += row.of(use);
    return out;
}

double not_negative(std::int64_t ns) noexcept { return static_cast<double>(std::max<std::int64_t>(ns, 0)); }

std::string without_end_spaces(std::string text) {
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
}

std::string repeated(std::string_view text, std::size_t count) {
    std::string out;
    for (std::size_t i = 0; i < count; ++i) out += text;
    return out;
}

std::string_view busy_block(bool is_ascii) noexcept { return is_ascii ? "#" : "█"; }
std::string_view idle_block(bool is_ascii) noexcept { return is_ascii ? "." : "░"; }

}  // namespace

std::string_view use_word(step_column use) noexcept {
    switch (use) {
        case step_column::computing:
            return "computing";
        case step_column::communication:
            return "communication";
        case step_column::copies:
            return "copies";
        case step_column::launches:
            return "launches";
        case step_column::cpu_code:
            return "CPU code";
        case step_column::syncs:
            return "syncs";
        case step_column::unpinned_copies:
            return "unpinned copies";
        case step_column::memory_calls:
            return "memory calls";
        case step_column::compilation:
            return "compilation";
        case step_column::short_gaps:
            return "short gaps";
        case step_column::other:
            break;
    }
    return "other";
}

screen_numbers_of::screen_numbers_of(const step_table& of) {
    const double count = static_cast<double>(std::max<std::uint64_t>(of.steps, 1));
    steps = count * std::max<std::uint32_t>(of.devices, 1);
    const double cpu_ns = not_negative(of.cpu_ns);
    wall_ns_ = of.devices == 0 ? cpu_ns : not_negative(of.wall_ns);
    unit = screen_unit::for_step(wall_ns_ / steps);
    whole = unit.quanta(wall_ns_ / steps);
    cpu = unit.quanta(cpu_ns / count);
    for (const step_table_row& row : of.rows) {
        for (std::size_t i = 0; i < step_column_count; ++i) uses[i] += row.ns[i];
    }
    double busy_ns = 0;
    for (std::size_t i = 0; i < step_column_count; ++i) {
        if (!is_idle(static_cast<step_column>(i))) busy_ns += not_negative(uses[i]);
    }
    busy = std::min(unit.quanta(busy_ns / steps), whole);
    busy_tenths = std::llround(1000 * share(busy_ns));
}

screen_table::screen_table(const step_table& of, const screen_layout& layout) : of_(of), layout_(layout), numbers_(of) {
    tree_ = screen_tree(of, {.longest = longest_name(), .is_ascii = layout.is_ascii});
    if (has_gpu()) choose_columns();
}

std::size_t screen_table::longest_name() const noexcept {
    constexpr std::size_t at_80 = 28;
    constexpr std::size_t most = 44;
    if (layout_.width <= 80) return std::min(at_80, std::max<std::size_t>(layout_.width / 3, 12));
    return std::min(most, at_80 + (layout_.width - 80) * (most - at_80) / 40);
}

double screen_table::weight(const screen_node& node) const noexcept {
    return not_negative(has_gpu() ? node.figures.total_ns() : node.figures.cpu_ns);
}

void screen_table::choose_columns() {
    const auto ns_of = [&](step_column use) { return not_negative(numbers_.uses[static_cast<std::size_t>(use)]); };
    screen_column busy{"busy", {step_column::computing}, false};
    std::vector<screen_column> beside;
    for (const step_column use : {step_column::communication, step_column::copies}) {
        if (numbers_.share(ns_of(use)) >= (layout_.width < wide ? least_narrow_column : least_busy_column)) {
            beside.push_back({use == step_column::communication ? "comm" : "copies", {use}, false});
        } else {
            busy.uses.push_back(use);
        }
    }
    if (busy.uses.size() == 1) busy.title = "computing";
    columns_.push_back(std::move(busy));
    for (screen_column& column : beside) columns_.push_back(std::move(column));

    std::vector<step_column> causes(idle_uses.begin(), idle_uses.end());
    std::stable_sort(causes.begin(), causes.end(), [&](step_column a, step_column b) { return ns_of(a) > ns_of(b); });
    // The other columns come first; an idle column takes the longer of its title and a number.
    const std::size_t number = display_width(numbers_.unit.text(std::max(numbers_.whole, numbers_.cpu))) + column_gap;
    const std::size_t least_name = display_width("whole recording");
    constexpr std::size_t percent_width = 5 + column_gap;
    std::size_t name = least_name;
    double waits_ns = 0;
    for (const screen_node& node : tree_) {
        name = std::max(name, std::min(display_width(node.name), longest_name()));
        waits_ns += not_negative(node.figures.wait_ns);
    }
    const double step_ns = static_cast<double>(std::max<std::uint64_t>(of_.steps, 1)) * numbers_.unit.quantum_ns *
                           static_cast<double>(numbers_.whole);
    const bool has_waits = waits_ns >= least_waits * step_ns;
    std::size_t used = name + std::max(number, 4 + column_gap) + percent_width +
                       columns_.size() * std::max(number, 4 + column_gap) + std::max(number, 3 + column_gap) +
                       (has_waits ? std::max(number, 5 + column_gap) : 0) + std::max(number, 5 + column_gap);
    screen_column other{"other", {}, true};
    for (const step_column use : causes) {
        const std::size_t width = std::max(number, use_word(use).size() + column_gap);
        const bool is_large = numbers_.share(ns_of(use)) >= least_column && use != step_column::other;
        // The first takes cells from names, but leaves them those of "whole recording".
        const std::size_t taken = columns_.back().is_idle ? 0 : name - std::min(name, least_name);
        if (is_large && used - taken + width <= layout_.width) {
            columns_.push_back({std::string(use_word(use)), {use}, true});
            used += width;
        } else {
            other.uses.push_back(use);
        }
    }
    double other_ns = 0;
    for (const step_column use : other.uses) other_ns += ns_of(use);
    if (!columns_.back().is_idle) other.title = "idle";
    if (other_ns > 0) columns_.push_back(std::move(other));
}

std::size_t screen_table::least_rows() const noexcept {
    double cpu_ns = 0;
    double all = 0;
    for (const screen_node& node : tree_) {
        cpu_ns += not_negative(node.figures.cpu_ns);
        all += weight(node);
    }
    std::size_t out = 0;
    for (const screen_node& node : tree_) {
        const bool is_large = all > 0 && weight(node) >= least_row * all;
        if (is_large || (cpu_ns > 0 && not_negative(node.figures.cpu_ns) >= least_cpu_row * cpu_ns)) ++out;
    }
    return std::min(std::max<std::size_t>(out, 1) + (out < tree_.size() ? 1 : 0), tree_.size());
}

// The outermost rows: each column is divided among them, and a row's time is what its cells add up to.
std::vector<screen_row> screen_table::level() const {
    std::vector<screen_row> out(tree_.size());
    std::vector<double> shares(tree_.size());
    const auto divide = [&](auto&& ns_of, std::int64_t total, auto&& set) {
        for (std::size_t i = 0; i < tree_.size(); ++i) shares[i] = not_negative(ns_of(tree_[i].figures));
        const std::vector<std::int64_t> cells = apportioned(shares, total);
        for (std::size_t i = 0; i < tree_.size(); ++i) set(i, cells[i]);
    };
    for (std::size_t i = 0; i < tree_.size(); ++i) {
        out[i].name = tree_[i].name;
        out[i].cells.resize(columns_.size());
        out[i].is_blank.resize(columns_.size());
    }
    // Each use by itself, so that no number depends on which columns there is room for.
    for (const bool idle : {false, true}) {
        std::array<double, step_column_count> uses{};
        for (std::size_t u = 0; u < step_column_count; ++u) {
            if (is_idle(static_cast<step_column>(u)) == idle) uses[u] = not_negative(numbers_.uses[u]);
        }
        const std::vector<std::int64_t> totals = apportioned(uses, idle ? numbers_.idle() : numbers_.busy);
        for (std::size_t u = 0; u < step_column_count; ++u) {
            const auto use = static_cast<step_column>(u);
            if (is_idle(use) != idle) continue;
            divide([&](const step_table_row& row) { return row.of(use); }, totals[u],
                   [&](std::size_t i, std::int64_t cell) {
                       out[i].uses[u] = cell;
                       out[i].time += cell;
                   });
        }
    }
    for (std::size_t i = 0; i < tree_.size(); ++i) fill_cells(tree_[i].figures, out[i]);
    const double count = static_cast<double>(std::max<std::uint64_t>(of_.steps, 1));
    double waits_ns = 0;
    for (const screen_node& node : tree_) waits_ns += not_negative(node.figures.wait_ns);
    divide([](const step_table_row& row) { return row.cpu_ns; }, numbers_.cpu,
           [&](std::size_t i, std::int64_t cell) { out[i].cpu = cell; });
    divide([](const step_table_row& row) { return row.wait_ns; }, numbers_.unit.quanta(waits_ns / count),
           [&](std::size_t i, std::int64_t cell) { out[i].waits = cell; });
    if (!has_gpu()) {
        for (screen_row& row : out) row.time = row.cpu;
    }
    for (std::size_t i = 0; i < tree_.size(); ++i) shares[i] = static_cast<double>(out[i].time);
    const std::vector<std::int64_t> percents = apportioned(shares, 100);
    for (std::size_t i = 0; i < tree_.size(); ++i) {
        out[i].percent = percents[i];
    }
    return out;
}

// The cells of the columns that are shown.
void screen_table::fill_cells(const step_table_row& figures, screen_row& row) const {
    for (std::size_t c = 0; c < columns_.size(); ++c) {
        row.cells[c] = 0;
        for (const step_column use : columns_[c].uses) row.cells[c] += row.uses[static_cast<std::size_t>(use)];
        row.is_blank[c] = sum_of(figures, columns_[c].uses) == 0;
    }
}

// What a row consists of: its busy cells are divided among its children and what is left.
std::vector<screen_row> screen_table::inside(const screen_node& node, const screen_row& parent) const {
    std::vector<screen_row> out(node.children.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
        out[i].name = node.children[i].name;
        out[i].depth = parent.depth + 1;
        out[i].has_cpu = !has_gpu() && node.children[i].figures.cpu_ns > 0;
        out[i].cells.resize(columns_.size());
        out[i].is_blank.assign(columns_.size(), true);
    }
    std::vector<double> shares(out.size() + 1);
    const auto divide = [&](auto&& ns_of, std::int64_t total, auto&& set) {
        double sum = 0;
        for (std::size_t i = 0; i < out.size(); ++i) {
            shares[i] = not_negative(ns_of(node.children[i].figures));
            sum += shares[i];
        }
        shares.back() = std::max(0.0, not_negative(ns_of(node.figures)) - sum);
        const std::vector<std::int64_t> cells = apportioned(shares, total);
        for (std::size_t i = 0; i < out.size(); ++i) set(i, cells[i]);
    };
    for (std::size_t u = 0; u < step_column_count; ++u) {
        const auto use = static_cast<step_column>(u);
        if (is_idle(use)) continue;
        divide([&](const step_table_row& row) { return row.of(use); }, parent.uses[u],
               [&](std::size_t i, std::int64_t cell) {
                   out[i].uses[u] = cell;
                   out[i].time += cell;
               });
    }
    for (std::size_t i = 0; i < out.size(); ++i) fill_cells(node.children[i].figures, out[i]);
    if (!has_gpu()) {
        divide([](const step_table_row& row) { return row.cpu_ns; }, parent.cpu,
               [&](std::size_t i, std::int64_t cell) { out[i].time = out[i].cpu = cell; });
    }
    return out;
}

namespace {

void add_row(screen_row& to, const screen_row& from) {
    for (std::size_t c = 0; c < to.cells.size(); ++c) {
        to.cells[c] += from.cells[c];
        to.is_blank[c] = to.is_blank[c] && from.is_blank[c];
    }
    for (std::size_t u = 0; u < step_column_count; ++u) to.uses[u] += from.uses[u];
    to.time += from.time;
    to.percent += from.percent;
    to.cpu += from.cpu;
    to.waits += from.waits;
    to.has_cpu = to.has_cpu || from.has_cpu;
    ++to.stands_for;
}

}  // namespace

// Small rows have the lines that opened ones leave.
std::vector<screen_row> screen_table::choose(std::size_t most, std::size_t named) const {
    named = std::min({named, most, std::max<std::size_t>(tree_.size(), 1)});
    std::vector<screen_row> out = choose_once(most, named);
    while (out.size() < most && named < tree_.size()) {
        named = std::min(named + (most - out.size()), tree_.size());
        out = choose_once(most, named);
    }
    return out;
}

std::vector<screen_row> screen_table::choose_once(std::size_t most, std::size_t outermost) const {
    struct line {
        screen_row row;
        const screen_node* node = nullptr;  // null: of a row for others
        bool is_open = false;               // or cannot be
    };
    const std::vector<screen_row> all = level();
    std::vector<line> lines;
    const auto fold = [](const std::vector<screen_row>& rows, std::size_t from, std::size_t depth) {
        screen_row out = rows[from];
        for (std::size_t i = from + 1; i < rows.size(); ++i) add_row(out, rows[i]);
        out.stands_for = rows.size() - from;
        if (out.stands_for > 1) out.name = fmt::format("{} more", with_thousands(out.stands_for));
        out.depth = depth;
        return out;
    };
    // One line is for all others, where there is no room for each.
    const std::size_t named = all.size() <= outermost ? all.size() : std::max<std::size_t>(outermost, 1) - 1;
    for (std::size_t i = 0; i < named; ++i) lines.push_back({all[i], &tree_[i]});
    if (lines.size() < all.size()) lines.push_back({fold(all, lines.size(), 0), nullptr, true});

    const double least_time = least_inside * static_cast<double>(std::max<std::int64_t>(numbers_.whole, 1));
    const auto busy_of = [&](const line& of) {
        if (!has_gpu()) return of.row.cpu;
        std::int64_t busy = 0;
        for (std::size_t c = 0; c < columns_.size(); ++c) busy += columns_[c].is_idle ? 0 : of.row.cells[c];
        return busy;
    };
    while (lines.size() < most) {
        std::size_t best = lines.size();
        for (std::size_t i = 0; i < lines.size(); ++i) {
            const line& each = lines[i];
            if (each.is_open || each.node == nullptr || each.node->children.empty()) continue;
            if (static_cast<double>(busy_of(each)) < 2 * least_time) continue;
            if (best == lines.size() || busy_of(each) > busy_of(lines[best])) best = i;
        }
        if (best == lines.size()) break;
        lines[best].is_open = true;
        const screen_node& node = *lines[best].node;
        const std::vector<screen_row> children = inside(node, lines[best].row);
        const std::size_t left = most - lines.size();
        // What has a child that is more than its own, and is large enough.
        std::size_t large = 0;
        std::int64_t shown_time = 0;
        while (large < children.size() && static_cast<double>(children[large].time) >= least_time) ++large;
        std::size_t shown = std::min(large, left);
        if (shown < children.size() && shown == left)
            shown = left == 0 ? 0 : left - (children.size() - shown > 0 ? 1 : 0);
        for (std::size_t i = 0; i < shown; ++i) shown_time += children[i].time;
        if (shown == 0 || 2 * shown_time < busy_of(lines[best])) continue;
        std::vector<line> added;
        for (std::size_t i = 0; i < shown; ++i) {
            const bool is_leaf = node.children[i].children.empty();
            added.push_back({children[i], &node.children[i], is_leaf});
        }
        if (shown < children.size()) {
            line rest{fold(children, shown, children[shown].depth), nullptr, true};
            if (rest.row.time > 0) added.push_back(std::move(rest));
        }
        lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(best) + 1, added.begin(), added.end());
    }
    std::vector<screen_row> out;
    out.reserve(lines.size());
    for (line& each : lines) out.push_back(std::move(each.row));
    return out;
}

screen_grid screen_table::grid(std::size_t most, std::size_t named) const {
    const std::vector<screen_row> rows = choose(most, named);
    screen_row sum;
    sum.cells.resize(columns_.size());
    sum.is_blank.assign(columns_.size(), false);
    sum.name = of_.has_steps ? "whole step" : "whole recording";
    for (const screen_row& row : rows) {
        if (row.depth == 0) add_row(sum, row);
    }
    std::vector<const screen_row*> all;
    all.reserve(rows.size() + 1);
    for (const screen_row& row : rows) all.push_back(&row);
    all.push_back(&sum);

    const screen_unit& unit = numbers_.unit;
    screen_grid out;
    out.corner = fmt::format("{} {}", unit.name, of_.has_steps ? "a step" : "in all");
    for (const screen_row* const row : all) {
        std::int64_t busy = has_gpu() ? 0 : row->time;
        for (std::size_t c = 0; c < columns_.size(); ++c) busy += columns_[c].is_idle ? 0 : row->cells[c];
        out.rows.push_back({row->name, row->depth, {}, row == &sum, row->time, busy});
    }
    const auto add_column = [&](std::string head, std::string title, bool is_idle, auto&& cell) {
        out.columns.push_back({std::move(head), std::move(title), is_idle});
        for (std::size_t i = 0; i < all.size(); ++i) out.rows[i].cells.push_back(cell(*all[i]));
    };
    const auto number = [&](std::int64_t quanta, bool is_blank) {
        return is_blank ? std::string() : unit.text(quanta);
    };
    const auto percent = [](const screen_row& row) {
        return row.depth != 0 ? std::string() : fmt::format("{} %", row.percent);
    };
    if (!has_gpu()) {
        add_column("", "CPU", false, [&](const screen_row& row) { return number(row.cpu, false); });
        add_column("", "", false, percent);
        return out;
    }
    add_column("", "time", false, [&](const screen_row& row) { return number(row.time, row.depth != 0); });
    add_column("", "", false, percent);
    for (std::size_t c = 0; c < columns_.size(); ++c) {
        add_column(c == 0 ? "GPU" : "", columns_[c].title, columns_[c].is_idle, [&](const screen_row& row) {
            return number(row.cells[c], row.is_blank[c] || (row.depth != 0 && columns_[c].is_idle));
        });
    }
    add_column("", "CPU", false, [&](const screen_row& row) {
        return number(row.cpu, row.depth != 0 || !row.has_cpu || (row.cpu == 0 && &row != &sum));
    });
    if (sum.waits > 0 && static_cast<double>(sum.waits) >= least_waits * static_cast<double>(numbers_.whole)) {
        add_column("of it", "waits", false,
                   [&](const screen_row& row) { return number(row.waits, row.depth != 0 || row.waits == 0); });
    }
    return out;
}

namespace {

// A grid as lines of text.
class grid_text {
public:
    grid_text(const screen_grid& of, std::size_t longest_name, bool has_gpu, const screen_layout& layout)
        : of_(of), has_gpu_(has_gpu), layout_(layout) {
        for (std::size_t c = 0; c < of.columns.size(); ++c) {
            std::size_t width = std::max(display_width(of.columns[c].title), display_width(of.columns[c].head));
            for (const screen_grid::row& row : of.rows) width = std::max(width, display_width(row.cells[c]));
            widths_.push_back(width + column_gap);
        }
        const std::size_t used = std::accumulate(widths_.begin(), widths_.end(), std::size_t{0});
        const std::size_t room = layout.width > used + 8 ? layout.width - used : 8;
        name_width_ = display_width("whole recording");
        for (const screen_grid::row& row : of.rows) {
            name_width_ = std::max(name_width_, 2 * row.depth + display_width(row.name));
        }
        name_width_ = std::min({name_width_, longest_name, room});
        const std::size_t table_width = name_width_ + used;
        const std::size_t bar_room =
            layout.width > table_width + column_gap ? layout.width - table_width - column_gap : 0;
        constexpr std::size_t most_bar = 28;
        constexpr std::size_t most_gpu_bar = 24;
        constexpr std::size_t least_gpu_bar = 10;
        if (!has_gpu) {
            bar_width_ = std::min(bar_room, most_bar);
        } else if (layout.width >= wide && bar_room >= least_gpu_bar) {
            bar_width_ = std::min(bar_room, most_gpu_bar);
        }
    }

    std::vector<std::string> lines() const {
        std::vector<std::string> out;
        if (has_gpu_) out.push_back(without_end_spaces(upper_head()));
        out.push_back(without_end_spaces(lower_head()));
        std::int64_t largest = 1;
        for (const screen_grid::row& row : of_.rows) {
            if (row.depth == 0 && !row.is_sum) largest = std::max(largest, row.time);
        }
        for (const screen_grid::row& row : of_.rows) out.push_back(line_of(row, largest));
        return out;
    }

private:
    // "GPU idle, by cause" stands above the idle columns, as much of it as has room.
    std::string upper_head() const {
        std::string out(name_width_, ' ');
        std::size_t idle_width = 0;
        const auto close_idle = [&] {
            if (idle_width == 0) return;
            std::string_view label = "GPU idle, by cause";
            for (const std::string_view shorter : {"GPU idle", "idle", ""}) {
                if (label.size() + column_gap <= idle_width) break;
                label = shorter;
            }
            out += right_aligned(label, idle_width);
            idle_width = 0;
        };
        for (std::size_t c = 0; c < of_.columns.size(); ++c) {
            if (of_.columns[c].is_idle) {
                idle_width += widths_[c];
                continue;
            }
            close_idle();
            out += right_aligned(of_.columns[c].head, widths_[c]);
        }
        close_idle();
        return out;
    }
    std::string lower_head() const {
        std::string out = left_aligned(of_.corner, name_width_);
        for (std::size_t c = 0; c < of_.columns.size(); ++c) out += right_aligned(of_.columns[c].title, widths_[c]);
        return out;
    }
    std::string line_of(const screen_grid::row& row, std::int64_t largest) const {
        const std::size_t indent = std::min(2 * row.depth, name_width_ / 2);
        std::string out =
            std::string(indent, ' ') + left_aligned(shortened(row.name, name_width_ - indent), name_width_ - indent);
        for (std::size_t c = 0; c < row.cells.size(); ++c) out += right_aligned(row.cells[c], widths_[c]);
        constexpr std::size_t least_bar_width = 4;
        if (bar_width_ >= least_bar_width && !row.is_sum && row.depth == 0) {
            const auto cells_for = [&](std::int64_t quanta) {
                return static_cast<std::size_t>(std::llround(
                    static_cast<double>(quanta) * static_cast<double>(bar_width_) / static_cast<double>(largest)));
            };
            const std::size_t whole = cells_for(row.time);
            const std::size_t full = std::min(cells_for(row.busy), whole);
            out += "  " + repeated(busy_block(layout_.is_ascii), full) +
                   repeated(idle_block(layout_.is_ascii), whole - full);
        }
        return without_end_spaces(std::move(out));
    }

    const screen_grid& of_;
    bool has_gpu_;
    const screen_layout& layout_;
    std::vector<std::size_t> widths_;  // with the gap before each
    std::size_t name_width_ = 0;
    std::size_t bar_width_ = 0;
};

}  // namespace

std::vector<std::string> screen_table::lines(std::size_t most, std::size_t named) const {
    return grid_text(grid(most, named), longest_name(), has_gpu(), layout_).lines();
}

std::vector<bar_part> screen_table::bar_parts() const {
    std::vector<bar_part> parts;
    double whole = 0;
    const auto add_sorted = [&](std::vector<bar_part> some) {
        std::stable_sort(some.begin(), some.end(), [](const bar_part& a, const bar_part& b) { return a.ns > b.ns; });
        for (bar_part& each : some) {
            whole += each.ns;
            if (each.ns > 0) parts.push_back(std::move(each));
        }
    };
    std::vector<bar_part> some;
    some.reserve(tree_.size());
    for (const screen_node& node : tree_) {
        some.push_back({node.own_name, not_negative(has_gpu() ? node.figures.busy_ns() : node.figures.cpu_ns), false});
    }
    add_sorted(std::move(some));
    some.clear();
    if (has_gpu()) {
        std::int64_t loader_ns = 0;
        for (const screen_node& node : tree_) {
            if (is_loader(node.figures)) loader_ns += node.figures.of(step_column::cpu_code);
        }
        some.push_back({"data loader", not_negative(loader_ns), true});
        for (const step_column use : idle_uses) {
            const std::int64_t ns = numbers_.uses[static_cast<std::size_t>(use)];
            some.push_back(
                {std::string(use_word(use)), not_negative(ns - (use == step_column::cpu_code ? loader_ns : 0)), true});
        }
        add_sorted(std::move(some));
    }
    if (!(whole > 0)) return {};

    const auto cells = static_cast<double>(layout_.width);
    // Parts that are too short to be seen are one, busy ones and idle ones apart.
    std::vector<bar_part> shown;
    for (const bool idle : {false, true}) {
        bar_part small{"", 0, idle};
        for (const bar_part& each : parts) {
            if (each.is_idle != idle) continue;
            if (each.ns / whole * cells < 1.5) {
                small.ns += each.ns;
            } else {
                shown.push_back(each);
            }
        }
        if (small.ns / whole * cells >= 0.5) shown.push_back(std::move(small));
    }
    return shown;
}

std::string screen_table::bar() const {
    const std::vector<bar_part> shown = bar_parts();
    if (shown.empty()) return {};
    std::vector<double> shares;
    shares.reserve(shown.size());
    for (const bar_part& each : shown) shares.push_back(each.ns);
    const std::size_t spaces = shown.size() - 1;
    const std::size_t room = layout_.width > 2 * spaces + 1 ? layout_.width - spaces : shown.size();
    // A cell each, the rest by time.
    std::vector<std::int64_t> widths = apportioned(shares, static_cast<std::int64_t>(room));
    for (std::size_t i = 0; i < widths.size(); ++i) {
        if (widths[i] != 0) continue;
        const auto longest = std::max_element(widths.begin(), widths.end());
        if (*longest > 1) --*longest;
        widths[i] = 1;
    }
    std::string out;
    for (std::size_t i = 0; i < shown.size(); ++i) {
        const auto width = static_cast<std::size_t>(widths[i]);
        const std::string_view block = shown[i].is_idle ? idle_block(layout_.is_ascii) : busy_block(layout_.is_ascii);
        if (i != 0) out += ' ';
        const std::size_t name = display_width(shown[i].name);
        if (name == 0 || width < name + 4) {
            out += repeated(block, width);
            continue;
        }
        const std::size_t before = (width - name - 2) / 2;
        out += repeated(block, before) + ' ' + shown[i].name + ' ' + repeated(block, width - name - 2 - before);
    }
    return out;
}

}  // namespace prof
