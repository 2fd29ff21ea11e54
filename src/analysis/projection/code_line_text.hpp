// SPDX-License-Identifier: Apache-2.0
// How reports and traces name a line of a program. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "timeline/timeline.hpp"

namespace prof {

// "forward", "Trainer.step": the last part alone where a function is local to another.
std::string_view function_of(const timeline& data, const code_line& line) noexcept;
// As Python has it.
std::string_view file_of(const timeline& data, const code_line& line) noexcept;
// The file from the program's working directory, of a package from the folder of the packages; else as it is.
std::string_view short_file(const timeline& data, std::string_view file) noexcept;

// "train.py:57".
std::string line_text(const timeline& data, const code_line& line);
// What the line was doing, as far as the stack shows: "train", or "train → Tensor.item" with the function that it had
// called. `line`: a frame of the stack.
std::string code_text(const timeline& data, stack_id stack, const code_line& line);
// The whole stack, the outermost frame first: "train.py:57 train → torch/_tensor.py:40 item".
std::string stack_text(const timeline& data, stack_id stack);

}  // namespace prof
