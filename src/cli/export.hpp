// `prof export`: a capture as a trace for viewers.
#pragma once

#include <string>

#include "cli/arguments.hpp"
#include "cli/input.hpp"

namespace prof {

class export_command {
public:
    explicit export_command(command_arguments& arguments);
    int operator()() const;

private:
    std::string file_;
    std::string output_;
    attribution_flags flags_;
};

}  // namespace prof
