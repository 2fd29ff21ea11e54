// SPDX-License-Identifier: Apache-2.0
// Any "name=value" as a setting. One that is accepted is accepted again, and its printed text makes the same value. One
// that is refused changes nothing, and the line names what is accepted.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

#include "options/options.hpp"
#include "options/plans.hpp"

namespace {

using namespace prof;

void check(bool holds) {
    if (!holds) std::abort();
}

// "N-M" captures the steps N to M, and no others.
void check_steps(const as_written<step_schedule>& steps) {
    const step_schedule& schedule = steps.value;
    std::istringstream in(steps.text);
    std::uint64_t first = 0;
    in >> first;
    std::uint64_t last = first;
    if (in.get() == '-') in >> last;
    check(first <= last && schedule.active == last - first + 1);
    check(schedule.skip_first + schedule.wait + schedule.warmup == first && schedule.repeat == 1);
}

// What docs/reference/options.md promises of accepted values.
void check_values(const session_options& options) {
    check(options.memory >= 16U << 20 && options.memory <= 4ULL << 30 && (options.memory & (options.memory - 1)) == 0);
    for (const std::string* word : {&options.name, &options.run_id}) {
        check(word->find('/') == std::string::npos && word->size() <= 128);
    }
    for (const std::string* needed : {&options.output_dir, &options.rings}) check(!needed->empty());
    check(options.rank.empty() || std::stoul(options.rank) < 1'000'000'000);
    check(options.rows >= 1 && options.dump_limit >= 1 && options.dump_limit <= 1000);
    check(options.schedule.empty() || options.schedule.value.active >= 1);
    if (!options.steps.empty()) check_steps(options.steps);
    check(options.budget.empty() || (options.budget.value >= 0.0001 && options.budget.value <= 0.5));
    check(options.keep.empty() || options.keep.value.any());
    check(!options.dump_on_slow_step || (*options.dump_on_slow_step >= 1.1 && *options.dump_on_slow_step <= 1000));
    for (const auto* list : {&options.nvtx_domain_include, &options.nvtx_domain_exclude}) {
        for (const std::string& pattern : *list) check(!pattern.empty());
    }
    if (plan_problem(options).ok()) (void)make_plan(options);
}

void check_print(const option& known, const session_options& options) {
    const std::string text = known.print(options);
    session_options again;
    check(text.empty() || (known.parse(again, text) && again == options && known.print(again) == text));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string line(reinterpret_cast<const char*>(data), size);
    // The first byte chooses an option, or the text before "=" names one.
    const auto table = option_table();
    const std::size_t equals = line.find('=');
    const bool is_named = equals != std::string::npos;
    if (line.empty()) return 0;
    const std::string name = is_named ? line.substr(0, equals) : std::string(table[data[0] % table.size()].name);
    const std::string value = line.substr(is_named ? equals + 1 : 1);

    session_options options;
    const outcome done = set_option(options, name, value);
    if (done.ok()) {
        session_options again = options;
        check(set_option(again, name, value).ok() && again == options);
        check_values(options);
        check_print(*find_option(name), options);
    } else {
        const std::string& problem = done.message();
        check(problem.find("it takes") != std::string::npos || problem.find("there are") != std::string::npos ||
              problem.find("did you mean") != std::string::npos);
        check(options == session_options{});
    }
    return 0;
}
