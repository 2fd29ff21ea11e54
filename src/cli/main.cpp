// SPDX-License-Identifier: Apache-2.0
// The `prof` command.
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/display_text.hpp"
#include "base/suggestion.hpp"
#include "base/version.hpp"
#include "cli/arguments.hpp"
#include "cli/baseline_command.hpp"
#include "cli/cli.hpp"
#include "cli/completion/command.hpp"
#include "cli/completion/completion.hpp"
#include "cli/ctl.hpp"
#include "cli/diagnose.hpp"
#include "cli/diff.hpp"
#include "cli/export.hpp"
#include "cli/installed_files.hpp"
#include "cli/manual.hpp"
#include "cli/open.hpp"
#include "cli/pager.hpp"
#include "cli/report.hpp"
#include "cli/run.hpp"
#include "cli/seal_command.hpp"
#include "report/screen_terms.hpp"

namespace {

const std::vector<std::string> names_of_commands = {"run",    "report", "open", "diagnose",   "diff", "baseline",
                                                    "export", "seal",   "ctl",  "completion", "help"};

// A wrong command line: one line and, where it has one, a list of names on lines of its own.
int refuse(const std::string& complaint) {
    prof::complain_at_length(complaint);
    return prof::exit_usage;
}

bool is_program(const std::string& word) {
    std::error_code failed;
    return word.find('/') != std::string::npos && std::filesystem::is_regular_file(word, failed);
}

// What the user probably wants whose first word is no command.
std::string hint_for(const std::string& word) {
    const std::string near = prof::nearest_name(word, names_of_commands);
    if (!near.empty()) return "; did you mean " + near + "?";
    if (word.ends_with(".prof")) return "; did you mean prof report?";
    if (is_program(word)) return "; did you mean prof run?";
    return "; there are run, report, open, diagnose, diff, baseline, export, seal, ctl, completion and help";
}

int refuse_command(const std::string& word) {
    return refuse("there is no command " + prof::in_quotes(word) + hint_for(word));
}

// An option before any command.
int refuse_option(const prof::command_line& line, const std::string& word) {
    std::string hint = "; see prof --help";
    for (const char* const command :
         {"ctl", "run", "export", "baseline", "diff", "diagnose", "report"}) {  // the last one that has it
        if (!line.command_has_option(command, word)) continue;
        hint = std::string(" here; did you mean prof ") + command + " " + word + "?";
    }
    return refuse("there is no option " + prof::in_quotes(word) + hint);
}

// The line with the name of the page that explains it, unless it ends with a suggestion or a list.
std::string with_page(const std::string& complaint, const std::string& command) {
    const bool is_complete = complaint.ends_with('?') || complaint.find('\n') != std::string::npos;
    return is_complete ? complaint : complaint + " (see prof " + command + " --help)";
}

// `prof help terms`
std::string terms_text() {
    constexpr std::size_t widest = 100;
    const std::size_t width = std::min(prof::output_width(STDOUT_FILENO), widest);
    std::string out = "The words of the first screen\n";
    for (const prof::screen_term& term : prof::screen_terms()) {
        out += '\n' + prof::wrapped(std::string(term.word) + ": " + std::string(term.meaning), width, "    ");
    }
    return out;
}

// `prof help [COMMAND]`
int help(const prof::command_line& line, const std::vector<std::string>& words) {
    if (words.size() > 2) return refuse("help takes the name of one command");
    if (words.size() == 2 && words[1] == "terms") {
        prof::print_paged(terms_text());
        return prof::exit_ok;
    }
    const bool is_of_all = words.size() < 2 || words[1] == "help" || words[1].starts_with('-');
    const std::string about = is_of_all ? "" : words[1];
    if (!about.empty() && !line.has_command(about)) return refuse_command(about);
    prof::print(line.manual(about));
    return prof::exit_ok;
}

int run_main(std::vector<std::string> words) {
    prof::command_line line("prof", std::string("prof ") + prof::library_version, prof::manual_page);
    const auto add_command = [&](const char* name) { return line.add_command(name, prof::purpose_of(name)); };
    prof::command_arguments run_arguments = add_command("run");
    prof::command_arguments report_arguments = add_command("report");
    prof::command_arguments open_arguments = add_command("open");
    prof::command_arguments diagnose_arguments = add_command("diagnose");
    prof::command_arguments diff_arguments = add_command("diff");
    prof::command_arguments baseline_arguments = add_command("baseline");
    prof::command_arguments export_arguments = add_command("export");
    prof::command_arguments seal_arguments = add_command("seal");
    prof::command_arguments ctl_arguments = add_command("ctl");
    prof::command_arguments completion_arguments = add_command("completion");
    const prof::run_command run(run_arguments);
    const prof::report_command report(report_arguments);
    const prof::open_command opening(open_arguments);
    const prof::diagnose_command diagnosing(diagnose_arguments);
    const prof::diff_command comparing(diff_arguments);
    const prof::baseline_command keeping(baseline_arguments);
    const prof::export_command exporting(export_arguments);
    const prof::seal_command sealing(seal_arguments);
    const prof::ctl_command controlling(ctl_arguments);
    const prof::completion_command completing(completion_arguments);

    if (words.empty()) {
        prof::print_error(prof::usage());
        return prof::exit_usage;
    }
    const std::string first = words.front();
    if (first == "help") return help(line, words);
    if (first == "__share" && words.size() == 2) {  // of the build, which installs the files
        prof::write_installed_files(line, words[1]);
        return prof::exit_ok;
    }
    if (first == "__complete") {  // of the shells' scripts
        words.erase(words.begin());
        prof::print(prof::completions(prof::completed_commands(line), words));
        return prof::exit_ok;
    }
    if (first[0] != '-' && !line.has_command(first)) return refuse_command(first);
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
        if (given == "open") return opening();
        if (given == "diagnose") return diagnosing();
        if (given == "diff") return comparing();
        if (given == "baseline") return keeping();
        if (given == "export") return exporting();
        if (given == "seal") return sealing();
        if (given == "ctl") return controlling();
        if (given == "completion") return completing();
        return prof::exit_ok;  // --help, --version
    } catch (const prof::usage_error& wrong) {
        if (!line.has_command(first)) return refuse_option(line, first);
        return refuse(with_page(wrong.what(), first));
    }
}

}  // namespace

int main(int argc, char** argv) {
    prof::occupy_standard_streams();
    try {
        const int status = run_main(std::vector<std::string>(argv + 1, argv + argc));
        const bool is_of_run = argc > 1 && std::string_view(argv[1]) == "run";  // the command's own
        if (status == prof::exit_ok && !is_of_run) prof::print("");
        return status;
    } catch (const std::bad_alloc&) {
        prof::complain("not enough memory");
    } catch (const std::exception& failure) {
        prof::complain(failure.what());
    }
    return prof::exit_failure;
}
