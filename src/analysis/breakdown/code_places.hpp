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

class code_places {
public:
    // The arguments must outlive it.
    code_places(const timeline& data, const attribution& att, const whole_steps& of);

    // A number for the place of the range; 0: outside ranges. Constant time on average.
    std::uint32_t of(std::uint32_t range);
    // Whether the range adds its name to paths: it is no step, not hidden, and not around phases.
    bool adds_to_path(std::uint32_t range);
    // "forward/lock"; "" for 0. REQUIRES: a number that of() has returned.
    const std::string& path(std::uint32_t place) const { return entries_[place].path; }
    // The last part of the path.
    const std::string& name(std::uint32_t place) const { return entries_[place].name; }
    place_kind kind(std::uint32_t place) const { return entries_[place].kind; }
    // "other ranges": those of a program with more than 4,096 places that came after these.
    bool is_others(std::uint32_t place) const;
    // The number of the outermost part of the path; 0 for 0.
    std::uint32_t outermost(std::uint32_t place) const { return entries_[place].outermost; }

    // By number.
    std::vector<std::string> paths() const;
    // The innermost place that contains both; 0 if none does.
    std::uint32_t common(std::uint32_t a, std::uint32_t b) const;

private:
    struct entry {
        std::string path;
        std::string name;
        std::uint32_t text = npos;  // index into texts_
        std::uint32_t depth = 0;
        std::uint32_t above = 0;
        std::uint32_t outermost = 0;
        place_kind kind = place_kind::other;
    };
    void leave_out_ranges_around_phases();
    static place_kind kind_of(const std::string& path, const std::string& name);
    place_kind kind_below(std::uint32_t above, const std::string& name) const;
    std::uint32_t below(std::uint32_t above, std::uint32_t range);
    std::uint32_t others_below(std::uint32_t above);
    std::uint32_t add_entry(std::uint32_t above, std::uint32_t text, const std::string& name);
    std::uint32_t text_of(const timeline_range& range);

    const timeline& data_;
    const attribution& att_;
    const whole_steps& steps_;
    std::vector<entry> entries_{entry{}};
    std::size_t named_ = 1;                // of these, not "other ranges"
    std::vector<std::uint32_t> by_range_;  // npos: not yet known
    std::vector<std::uint32_t> path_;      // of of(): the ranges whose places are not yet known, innermost first
    std::vector<std::string> texts_;       // folded names
    std::unordered_map<std::string, std::uint32_t> text_numbers_;
    std::unordered_map<std::uint64_t, std::uint32_t> names_;  // domain << 32 | name → text_of()
    std::unordered_set<std::uint32_t> around_phases_;  // texts of ranges that add nothing, since they are around phases
    std::unordered_map<std::uint64_t, std::uint32_t> by_text_;  // place above << 32 | text → place
};

}  // namespace prof
