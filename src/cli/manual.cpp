// SPDX-License-Identifier: Apache-2.0
#include "cli/manual.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "options/options.hpp"

namespace prof {
namespace {

struct page {
    std::string_view command;  // "": of prof itself
    std::string_view purpose;
    std::string_view synopsis;
    std::string_view description;
    std::string_view examples;
    std::string_view sections;  // what follows the options, ready-made but for changeable_mark
};

// A line that stands for the options that may change while a recording runs.
constexpr std::string_view changeable_mark = "@changeable@";

constexpr std::array pages = std::to_array<page>({
    {"", "what each range of a training program costs on the GPU",
     "prof run [options] [--] command [argument...]\n"
     "prof report [options] [file...]\n"
     "prof open [options] [file...]\n"
     "prof diagnose [options] [file...]\n"
     "prof diff [options] base new\n"
     "prof baseline [options] run... -o file\n"
     "prof export [options] [file...]\n"
     "prof seal file...\n"
     "prof ctl [PID [command [name=value...]]]\n"
     "prof completion bash|zsh|fish\n"
     "prof help [command|terms]\n"
     "prof --version",
     "Runs a program with libprof in it, unchanged, and tells for each of its NVTX ranges (forward, backward, ...) how "
     "much GPU time the work launched there took. Makes tables and traces of what was recorded.",
     R"(prof run -- python train.py --batch 16
prof report --report kernels
prof report prof-captures/train.0.node7-4711.prof)",
     R"(EXIT STATUS
    0  done
    1  something could not be read, written or started
    2  the command line makes no sense
    prof run ends as its command does.
)"},
    {"run", "run a command under libprof and report on it when it has ended",
     "prof run [options] [--] command [argument...]",
     "The command runs as it would without prof: its standard streams, its signals and its exit status are its own, "
     "and so are the processes it starts, each of which leaves a capture if it uses NVTX or CUDA. When the command has "
     "ended, prof prints the GPU time of each range on standard error and writes a trace beside each capture. Each "
     "option may also be set by a variable, --output-dir by PROF_OUTPUT_DIR; the option is stronger.",
     R"(prof run -- python train.py
prof run -o runs/today -- torchrun --nproc-per-node 8 train.py
prof run --schedule wait=8,warmup=1,active=3 --step-range step -- ./trainer
prof run --budget 1% -- python train.py
prof run --runs 5 --against 'python old.py' -- python new.py
prof run --keep 60s -- python train.py)",
     R"(FILES
    DIR/NAME.RANK.HOST-PID.prof
        the capture, one a process; prof report and prof export read it. Further
        ones (--export-each window) are DIR/NAME.RANK.HOST-PID.2.prof and so on
    DIR/base/..., DIR/new/...
        the captures of both commands, with --against
    DIR/NAME.RANK.HOST-PID.trace.json.gz
        its trace; open it in https://ui.perfetto.dev

ENVIRONMENT
    Set for the command: LD_PRELOAD (libprof.so before what was there),
    PROF_OUTPUT_DIR, PROF_RUN_ID, PROF_EXPORT=none (prof exports at the end), a
    PROF_ variable for each option given; CUDA_INJECTION64_PATH and
    NVTX_INJECTION64_PATH unless they are set. libprof.so sets
    NCCL_PROFILER_PLUGIN in each process (--nccl off: not).

EXIT STATUS
    The command's. If a signal ended the command, prof ends by the same signal.
    Of several runs (--runs, --against) that of the first that failed.
    127  there is no such command
    126  the command cannot be executed
    2    the options make no sense
    1    the output directory cannot be made or written
    A libprof.so that cannot be loaded, or a failure to report, changes none of
    this; standard error has a line on it.
)"},
    {"report", "print tables of captures", "prof report [options] [file...]",
     "Without a file: of the newest run in ./prof-captures, or in PROF_OUTPUT_DIR. A file may be a directory, which "
     "stands for the captures in it, a pipe, or - for standard input. "
     "gpu-projection has a row for each range path, with the time on the host beside that on the GPU, and rows for GPU "
     "work in no range, for a range that cannot be told, and without a known launch; its self column adds up to the "
     "total. kernels and copies have a row for each kernel name and for each kind of copy or set, modules one for "
     "each torch.nn.Module, pytorch_ops one for each operator and range of PyTorch's. The reports nvtx_... and "
     "cuda_... are those of Nsight Systems, with its "
     "columns and definitions. Times are in the unit that a table's first line names; CSV and JSON have nanoseconds, "
     "all columns, and names in full.",
     R"(prof report
prof report run.prof --report kernels,copies --format json -o run.json
prof report prof-captures/*.prof --format csv
prof report run.prof --report all
prof report run.prof --html run.html
prof report --report help)",
     R"(OUTPUT
    JSON is one object for one report of one capture, else an array of them. CSV
    is one table for each report, with a first column that names the capture.

EXIT STATUS
    0  done
    1  a file could not be read (the others are reported), or the output not
       written
    2  the options make no sense
)"},
    {"open", "show a run as a page in the browser", "prof open [options] [file...]",
     "Writes the page that prof report --html writes, beside the captures, and opens it with $BROWSER or xdg-open. It "
     "is "
     "one file that needs no network: send it as it is. Where no browser can be started, standard error has its "
     "path. Files are as those of prof report; of a job with several ranks the page has a table of all, and the "
     "figures of "
     "the rank that the others wait for.",
     R"(prof open
prof open run.prof
prof open prof-captures -o job.html)",
     R"(FILES
    DIR/NAME.RANK.HOST-PID.html, of several captures DIR/job.html
        the page; in a new folder of $TMPDIR where DIR cannot be written

EXIT STATUS
    0  done, with a browser or without
    1  a file could not be read, or the page not written
    2  the options make no sense
)"},
    {"diagnose", "say what to change, and what a step would gain", "prof diagnose [options] [file...]",
     "Looks for what makes the steps longer than they need be: a data loader, calls that wait for the GPU, copies, "
     "allocations, compilation, other code on the host, launches slower than the GPU, communication, FP32 products. "
     "Each finding has its price: the recorded steps are computed again without it, from what waited for what. The "
     "price is a ceiling, and prices do not add up. Host work that overlaps GPU work is no finding, since "
     "removing it saves nothing. Below the findings stands what was looked for in vain, and what could not be looked "
     "for, and why; then "
     "the critical path of a step. Files are as those of prof report.",
     R"(prof diagnose
prof diagnose run.prof --above 5
prof diagnose run.prof --format json -o findings.json
prof diagnose run.prof --fail-above 10)",
     R"(EXIT STATUS
    0  done, with findings or without
    1  a file could not be read, or has nothing to examine (the others are
       examined)
    2  the options make no sense
    3  a finding would gain more than --fail-above
)"},
    {"diff", "say whether a change made it better, by how much, and where", "prof diff [options] base new",
     "Compares two captures, or two directories, whose runs are two groups. First stands what is not the same on both "
     "sides: GPU, driver, command, options. Then the step with a verdict: faster, slower, the same within --margin, or "
     "inconclusive, with the number of further runs that would tell; then where the difference comes from, by phase "
     "and "
     "by what the GPU did or waited for, which adds up to the whole; then the ranges, modules, kernels and lines that "
     "changed most, and the findings that went and came. The unit is the run: one run on each side can say that these "
     "two differ, not that the code is slower. Of runs with --allocations on memory is compared, too. Files are as "
     "those of prof report.",
     R"(prof diff before.prof after.prof
prof diff runs/main runs/branch
prof diff before.prof after.prof --format markdown
prof diff runs/main runs/branch --margin 0.5 --format json -o diff.json
prof diff runs/main runs/branch --fail-over 2% --fail-over range:backward=3%
prof diff runs/main runs/branch --fail-over memory=2%)",
     R"(EXIT STATUS
    0  done, whatever the verdict; all limits hold
    1  a capture could not be read or compared, or the output not written
    2  the options make no sense
    3  a limit of --fail-over fails
    4  no limit fails, and of one it cannot be told: more runs are needed
)"},
    {"baseline", "keep runs as a small file that later ones are compared with",
     "prof baseline [options] run... -o file",
     "Writes what prof diff needs of runs to a file of some 10 KB of JSON, for a project's repository: prof diff takes "
     "it "
     "in place of BASE or NEW when the captures are gone, and tests limits with it. It names the machine that it is "
     "valid "
     "for: host, GPU, highest clock. Of runs on another machine the limits are inconclusive unless prof diff is told "
     "otherwise (--any-machine). Three runs or more let one new run be judged.",
     R"(prof run --runs 5 -o runs/main -- python train.py
prof baseline runs/main -o perf/train.json
prof diff perf/train.json runs/branch --fail-over 2%
prof baseline runs/main --any-host -o perf/train.json)",
     R"(EXIT STATUS
    0  done
    1  a capture could not be read, the runs are of several machines, or the
       file not written
    2  the options make no sense
)"},
    {"export", "write captures as traces for Perfetto and HTA, or as tables", "prof export [options] [file...]",
     "Writes Chrome JSON in torch.profiler's dialect: the ranges of each thread, CUDA calls, kernels and copies by "
     "stream, arrows from a launch to its work, and the ranges projected on the GPU's streams. Files are as those of "
     "prof report, and have a trace each. Standard error has what must be known of a capture: records lost, an end by "
     "a signal. A trace opens in https://ui.perfetto.dev and chrome://tracing. With --format parquet: GPU operations, "
     "ranges, steps, collectives, processes and notes of jobs as tables for DuckDB, Spark and their like.",
     R"(prof export
prof export run.prof -o trace.json
prof export prof-captures -o traces/
prof export prof-captures --format parquet -o tables
prof export run.prof -o - --format json | jq .displayTimeUnit)",
     R"(EXIT STATUS
    0  done
    1  a capture could not be read, or a trace not written (the others are)
    2  the options make no sense
)"},
    {"seal", "close the captures of processes that died", "prof seal file...",
     "What a process had not yet written when it died lies in memory that outlived it: prof report and prof export "
     "read it from there. prof seal puts it into the capture, closes that, and frees the memory. prof run does the "
     "same when its command has ended. A process that still runs is left alone; a capture that is closed stays as it "
     "is.",
     R"(prof seal prof-captures)",
     R"(EXIT STATUS
    0  done
    1  a file could not be read or written, or its process still runs (the
       others are sealed)
    2  the options make no sense
)"},
    {"ctl", "control a process that runs: its state, start, stop, options",
     "prof ctl [options] [--list]\n"
     "prof ctl [options] PID [command [name=value...]]",
     "Asks a process that has libprof in it, over a private socket that only its own user and root can use. The "
     "program is not restarted, and its threads wait for none of it. Without a process number, lists the processes "
     "that can be asked; without a command, status.",
     R"(prof ctl
prof ctl 4711
prof ctl 4711 start output_dir=/data/captures activities=kernels,copies
prof ctl 4711 stop
prof ctl 4711 status --json)",
     R"(COMMANDS
    status    What it records, since when, where to, what was lost, and whether
              GPU work is recorded, or why not
    start [name=value...]
              Start a recording, with options as in docs/reference/options.md
    stop      End it; capture and exports are complete when this returns, and
              the capture's path is printed
    pause, resume
              Record nothing in between, in the same capture
    sync      Bring what was recorded into the capture; its path is printed
    dump      Write what the recording has, or what keep has kept of it, as a
              capture of its own while recording goes on; its path is printed
    set name=value...
              Change options of the next recording; while one runs, those
@changeable@

EXIT STATUS
    0  done
    1  the process refused, or failed; one line says why
    2  the command line makes no sense
    3  the process could not be reached
)"},
    {"completion", "print a script by which a shell completes prof's options", "prof completion bash|zsh|fish",
     "A package or `cmake --install` puts the scripts where the shells find them: this is for other cases. Commands, "
     "options, their values, captures, and the words of `prof ctl` are completed, and after `prof run` the command's "
     "own.",
     R"(source <(prof completion bash)
prof completion zsh > ~/.zfunc/_prof
prof completion fish > ~/.config/fish/completions/prof.fish)",
     R"(EXIT STATUS
    0  done
    1  the script could not be written
    2  there is no script for that shell
)"},
});

constexpr std::size_t page_width = 80;

const page& page_of(std::string_view command) {
    const auto found = std::find_if(pages.begin(), pages.end(), [&](const page& p) { return p.command == command; });
    return found == pages.end() ? pages.front() : *found;
}

// Words of `text` in lines that begin with `indent` blanks.
std::string indented(std::string_view text, std::size_t indent) {
    std::string out;
    std::size_t column = 0;
    while (!text.empty()) {
        const std::size_t blank = std::min(text.find(' '), text.size());
        const std::string_view word = text.substr(0, blank);
        text.remove_prefix(std::min(blank + 1, text.size()));
        if (column != 0 && column + 1 + word.size() > page_width) {
            out += '\n';
            column = 0;
        }
        if (column == 0) {
            out.append(indent, ' ');
            column = indent;
        } else {
            out += ' ';
            ++column;
        }
        out += word;
        column += word.size();
    }
    return out + '\n';
}

std::string indented(std::string_view lines) {
    std::string out;
    while (!lines.empty()) {
        const std::size_t end = std::min(lines.find('\n'), lines.size());
        out.append("    ").append(lines.substr(0, end)).append("\n");
        lines.remove_prefix(std::min(end + 1, lines.size()));
    }
    return out;
}

std::string commands() {
    std::string out = "\nCOMMANDS\n";
    for (const page& p : pages) {
        if (!p.command.empty()) out.append("    prof ").append(p.command).append("\n").append(indented(p.purpose, 8));
    }
    return out + "    `prof help COMMAND` explains one, `prof help terms` words of the screen.\n";
}

std::string changeable_options() {
    std::string names;
    for (const option& row : option_table()) {
        if (row.changes != option_change::while_recording) continue;
        names.append(names.empty() ? "" : ", ").append(row.name);
    }
    return indented("that are read at its end: " + names, 14);
}

std::string sections_of(const page& shown) {
    std::string out(shown.sections);
    const std::size_t mark = out.find(changeable_mark);
    if (mark == std::string::npos) return out;
    return out.replace(mark, changeable_mark.size() + 1, changeable_options());  // with the end of the mark's line
}

std::string titles_and_options(const std::vector<option_text>& options) {
    std::string out;
    const std::string* group = nullptr;
    for (const option_text& option : options) {
        if (group == nullptr || *group != option.group) {
            std::string title = option.group;
            std::transform(title.begin(), title.end(), title.begin(), [](unsigned char c) { return std::toupper(c); });
            out += "\n" + title + "\n";
            group = &option.group;
        }
        out += "    " + option.spelling + "\n" + indented(option.description, 8);
    }
    return out;
}

}  // namespace

std::string manual_page(const std::string& command, const std::vector<option_text>& options) {
    const page& shown = page_of(command);
    std::string out = "NAME\n    prof";
    if (!command.empty()) out.append("-").append(shown.command);
    out.append(" - ").append(shown.purpose).append("\n\nEXAMPLES\n").append(indented(shown.examples));
    out.append("\nSYNOPSIS\n")
        .append(indented(shown.synopsis))
        .append("\nDESCRIPTION\n")
        .append(indented(shown.description, 4));
    if (command.empty()) out += commands();
    out += titles_and_options(options);
    return out.append("\n").append(sections_of(shown));
}

std::string usage() {
    const page& shown = page_of("");
    return "usage:\n" + indented(shown.synopsis) + "examples:\n" + indented(shown.examples) +
           "`prof help` and `prof help COMMAND` explain them.\n";
}

std::string purpose_of(const std::string& command) { return std::string(page_of(command).purpose); }

}  // namespace prof
