// SPDX-License-Identifier: Apache-2.0
// The places of a program as texts: the paths of its ranges, with folded names and without the range of the step. A
// range directly inside one of the same name adds nothing; nor does one of the program's around several of a step's
// phases ("iteration 7" around forward and backward). One thread. Memory: 4 bytes a range.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "analysis/steps/whole_steps.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// What the ranges of a place do, as far as their names say it.
enum class place_kind : std::uint8_t {
    other,
    loader,    // wait for the next batch: the phase `data`, and what PyTorch names there
    compiler,  // compile, and all within
};

// What further ranges of a program with very many names are together.
inline constexpr std::string_view other_ranges_text = "other ranges";

// The number of a place of code_places; 0: outside ranges.
using code_place_id = row_index<class code_places, 0>;

class code_places {
public:
    // The arguments must outlive it.
    code_places(const timeline& data, const attribution& att, const whole_steps& of);

    // A number for the place of the range; 0: outside ranges. Constant time on average.
    code_place_id of(range_id range);
    // Whether the range adds its name to paths: it is no step, not hidden, and not around phases.
    bool adds_to_path(range_id range);
    // "forward/lock"; "" for 0. REQUIRES: a number that of() has returned.
    const std::string& path(code_place_id place) const { return entries_[place].path; }
    // The last part of the path.
    const std::string& name(code_place_id place) const { return entries_[place].name; }
    place_kind kind(code_place_id place) const { return entries_[place].kind; }
    // "other ranges": those of a program with more than 4,096 places that came after these.
    bool is_others(code_place_id place) const;
    // The number of the outermost part of the path; 0 for 0.
    code_place_id outermost(code_place_id place) const { return entries_[place].outermost; }

    // By number.
    std::vector<std::string> paths() const;
    // The innermost place that contains both; 0 if none does.
    code_place_id common(code_place_id a, code_place_id b) const;

private:
    struct entry {
        std::string path;
        std::string name;
        std::uint32_t text = npos;  // index into texts_
        std::uint32_t depth = 0;
        code_place_id above{};
        code_place_id outermost{};
        place_kind kind = place_kind::other;
    };
    void leave_out_ranges_around_phases();
    static place_kind kind_of(const std::string& path, const std::string& name);
    place_kind kind_below(code_place_id above, const std::string& name) const;
    code_place_id below(code_place_id above, range_id range);
    code_place_id others_below(code_place_id above);
    code_place_id add_entry(code_place_id above, std::uint32_t text, const std::string& name);
    std::uint32_t text_of(const timeline_range& range);

    const timeline& data_;
    const attribution& att_;
    const whole_steps& steps_;
    row_table<entry, code_place_id> entries_{entry{}};
    std::size_t named_ = 1;                         // of these, not "other ranges"
    row_values<range_id, code_place_id> by_range_;  // unknown_place: not yet known
    std::vector<range_id> path_;      // of of(): the ranges whose places are not yet known, innermost first
    std::vector<std::string> texts_;  // folded names
    std::unordered_map<std::string, std::uint32_t> text_numbers_;
    std::unordered_map<std::uint64_t, std::uint32_t> names_;  // timeline_range::name_key() → text_of()
    std::unordered_set<std::uint32_t> around_phases_;  // texts of ranges that add nothing, since they are around phases
    std::unordered_map<std::uint64_t, code_place_id> by_text_;  // place above << 32 | text → place
};

}  // namespace prof
