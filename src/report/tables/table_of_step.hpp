// SPDX-License-Identifier: Apache-2.0
// Turns a table of all that its steps have into one of the mean step, for people. Pure functions.
#pragma once

#include <string_view>

#include "report/mean_step.hpp"
#include "report/report_input.hpp"
#include "report/table.hpp"

namespace prof {

// What such a table is made of: the steps that count where tables are of a step, else all.
inline const timeline& data_of_tables(const report_input& input) noexcept {
    return input.step == nullptr ? input.data : input.step->data();
}

// Divides the column, found by its key or title: a count by the steps, a time by the steps, too, and on the GPU by the
// number of GPUs. Times of the GPU add up as they are printed if `adds_up`; the sum below them becomes their sum.
enum class whose_time { cpu, gpu, gpu_adds_up };
void divide_count(table& of, std::string_view column, const mean_step& by);
void divide_bytes(table& of, std::string_view column, const mean_step& by);
void divide_time(table& of, std::string_view column, const mean_step& by, whose_time whose);
// The column `share` becomes the share that the column `time` has of the step.
void share_of_step(table& of, std::string_view share, std::string_view time, const mean_step& by);
void set_title(table& of, std::string_view column, std::string_view title);  // "": people do not see it

// Of a table with the columns of duration_columns() (durations.hpp).
void make_durations_of_step(table& of, const mean_step& by);

}  // namespace prof
