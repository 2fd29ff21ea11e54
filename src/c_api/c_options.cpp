// SPDX-License-Identifier: Apache-2.0
// The C interface of the options of recordings (prof/prof.h). Nothing throws across it.
#include <prof/prof.h>

#include <array>
#include <span>
#include <string>
#include <vector>

#include "base/export_symbol.hpp"
#include "c_api/c_border.hpp"
#include "options/options.hpp"
#include "options/plans.hpp"

namespace prof {
namespace {

prof_option_change public_change(option_change change) noexcept {
    switch (change) {
        case option_change::at_program_start:
            return PROF_OPTION_AT_PROGRAM_START;
        case option_change::before_first_use:
            return PROF_OPTION_BEFORE_FIRST_USE;
        case option_change::before_cupti:
            return PROF_OPTION_BEFORE_CUPTI;
        case option_change::next_recording:
            return PROF_OPTION_NEXT_RECORDING;
        case option_change::while_recording:
            return PROF_OPTION_WHILE_RECORDING;
    }
    return PROF_OPTION_NEXT_RECORDING;
}

// The texts that prof_option points to: those of the table need not end with a zero.
struct option_texts {
    std::string name;
    std::string variable;
    std::string accepts;
    std::string help;
    std::string standard;
};

const std::vector<option_texts>& texts_of_options() {
    static const auto* const texts = [] {
        auto* const out = new std::vector<option_texts>;
        const session_options defaults;
        for (const option& known : option_table()) {
            out->push_back({std::string(known.name), variable_of(known), accepts_of(known), std::string(known.help),
                            known.print(defaults)});
        }
        return out;
    }();
    return *texts;
}

// Sets all of them or none, as `prof ctl set` does. The result differs for the two refusals: PROF_INVALID_ARGUMENT for
// a setting that no process accepts, PROF_WRONG_STATE for one that this process can no longer change.
int set_all(std::span<const std::string> settings) {
    recording_session& session = begun_session();
    session_options scratch = session.environment_options();
    for (const std::string& setting : settings) {
        const outcome set = set_from_text(scratch, setting);
        if (!set.ok()) return fail(PROF_INVALID_ARGUMENT, set.message());
    }
    if (const outcome plan = plan_problem(scratch); !plan.ok()) return fail(PROF_INVALID_ARGUMENT, plan.message());
    return as_result(session.set(settings));
}

// PROF_OK if there is such an option.
int check_name(const char* name) {
    if (name == nullptr) return refuse_null("name");
    if (find_option(name) != nullptr) return PROF_OK;
    session_options scratch;
    return fail(PROF_INVALID_ARGUMENT, set_option(scratch, name, {}).message());
}

}  // namespace
}  // namespace prof

using namespace prof;

PROF_EXPORT int prof_get_option(const char* name, char* buffer, size_t size, size_t* length) {
    return guarded([&]() -> int {
        if (const int known = check_name(name); known != PROF_OK) return known;
        recording_session& session = begun_session();
        const session_options options = session.recording() ? session.options() : session.environment_options();
        const std::size_t whole = copy_text(text_of(options, name), buffer, size);
        if (length != nullptr) *length = whole;
        return PROF_OK;
    });
}

PROF_EXPORT int prof_set_option(const char* name, const char* value) {
    return controlled([&]() -> int {
        if (const int known = check_name(name); known != PROF_OK) return known;
        if (value == nullptr) return refuse_null("value");
        const std::array setting = {std::string(name) + "=" + value};
        return set_all(setting);
    });
}

PROF_EXPORT int prof_set_options(const char* const* settings) {
    return controlled([&]() -> int {
        if (settings == nullptr) return refuse_null("settings");
        std::vector<std::string> all;
        for (; *settings != nullptr; ++settings) all.emplace_back(*settings);
        return set_all(all);
    });
}

PROF_EXPORT size_t prof_option_count() { return option_table().size(); }

PROF_EXPORT int prof_describe_option(size_t index, prof_option* out, size_t size) {
    return guarded([&]() -> int {
        if (index >= option_table().size()) return fail(PROF_INVALID_ARGUMENT, "there is no such option");
        const option_texts& texts = texts_of_options()[index];
        prof_option row{};
        row.name = texts.name.c_str();
        row.variable = texts.variable.c_str();
        row.accepts = texts.accepts.c_str();
        row.help = texts.help.c_str();
        row.default_value = texts.standard.c_str();
        row.change = public_change(option_table()[index].changes);
        return fill_struct<48, 48>(row, "prof_option", out, size);
    });
}
