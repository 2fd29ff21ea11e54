// What `prof report` and `prof export` read.
#pragma once

#include <string>

#include "analysis/attribution.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// load_timeline(), with words of its own for what people are likely to give by mistake. Throws prof::error.
timeline load_capture(const std::string& path);

// --adopt's value: auto, off, or a pattern.
attribution_options adoption_of(const std::string& value);

}  // namespace prof
