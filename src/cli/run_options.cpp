#include "cli/run_options.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>

#include "options/plans.hpp"

namespace prof {
namespace {

struct flag_help {
    std::string_view option;
    std::string_view flags;
    std::string_view value;
    std::string_view text;
};

constexpr std::string_view recording = "What is recorded";
constexpr std::string_view when = "When it is recorded";
constexpr std::string_view output = "Where it goes";

constexpr std::array help = std::to_array<flag_help>({
    {"output_dir", "-o,--output-dir", "DIR", "Put captures and exports there (default: prof-captures)"},
    {"name", "--name", "NAME", "Begin the files' names with NAME (default: the program's or script's name)"},
    {"rank", "--rank", "N", "The process's rank (default: $RANK, $SLURM_PROCID, ..., else 0)"},
    {"export", "--export", "LIST", "Make of each capture: trace, summary, trace,summary (default), or none"},
    {"adopt", "--adopt", "PATTERN",
     "Threads that work for others, by name: their GPU work counts for the range open there. auto (autograd's threads, "
     "the default), off, or a shell pattern"},
    {"activities", "--activities", "LIST",
     "Record beside ranges: all (default), none, or kernels, copies, sets, waits, allocations, graph_nodes, with "
     "commas between; no_launches leaves out the calls that launch them, without which GPU work is in no range"},
    {"cuda_graphs", "--cuda-graphs", "HOW",
     "Record each launch of a CUDA graph as its nodes (nodes, the default) or as one operation (graphs)"},
    {"api_calls", "--api-calls", "WHOSE",
     "Record launches, copies and waits as the driver's calls (driver, the default), or as the CUDA runtime's around "
     "them (runtime), which cost the program more, also after recording has stopped"},
    {"idle_graph_nodes", "--idle-graph-nodes", "0|1",
     "1: while nothing is recorded, go on noting under which ranges CUDA graphs are captured"},
    {"pytorch", "--pytorch", "WHAT",
     "Of PyTorch: ranges (record_function's, the default), ops (operators and backward nodes too), or off"},
    {"phases", "--phases", "on|off",
     "on (default): step, data, forward, backward, optimizer and so on of a PyTorch program are observed and are "
     "ranges"},
    {"modules", "--modules", "[=DEPTH]",
     "Of a PyTorch program each module's call is recorded, to a DEPTH of the tree of modules if one is given: a table "
     "of "
     "them stands below the summary, and is `prof report modules`"},
    {"fold", "--fold", "0|1", "1 (default): ranges whose names differ in digits only are one row of the summary"},
    {"rows", "--rows", "N", "Rows of the summary's table at most (default: 40), or all"},
    {"nvtx_domain_include", "--nvtx-domain-include", "LIST",
     "Of the summary: ranges of these NVTX domains only, by names or shell patterns with commas between; the default "
     "domain goes by default"},
    {"nvtx_domain_exclude", "--nvtx-domain-exclude", "LIST",
     "Of the summary: no ranges of these NVTX domains; their work counts for the range around them"},
    {"schedule", "--schedule", "LIST",
     "Record some steps only, as torch.profiler.schedule says: wait=N,warmup=N,active=N,repeat=N,skip_first=N, "
     "skip_first_wait=N"},
    {"step_range", "--step-range", "NAME",
     "Each push of the range NAME (or NAME@DOMAIN) is the beginning of a step; without it prof_step counts the steps"},
    {"capture_range", "--capture-range", "WHAT",
     "Record between cudaProfilerStart and cudaProfilerStop (cudaProfilerApi), in a range (nvtx), certain steps "
     "(steps), or from start to stop (none, the default)"},
    {"nvtx_capture", "--nvtx-capture", "NAME", "The range of --capture-range nvtx: NAME or NAME@DOMAIN"},
    {"steps", "--steps", "N-M", "The steps of --capture-range steps, the first being 0"},
    {"capture_range_end", "--capture-range-end", "WHAT",
     "At a capture range's end: record no more (stop, the default), record the next too (repeat, or repeat:N for N in "
     "all), or go on recording (none)"},
    {"budget", "--budget", "PERCENT",
     "Record steps chosen at random, as many as slow the whole run by PERCENT at most (such as 1%)"},
    {"keep", "--keep", "HOW_MUCH",
     "Keep only the latest part of the run, so that it may go on for ever: a time (60s, 10m), a size (500M), or both "
     "with a comma between"},
    {"dump_on_slow_step", "--dump-on-slow-step", "TIMES",
     "With --keep: after a step that took TIMES as long as the median of the latest, write out what has been kept"},
    {"dump_limit", "--dump-limit", "N", "Make at most N dumps for slow steps (default: 10)"},
    {"export_each", "--export-each", "WHAT",
     "One capture for the whole run (run, the default), or for each window that is recorded (window)"},
    {"autostart", "--autostart", "0|1", "0: record nothing until the program calls prof_start"},
    {"compress", "--compress", "0|1", "1: compress the capture as it is written"},
    {"rings", "--rings", "WHERE", "Memory of what is not yet written: auto (default), memory, or a directory"},
    {"memory", "--memory", "SIZE",
     "Memory of the recording in the process, whatever the load: a power of two from 16M to 4G (default: 64M)"},
    {"control", "--control", "HOW",
     "Let prof ctl control the processes: auto (default), on (say so where that cannot be), or off"},
    {"forked_children", "--forked-children", "0|1",
     "1 (default): a forked child that makes ranges while its parent records has a capture of its own"},
    {"control_signal", "--control-signal", "NAME",
     "A signal starts the recording, or stops it: USR1, USR2, HUP, WINCH, or none (default)"},
    {"cupti_library", "--cupti-library", "FILE", "Use this libcupti.so and no other"},
});

std::string_view group_of(std::string_view option) {
    const auto is_one_of = [&](const auto& names) {
        return std::find(std::begin(names), std::end(names), option) != std::end(names);
    };
    constexpr std::array to_output = {"output_dir", "name", "rank", "export", "export_each", "compress"};
    constexpr std::array to_time = {
        "schedule",   "step_range",        "capture_range", "autostart", "nvtx_capture",
        "steps",      "capture_range_end", "budget",        "keep",      "dump_on_slow_step",
        "dump_limit", "control",           "control_signal"};
    return is_one_of(to_output) ? output : is_one_of(to_time) ? when : recording;
}

void set_checked(session_options& out, const std::string& shown_as, const std::string& option,
                 const std::string& value) {
    const std::string problem = set_option(out, option, value);
    if (problem.empty()) return;
    throw usage_error(shown_as + problem.substr(option.size()));
}

}  // namespace

std::string variable_of(std::string_view option) {
    std::string out = "PROF_";
    for (const char c : option) out += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return out;
}

run_options::run_options(command_arguments& arguments) {
    for (const flag_help& flag : help) {
        if (flag.value.starts_with('[')) {
            arguments.add_flag(std::string(flag.flags), flags_[std::string(flag.option)], "all", std::string(flag.text))
                .value(std::string(flag.value))
                .group(group_of(flag.option));
            continue;
        }
        arguments.add(std::string(flag.flags), flags_[std::string(flag.option)], std::string(flag.text))
            .value(std::string(flag.value))
            .group(group_of(flag.option));
    }
    arguments.add_flag("--no-adopt", no_adopt_, "The same as --adopt off").group(recording);
    arguments.add_flag("--no-fold", no_fold_, "The same as --fold 0").group(recording);
    arguments.add("--set", assignments_, "Any of these by its variable's name, as in --set PROF_MEMORY=256M")
        .value("PROF_X=VALUE")
        .one_value_each_time()
        .group(recording);
}

std::map<std::string, std::string> run_options::given() const {
    std::map<std::string, std::string> out;
    for (const std::string& assignment : assignments_) {
        const std::size_t equals = assignment.find('=');
        if (equals == std::string::npos) {
            throw usage_error("--set: " + refusal(assignment, "PROF_X=VALUE"));
        }
        const std::string variable = assignment.substr(0, equals);
        const auto table = option_table();
        const auto known = std::find_if(table.begin(), table.end(),
                                        [&](const option& entry) { return variable_of(entry.name) == variable; });
        if (known == table.end() || known->name == "run_id") {
            std::string line = "--set: there is no option \"" + variable + "\"; there are";
            for (const flag_help& flag : help) line += (&flag == help.data() ? " " : ", ") + variable_of(flag.option);
            throw usage_error(line);
        }
        out[std::string(known->name)] = assignment.substr(equals + 1);
    }
    if (no_adopt_) out["adopt"] = "off";
    if (no_fold_) out["fold"] = "0";
    for (const auto& [option, value] : flags_) {
        if (!value.empty()) out[option] = value;
    }
    return out;
}

session_options run_options::resolve() const {
    std::string complaint;
    session_options out = options_from_environment(complaint);
    if (!complaint.empty()) throw usage_error(complaint);
    for (const auto& [option, value] : given()) {
        std::string flag = "--" + option;
        std::replace(flag.begin(), flag.end(), '_', '-');
        set_checked(out, flag, option, value);
    }
    if (const std::string problem = plan_problem(out); !problem.empty()) throw usage_error(problem);
    if (out.modules != "off" && (!out.phases || out.pytorch == "off")) {
        throw usage_error("--modules: goes with --phases on and --pytorch ranges or ops, not without them");
    }
    return out;
}

std::map<std::string, std::string> run_options::variables() const {
    std::map<std::string, std::string> out;
    for (const auto& [option, value] : given()) out[variable_of(option)] = value;
    return out;
}

}  // namespace prof
