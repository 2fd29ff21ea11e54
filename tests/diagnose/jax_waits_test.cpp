// SPDX-License-Identifier: Apache-2.0
// What XLA does without a call of CUDA, and in threads of its own: waits in its runtime, and copies. Worked by hand;
// times are microseconds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/projection/xla_phases.hpp"
#include "diagnose/diagnosis.hpp"
#include "diagnose/graph_of.hpp"
#include "diagnose/simulated_program.hpp"
#include "support/capture_builder.hpp"

namespace prof::diagnose_test::jax_waits {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t counted_steps = 12;  // the first of 13 is warm-up

std::uint64_t at(std::uint64_t time_us) { return 1'000'000 + 1'000 * time_us; }

// Each step executes a function of 500 us, whose value the host needs to prepare for 150 us, and then one of 200 us.
// The host is outside ranges while it waits, and returns 4 us after the end, in one of `often` steps `late` us
// later; or, with
// `is_busy`, it computes in a range.
struct jax_program {
    explicit jax_program(bool is_busy, std::uint64_t late = 0, std::uint64_t often = 3) {
        std::uint64_t host = 0;
        std::uint64_t gpu_free = 0;
        for (std::uint64_t step = 0; step <= counted_steps + 1; ++step) {
            main.step(at(host), step, own);
            if (step > counted_steps) break;
            gpu_free = execute(host, "jit_train", std::max(host + 7, gpu_free + 1), 500);
            if (is_busy) main.push(at(host + 8), "log").pop(at(gpu_free + 4));
            host = gpu_free + 4 + (step % often == 0 ? late : 0);
            main.push(at(host), "prepare").pop(at(host + 150));
            host += 150;
            gpu_free = execute(host, "jit_update", std::max(host + 7, gpu_free + 1), 200);
            host += 9;
        }
    }

    // From `time_us` on; the call is from 2 to 5, the range from 1 to 6. Returns the kernel's end.
    std::uint64_t execute(std::uint64_t time_us, const std::string& name, std::uint64_t begin, std::uint64_t length) {
        main.push(at(time_us + 1), name, tsl);
        main.call(at(time_us + 2), at(time_us + 5), ++correlation, launch_kernel, name);
        main.pop(at(time_us + 6), tsl);
        capture.kernel(correlation, at(begin), at(begin + length));
        return begin + length;
    }

    capture_builder capture;
    std::uint16_t own = capture.domain("prof");
    std::uint16_t tsl = capture.domain("TSL");
    thread_script& main = capture.thread("python");
    std::uint64_t correlation = 0;
};

const finding* found_by(const diagnosis& of, const std::string& rule) {
    const auto found =
        std::find_if(of.findings.begin(), of.findings.end(), [&](const finding& each) { return each.rule == rule; });
    return found == of.findings.end() ? nullptr : &*found;
}

// A step takes 500 + 4 + 150 + 7 + 200 + 1; without the wait the GPU's 500 + 1 + 200 + 1.
TEST(XlaRuntimeWaits, HaveThePriceOfWhatTheGpuLacksAfterwards) {
    const jax_program program(false);
    const timeline data = program.capture.build();
    const diagnosis of = diagnose(data, attribute(data));
    EXPECT_EQ(of.steps, counted_steps);
    const finding* const found = found_by(of, "synchronization");
    ASSERT_NE(found, nullptr);
    EXPECT_THAT(found->title, HasSubstr("XLA's runtime"));
    EXPECT_EQ(found->steps, counted_steps);
    const double gain_us = of.per_step(found->gain_ns) / 1'000;
    EXPECT_NEAR(gain_us, (500 + 4 + 150 + 7 + 200 + 1) - (500 + 1 + 200 + 1), 2);
}

// Of the 154 us from the end of what it waited for, 50 may be the return.
TEST(XlaRuntimeWaits, AreNotTheCodeAfterThem) {
    const jax_program program(false);
    const timeline data = program.capture.build();
    const diagnosis of = diagnose(data, attribute(data));
    std::int64_t prepare_ns = 0;
    for (const path_share& each : of.path) {
        if (each.kind == "CPU code" && each.where == "prepare") prepare_ns += each.total_ns;
    }
    EXPECT_EQ(prepare_ns, static_cast<std::int64_t>(counted_steps) * 104 * us);
}

// Woken late in some of the steps, it has waited nevertheless; and if it is always so late, it does something else.
TEST(XlaRuntimeWaits, MayEndLateInSomeOfTheSteps) {
    for (const std::uint64_t often : {3U, 1U}) {
        const jax_program program(false, 700, often);
        const timeline data = program.capture.build();
        const diagnosis of = diagnose(data, attribute(data));
        const finding* const found = found_by(of, "synchronization");
        ASSERT_EQ(found != nullptr, often == 3) << often;
        if (found != nullptr) {
            EXPECT_EQ(found->steps, counted_steps);
        }
    }
}

// In a range of the program's, it computed.
TEST(XlaRuntimeWaits, AreNoneWhereTheProgramComputes) {
    const jax_program program(true);
    const timeline data = program.capture.build();
    const diagnosis of = diagnose(data, attribute(data));
    EXPECT_EQ(found_by(of, "synchronization"), nullptr);
    const finding* const found = found_by(of, "host_code");
    ASSERT_NE(found, nullptr);
    EXPECT_THAT(found->title, HasSubstr("log"));
}

// The GPU is the limit: what the steps wait for has the modules of XLA's operations, where their names have them.
TEST(XlaModules, AreOnThePath) {
    for (const bool has_modules : {true, false}) {
        capture_builder capture;
        const std::uint16_t own = capture.domain("prof");
        const std::uint16_t tsl = capture.domain("TSL");
        thread_script& main = capture.thread("python");
        const std::string model = has_modules ? "jvp(M)/Dense_0" : "jvp()";
        for (std::uint64_t step = 0; step <= counted_steps + 1; ++step) {
            const std::uint64_t time = 100 * step;
            main.step(at(time), step, own);
            if (step > counted_steps) break;
            main.push(at(time + 1), "XlaModule:#hlo_module=jit_f,program_id=7#", tsl);
            std::uint64_t part = 0;
            for (const std::string& name : {model, "transpose(" + model.substr(0, model.find(')') + 1) + ")"}) {
                main.push(at(time + 2 + 5 * part), "Thunk:#name=jit(f)/" + name + "/add,hlo_op=fusion#", tsl);
                main.call(at(time + 3 + 5 * part), at(time + 4 + 5 * part), 2 * step + part + 1, launch_kernel, "add");
                main.pop(at(time + 5 + 5 * part), tsl);
                capture.kernel(2 * step + part + 1, at(500 * step + 10 + 250 * part),
                               at(500 * step + 259 + 250 * part));
                ++part;
            }
            main.pop(at(time + 20), tsl);
        }
        const timeline data = capture.build();
        const shown_timeline shown(data, {});
        const diagnosis of = diagnose(shown.data(), attribute(shown.data()),
                                      {.step_function = shown.step_function(), .original = &shown.original()});
        EXPECT_EQ(of.path_has_modules, has_modules);
        const bool is_named = std::any_of(of.path.begin(), of.path.end(), [](const path_share& each) {
            return each.module == "jit(f)/M/Dense_0" && each.total_ns > 0;
        });
        EXPECT_EQ(is_named, has_modules);
        EXPECT_THAT(of.no_modules, HasSubstr(has_modules ? "" : "flax.nnx does not"));
    }
}

// A thread that launches no kernel copies 5 us after the second step began; a kernel of that step follows the copy.
// Where the first step is 300 us shorter, all of it comes as much sooner, but for what the GPU was not ready for.
TEST(XlaCopies, BeginAsLongAfterWhatTheThreadWithTheStepsDid) {
    for (const bool launches_kernels : {false, true}) {
        capture_builder capture;
        const std::uint16_t own = capture.domain("prof");
        thread_script& main = capture.thread("python");
        thread_script& copier = capture.thread("xla_copy");
        main.step(at(0), 0, own);
        main.call(at(0), at(3), 1, launch_kernel, "kernel");
        main.step(at(303), 1, own);
        copier.call(at(308), at(311), 2, memcpy_async);
        main.call(at(312), at(315), 3, launch_kernel, "kernel");
        main.step(at(318), 2, own);
        if (launches_kernels) copier.call(at(400), at(403), 4, launch_kernel, "kernel");
        transfer_record copy = transfer_between(transfer_kind::memcpy, at(313), at(413), 2, 64, {});
        copy.copy_kind = 1;
        capture.kernel(1, at(5), at(15)).transfer(copy).kernel(3, at(414), at(424));
        if (launches_kernels) capture.kernel(4, at(500), at(510));

        const graph_of of(capture);
        const host_event& copies = of.graph->events()[of.event_of(2)];
        EXPECT_EQ(copies.is_beside, !launches_kernels);
        const host_event_id step = of.boundary_at(static_cast<std::int64_t>(at(303)));
        EXPECT_EQ(of.replayed(), 424 * us);
        if (launches_kernels) {
            EXPECT_EQ(copies.before, npos);
            continue;
        }
        EXPECT_EQ(copies.before, step);
        // The copy begins at 16, 1 us after the first kernel, the second kernel at 117.
        EXPECT_EQ(of.gain(without_gap(step, 300 * us)), (424 - 127) * us);
    }
}

// Each step the host copies an array for 2,000 us before a thread of XLA's copies it to the GPU, for 400 us, and then
// launches a kernel of 500 us behind it. Is the array too small for so much time, or the program none of JAX, the host
// runs other code.
TEST(XlaCopies, FromArraysOfTheHostAreFromPageableMemory) {
    struct given {
        const char* domain;
        std::uint64_t bytes;
        const char* rule;
    };
    for (const given& of : {given{"TSL", 16U << 20, "pageable_copies"}, given{"TSL", 4U << 20, "host_code"},
                            given{"other", 16U << 20, "host_code"}}) {
        capture_builder capture;
        const std::uint16_t own = capture.domain("prof");
        const std::uint16_t domain = capture.domain(of.domain);
        thread_script& main = capture.thread("python");
        thread_script& copier = capture.thread("xla_copy");
        std::uint64_t correlation = 0;
        for (std::uint64_t step = 0; step <= counted_steps + 1; ++step) {
            const std::uint64_t host = 2'110 * step;
            main.step(at(host), step, own);
            if (step > counted_steps) break;
            transfer_record copy = transfer_between(transfer_kind::memcpy, at(host + 2'005), at(host + 2'405),
                                                    ++correlation, of.bytes, {});
            copy.copy_kind = 1;
            copier.call(at(host + 2'000), at(host + 2'003), correlation, memcpy_async);
            main.push(at(host + 2'099), "jit_train", domain);
            main.call(at(host + 2'100), at(host + 2'103), ++correlation, launch_kernel, "kernel");
            main.pop(at(host + 2'104), domain);
            capture.transfer(copy).kernel(correlation, at(host + 2'406), at(host + 2'906));
        }
        const timeline data = capture.build();
        const diagnosis found = diagnose(data, attribute(data));
        ASSERT_FALSE(found.findings.empty());
        const finding& first = found.findings.front();
        EXPECT_EQ(first.rule, of.rule);
        if (first.rule != "pageable_copies") continue;
        EXPECT_EQ(found.per_step(first.cost_ns), 2'000'000);
        // Copies and kernels follow each other.
        EXPECT_NEAR(found.per_step(first.gain_ns), (2'110 - (400 + 1 + 500 + 1)) * 1'000, 10'000);
    }
}

}  // namespace
}  // namespace prof::diagnose_test::jax_waits
