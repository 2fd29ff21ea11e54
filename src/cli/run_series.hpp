// SPDX-License-Identifier: Apache-2.0
// Several runs of a command, or of two turn by turn: `prof run --runs N --against COMMAND`. Each is a process of its
// own, one after another. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/captures.hpp"
#include "cli/child.hpp"
#include "cli/run_reports.hpp"
#include "options/options.hpp"

namespace prof {

// One process of the command, and the captures that it and its children left, which are closed.
struct finished_run {
    child_end end{};
    std::vector<run_capture> captures{};

    bool is_good() const noexcept { return end.start_error == 0 && end.status == 0 && end.signal == 0; }
};

class series_flags {
public:
    // This must live until the command line is parsed.
    void add_to(command_arguments& arguments);

    bool is_series() const noexcept { return runs() > 1 || is_pair(); }
    bool is_pair() const noexcept { return !against_.empty(); }
    std::uint32_t runs() const noexcept;  // of each command
    // The words of --against. Throws usage_error.
    std::vector<std::string> against() const;

private:
    std::uint32_t runs_ = 0;  // 0: not given
    std::string against_;
};

// Which of two commands is run when: 0 1 1 0 0 1 1 0 …, so that a drift of the machine, such as its warming, adds the
// same to both, as far as it is linear, and each follows itself as often as the other. Of one command only zeros.
std::vector<std::size_t> order_of_runs(std::uint32_t runs, bool is_pair);

struct run_side {
    std::vector<std::string> command{};
    std::string directory{};  // of its captures
};

struct run_series {
    std::vector<run_side> sides{};  // one, or the base and the new one
    std::uint32_t runs = 0;         // of each
    // Runs a side's command once.
    std::function<finished_run(const run_side& side)> run{};
};

// Runs them all. Those that fail are left out of the tables that are made at the end: of each run's step, and of two
// commands their comparison. Returns the end of the first run that failed, else of the last. After one that could not
// be started, or during which a signal asked for the end, none follows.
child_end run_all(const run_series& series, const session_options& options, const run_output& output);

}  // namespace prof
