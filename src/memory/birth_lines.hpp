// SPDX-License-Identifier: Apache-2.0
// The line of the program that asked for a block of memory. Not every block has a stack: a thread records only so many
// a second, of large blocks first. A block without has the line of the latest one before it, else of the first, that
// was born in the same place with the same size. Autograd's threads have no lines. One thread; memory: that of the
// distinct places and sizes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "memory/birth_places.hpp"
#include "timeline/timeline.hpp"

namespace prof {

class birth_lines {
public:
    birth_lines(const timeline& data, birth_places& places);

    bool has_any() const noexcept { return lines_.size() > 1; }
    // A number for the line; 0: not known. REQUIRES: the event gave out a block, or failed; the places are those it was
    // made with.
    std::uint32_t line_of(const memory_event& birth, birth_places& places);
    const std::string& text(std::uint32_t line) const { return lines_[line].text; }  // "model.py:57"; "" for 0
    const std::string& code(std::uint32_t line) const { return lines_[line].code; }  // "forward → relu"

private:
    struct known_line {
        std::string text;
        std::string code;
    };
    using kind_of_block = std::tuple<std::uint32_t, std::string, std::uint64_t>;  // place, module, bytes

    std::uint32_t number_of(stack_id stack);

    const timeline& data_;
    std::vector<known_line> lines_{known_line{}};
    std::map<std::pair<std::string, std::string>, std::uint32_t> by_text_;
    std::map<std::uint32_t, std::uint32_t> by_stack_;
    std::map<kind_of_block, std::map<std::int64_t, std::uint32_t>> seen_;  // moment → line
};

}  // namespace prof
