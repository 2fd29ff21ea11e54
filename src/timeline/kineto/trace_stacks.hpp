// SPDX-License-Identifier: Apache-2.0
// The Python functions of a trace made with with_stack, as the stacks that libprof records at calls. A trace has the
// times of each function and the line at which it begins; in which line of it a call was made is not there. One thread;
// linear in the functions but for sorting, and 24 bytes each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "timeline/row_ids.hpp"

namespace prof {

struct trace_function {
    std::string name{};       // as records of lines have it (record.hpp): "train (from line 8)\ntrain.py"
    bool is_library = false;  // of Python, a framework or another package, and not the program's own
};

// Of an event's name: "train.py(8): train", "<built-in method item of Tensor object at 0x7f1b>". Nothing if it is
// neither.
std::optional<trace_function> function_in_trace(std::string_view name);

// Whether the file is Python's own or of a well-known package. A trace has paths without the folder from which Python
// imported them, so that a program's files and those of packages look alike.
bool is_library_in_trace(std::string_view file) noexcept;

// What one thread ran.
class trace_stacks {
public:
    struct function {
        std::int64_t start_ns = 0;
        std::int64_t end_ns = 0;
        name_id name{};
        std::uint32_t around = UINT32_MAX;  // index of the function that called it
        bool is_library = false;
    };

    void add(const function& each) { functions_.push_back(each); }
    bool is_empty() const noexcept { return functions_.empty(); }
    // Call once, when all were added. Their times become later by `by_ns`.
    void settle(std::int64_t by_ns);
    // The functions that run at this time, the innermost first; at most `most` of the innermost. `depth`: how many run.
    void find(std::int64_t ns, std::size_t most, std::vector<const function*>& out, std::uint32_t& depth) const;

private:
    std::vector<function> functions_;
};

}  // namespace prof
