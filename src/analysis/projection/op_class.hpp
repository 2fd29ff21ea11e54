// SPDX-License-Identifier: Apache-2.0
// The purpose of a GPU operation: computing, communicating with other GPUs, or moving memory.
//
// communication.hpp says what is communication. All other copies and sets are memory. Pure functions.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/projection/communication.hpp"
#include "timeline/timeline.hpp"

namespace prof {

enum class op_class : std::uint8_t { compute, communication, memory };

std::string_view to_string(op_class value) noexcept;

// Linear in the distinct kernels and names of the timeline once, then a look-up.
class op_classifier {
public:
    // The timeline must outlive it.
    explicit op_classifier(const timeline& data);
    op_class operator()(const gpu_op& op) const;

private:
    const timeline* data_;
    collective_calls collectives_;
    std::vector<op_class> by_detail_;  // by index into timeline::kernels
};

}  // namespace prof
