// What the commands are given: the values of options, and the captures that `prof report` and `prof export` read.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "analysis/attribution.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// `"value" is not accepted; it takes …`: how every value is refused.
std::string refusal(const std::string& value, const std::string& accepts);

// Checks of an option's value that refuse it so.
CLI::Validator takes(const std::string& accepts, const std::function<bool(const std::string&)>& is_good);
CLI::Validator takes_one_of(const std::vector<std::string>& words);

// load_timeline(), with words of its own for what people are likely to give by mistake. Throws prof::error.
timeline load_capture(const std::string& path);

// The flags that say which ranges GPU work belongs to.
class attribution_flags {
public:
    void add_to(CLI::App& app);
    attribution_options options() const;

private:
    std::string adopt_ = "auto";
    std::string include_;
    std::string exclude_;
};

}  // namespace prof
