// SPDX-License-Identifier: Apache-2.0
// How often verdicts on simulated runs are right: `compare_simulation [PAIRS]` prints the tables of
// docs/lab/compare.md. Mann and Whitney's U on all steps, benchstat's test, has the same numbers.
#include <cstdio>
#include <cstdlib>

#include "compare/simulated_runs.hpp"

using namespace prof;
using namespace prof::simulated;

namespace {

constexpr double level = 0.05;

double percent(std::size_t of, std::size_t all) { return 100 * static_cast<double>(of) / static_cast<double>(all); }

struct counts {
    std::size_t claims = 0;  // better or worse
    std::size_t same = 0;
    std::size_t by_u = 0;
};

counts count(const program& of, std::size_t runs, std::size_t pairs, std::mt19937_64& random) {
    counts out;
    for (std::size_t i = 0; i < pairs; ++i) {
        const auto [base, changed] = groups(of, runs, random);
        // Without a margin: what is seen at all.
        const judged_figure found = judge(means(base), means(changed), {.margin = 1e-9});
        out.claims += says_better_or_worse(found.found) ? 1 : 0;
        out.same += judge(means(base), means(changed), {}).found == verdict::same ? 1 : 0;
        out.by_u += u_test(base, changed) < level ? 1 : 0;
    }
    return out;
}

}  // namespace

int main(int argc, char** argv) {
    const std::size_t pairs = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 2'000;
    std::mt19937_64 random(20'260'000);
    std::printf("No difference, 100 steps a run, step noise 2 %%: %% of %zu pairs called better or worse\n", pairs);
    std::printf(
        "|run noise|correlation|2 + 2 runs|3 + 3|5 + 5|10 + 10|U on steps, 5 + 5|\n|--:|--:|--:|--:|--:|--:|--:|\n");
    for (const double run_noise : {0.0, 0.003, 0.01, 0.02}) {
        for (const double correlation : {0.0, 0.5, 0.8}) {
            std::printf("|%.1f %%|%.1f|", 100 * run_noise, correlation);
            double by_u = 0;
            for (const std::size_t runs : {2, 3, 5, 10}) {
                const counts found = count({.correlation = correlation, .run_noise = run_noise}, runs, pairs, random);
                std::printf("%.1f|", percent(found.claims, pairs));
                if (runs == 5) by_u = percent(found.by_u, pairs);
            }
            std::printf("%.1f|\n", by_u);
        }
    }
    std::printf("\nA change, correlation 0.5: %% of %zu pairs that are seen (U: with its false alarms)\n", pairs / 2);
    std::printf(
        "|run noise|change|2 + 2 runs|3 + 3|5 + 5|10 + 10|20 + 20|U on steps, 5 + "
        "5|\n|--:|--:|--:|--:|--:|--:|--:|--:|\n");
    for (const double run_noise : {0.003, 0.005, 0.01, 0.02}) {
        for (const double change : {0.01, 0.02, 0.05}) {
            std::printf("|%.1f %%|%.0f %%|", 100 * run_noise, 100 * change);
            double by_u = 0;
            for (const std::size_t runs : {2, 3, 5, 10, 20}) {
                const counts found =
                    count({.correlation = 0.5, .run_noise = run_noise, .change = change}, runs, pairs / 2, random);
                std::printf("%.0f|", percent(found.claims, pairs / 2));
                if (runs == 5) by_u = percent(found.by_u, pairs / 2);
            }
            std::printf("%.0f|\n", by_u);
        }
    }
    std::printf("\nNo difference, correlation 0.5: %% of %zu pairs called the same within 1 %%\n", pairs / 2);
    std::printf("|run noise|3 + 3 runs|5 + 5|10 + 10|20 + 20|\n|--:|--:|--:|--:|--:|\n");
    for (const double run_noise : {0.0, 0.003, 0.005, 0.01}) {
        std::printf("|%.1f %%|", 100 * run_noise);
        for (const std::size_t runs : {3, 5, 10, 20}) {
            const counts found = count({.correlation = 0.5, .run_noise = run_noise}, runs, pairs / 2, random);
            std::printf("%.0f|", percent(found.same, pairs / 2));
        }
        std::printf("\n");
    }
    std::printf("\nOne run on each side, no noise of runs: %% of %zu pairs said to differ\n", pairs);
    std::printf("|correlation|20 steps|100|400|\n|--:|--:|--:|--:|\n");
    for (const double correlation : {0.0, 0.5, 0.8}) {
        std::printf("|%.1f|", correlation);
        for (const std::size_t steps : {20, 100, 400}) {
            std::size_t claims = 0;
            for (std::size_t i = 0; i < pairs; ++i) {
                const auto [base, changed] = groups({.correlation = correlation, .steps = steps}, 1, random);
                claims += judge_pair(base.front(), changed.front(), {}).found == verdict::differ ? 1 : 0;
            }
            std::printf("%.1f|", percent(claims, pairs));
        }
        std::printf("\n");
    }
}
