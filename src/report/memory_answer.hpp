// SPDX-License-Identifier: Apache-2.0
// The account of GPU memory in sentences, for the first screen and the beginning of every report of a capture in which
// memory ran out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memory/cuda_memory_rows.hpp"
#include "memory/memory_summary.hpp"
#include "report/checkpoint_advice.hpp"
#include "report/report_document.hpp"
#include "report/report_input.hpp"

namespace prof {

// CUDA's own memory, of the same steps. `of`: input_memory(input).summary().
std::vector<cuda_memory_row> cuda_memory_of(const report_input& input, const memory_summary& of);
// "512.00 MB by libnccl.so.2, 33.55 MB by libcublas.so.12": what libraries and the program had of a GPU at its peak
// outside the allocator; "" if that is nothing.
std::string known_outside_text(const std::vector<cuda_memory_row>& rows, std::uint32_t device);

// "12.31 GB of 84.93 GB, step 17, in backward: activations 61 %, parameters 20 %"; "" of no device.
std::string peak_text(const memory_summary& of);

// The last request that failed, and what was alive then, largest first; "" if none did.
std::string failure_text(const memory_summary& of);
// The same of a process that was killed: what was alive at its end; "" if nothing was.
std::string end_text(const memory_summary& of);

// Why no allocation was recorded, and how it would be.
std::string no_allocation_text(const timeline& data);

// Whether the capture was not closed by its process, which is gone.
bool is_killed(const timeline& data);

// What to change. Its price is memory, and no time.
struct memory_finding {
    std::uint32_t device = 0;
    std::string rule{};    // "memory_growth"
    std::string title{};   // a sentence
    double bytes = 0;      // that it is about: of a step where it says so
    std::string path{};    // of ranges; "": none, or of no place
    std::string module{};  // likewise
    std::string line{};    // of the program; "": not known
    std::string code{};
    std::string advice{};
};
// `checkpoints`: checkpoints_of(), where somebody has asked for it.
std::vector<memory_finding> memory_findings(const memory_summary& of, const checkpoint_answer& checkpoints = {});

// What is known of one input's memory. Where it is kept (report_input::memory), it serves all of its reports.
struct kept_memory {
    std::optional<memory_summary> summary{};
    std::optional<checkpoint_answer> checkpoints{};
};

// Works that out when it is first asked for. One thread.
class input_memory {
public:
    // The input must outlive it.
    explicit input_memory(const report_input& input)
        : input_(input), kept_(input.memory == nullptr ? own_ : *input.memory) {}
    input_memory(const input_memory&) = delete;
    input_memory& operator=(const input_memory&) = delete;

    // Of the steps that the reports are of. Linear in the memory events.
    const memory_summary& summary();
    const checkpoint_answer& checkpoints();
    std::vector<memory_finding> findings();

private:
    const report_input& input_;
    kept_memory own_;
    kept_memory& kept_;
};

// Puts the first screen's line into the document, and what failed above all reports. Nothing if no memory was recorded.
void add_memory(report_document& document, const report_input& input);

}  // namespace prof
