// SPDX-License-Identifier: Apache-2.0
// The options of a recording: this is their one table. options.hpp makes the members of session_options of it, and
// options.cpp the rows that option_table() has. A row is
//
//   PROF_OPTION(name, type of the member, default, kind of value (value_kinds.hpp), {columns})
//
// The columns are those of `option` (options.hpp); one that is left out has the default there. The rows stand in the
// order of `prof run --help`. PROF_OPTION_AS has the member's name after the option's: no member can be named `export`.
//
// REQUIRES: PROF_OPTION_AS(name, member, type, default, ...) is defined; it is undefined afterwards.

#define PROF_OPTION(name, ...) PROF_OPTION_AS(name, name, __VA_ARGS__)

PROF_OPTION(output_dir, std::string, "prof-captures", nonempty_text{},
            {.group = option_group::output,
             .value_name = "DIR",
             .short_flag = "-o",
             .accepts = "a directory; it is made if need be",
             .help = "Put captures and exports there (default: prof-captures)"})
// "": the program's name, or the script's.
PROF_OPTION(name, std::string, {}, file_name_text{},
            {.group = option_group::output,
             .value_name = "NAME",
             .accepts = "a file name without '/' and control characters, at most 128 bytes",
             .help = "Begin the files' names with NAME (default: the program's or script's name)"})
// "": from RANK, SLURM_PROCID and their like, else 0.
PROF_OPTION(rank, std::string, {}, digits_text{},
            {.group = option_group::output,
             .value_name = "N",
             .accepts = "a whole number",
             .help = "The process's rank (default: $RANK, $SLURM_PROCID, ..., else 0)"})
PROF_OPTION_AS(export, exports, export_set, {}, export_words{},
               {.group = option_group::output,
                .value_name = "LIST",
                .changes = option_change::while_recording,
                .help = "Make of each capture: trace, summary, html, some of these with commas between (default: "
                        "trace,summary), or none"})
// The pattern of threads that work for others. None: that of attribution_options; "": no thread works for another.
PROF_OPTION(adopt, std::optional<std::string>, {}, thread_pattern{},
            {.value_name = "PATTERN",
             .negated = "off",
             .changes = option_change::while_recording,
             .help = "Threads that work for others, by name: their GPU work counts for the range open there. auto "
                     "(autograd's threads, the default), off, or a shell pattern",
             .report_help = "Threads that work for others: auto (autograd's, the default), off, or a shell pattern of "
                            "thread names"})
PROF_OPTION(activities, as_written<activity_set>, all_activities(), parsed_text<activity_set, parse_activities>{},
            {.value_name = "LIST",
             .accepts = accepted_activities,
             .help = "Record beside ranges: all (default), none, or kernels, copies, sets, waits, allocations, "
                     "graph_nodes, with commas between; no_launches leaves out the calls that launch them, without "
                     "which GPU work is in no range"})
PROF_OPTION(cuda_graphs, graph_detail, graph_detail::nodes, one_word<graph_detail_words>{},
            {.value_name = "HOW",
             .help = "Record each launch of a CUDA graph as its nodes (nodes, the default) or as one operation "
                     "(graphs)"})
PROF_OPTION(api_calls, call_level, call_level::driver, one_word<call_level_words>{},
            {.value_name = "WHOSE",
             .help = "Record launches, copies and waits as the driver's calls (driver, the default), or as the CUDA "
                     "runtime's around them (runtime), which cost the program more, also after recording has stopped"})
PROF_OPTION(idle_graph_nodes, bool, false, zero_or_one{},
            {.value_name = "0|1",
             .child_inherits = false,
             .help = "1: while nothing is recorded, go on noting under which ranges CUDA graphs are captured"})
PROF_OPTION(pytorch, pytorch_detail, pytorch_detail::ranges, one_word<pytorch_detail_words>{},
            {.value_name = "WHAT",
             .help = "Of PyTorch: ranges (record_function's, the default), ops (operators and backward nodes too), or "
                     "off"})
// Observed in Python programs under `prof run`.
PROF_OPTION(phases, bool, true, on_or_off{},
            {.value_name = "on|off",
             .help = "on (default): step, data, forward, backward, optimizer and so on of a PyTorch program are "
                     "observed and are ranges"})
// The depth of PyTorch's tree of modules to which their calls are recorded, as phases are. None: no call is.
PROF_OPTION(modules, std::optional<std::uint32_t>, {}, module_depth{},
            {.value_name = "[=DEPTH]",
             .alone = "all",
             .help = "Of a PyTorch program each module's call is recorded, to a DEPTH of the tree of modules if one is "
                     "given: a table of them stands below the summary, and is `prof report --report modules`"})
PROF_OPTION(lines, bool, true, on_or_off{},
            {.value_name = "on|off",
             .help = "on (default): where a Python or C++ program waits, allocates, copies or runs other code for "
                     "long, its file and line are recorded"})
PROF_OPTION(
    nccl, bool, true, on_or_off{},
    {.value_name = "on|off",
     .help = "on (default): NCCL tells libprof, as its profiler plugin, of each collective operation: which, of "
             "which communicator, of how many bytes"})
PROF_OPTION(
    allocations, bool, false, on_or_off{},
    {.value_name = "on|off",
     .help = "on: each block of GPU memory that PyTorch's caching allocator gives out, and each piece that a call of "
             "CUDA has, is recorded, so that `prof report --report memory` says what held memory at a step's peak "
             "(default: off)"})
// Parts of paths, with colons between.
PROF_OPTION(library_code, std::string, "/site-packages/:/dist-packages/:/lib/python3.:/lib64/python3.:/torchinductor_",
            nonempty_text{},
            {.value_name = "PARTS",
             .accepts = "parts of paths, with colons between",
             .help = "Code in files whose paths contain one of these parts, with colons between, is a library's and "
                     "not the program's own (default: site-packages, dist-packages and Python's own)"})
PROF_OPTION(fold, fold_rule, {}, fold_words{},
            {.value_name = "RULE",
             .negated = "none",
             .changes = option_change::while_recording,
             .help = "Which ranges whose names differ in numbers only are one row of the summary: counters (default): "
                     "those whose number counts, as in \"iteration 17\", and not those whose number names, as in "
                     "\"layer 3\"; all; none; or the names given, such as \"layer #,iteration #\""})
// SIZE_MAX: all.
PROF_OPTION(rows, std::size_t, 40, row_count{},
            {.value_name = "N",
             .changes = option_change::while_recording,
             .help = "Rows of the summary's table at most (default: 40), or all"})
// Patterns, as domain_filter has them (analysis/attribution/domain_filter.hpp).
PROF_OPTION(nvtx_domain_include, std::vector<std::string>, {}, domain_patterns{},
            {.value_name = "LIST",
             .changes = option_change::while_recording,
             .help = "Of the summary: ranges of these NVTX domains only, by names or shell patterns with commas "
                     "between; NVTX's default domain is named default",
             .report_help = "Ranges of these NVTX domains only: names or shell patterns with commas between; "
                            "NVTX's default domain is named default"})
PROF_OPTION(nvtx_domain_exclude, std::vector<std::string>, {}, domain_patterns{},
            {.value_name = "LIST",
             .changes = option_change::while_recording,
             .help = "Of the summary: no ranges of these NVTX domains; their work counts for the range around them",
             .report_help = "No ranges of these NVTX domains: their work counts for the range around them"})
// Beside the kernels that analysis/projection/communication.hpp knows.
PROF_OPTION(communication, std::vector<std::string>, {}, kernel_patterns{},
            {.value_name = "LIST",
             .help = "Kernels that are communication, beside those of known libraries: names or shell patterns with "
                     "commas between",
             .report_help = "Kernels that are communication, beside those of known libraries and those named when the "
                            "capture was recorded: names or shell patterns with commas between"})
PROF_OPTION(schedule, as_written<step_schedule>, {}, parsed_text<step_schedule, parse_schedule>{},
            {.group = option_group::time,
             .value_name = "LIST",
             .child_inherits = false,
             .accepts = "wait=N,warmup=N,active=N,repeat=N,skip_first=N,skip_first_wait=N, each once, as "
                        "torch.profiler.schedule takes them; active is 1 or more, what is left out is 0",
             .help = "Record some steps only, as torch.profiler.schedule says: "
                     "wait=N,warmup=N,active=N,repeat=N,skip_first=N, skip_first_wait=N"})
// Each push of this range begins a step. Empty: prof_step counts the steps.
PROF_OPTION(step_range, range_name, {}, chosen_range{},
            {.group = option_group::time,
             .value_name = "NAME",
             .child_inherits = false,
             .help = "Each push of the range NAME (or NAME@DOMAIN) is the beginning of a step; without it prof_step "
                     "counts the steps"})
PROF_OPTION(capture_range, window_trigger, window_trigger::none, one_word<window_trigger_words>{},
            {.group = option_group::time,
             .value_name = "WHAT",
             .child_inherits = false,
             .help = "Record between cudaProfilerStart and cudaProfilerStop (cudaProfilerApi), in a range (nvtx), "
                     "certain steps (steps), or from start to stop (none, the default)"})
PROF_OPTION(nvtx_capture, range_name, {}, chosen_range{},
            {.group = option_group::time,
             .value_name = "NAME",
             .child_inherits = false,
             .help = "The range of --capture-range nvtx: NAME or NAME@DOMAIN"})
PROF_OPTION(steps, as_written<step_schedule>, {}, parsed_text<step_schedule, parse_steps>{},
            {.group = option_group::time,
             .value_name = "N-M",
             .child_inherits = false,
             .accepts = "N-M, the first and the last step, or N",
             .help = "The steps of --capture-range steps, the first being 0"})
PROF_OPTION(capture_range_end, as_written<range_end>, {"stop"}, parsed_text<range_end, parse_range_end>{},
            {.group = option_group::time,
             .value_name = "WHAT",
             .child_inherits = false,
             .accepts = "none, stop, repeat, or repeat:N (shutdown is not supported)",
             .help = "At a capture range's end: record no more (stop, the default), record the next too (repeat, or "
                     "repeat:N for N in all), or go on recording (none)"})
// The share of the run's time that windows may cost.
PROF_OPTION(budget, as_written<double>, {}, parsed_text<double, parse_budget>{},
            {.group = option_group::time,
             .value_name = "PERCENT",
             .child_inherits = false,
             .accepts = "a percentage from 0.01% to 50%",
             .help = "Record steps chosen at random, as many as slow the whole run by PERCENT at most (such as 1%)"})
PROF_OPTION(keep, as_written<keep_limits>, {}, parsed_text<keep_limits, parse_keep>{},
            {.group = option_group::time,
             .value_name = "HOW_MUCH",
             .accepts = accepted_keep,
             .help = "Keep only the latest part of the run, so that it may go on for ever: a time (60s, 10m), a size "
                     "(500M), or both with a comma between"})
// So many times the median of the latest steps.
PROF_OPTION(dump_on_slow_step, std::optional<double>, {}, slow_factor{},
            {.group = option_group::time,
             .value_name = "TIMES",
             .child_inherits = false,
             .help = "With --keep: after a step that took TIMES as long as the median of the latest, write out what "
                     "has been kept"})
PROF_OPTION(dump_limit, std::uint64_t, 10, whole_number<1, 1000>{},
            {.group = option_group::time,
             .value_name = "N",
             .help = "Make at most N dumps for slow steps (default: 10)"})
PROF_OPTION(export_each, capture_unit, capture_unit::run, one_word<capture_unit_words>{},
            {.group = option_group::output,
             .value_name = "WHAT",
             .child_inherits = false,
             .help = "One capture for the whole run (run, the default), or for each window that is recorded (window)"})
PROF_OPTION(autostart, bool, true, zero_or_one{},
            {.group = option_group::time,
             .value_name = "0|1",
             .changes = option_change::at_program_start,
             .help = "0: record nothing until the program calls prof_start"})
PROF_OPTION(compress, bool, false, zero_or_one{},
            {.group = option_group::output, .value_name = "0|1", .help = "1: compress the capture as it is written"})
PROF_OPTION(rings, std::string, "auto", nonempty_text{},
            {.value_name = "WHERE",
             .changes = option_change::before_first_use,
             .accepts = "auto, memory, or a directory",
             .help = "Memory of what is not yet written: auto (default), memory, or a directory"})
// Bytes, which session/process/memory_plan.hpp divides.
PROF_OPTION(memory, std::uint64_t, 64U << 20, memory_size{},
            {.value_name = "SIZE",
             .changes = option_change::before_first_use,
             .help = "Memory of the recording in the process, whatever the load: a power of two from 16M to 4G "
                     "(default: 64M)"})
PROF_OPTION(control, control_use, control_use::automatic, one_word<control_use_words>{},
            {.group = option_group::time,
             .value_name = "HOW",
             .changes = option_change::at_program_start,
             .help = "Let prof ctl control the processes: auto (default), on (say so where that cannot be), or off"})
PROF_OPTION(forked_children, bool, true, zero_or_one{},
            {.value_name = "0|1",
             .help = "1 (default): a forked child that makes ranges while its parent records has a capture of its own"})
// The number of a signal; 0: none.
PROF_OPTION(control_signal, int, 0, one_word<control_signal_words>{},
            {.group = option_group::time,
             .value_name = "NAME",
             .changes = option_change::at_program_start,
             .help = "A signal starts the recording, or stops it: USR1, USR2, HUP, WINCH, or none (default)"})
PROF_OPTION(cupti_library, std::string, {}, any_text{},
            {.value_name = "FILE",
             .changes = option_change::before_cupti,
             .accepts = "the path of a libcupti.so",
             .help = "Use this libcupti.so and no other"})
// Under `prof run`, which prints it for the whole run, without effect.
PROF_OPTION(announce, bool, false, zero_or_one{}, {.group = option_group::output, .child_inherits = false})
// The command sets these.
PROF_OPTION(run_id, std::string, {}, file_name_text{},
            {.changes = option_change::at_program_start, .accepts = "a word"})
PROF_OPTION(run_journal, std::string, {}, any_text{}, {.changes = option_change::at_program_start, .accepts = "a path"})

#undef PROF_OPTION
#undef PROF_OPTION_AS
