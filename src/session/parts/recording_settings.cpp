// SPDX-License-Identifier: Apache-2.0
#include "session/parts/recording_settings.hpp"

#include <utility>

#include "base/json_text.hpp"
#include "options/plans.hpp"
#include "session/process/autostart.hpp"
#include "session/process/heritage.hpp"
#include "session/process/warn_once.hpp"

namespace prof {
namespace {

// REQUIRES: `setting` is a name=value that set_from_text() accepted.
const option& option_of(std::string_view setting) { return *find_option(setting.substr(0, setting.find('='))); }

// Fails if the option cannot change any more.
outcome check_unfixed(const option& set, const fixed_settings& fixed) {
    const std::string name(set.name);
    if (set.changes == option_change::at_program_start) {
        return outcome::wrong_state(name + " is read when the program begins; it cannot change any more");
    }
    if (set.changes == option_change::before_first_use && fixed.rings) {
        return outcome::wrong_state(name +
                                    " is fixed at the program's first use of NVTX or CUDA; it cannot change any more");
    }
    if (set.changes == option_change::before_cupti && fixed.cupti) {
        return outcome::wrong_state(name + ": a libcupti is loaded already, and stays");
    }
    return {};
}

}  // namespace

recording_settings::recording_settings(const heritage* inherited, bool may_use_gpu) {
    if (inherited != nullptr) {
        environment_ = std::make_shared<const session_options>(inherited->environment);
        options_ = std::make_shared<const session_options>(options_of_child(inherited->options, may_use_gpu));
        return;
    }
    auto [options, problem] = options_from_environment();
    options.autostart = starts_by_itself();
    environment_ = std::make_shared<const session_options>(std::move(options));
    options_ = environment_;
    // A variable's value may contain newlines, and control sequences of a terminal.
    if (!problem.ok()) warn_once(message_safe(problem.message()) + "; the default is used");
}

recording_settings::snapshot recording_settings::environment() {
    const session_lock lock(mutex_);
    return environment_;
}

recording_settings::snapshot recording_settings::note_autostart() {
    const session_lock lock(mutex_);
    session_options options = *environment_;
    options.autostart = starts_by_itself();
    environment_ = std::make_shared<const session_options>(std::move(options));
    return environment_;
}

recording_settings::snapshot recording_settings::options() {
    const session_lock lock(mutex_);
    return options_;
}

process_facts recording_settings::facts() {
    const session_lock lock(mutex_);
    return facts_;
}

std::vector<std::string> recording_settings::toolkits() {
    const session_lock lock(mutex_);
    return environment_facts_.toolkits;
}

environment_facts recording_settings::facts_of_environment() {
    const session_lock lock(mutex_);
    return environment_facts_;
}

void recording_settings::read_environment() {
    environment_facts facts = read_environment_facts();
    const session_lock lock(mutex_);
    environment_facts_ = std::move(facts);
}

void recording_settings::begin(const session_options& options) {
    snapshot next = std::make_shared<const session_options>(options);
    process_facts facts = read_process_facts(options, facts_of_environment());
    const session_lock lock(mutex_);
    options_ = std::move(next);
    facts_ = std::move(facts);
}

void recording_settings::begin_in_child(const std::string& directory) {
    process_facts facts = read_process_facts(*options(), facts_of_environment());
    if (!directory.empty()) facts.working_directory = directory;
    const session_lock lock(mutex_);
    facts_ = std::move(facts);
}

outcome recording_settings::merge(std::span<const std::string> settings, const fixed_settings& fixed,
                                  session_options& out) {
    for (const std::string& setting : settings) {
        if (outcome set = set_from_text(out, setting); !set.ok()) return outcome::wrong_state(std::move(set).message());
        if (outcome unfixed = check_unfixed(option_of(setting), fixed); !unfixed.ok()) return unfixed;
    }
    return {};
}

outcome recording_settings::set(std::span<const std::string> settings, const fixed_settings& fixed, bool is_recording) {
    const session_lock lock(mutex_);
    session_options next = *environment_;
    for (const std::string& setting : settings) {
        if (outcome set = set_from_text(next, setting); !set.ok())
            return outcome::wrong_state(std::move(set).message());
        const option& changed = option_of(setting);
        if (outcome unfixed = check_unfixed(changed, fixed); !unfixed.ok()) return unfixed;
        if (is_recording && changed.changes != option_change::while_recording) {
            return outcome::wrong_state(std::string(changed.name) +
                                        " stays as it is while a recording runs: stop that first");
        }
    }
    if (outcome plan = plan_problem(next); !plan.ok()) return outcome::wrong_state(std::move(plan).message());
    if (is_recording) {
        session_options changed = *options_;
        for (const std::string& setting : settings) option_of(setting).copy(changed, next);
        options_ = std::make_shared<const session_options>(std::move(changed));
    }
    environment_ = std::make_shared<const session_options>(std::move(next));
    return {};
}

}  // namespace prof
