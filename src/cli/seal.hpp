// `prof seal`: closes captures whose processes died.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace prof {

class seal_command {
public:
    explicit seal_command(CLI::App& app);

    // Returns the exit status: that of failure when any capture could not be sealed; the others are all the same.
    int operator()() const;

private:
    std::vector<std::string> files_;
};

}  // namespace prof
