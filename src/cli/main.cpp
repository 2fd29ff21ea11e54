// The `prof` command.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "cli/cli.hpp"
#include "cli/ctl.hpp"
#include "cli/export.hpp"
#include "cli/manual.hpp"
#include "cli/report.hpp"
#include "cli/run.hpp"
#include "cli/seal.hpp"

namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

int usage_error(const CLI::App& app, const std::string& what) {
    const CLI::App* blamed = &app;
    for (const CLI::App* const command : app.get_subcommands()) blamed = command;
    const std::string name = blamed == &app ? "prof" : "prof " + blamed->get_name();
    prof::complain(first_line(what) + " (see " + name + " --help)");
    return prof::exit_usage;
}

int no_command(const std::string& what) {
    prof::complain(what + "; there are run, report, export, seal and ctl (see prof --help)");
    return prof::exit_usage;
}

int run_main(std::vector<std::string> arguments) {
    CLI::App app{"", "prof"};
    app.formatter(prof::make_manual());
    app.set_help_flag("-h,--help", "Print this page");
    app.set_version_flag("--version", "prof " PROF_VERSION, "Print the version");
    app.require_subcommand(1);
    const auto add_command = [&](const char* name) -> CLI::App& {
        return *app.add_subcommand(name, prof::purpose_of(name));
    };
    CLI::App& run_app = add_command("run");
    CLI::App& report_app = add_command("report");
    CLI::App& export_app = add_command("export");
    CLI::App& seal_app = add_command("seal");
    CLI::App& ctl_app = add_command("ctl");
    const prof::run_command run(run_app);
    const prof::report_command report(report_app);
    const prof::export_command exporting(export_app);
    const prof::seal_command sealing(seal_app);
    const prof::ctl_command controlling(ctl_app);

    if (arguments.empty()) return no_command("there is no command");
    const std::string& first = arguments.front();
    const bool is_known =
        !app.get_subcommands([&](const CLI::App* known) { return known->get_name() == first; }).empty();
    if (first[0] != '-' && !is_known) {
        return no_command("there is no command \"" + first + "\"");
    }
    // The command to run is nobody's option: it is taken away before the options are looked at.
    std::vector<std::string> command;
    if (first == "run") {
        const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
        const auto begin = static_cast<std::ptrdiff_t>(run.command_begin(rest));
        command.assign(rest.begin() + begin, rest.end());
        arguments.resize(1);
        arguments.insert(arguments.end(), rest.begin(), rest.begin() + begin);
        if (arguments.back() == "--") arguments.pop_back();
    }
    try {
        std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 wants them
        app.parse(std::move(reversed));
        if (run_app.parsed()) return run(command);
        if (seal_app.parsed()) return sealing();
        if (ctl_app.parsed()) return controlling();
        return report_app.parsed() ? report() : exporting();
    } catch (const CLI::Success& wanted) {  // --help, --version
        return app.exit(wanted);
    } catch (const CLI::ParseError& wrong) {
        return usage_error(app, wrong.what());
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
