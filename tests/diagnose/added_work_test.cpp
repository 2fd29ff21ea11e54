// SPDX-License-Identifier: Apache-2.0
// The price of work that a program does not do yet, against a model of a host and a GPU that executes it with that work
// (simulated_program.hpp).
#include "diagnose/added_work.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "diagnose/simulated_program.hpp"

namespace prof::diagnose_test {
namespace {

struct layers {
    int count = 4;
    int kernels = 6;  // of a layer's forward; its backward has twice as many
    std::int64_t kernel_ns = 50 * us;
    std::int64_t host_ns = 10 * us;  // before each launch
    bool ends_with_wait = false;
};

void launch_some(code& out, const layers& of, int count) {
    for (int i = 0; i < count; ++i) {
        out.push_back({.what = action::compute, .ns = of.host_ns});
        out.push_back({.what = action::launch, .ns = of.kernel_ns, .name = "kernel"});
    }
}

// `again`: each layer's forward is also computed before its backward.
code training(const layers& of, bool again) {
    code out;
    for (int step = 0; step < 8; ++step) {
        out.push_back({.what = action::step});
        for (int layer = 0; layer < of.count; ++layer) launch_some(out, of, of.kernels);
        out.push_back({.what = action::push, .name = "backward"});
        out.push_back({.what = action::to_helper});
        for (int layer = 0; layer < of.count; ++layer) {
            if (again) launch_some(out, of, of.kernels);
            launch_some(out, of, 2 * of.kernels);
        }
        out.push_back({.what = action::from_helper});
        out.push_back({.what = action::pop});
        if (of.ends_with_wait) out.push_back({.what = action::wait_all});
    }
    out.push_back({.what = action::step});
    return out;
}

double length_of_steps(const simulation& run) {
    const auto& data = run.capture.build();
    const attribution att = attribute(data);
    whole_steps steps = find_whole_steps(data, att);
    steps.steps.erase(steps.steps.begin());
    return static_cast<double>(total_length(steps.steps)) / static_cast<double>(steps.steps.size());
}

// What each layer's forward takes, where its backward begins.
double predicted_ns(const layers& of) {
    const simulation run({training(of, false)});
    const timeline data = run.capture.build();
    const attribution att = attribute(data);
    whole_steps steps = find_whole_steps(data, att);
    steps.steps.erase(steps.steps.begin());
    std::vector<added_work> added;
    thread_id helper = npos;
    for (const thread_id i : data.threads.ids()) {
        if (data.threads[i].system_name.starts_with("pt_autograd")) helper = i;
    }
    const machine on;
    const std::int64_t host_ns = of.kernels * (of.host_ns + on.launch_ns);
    int launches = 0;
    for (const timeline_api_call& call : data.api_calls) {
        if (call.thread != helper) continue;
        const bool is_first = launches++ % (2 * of.kernels) == 0;
        if (!is_first || call.start_ns < steps.steps.front().start_ns) continue;
        added.push_back({helper, call.start_ns - 1, host_ns, of.kernels * of.kernel_ns});
    }
    const std::vector<std::vector<added_work>> asked = {added};
    const added_times found = price_of_added_work(data, att, steps, asked);
    EXPECT_EQ(found.steps, steps.steps.size());
    return found.longer_ns.front();
}

double true_ns(const layers& of) {
    return length_of_steps(simulation({training(of, true)})) - length_of_steps(simulation({training(of, false)}));
}

// Of all layers the forward takes so long, and half as long or longer would be a wrong price.
void expect_near(const layers& of, double share) {
    const double truth = true_ns(of);
    ASSERT_GT(truth, 0);
    EXPECT_NEAR(predicted_ns(of), truth, share * truth);
}

TEST(AddedWork, OfABusyGpuIsTheGpusTime) {
    const layers of{.kernel_ns = 200 * us, .host_ns = 5 * us, .ends_with_wait = true};
    expect_near(of, 0.03);
    // The kernels, and what lies between two of them.
    EXPECT_NEAR(predicted_ns(of), of.count * of.kernels * 200.0 * us, 0.03 * of.count * of.kernels * 200 * us);
}

TEST(AddedWork, OfALaunchBoundStepIsTheHostsTime) {
    const layers of{.kernel_ns = 4 * us, .host_ns = 20 * us, .ends_with_wait = true};
    expect_near(of, 0.03);
    EXPECT_NEAR(predicted_ns(of), of.count * of.kernels * 23.0 * us, 0.03 * of.count * of.kernels * 23 * us);
}

// Neither waits for the other all the time.
TEST(AddedWork, OfAStepBetweenTheTwo) {
    for (const std::int64_t kernel_ns : {10 * us, 13 * us, 16 * us, 25 * us}) {
        expect_near({.kernel_ns = kernel_ns, .host_ns = 10 * us}, 0.15);
    }
}

TEST(AddedWork, NothingCostsNothing) {
    const simulation run({training({}, false)});
    const timeline data = run.capture.build();
    const attribution att = attribute(data);
    const whole_steps steps = find_whole_steps(data, att);
    const std::vector<std::vector<added_work>> asked = {{}, {{thread_id(0), steps.steps[1].start_ns, 0, 0}}};
    EXPECT_EQ(price_of_added_work(data, att, steps, asked).longer_ns, (std::vector<double>{0, 0}));
}

TEST(AddedWork, ReplaysStepsAroundTheMiddle) {
    const simulation run({training({.kernel_ns = 2 * us, .host_ns = 20 * us}, false)});
    const timeline data = run.capture.build();
    const whole_steps steps = find_whole_steps(data, attribute(data));
    EXPECT_EQ(steps_to_replay(data, steps).steps.size(), steps.steps.size());
    const whole_steps few = steps_to_replay(data, steps, 450);
    ASSERT_EQ(few.steps.size(), 3U) << "a step has 72 launches and 72 kernels";
    EXPECT_EQ(few.steps.front().start_ns, steps.steps[3].start_ns);
    EXPECT_EQ(steps_to_replay(data, steps, 1).steps.size(), 1U);
}

}  // namespace
}  // namespace prof::diagnose_test
