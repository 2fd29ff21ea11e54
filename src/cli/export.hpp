// `prof export`: a capture as a trace for viewers.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/input.hpp"

namespace prof {

class export_command {
public:
    explicit export_command(CLI::App& app);
    int operator()() const;

private:
    std::string file_;
    std::string output_;
    attribution_flags flags_;
};

}  // namespace prof
