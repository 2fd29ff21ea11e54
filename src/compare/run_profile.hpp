// SPDX-License-Identifier: Apache-2.0
// What a comparison keeps of a run: figures of its mean step, and of what that step is made of. Plain data, some
// hundred rows a run, from a timeline that may then go. Names are as the process has them. docs/reference/compare.md
// defines the figures.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/projection/projection.hpp"
#include "analysis/selection/selection_request.hpp"
#include "analysis/step_table/step_table.hpp"
#include "diagnose/finding.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// What a step's time is spent on: the columns of the table of a step, or of a program without GPU work the host.
struct time_cell {
    std::string phase{};  // "": in no phase
    std::string use{};    // "kernels", "communication", "copies", "idle: launches", "CPU"
    double ns = 0;        // of a step on one GPU

    bool is_same(const time_cell& other) const { return phase == other.phase && use == other.use; }
};

// Of a thing with a name: a range, a module, a kernel, a line; or a place at which memory was asked for.
struct named_cost {
    std::string name{};
    double amount = 0;  // ns of a step, on all GPUs; or bytes at the peak of the highest step
    double count = 0;   // of a step: operations, or calls; or blocks at that peak
};

struct kept_finding {
    std::string rule{};
    std::string title{};
    double gain_ns = 0;  // of a step, at most
};

struct run_profile {
    std::vector<std::string> files{};            // its captures
    std::map<std::string, std::string> facts{};  // what may explain a difference: "GPU", "driver", "command"
    bool has_steps = false;                      // else all that was recorded is taken for one step
    double devices = 0;                          // GPUs that did something
    std::vector<double> step_lengths_ns{};       // in the order of the steps that count
    double step_ns = 0;                          // their mean
    double host_ns = 0;                          // of a step: how long the host was in it
    double gpu_sum_ns = 0;                       // of a step, on all GPUs: durations of operations added
    double gpu_busy_ns = 0;                      // of a step, on all GPUs: with an operation running
    double ops = 0;                              // of a step: operations of the GPU
    // Bytes that PyTorch's allocator had given out on the fullest GPU: at the highest step's peak, and at the peak of
    // the median step. 0: no allocation was recorded.
    double peak_bytes = 0;
    double median_peak_bytes = 0;
    std::vector<time_cell> cells{};    // they add up to step_ns
    std::vector<named_cost> ranges{};  // GPU time by path
    // The same of names that a row of `ranges` has as one ("layer #"): the last name is whole ("step #/layer 11").
    std::vector<named_cost> numbered_ranges{};
    std::vector<named_cost> modules{};  // GPU time by path
    std::vector<named_cost> kernels{};  // GPU time by name as C++ has it
    std::vector<named_cost> lines{};    // the host's time by "train.py:57, host code"
    std::vector<named_cost>
        memory{};  // bytes by "activations of layer.#"; they add up to peak_bytes if no record was lost
    std::vector<kept_finding> findings{};
    bool has_modules = false;
    bool is_diagnosed = false;
    bool has_lines = false;
};

// Of one process's capture. `found`: its diagnosis, for findings and lines; null: none. Linear in the timeline. Throws
// nothing_selected (step_choice.hpp).
run_profile profile_of(const timeline& data, const std::string& file, const projection_options& options,
                       const selection_request& selection, const diagnosis* found);

// The run of these processes, such as the ranks of a job: means over those that have steps and GPU work, if any has,
// also of the length of each step; memory of the one with the highest peak; findings of all. REQUIRES: there is one.
run_profile merged(std::vector<run_profile> processes);

}  // namespace prof
