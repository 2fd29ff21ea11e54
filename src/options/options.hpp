// SPDX-License-Identifier: Apache-2.0
// The options of a recording. All ways to set one go through one table (option_rows.inl): PROF_ variables, the settings
// of prof_start and `prof ctl` ("output_dir=..."), and the flags of the command. Tests check docs/ against it.
//
// A text is parsed once, when an option is set, into a typed member of session_options. Any thread; a session_options
// belongs to one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/outcome.hpp"
#include "options/values.hpp"
#include "plan/schedule_plan.hpp"
#include "plan/trigger_plan.hpp"
#include "record/activities.hpp"
#include "record/fold_rule.hpp"
#include "record/keep_limits.hpp"
#include "record/range_name.hpp"

namespace prof {

// A member for each row of the table.
struct session_options {
#define PROF_OPTION_AS(name, member, type, standard, ...) type member = standard;
#include "options/option_rows.inl"

    bool operator==(const session_options&) const = default;
};

// The part of the manual that an option stands in.
enum class option_group : std::uint8_t { recorded, time, output };

// The title of that part.
std::string_view title_of(option_group group) noexcept;

// Until when an option may be set in a running process.
enum class option_change : std::uint8_t {
    at_program_start,  // read when the program begins
    before_first_use,  // until the program's first use of NVTX or CUDA
    before_cupti,      // until a libcupti was loaded
    next_recording,    // at any time, for the next recording
    while_recording,   // at any time: it is read when a recording ends
};

// A row of the table.
struct option {
    std::string_view name{};  // output_dir

    option_group group = option_group::recorded;
    std::string_view value_name{};  // the manual's word for the value; "": `prof run` has no flag for the option
    std::string_view short_flag{};  // -o
    std::string_view alone{};       // the value that the flag stands for without one; "": it needs one
    std::string_view negated{};     // the value that a flag --no-NAME stands for; "": there is no such flag
    option_change changes = option_change::next_recording;
    // Whether the recording of a forked child has the value of its parent's; else it has the default. Options that
    // depend on the parent's steps and ranges are not inherited.
    bool child_inherits = true;
    std::string_view accepts{};      // what a text may be; "": the kind of value has the words (accepts_of)
    std::string_view help{};         // of `prof run`
    std::string_view report_help{};  // of `prof report` and `prof export`; "": they have no such flag

    // False for a text that is not accepted; then nothing has changed.
    bool (*parse)(session_options& out, std::string_view text) = nullptr;
    // A text from which parse() makes the same value; "" for an option that is not set.
    std::string (*print)(const session_options& source) = nullptr;
    void (*copy)(session_options& target, const session_options& source) = nullptr;  // this option and no other
    std::string (*kind_accepts)() = nullptr;
    // The words among the accepted texts; null where the value is no word.
    std::vector<std::string> (*kind_words)() = nullptr;
};

std::span<const option> option_table() noexcept;

// Null for a name that no option has.
const option* find_option(std::string_view name) noexcept;

// What a text of the option may be: "0 or 1".
std::string accepts_of(const option& row);
// The words among them; none where the value is no word.
std::vector<std::string> accepted_words(const option& row);

std::string variable_of(const option& row);  // PROF_OUTPUT_DIR
std::string flag_of(const option& row);      // --output-dir

// Sets one option. A failure names what is accepted, and begins with `shown_as`, the option as the user named it.
outcome set_option(session_options& out, const option& which, std::string_view text, std::string_view shown_as);
outcome set_option(session_options& out, std::string_view name, std::string_view text);

// The same of "name=value".
outcome set_from_text(session_options& out, std::string_view setting);

// The text of one option; "" if it is not set. REQUIRES: there is such an option.
std::string text_of(const session_options& options, std::string_view name);

struct environment_settings {
    session_options options;
    outcome problem;  // the first variable with a bad value; the option has its default
};

// Reads the PROF_ variables. A variable that is set to nothing is as if it were not set, and one that is no option's is
// passed over: it may be another program's.
environment_settings options_from_environment();

// The PROF_ variables of the environment that are no option's and none that libprof sets itself: a line for each that
// is near an option's name, and one for all others. A variable that is set to nothing is as if it were not set.
std::vector<std::string> unknown_variables();

inline activity_set activities_of(const session_options& options) noexcept { return options.activities.value; }

// Whether graphs are observed while nothing is recorded: idle_graph_nodes, where graphs' nodes are recorded at all.
inline bool observes_idle_graphs(const session_options& options) noexcept {
    return options.idle_graph_nodes && activities_of(options).has(activity::graph_nodes);
}

}  // namespace prof
