// What `prof report` and `prof export` are both given: captures, and whose GPU work is whose.
#pragma once

#include <string>

#include "analysis/attribution/attribution.hpp"
#include "cli/arguments.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// load_timeline(), with words of its own for what people are likely to give by mistake. Throws prof::error.
timeline load_capture(const std::string& path);

// The flags that say which ranges GPU work belongs to.
class attribution_flags {
public:
    void add_to(command_arguments& arguments);
    attribution_options options() const;

private:
    std::string adopt_ = "auto";
    std::string include_;
    std::string exclude_;
};

}  // namespace prof
