// `prof report`: tables of one capture or several.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/reports/reports.hpp"
#include "cli/arguments.hpp"
#include "cli/input.hpp"
#include "export/report/report_writer.hpp"

namespace prof {

class report_command {
public:
    explicit report_command(command_arguments& arguments);

    // Returns the exit status: that of failure when any capture could not be read; the others are reported all the
    // same.
    int operator()() const;

private:
    std::vector<std::string> files_;
    std::vector<std::string> reports_ = {std::string(report_kinds().front().name)};
    std::string format_{report_formats().front().name};
    std::string output_;
    std::string kernel_names_ = "full";
    attribution_flags flags_;
    std::uint32_t depth_ = UINT32_MAX;
    std::string rows_ = "40";
    bool no_fold_ = false;
};

}  // namespace prof
