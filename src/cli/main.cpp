// SPDX-License-Identifier: Apache-2.0
// The `prof` command.
#include <cstddef>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "base/version.hpp"
#include "cli/arguments.hpp"
#include "cli/cli.hpp"
#include "cli/ctl.hpp"
#include "cli/export.hpp"
#include "cli/manual.hpp"
#include "cli/report.hpp"
#include "cli/run.hpp"
#include "cli/seal.hpp"

namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

int no_command(const std::string& what) {
    prof::complain(what + "; there are run, report, export, seal and ctl (see prof --help)");
    return prof::exit_usage;
}

int run_main(std::vector<std::string> words) {
    prof::command_line line("prof", std::string("prof ") + prof::library_version, prof::manual_page);
    const auto add_command = [&](const char* name) { return line.add_command(name, prof::purpose_of(name)); };
    prof::command_arguments run_arguments = add_command("run");
    prof::command_arguments report_arguments = add_command("report");
    prof::command_arguments export_arguments = add_command("export");
    prof::command_arguments seal_arguments = add_command("seal");
    prof::command_arguments ctl_arguments = add_command("ctl");
    const prof::run_command run(run_arguments);
    const prof::report_command report(report_arguments);
    const prof::export_command exporting(export_arguments);
    const prof::seal_command sealing(seal_arguments);
    const prof::ctl_command controlling(ctl_arguments);

    if (words.empty()) return no_command("there is no command");
    const std::string first = words.front();
    if (first[0] != '-' && !line.has_command(first)) return no_command("there is no command \"" + first + "\"");
    // The words of the command to run are no options of prof's: they are removed before the options are parsed.
    std::vector<std::string> command;
    if (first == "run") {
        const std::vector<std::string> rest(words.begin() + 1, words.end());
        const auto begin = static_cast<std::ptrdiff_t>(run.command_begin(rest));
        command.assign(rest.begin() + begin, rest.end());
        words.resize(1);
        words.insert(words.end(), rest.begin(), rest.begin() + begin);
        if (words.back() == "--") words.pop_back();
    }
    try {
        const std::optional<std::string> given = line.parse(words);
        if (given == "run") return run(command);
        if (given == "report") return report();
        if (given == "export") return exporting();
        if (given == "seal") return sealing();
        if (given == "ctl") return controlling();
        return prof::exit_ok;  // --help, --version
    } catch (const prof::usage_error& wrong) {
        const std::string page = line.has_command(first) ? "prof " + first : "prof";
        prof::complain(first_line(wrong.what()) + " (see " + page + " --help)");
        return prof::exit_usage;
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run_main(std::vector<std::string>(argv + 1, argv + argc));
    } catch (const std::bad_alloc&) {
        prof::complain("not enough memory");
    } catch (const std::exception& failure) {
        prof::complain(failure.what());
    }
    return prof::exit_failure;
}
