// Any "name=value" as a setting: taken, and then it is taken again as it stands; or refused in a line that names what
// is accepted, and then nothing has changed.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/attribution/domain_filter.hpp"
#include "options/domain_list.hpp"
#include "options/options.hpp"
#include "plan/budget_plan.hpp"
#include "plan/schedule_plan.hpp"

namespace {

using namespace prof;

void check(bool holds) {
    if (!holds) std::abort();
}

// "N-M" captures the steps N to M, and no others.
void check_steps(const std::string& text) {
    step_schedule schedule;
    check(parse_steps(text, schedule));
    std::istringstream in(text);
    std::uint64_t first = 0;
    in >> first;
    std::uint64_t last = first;
    if (in.get() == '-') in >> last;
    check(first <= last && schedule.active == last - first + 1);
    check(schedule.skip_first + schedule.wait + schedule.warmup == first && schedule.repeat == 1);
}

// What docs/reference/options.md promises of values that were taken.
void check_values(const session_options& options) {
    check(options.memory >= 16U << 20 && options.memory <= 4ULL << 30 && (options.memory & (options.memory - 1)) == 0);
    for (const std::string* word : {&options.name, &options.run_id}) {
        check(word->find('/') == std::string::npos && word->size() <= 128);
    }
    for (const std::string* needed : {&options.output_dir, &options.rings, &options.adopt}) check(!needed->empty());
    check(options.rank.empty() || std::stoul(options.rank) < 1'000'000'000);
    (void)activities_of(options);
    step_schedule steps;
    if (!options.schedule.empty()) check(parse_schedule(options.schedule, steps) && steps.active >= 1);
    if (!options.steps.empty()) check_steps(options.steps);
    double share = 0;
    if (!options.budget.empty()) check(parse_budget(options.budget, share) && share >= 0.0001 && share <= 0.5);
    for (const std::string* list : {&options.nvtx_domain_include, &options.nvtx_domain_exclude}) {
        std::vector<std::string> patterns;
        check(list->empty() || (parse_domain_list(*list, patterns) && !patterns.empty()));
    }
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
    const std::string problem = set_option(options, name, value);
    if (problem.empty()) {
        session_options again = options;
        check(set_option(again, name, value).empty() && again == options);
        check_values(options);
    } else {
        check(problem.find("it takes") != std::string::npos || problem.find("there are") != std::string::npos);
        check(options == session_options{});
    }
    return 0;
}
