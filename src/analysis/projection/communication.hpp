// SPDX-License-Identifier: Apache-2.0
// Which GPU work is communication: it moves data between GPUs or waits for another one. docs/reference/communication.md
// lists what is recognised.
//
// What launched it decides first: a call of a collective, by PyTorch's operator (c10d) or the library's own NVTX range.
// A copy between two GPUs is communication, whoever launched it. Else the kernel's function decides: its library, or
// the words of a collective operation in its name. Its template arguments and parameters do not count. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "timeline/timeline.hpp"

namespace prof {

// The property with patterns of the user's, one a line: shell patterns of kernels' names, demangled or not, whole or
// short.
inline constexpr std::string_view communication_property = "communication";

// Adds patterns to those of the capture.
void add_communication(timeline& data, const std::vector<std::string>& patterns);

// `symbol`: as CUPTI gives it, mangled or not.
bool is_communication_kernel(std::string_view symbol);

// The calls of collectives: operators of PyTorch, and ranges that communication libraries push in NVTX domains of their
// own. Linear in the timeline's distinct names once, then two look-ups.
class collective_calls {
public:
    // The timeline must outlive it.
    explicit collective_calls(const timeline& data);
    bool launched(const gpu_op& op) const;

private:
    template <typename TNode>
    bool is_in(const row_table<TNode>& nodes, row_index<TNode> node) const;

    const timeline* data_;
    std::unordered_set<name_id> names_;          // of PyTorch's operators
    std::unordered_set<std::uint16_t> domains_;  // of libraries
};

// Whether the copy is from one GPU to another one.
bool is_between_gpus(const transfer_record& transfer) noexcept;

// Patterns of the property.
class communication_patterns {
public:
    explicit communication_patterns(std::string_view lines);
    bool matches(std::string_view symbol) const;

private:
    std::vector<std::string> patterns_;
};

}  // namespace prof
