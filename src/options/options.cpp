#include "options/options.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstdlib>
#include <vector>

#include "base/number.hpp"
#include "options/domain_list.hpp"
#include "options/keep.hpp"
#include "options/row_limit.hpp"
#include "plan/budget_plan.hpp"
#include "plan/schedule_plan.hpp"
#include "plan/slow_steps.hpp"
#include "plan/trigger_plan.hpp"

namespace prof {
namespace {

template <std::string session_options::*member>
bool set_text(session_options& out, const std::string& value) {
    out.*member = value;
    return true;
}

template <std::string session_options::*member>
bool set_nonempty(session_options& out, const std::string& value) {
    return !value.empty() && set_text<member>(out, value);
}

// A file name's part: no folder in it, no control character.
template <std::string session_options::*member>
bool set_word(session_options& out, const std::string& value) {
    const bool good = std::none_of(value.begin(), value.end(), [](char c) {
        return c == '/' || static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
    });
    return good && value.size() <= 128 && set_text<member>(out, value);
}

template <bool session_options::*member>
bool set_switch(session_options& out, const std::string& value) {
    if (value != "0" && value != "1") return false;
    out.*member = value == "1";
    return true;
}

// A number of bytes, with K, M or G for powers of 1024.
bool set_memory(session_options& out, const std::string& value) {
    std::string_view unit = value;
    const auto number = take_number<std::uint64_t>(unit, 0, most_memory_bytes);
    if (!number || !(unit.empty() || unit == "K" || unit == "M" || unit == "G")) return false;
    const std::uint64_t bytes = *number << (unit.empty() ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : 30);
    if (bytes < least_memory_bytes || bytes > most_memory_bytes || !std::has_single_bit(bytes)) return false;
    out.memory = bytes;
    return true;
}

bool set_export(session_options& out, const std::string& value) {
    bool trace = false;
    bool summary = false;
    if (value != "none") {
        for (std::size_t at = 0; at <= value.size();) {
            const std::size_t comma = std::min(value.find(',', at), value.size());
            const std::string_view word = std::string_view(value).substr(at, comma - at);
            if (word == "trace") {
                trace = true;
            } else if (word == "summary") {
                summary = true;
            } else {
                return false;
            }
            at = comma + 1;
        }
    }
    out.export_trace = trace;
    out.export_summary = summary;
    return true;
}

template <std::string session_options::*member>
bool set_domains(session_options& out, const std::string& value) {
    std::vector<std::string> patterns;
    return parse_domain_list(value, patterns) && set_text<member>(out, value);
}

bool set_rows(session_options& out, const std::string& value) {
    const auto most = parse_row_limit(value);
    if (most) out.rows = *most;
    return most.has_value();
}

bool set_rank(session_options& out, const std::string& value) {
    const bool good = !value.empty() && value.size() <= 9 &&
                      std::all_of(value.begin(), value.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
    if (good) out.rank = value;
    return good;
}

bool set_activities(session_options& out, const std::string& value) {
    activity_set set;
    return parse_activities(value, set) && set_text<&session_options::activities>(out, value);
}

bool set_cuda_graphs(session_options& out, const std::string& value) {
    if (value != "nodes" && value != "graphs") return false;
    out.cuda_graphs = value;
    return true;
}

bool set_api_calls(session_options& out, const std::string& value) {
    const bool good = value == "runtime" || value == "driver";
    if (good) out.api_calls = value;
    return good;
}

bool set_pytorch(session_options& out, const std::string& value) {
    const bool good = value == "ranges" || value == "ops" || value == "off";
    if (good) out.pytorch = value;
    return good;
}

bool set_phases(session_options& out, const std::string& value) {
    if (value != "on" && value != "off") return false;
    out.phases = value == "on";
    return true;
}

bool set_modules(session_options& out, const std::string& value) {
    const auto depth = parse_number<std::uint32_t>(value);
    if (value != "off" && value != "all" && (!depth || *depth > 100)) return false;
    out.modules = value;
    return true;
}

// One of the words.
template <std::string session_options::*member, typename... TWords>
bool set_one_of(session_options& out, const std::string& value, TWords... words) {
    return ((value == words) || ...) && set_text<member>(out, value);
}

bool set_schedule(session_options& out, const std::string& value) {
    step_schedule parsed;
    return parse_schedule(value, parsed) && set_text<&session_options::schedule>(out, value);
}

bool set_steps(session_options& out, const std::string& value) {
    step_schedule parsed;
    return parse_steps(value, parsed) && set_text<&session_options::steps>(out, value);
}

// "name" or "name@domain" (hooks/nvtx/watched_ranges.hpp).
template <std::string session_options::*member>
bool set_range_name(session_options& out, const std::string& value) {
    const std::size_t at = value.rfind('@');
    return !value.empty() && at != 0 && at != value.size() - 1 && set_text<member>(out, value);
}

bool set_capture_range(session_options& out, const std::string& value) {
    return set_one_of<&session_options::capture_range>(out, value, "none", "cudaProfilerApi", "nvtx", "steps");
}

bool set_capture_range_end(session_options& out, const std::string& value) {
    range_end parsed;
    return parse_range_end(value, parsed) && set_text<&session_options::capture_range_end>(out, value);
}

bool set_budget(session_options& out, const std::string& value) {
    double share = 0;
    return parse_budget(value, share) && set_text<&session_options::budget>(out, value);
}

bool set_keep(session_options& out, const std::string& value) {
    keep_limits limits;
    return parse_keep(value, limits) && set_text<&session_options::keep>(out, value);
}

bool set_slow_step(session_options& out, const std::string& value) {
    double factor = 0;
    return parse_slow_factor(value, factor) && set_text<&session_options::dump_on_slow_step>(out, value);
}

bool set_dump_limit(session_options& out, const std::string& value) {
    const auto number = parse_number<std::uint64_t>(value, 1, 1000);
    if (number) out.dump_limit = *number;
    return number.has_value();
}

bool set_export_each(session_options& out, const std::string& value) {
    return set_one_of<&session_options::export_each>(out, value, "run", "window");
}

bool set_control(session_options& out, const std::string& value) {
    return set_one_of<&session_options::control>(out, value, "auto", "on", "off");
}

struct named_signal {
    std::string_view name;
    int number;
};
// Those that a program has no other use for unless it says so.
constexpr named_signal control_signals[] = {{"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"HUP", SIGHUP}, {"WINCH", SIGWINCH}};

bool set_control_signal(session_options& out, const std::string& value) {
    const bool good = value == "none" || signal_number(value) != 0;
    return good && set_text<&session_options::control_signal>(out, value);
}

using o = session_options;
constexpr option all_options[] = {
    {"output_dir", "a directory; it is made if need be", set_nonempty<&o::output_dir>},
    {"name", "a file name without '/' and control characters, at most 128 bytes", set_word<&o::name>},
    {"rank", "a whole number", set_rank},
    {"export", "trace, summary, trace,summary, or none", set_export},
    {"autostart", "0 or 1", set_switch<&o::autostart>},
    {"cupti_library", "the path of a libcupti.so", set_text<&o::cupti_library>},
    {"rings", "auto, memory, or a directory", set_nonempty<&o::rings>},
    {"memory", "a power of two from 16M to 4G", set_memory},
    {"compress", "0 or 1", set_switch<&o::compress>},
    {"activities", accepted_activities, set_activities},
    {"cuda_graphs", "nodes or graphs", set_cuda_graphs},
    {"api_calls", "driver or runtime", set_api_calls},
    {"idle_graph_nodes", "0 or 1", set_switch<&o::idle_graph_nodes>},
    {"adopt", "auto, off, or a pattern of thread names", set_nonempty<&o::adopt>},
    {"fold", "0 or 1", set_switch<&o::fold>},
    {"rows", accepted_row_limit, set_rows},
    {"pytorch", "ranges, ops, or off", set_pytorch},
    {"phases", "on or off", set_phases},
    {"modules", "off, all, or a depth from 0 to 100", set_modules},
    {"nvtx_domain_include", "domain names or patterns with commas between", set_domains<&o::nvtx_domain_include>},
    {"nvtx_domain_exclude", "domain names or patterns with commas between", set_domains<&o::nvtx_domain_exclude>},
    {"schedule",
     "wait=N,warmup=N,active=N,repeat=N,skip_first=N,skip_first_wait=N, each once, as torch.profiler.schedule takes "
     "them; active is 1 or more, what is left out is 0",
     set_schedule},
    {"step_range", "the name of a range, or name@domain", set_range_name<&o::step_range>},
    {"capture_range", "none, cudaProfilerApi, nvtx, or steps", set_capture_range},
    {"nvtx_capture", "the name of a range, or name@domain", set_range_name<&o::nvtx_capture>},
    {"steps", "N-M, the first and the last step, or N", set_steps},
    {"capture_range_end", "none, stop, repeat, or repeat:N (libprof ends no program: there is no shutdown)",
     set_capture_range_end},
    {"budget", "a percentage from 0.01% to 50%", set_budget},
    {"keep", accepted_keep, set_keep},
    {"dump_on_slow_step", "a number from 1.1 to 1000", set_slow_step},
    {"dump_limit", "a whole number from 1 to 1000", set_dump_limit},
    {"export_each", "run or window", set_export_each},
    {"control", "auto, on, or off", set_control},
    {"control_signal", "none, USR1, USR2, HUP, or WINCH", set_control_signal},
    {"forked_children", "0 or 1", set_switch<&o::forked_children>},
    {"run_id", "a word", set_word<&o::run_id>},
};

// PROF_… variables that are no options of a recording.
constexpr std::string_view other_variables[] = {"IMAGE"};

}  // namespace

std::span<const option> option_table() noexcept { return all_options; }

activity_set activities_of(const session_options& options) noexcept {
    activity_set out;
    (void)parse_activities(options.activities, out);  // it was, when it was set
    return out;
}

bool observes_idle_graphs(const session_options& options) noexcept {
    return options.idle_graph_nodes && activities_of(options).has(activity::graph_nodes);
}

std::string set_option(session_options& out, std::string_view name, const std::string& value) {
    for (const option& known : all_options) {
        if (known.name != name) continue;
        if (known.set(out, value)) return {};
        return std::string(name) + ": \"" + value + "\" is not accepted; it takes " + std::string(known.accepts);
    }
    std::string line = "there is no option \"" + std::string(name) + "\"; there are";
    for (const option& known : all_options) line += (&known == all_options ? " " : ", ") + std::string(known.name);
    return line;
}

std::string set_from_text(session_options& out, std::string_view setting) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string_view::npos) return "\"" + std::string(setting) + "\" is no name=value";
    return set_option(out, setting.substr(0, equals), std::string(setting.substr(equals + 1)));
}

int signal_number(std::string_view name) noexcept {
    for (const named_signal& known : control_signals) {
        if (known.name == name) return known.number;
    }
    return 0;
}

session_options options_from_environment(std::string& complaint) {
    constexpr std::string_view prefix = "PROF_";
    session_options out;
    for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
        const std::string_view line = *variable;
        const std::size_t equals = line.find('=');
        if (line.substr(0, prefix.size()) != prefix || equals == std::string_view::npos) continue;
        std::string name(line.substr(prefix.size(), equals - prefix.size()));
        if (std::find(std::begin(other_variables), std::end(other_variables), name) != std::end(other_variables)) {
            continue;
        }
        std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
        // Only what is set wrongly is complained of: other programs may have variables that begin with PROF_.
        const bool known = std::any_of(std::begin(all_options), std::end(all_options),
                                       [&](const option& k) { return k.name == name; });
        if (!known) continue;
        const std::string value(line.substr(equals + 1));
        if (value.empty()) continue;  // as if it were not set
        const std::string problem = set_option(out, name, value);
        if (!problem.empty() && complaint.empty())
            complaint =
                "PROF_" + std::string(line.substr(prefix.size(), equals - prefix.size())) + problem.substr(name.size());
    }
    return out;
}

}  // namespace prof
