// SPDX-License-Identifier: Apache-2.0
// What tables of one step are made from: the part of a timeline that lies in the steps that count, and what a time of
// all of them is of one. A pure function of a timeline; memory for the part, beside the whole.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "analysis/selection/selected_part.hpp"
#include "analysis/steps/whole_steps.hpp"
#include "report/report_input.hpp"
#include "report/table.hpp"

namespace prof {

// Refers to the input's timeline.
class mean_step {
public:
    // Null where no step counts, and where single ranges were selected: they are no times.
    static std::unique_ptr<const mean_step> of(const report_input& input);

    const timeline& data() const noexcept { return part_.data(); }
    const attribution& att() const noexcept { return part_.att(); }
    const selected_part& part() const noexcept { return part_; }
    const std::vector<whole_step>& steps() const noexcept { return part_.scope().steps->steps; }

    double length_ns() const noexcept { return length_ns_; }
    // Of one step.
    double cpu(double of_all) const noexcept { return of_all / count_; }
    // Of one step on one GPU.
    double gpu(double of_all) const noexcept { return of_all / count_ / devices_; }
    double share(double of_step) const noexcept { return length_ns_ > 0 ? of_step / length_ns_ : 0; }
    std::uint32_t devices() const noexcept { return static_cast<std::uint32_t>(devices_); }

    // Times of one step on one GPU from those of all, as whole multiples of what people see of a time: they add up as
    // they are printed, to printed(). REQUIRES: >= 0.
    std::vector<std::int64_t> gpu_parts(std::span<const std::int64_t> of_all) const;
    // The same of any times that are parts of `printed_total`.
    std::vector<std::int64_t> parts(std::span<const double> shares, std::int64_t printed_total) const;
    std::int64_t printed(double ns) const noexcept;

    // Gives the table the unit that all tables of a step have.
    void set_unit(table& out) const { out.step_ns = length_ns_; }

private:
    mean_step(const report_input& input, const step_scope& scope);

    selected_part part_;
    double count_ = 1;
    double devices_ = 1;
    double length_ns_ = 0;
    double quantum_ns_ = 1;
};

}  // namespace prof
