// SPDX-License-Identifier: Apache-2.0
// Where in the program a block of memory was asked for, or came back: the path of the ranges that were open, those of
// the thread that autograd's thread works for included, the phase, and the module. Numbers in names stay where the same
// path recurs in several steps, as layers do; else they are folded, as those of batches. One thread. Memory: as
// code_places and module_texts, and 8 bytes a range.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/attribution/adoption.hpp"
#include "analysis/attribution/attribution.hpp"
#include "analysis/breakdown/code_places.hpp"
#include "analysis/modules/module_texts.hpp"
#include "analysis/projection/segment.hpp"
#include "analysis/steps/whole_steps.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// What the program does in a phase, as far as its name says it.
enum class phase_role : std::uint8_t { other, startup, forward, backward, optimizer };

class birth_places {
public:
    // The arguments must outlive it. `original`: as for module_finder.
    birth_places(const timeline& data, const attribution& att, const whole_steps& steps, const timeline& original);

    // A number for the path of the event; 0: outside ranges.
    std::uint32_t place_of(const memory_event& event);
    // The same path with all its numbers.
    std::string exact_path(const memory_event& event);
    // "forward/loss"; "(ambiguous)" where several threads may be meant; "" for 0.
    std::string path(std::uint32_t place) const;
    // The outermost part of the path.
    std::string phase(std::uint32_t place) const;
    phase_role role_of(const memory_event& event, std::uint32_t place);
    // "GPT2.h.*.mlp"; "" outside modules, or if none were recorded.
    const std::string& module_of(const memory_event& event);
    bool has_modules() const noexcept { return modules_.is_recorded(); }

private:
    struct exact_place {
        std::string path;
        std::string name;        // its last part
        std::int64_t step = -2;  // the first in which a block was born there; -2: none was yet
        bool recurs = false;     // in another step, too
    };
    range_id range_of(const memory_event& event);
    // An index into exact_; 0: outside ranges, or there are too many.
    std::uint32_t exact_of(range_id range);
    void find_recurring(const whole_steps& steps);

    const timeline& data_;
    const attribution& att_;
    std::vector<open_node> extra_nodes_;
    adoption_rule adoption_;
    code_places places_;
    path_segments segment_of_;
    text_budget texts_;
    std::vector<exact_place> exact_{exact_place{}};
    row_values<range_id, std::uint32_t> exact_by_range_;                          // npos: not known yet
    std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> exact_below_;  // by what is above, and name
    module_texts modules_;
    const std::string no_module_;
    std::unordered_map<std::uint32_t, phase_role> roles_;  // by place
};

}  // namespace prof
