// SPDX-License-Identifier: Apache-2.0
// One event of a Chrome trace, as PyTorch's profiler (Kineto) and libprof write them: the members that a timeline
// needs, and no others. docs/guide/kineto.md lists the categories.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "timeline/kineto/json_scanner.hpp"
#include "timeline/kineto/trace_collectives.hpp"
#include "timeline/matrix_calls.hpp"

namespace prof {

enum class trace_category : std::uint8_t {
    none,     // no category: metadata
    unknown,  // see trace_event::other_category
    kernel,
    gpu_memcpy,
    gpu_memset,
    runtime_call,
    driver_call,
    cpu_op,
    user_annotation,
    module,           // of libprof
    python_function,  // with_stack
    overhead,         // of the profiler itself
    derived,          // says what other events say as well: arrows, ranges on the GPU, the profiler's own span
    not_used,         // known, and of no use here: memory's allocations, waits between streams
};

// A process or thread of an event. Rows may have texts in place of numbers: the profiler's own, and those of traces
// that were merged (`[TP01-DP00] 84`). Of such a text the number at its end counts; -1: it has none.
struct trace_place {
    std::int64_t pid = -1;
    std::int64_t tid = -1;
    std::uint32_t process = 0;  // which of the processes that were merged (trace_contents.hpp); 0: they were not

    friend auto operator<=>(const trace_place&, const trace_place&) = default;
};

// What an argument is used for is said where it is used. Absent numbers are 0, or -1 where 0 means something.
struct trace_args {
    std::uint64_t correlation = 0;
    std::uint64_t bytes = 0;
    std::uint64_t graph_id = 0;
    std::uint64_t graph_node_id = 0;
    std::uint64_t record_function_id = 0;
    std::uint64_t queued = 0;
    std::uint64_t registers = 0;
    std::uint64_t shared_bytes = 0;
    std::int64_t cbid = -1;
    std::int64_t device = -1;
    std::int64_t stream = -1;
    std::int64_t context = 0;
    std::int64_t from_device = -1;
    std::int64_t to_device = -1;
    std::int64_t sequence = -1;
    std::int64_t next_sequence = -1;  // of a module's call that libprof wrote: when it ended
    std::int64_t forward_thread = 0;  // of a backward node: the number of the thread that made it
    std::uint32_t grid[3] = {};
    std::uint32_t block[3] = {};
    std::uint32_t cluster[3] = {};
    bool has_record_function = false;
    bool has_grid = false;
    bool has_source = false;  // a step that libprof wrote beside what it was made from
    bool has_returned = true;
    bool is_open_at_end = false;
    std::string payload;  // as it is written; "" if absent
    std::string name;     // of metadata; and other texts, by key
    std::string domain;
    std::string call;    // the driver's function, under the name of the runtime's
    std::string kernel;  // of a launch without a kernel
    // Of an operator that multiplies matrices, if its name came before its arguments; of others nothing.
    std::optional<matrix_operator> multiplies;
    std::vector<operator_argument> inputs;
    std::optional<collective_arguments> collective;
};

struct trace_event {
    char phase = '\0';
    trace_category category = trace_category::none;
    std::string other_category;
    std::string name;
    trace_place at;
    std::string process;                      // the text of `at.pid` without the number; "" if it is a number
    std::optional<std::int64_t> time_ns;      // since the trace's base
    std::optional<std::int64_t> duration_ns;  // may be negative
    std::uint64_t id = 0;
    trace_args args;
};

// Reads the object that comes next, and replaces what `out` was. Throws json_damage.
void read_event(json_scanner& in, trace_event& out);

// Microseconds as text, exactly, in nanoseconds; what is beyond the third decimal is rounded. Nothing if it is no
// number, or out of the range in which sums of two times fit 64 bits.
std::optional<std::int64_t> nanoseconds(std::string_view microseconds) noexcept;

}  // namespace prof
