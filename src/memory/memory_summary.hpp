// SPDX-License-Identifier: Apache-2.0
// What held the memory of a GPU: at the peak of the highest and of the median step, when an allocation failed, and when
// the recording ended; what grows from step to step; how well the allocator uses what it has reserved.
// docs/guide/memory.md defines every figure. A pure function of a timeline; linear in its memory events, with a search
// for each in its steps.
//
// Conservation: at each of these moments the bytes of the rows add up to the allocator's total, to the byte. Rows of
// what was alive before the recording, and of what lost records leave unexplained, are among them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "analysis/selection/step_scope.hpp"
#include "memory/memory_use.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// Blocks of one use that were born in one place.
struct memory_row {
    memory_use use = memory_use::other;
    std::string path{};    // of ranges; "": outside any
    std::string phase{};   // its outermost part
    std::string module{};  // "": outside modules, or none were recorded
    // That which asked for most of its bytes, of the blocks whose line is known: "model.py:57", "forward → relu".
    std::string line{};
    std::string code{};
    // Of blocks that are alive; of the use `lost` it may be negative.
    std::int64_t at_peak = 0;     // of the highest step
    std::int64_t at_median = 0;   // at the peak of the median step
    std::int64_t at_failure = 0;  // when an allocation failed for the last time
    std::int64_t at_end = 0;
    std::uint64_t blocks_at_peak = 0;
    // In the steps that count.
    std::uint64_t churn = 0;    // bytes of blocks that were born
    std::uint64_t births = 0;   // blocks
    double growth = 0;          // of a step: bytes of blocks that are born in it and stay; 0: they do not
    std::string growth_line{};  // of these blocks, as `line` and `code`
    std::string growth_code{};
};

// Blocks that one line of the program asked for. A block without a stack of its own has the line of others of its place
// and size.
struct memory_line {
    std::string line{};  // "": not known
    std::string code{};
    std::int64_t at_peak = 0;  // as in memory_row
    std::int64_t at_median = 0;
    std::int64_t at_failure = 0;
    std::int64_t at_end = 0;
    std::uint64_t churn = 0;
    std::uint64_t births = 0;
    std::uint64_t known = 0;  // of all births so many have a stack of their own
};

struct memory_step {
    std::uint64_t number = 0;
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::int64_t peak_ns = 0;         // when
    std::uint32_t peak_event = npos;  // the event after which it was: index into timeline::memory; npos: none was
    std::uint64_t peak = 0;
    std::uint64_t reserved = 0;  // the most in the step
    std::string peak_path{};     // the ranges of the allocation that made it
    std::string peak_module{};
    std::int64_t growth = 0;  // from its beginning to its end
    std::uint64_t churn = 0;
    std::uint64_t births = 0;
    std::uint64_t segments = 0;  // how often the allocator reserved more
    std::uint64_t segment_bytes = 0;
};

// A request that could not be fulfilled.
struct memory_failure {
    std::int64_t time_ns = 0;
    std::uint64_t asked = 0;
    std::uint64_t allocated = 0;
    std::uint64_t reserved = 0;
    std::string path{};
    std::string module{};
    std::string line{};  // "": not known
    std::string code{};
};

// What the whole GPU has, and what of it is in use outside the allocator: by CUDA's context, libraries, other
// processes.
struct memory_outside {
    std::uint64_t total = 0;
    std::uint64_t used = 0;     // by whomever, when it was looked at for the last time before the highest step's peak
    std::uint64_t at_peak = 0;  // of it the bytes outside the allocator
    std::uint64_t most = 0;     // the most outside the allocator at any look
    std::uint64_t latest = 0;
    std::optional<std::uint64_t> at_failure{};  // at the latest look before an allocation failed for the last time
};

struct memory_device {
    std::uint32_t device = 0;  // index, as in operations
    bool is_gpu = true;        // of CUDA; else of another kind, whose number is in `kind`
    std::uint8_t kind = 0;
    std::optional<std::uint64_t> limit{};  // of the device; not known without CUPTI
    bool has_steps = false;                // else `steps` has one, of all that was recorded
    std::vector<memory_step> steps{};      // that count
    std::size_t highest = 0;               // index into steps
    std::size_t median = 0;                // that with the median peak
    std::uint64_t end_allocated = 0;
    std::uint64_t end_reserved = 0;
    std::uint64_t before = 0;          // alive when the recording began
    std::vector<memory_row> rows{};    // largest at the peak first
    std::vector<memory_line> lines{};  // likewise; empty if no line is known
    std::vector<memory_failure> failures{};
    std::uint64_t unused_at_peak = 0;         // reserved above allocated, at the highest step's peak
    std::uint64_t retries = 0;                // in steps: memory was given back to the driver, and asked for again
    std::uint64_t given_back = 0;             // in steps: how often the allocator had less reserved than before
    double growth = 0;                        // of a step, by the rows that grow
    std::optional<memory_outside> outside{};  // not known if the driver could not be asked
    // How many times as large activations and workspaces could be in the highest step, if what is in no use stays in
    // proportion; that is the batch, as far as they grow with it. Not known without steps,
    // activations or a limit, and where memory grows from step to step.
    std::optional<double> growth_room{};
};

struct memory_summary {
    std::vector<memory_device> devices{};  // those with memory events
    bool is_of_cuda = false;  // no allocator reported: what calls of CUDA had (timeline::is_memory_of_cuda)
    bool has_modules = false;
    bool has_lines = false;  // of at least one block the line is known
    std::uint64_t events = 0;
    std::uint64_t doubtful = 0;  // block_account::doubtful()
};

enum class memory_call : std::uint8_t { other, allocates, frees };

struct memory_options {
    std::string_view step_function{};
    step_scope scope{};
    const timeline* original = nullptr;  // before it had phases of XLA; null: it has none
    // What a call of CUDA's does with memory; may be empty.
    std::function<memory_call(const timeline_api_call&)> call_kind{};
};

// The device whose peak comes nearest to its limit, or is the highest; null: there is none.
const memory_device* fullest(const memory_summary& of) noexcept;

memory_summary measure_memory(const timeline& data, const attribution& att, const memory_options& options = {});

}  // namespace prof
