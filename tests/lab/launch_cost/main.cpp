// SPDX-License-Identifier: Apache-2.0
// What one kernel launch, or one event between streams, costs the thread that makes it: bare, under the discarding
// client in each of its ways, and under libprof, in one process with the windows interleaved.
//
//   LD_PRELOAD=libprof.so PROF_AUTOSTART=0 PROF_EXPORT=none launch_cost CLIENT_LIBRARY [ROUNDS [events]]
//
// A window is bursts of launches (bursts.hpp), and its figure the median of them. A tool's cost is its window less the
// mean of the two bare windows beside it; the difference to the client is taken round by round. The table has medians
// over the rounds and the middle half.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bursts.hpp"

namespace {

using launch_cost::burst_ns;
using launch_cost::event_burst_ns;
using launch_cost::quantile;
using launch_cost::skip;

constexpr int bursts_a_window = 15;
constexpr std::size_t the_client = 1;  // in the list of tools

template <typename TFunction>
TFunction* function(void* library, const char* name) {
    void* found = dlsym(library, name);
    if (found == nullptr) {
        std::fprintf(stderr, "launch_cost: no %s: is libprof.so preloaded, and the client's path right?\n", name);
        std::exit(2);
    }
    return reinterpret_cast<TFunction*>(found);
}

std::string figure(const std::vector<double>& values) {
    char text[64];
    std::snprintf(text, sizeof text, "%+.0f [%+.0f, %+.0f]", quantile(values, 0.5), quantile(values, 0.25),
                  quantile(values, 0.75));
    return text;
}

double window_ns(const std::function<double()>& burst) {
    std::vector<double> bursts;
    (void)burst();
    for (int i = 0; i < bursts_a_window; ++i) bursts.push_back(burst());
    return quantile(bursts, 0.5);
}

struct tool {
    std::string name;
    std::function<int()> start;
    std::function<int()> stop;
    std::vector<double> cost_ns = {};
};

std::vector<tool> tools(const char* client_library) {
    void* client = dlopen(client_library, RTLD_NOW);
    auto* start = function<int(int)>(client, "client_start");
    auto* stop = function<int()>(client, "client_stop");
    auto* prof_start = function<int(const char* const*)>(RTLD_DEFAULT, "prof_start");
    auto* prof_stop = function<int()>(RTLD_DEFAULT, "prof_stop");
    const auto way = [=](const char* name, int ways) { return tool{name, [=] { return start(ways); }, stop}; };
    return {
        {"nothing", [] { return 0; }, [] { return 0; }},
        way("the client", 0),
        way("- with both callbacks", 1 + 2),
        way("- with the runtime's callbacks", 1),
        way("- with the driver's callbacks", 2),
        way("- with one callback pair a kernel", 1 + 2 + 16),
        way("- with API records of both", 4 + 8),
        way("- with the runtime's API records", 4),
        way("- with the driver's API records", 8),
        {"libprof", [=] { return prof_start(nullptr); }, prof_stop},
    };
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) {
        std::fprintf(stderr, "usage: launch_cost CLIENT_LIBRARY [ROUNDS [events]]\n");
        return 2;
    }
    const int rounds = argc > 2 ? std::atoi(argv[2]) : 60;
    cudaStream_t stream = nullptr;
    if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) {
        std::printf("launch_cost: skipped, there is no GPU\n");
        return skip;
    }
    const bool is_of_events = argc > 3 && std::string_view(argv[3]) == "events";
    cudaStream_t other = nullptr;
    cudaEvent_t event = nullptr;
    (void)cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    (void)cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    const std::function<double()> burst = [=] {
        return is_of_events ? event_burst_ns(stream, other, event) : burst_ns(stream);
    };
    std::vector<tool> all = tools(argv[1]);
    std::vector<double> bare = {window_ns(burst)};
    for (int round = 0; round < rounds; ++round) {
        for (tool& each : all) {
            if (each.start() != 0) {
                std::fprintf(stderr, "launch_cost: '%s' did not start\n", each.name.c_str());
                return 1;
            }
            const double on = window_ns(burst);
            if (each.stop() != 0) return 1;
            bare.push_back(window_ns(burst));
            each.cost_ns.push_back(on - (bare[bare.size() - 2] + bare.back()) / 2);
        }
    }
    const char* const what = is_of_events ? "call with an event" : "launch";
    std::printf("bare %s: %.0f ns, %d rounds\n", what, quantile(bare, 0.5), rounds);
    std::printf("%-36s %22s %22s\n", (std::string("nanoseconds a ") + what).c_str(), "above bare", "above the client");
    for (const tool& each : all) {
        std::vector<double> above = each.cost_ns;
        for (std::size_t i = 0; i < above.size(); ++i) above[i] -= all[the_client].cost_ns[i];
        std::printf("%-36s %22s %22s\n", each.name.c_str(), figure(each.cost_ns).c_str(), figure(above).c_str());
    }
    return 0;
}
