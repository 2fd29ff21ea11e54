// What `prof report` and `prof export` read.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "analysis/attribution.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// load_timeline(), with words of its own for what people are likely to give by mistake. Throws prof::error.
timeline load_capture(const std::string& path);

// The flags that say which ranges GPU work belongs to.
class attribution_flags {
public:
    void add_to(CLI::App& app);
    attribution_options options() const;  // throws CLI::ValidationError

private:
    std::string adopt_ = "auto";
    std::string include_;
    std::string exclude_;
};

}  // namespace prof
