#include "session/recording_settings.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/json_text.hpp"
#include "options/plans.hpp"
#include "session/heritage.hpp"
#include "session/warn_once.hpp"

namespace prof {
namespace {

// Read when a recording ends, so they may still change while it runs.
constexpr std::array<std::string_view, 6> read_at_the_end = {
    "export", "adopt", "fold", "rows", "nvtx_domain_include", "nvtx_domain_exclude"};
constexpr std::array<std::string_view, 4> read_at_the_start = {"autostart", "control", "control_signal", "run_id"};

bool is_among(std::span<const std::string_view> names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

std::string name_in(std::string_view setting) { return std::string(setting.substr(0, setting.find('='))); }

// Why the option cannot change any more; "" if it can.
std::string why_fixed(const std::string& name, const fixed_settings& fixed) {
    if (is_among(read_at_the_start, name)) return name + " is read when the program begins; it cannot change any more";
    if ((name == "memory" || name == "rings") && fixed.rings) {
        return name + " is fixed at the program's first use of NVTX or CUDA; it cannot change any more";
    }
    if (name == "cupti_library" && fixed.cupti) return name + ": a libcupti is loaded already, and stays";
    return {};
}

}  // namespace

recording_settings::recording_settings(const heritage* inherited, bool may_use_gpu) {
    if (inherited != nullptr) {
        environment_ = std::make_shared<const session_options>(inherited->environment);
        options_ = std::make_shared<const session_options>(options_of_child(inherited->options, may_use_gpu));
        return;
    }
    std::string complaint;
    environment_ = std::make_shared<const session_options>(options_from_environment(complaint));
    options_ = environment_;
    // A variable's value may contain newlines, and control sequences of a terminal.
    if (!complaint.empty()) warn_once(terminal_safe(complaint) + "; the default is used");
}

recording_settings::snapshot recording_settings::environment() {
    const session_lock lock(mutex_);
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
        std::string problem = set_from_text(out, setting);
        if (problem.empty()) problem = why_fixed(name_in(setting), fixed);
        if (!problem.empty()) return outcome::wrong_state(std::move(problem));
    }
    return {};
}

outcome recording_settings::set(std::span<const std::string> settings, const fixed_settings& fixed, bool is_recording) {
    const session_lock lock(mutex_);
    session_options next = *environment_;
    for (const std::string& setting : settings) {
        const std::string name = name_in(setting);
        std::string problem = set_from_text(next, setting);
        if (problem.empty()) problem = why_fixed(name, fixed);
        if (problem.empty() && is_recording && !is_among(read_at_the_end, name)) {
            problem = name + " stays as it is while a recording runs: stop that first";
        }
        if (!problem.empty()) return outcome::wrong_state(std::move(problem));
    }
    if (std::string problem = plan_problem(next); !problem.empty()) return outcome::wrong_state(std::move(problem));
    if (is_recording) {
        session_options changed = *options_;
        for (const std::string& setting : settings) (void)set_from_text(changed, setting);
        options_ = std::make_shared<const session_options>(std::move(changed));
    }
    environment_ = std::make_shared<const session_options>(std::move(next));
    return {};
}

}  // namespace prof
