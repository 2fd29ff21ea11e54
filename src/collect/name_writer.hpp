// SPDX-License-Identifier: Apache-2.0
// Decides which names go into a capture. A name is written just before the first record that uses it; after a key frame
// every name counts as new. So each part of a capture that begins with a key frame contains exactly the names that it
// needs.
//
// Used by the drain thread only. Memory: one bit for each place in the arenas where a name may begin.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "capture/writer.hpp"
#include "record/record_traits.hpp"
#include "ring/region.hpp"

namespace prof {

class name_writer {
public:
    // `held` returns the text of a name that has been freed already, or an empty view if it has none.
    using finder = std::function<std::string_view(std::uint32_t id)>;
    name_writer(region& where, finder held);

    void begin_anew();  // nothing counts as written
    // Notes that what is written next uses this name. A name without a text is counted as names_full.
    void use(std::uint32_t id);
    void use(std::span<const record> records);
    // Writes the used names that the capture lacks.
    void write(capture_writer& out);
    // The names at these positions are freed: other names will take their places.
    void forget(std::uint64_t begin, std::uint64_t end) noexcept;

private:
    void add(std::uint32_t id, std::string_view text);

    region& region_;
    finder held_;
    std::vector<bool> kept_;     // written; by id
    std::vector<bool> passing_;  // written; by place in the arena
    std::unordered_set<std::uint32_t> freed_;
    std::vector<capture_writer::name_entry> new_;  // to be written
};

}  // namespace prof
