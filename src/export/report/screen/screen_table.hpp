// SPDX-License-Identifier: Apache-2.0
// The table of the first screen: phases by what the GPU did, in numbers that add up as they are printed. Pure
// functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/step_table/step_table.hpp"
#include "export/report/screen/screen_numbers.hpp"
#include "export/report/screen/screen_tree.hpp"

namespace prof {

struct screen_layout {
    std::size_t width = 100;
    std::size_t lines = SIZE_MAX;  // of the whole screen
    bool is_ascii = false;         // else block elements and "×"
};

// A column of GPU time.
struct screen_column {
    std::string title{};
    std::vector<step_column> uses{};
    bool is_idle = false;
};

// A row as it is printed, in quanta of the unit. Rows below another have busy columns only.
struct screen_row {
    std::string name{};
    std::size_t depth = 0;
    std::array<std::int64_t, step_column_count> uses{};  // by what the GPU does
    std::vector<std::int64_t> cells{};                   // the same by column
    std::vector<bool> is_blank{};                        // by column: exactly nothing
    std::int64_t time = 0;                               // the sum of the cells; without GPU work that of the CPU
    std::int64_t percent = 0;
    std::int64_t cpu = 0;
    std::int64_t waits = 0;
    bool has_cpu = true;
    std::uint64_t stands_for = 0;  // it is the sum of so many that are not shown
};

// What a step_table is as numbers, before it is known how many lines there are.
class screen_numbers_of {
public:
    explicit screen_numbers_of(const step_table& of);

    screen_unit unit;
    double steps = 1;                                    // and GPUs: what a time of the table is divided by
    std::int64_t whole = 0;                              // the step, in quanta
    std::int64_t busy = 0;                               // of it; the rest is idle
    std::int64_t cpu = 0;                                // how long the CPU was in a step
    std::int64_t busy_tenths = 0;                        // of a percent of the step
    std::array<std::int64_t, step_column_count> uses{};  // in all rows, in ns

    double share(double ns) const noexcept { return wall_ns_ > 0 ? ns / wall_ns_ : 0; }
    std::int64_t idle() const noexcept { return whole - busy; }

private:
    double wall_ns_ = 0;
};

// The word for a cause of idle time: "launches", "CPU code".
std::string_view use_word(step_column use) noexcept;

// The table as a grid of texts, for any format.
struct screen_grid {
    struct column {
        std::string head{};   // the upper line
        std::string title{};  // the lower one; "": of percentages
        bool is_idle = false;
    };
    struct row {
        std::string name{};
        std::size_t depth = 0;
        std::vector<std::string> cells{};  // by column
        bool is_sum = false;
        std::int64_t time = 0;  // in quanta
        std::int64_t busy = 0;  // of it
    };
    std::string corner{};  // "ms a step"
    std::vector<column> columns{};
    std::vector<row> rows{};
};

// A part of the step, busy or idle; "" stands for several that are too short to be seen.
struct bar_part {
    std::string name{};
    double ns = 0;
    bool is_idle = false;
};

class screen_table {
public:
    screen_table(const step_table& of, const screen_layout& layout);

    const screen_numbers_of& numbers() const noexcept { return numbers_; }
    // The rows of 1 % of the step in time, or 2 % of the CPU's, and one for what is left.
    std::size_t least_rows() const noexcept;
    // All rows of the outermost level.
    std::size_t all_rows() const noexcept { return tree_.size(); }
    // At most `rows` rows, and the sum. Rows that are left show what rows consist of.
    // `named`: so many lines are for the outermost level, unless rows are not opened for want of large ones.
    screen_grid grid(std::size_t rows, std::size_t named = SIZE_MAX) const;
    // The head, at most `rows` rows, and the sum, as lines. Lines that are left show what rows consist of.
    std::vector<std::string> lines(std::size_t rows, std::size_t named = SIZE_MAX) const;
    std::size_t head_lines() const noexcept { return has_gpu() ? 2 : 1; }
    // The step as one line, busy by phase, then idle by cause.
    std::string bar() const;
    std::vector<bar_part> bar_parts() const;
    // The rows of the outermost level, in the order of tree(), as they are printed.
    std::vector<screen_row> level() const;
    const std::vector<screen_node>& tree() const noexcept { return tree_; }
    bool has_gpu() const noexcept { return of_.devices != 0; }

private:
    std::vector<screen_row> choose(std::size_t rows, std::size_t named) const;
    std::vector<screen_row> choose_once(std::size_t rows, std::size_t named) const;
    std::vector<screen_row> inside(const screen_node& node, const screen_row& parent) const;
    void fill_cells(const step_table_row& figures, screen_row& row) const;
    void choose_columns();
    std::size_t longest_name() const noexcept;
    double weight(const screen_node& node) const noexcept;

    const step_table& of_;
    screen_layout layout_;
    screen_numbers_of numbers_;
    std::vector<screen_node> tree_;
    std::vector<screen_column> columns_;
};

}  // namespace prof
