// `prof seal`: closes captures whose processes died.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.hpp"

namespace prof {

class seal_command {
public:
    explicit seal_command(command_arguments& arguments);

    // Returns the exit status: that of failure when any capture could not be sealed; the others are all the same.
    int operator()() const;

private:
    std::vector<std::string> files_;
};

}  // namespace prof
