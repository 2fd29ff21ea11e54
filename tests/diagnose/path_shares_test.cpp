// SPDX-License-Identifier: Apache-2.0
// The shares of the critical path by kind, place and module, worked by hand. Times are microseconds.
#include "diagnose/path_shares.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "diagnose/anything.hpp"
#include "diagnose/diagnosis.hpp"
#include "diagnose/simulated_program.hpp"
#include "record/label.hpp"
#include "support/sanitized.hpp"
#include "support/torch_records.hpp"

namespace prof::diagnose_test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// One step, from 0 to its end.
class PathShares : public testing::Test {
protected:
    PathShares() {
        capture.parts().properties["modules"] = "all";
        step(0);
    }

    static std::uint64_t at(std::uint64_t time_us) { return 1'000'000 + 1'000 * time_us; }
    void step(std::uint64_t time_us) { main.step(at(time_us), number_++, own); }
    void phase(std::uint64_t from_us, const std::string& name) { main.push(at(from_us), name, phases); }
    void end_phase(std::uint64_t time_us) { main.pop(at(time_us), phases); }
    void module(std::uint64_t time_us, const std::string& name, std::uint64_t sequence) {
        main.add({.ticks = at(time_us),
                  .value = sequence,
                  .name = capture.name(name),
                  .domain = modules,
                  .kind = record_kind::range_push,
                  .flags = static_cast<std::uint8_t>(payload_type::u64)});
    }
    void end_module(std::uint64_t time_us, std::uint64_t sequence) {
        main.add({.ticks = at(time_us),
                  .value = sequence,
                  .domain = modules,
                  .kind = record_kind::range_pop,
                  .flags = static_cast<std::uint8_t>(payload_type::u64)});
    }
    // A call of 3 us, and its kernel.
    void launch(thread_script& on, std::uint64_t time_us, std::uint64_t from_us, std::uint64_t to_us) {
        on.call(at(time_us), at(time_us + 3), ++correlation_, launch_kernel, "kernel");
        capture.kernel(correlation_, at(from_us), at(to_us));
    }

    diagnosis look() {
        const timeline data = capture.build();
        return diagnose(data, attribute(data));
    }
    // "kind, where, module: microseconds"
    std::vector<std::string> shares() {
        std::vector<std::string> out;
        const diagnosis of = look();
        std::int64_t sum_ns = 0;
        for (const path_share& share : of.path) {
            out.push_back(share.kind + ", " + share.where + ", " + share.module + ": " +
                          std::to_string(share.total_ns / 1'000));
            sum_ns += share.total_ns;
        }
        EXPECT_EQ(sum_ns, of.path_ns);
        return out;
    }

    capture_builder capture;
    std::uint16_t own = capture.domain("prof");
    std::uint16_t phases = capture.domain(std::string(phase_domain));
    std::uint16_t modules = capture.domain(std::string(module_domain));
    thread_script& main = capture.thread("python");
    thread_script& autograd = capture.thread("pt_autograd_0");

private:
    std::uint64_t number_ = 0;
    std::uint64_t correlation_ = 0;
};

// Back from 400: the wait returns at 310, for the second kernel, which follows the first, which was launched at 100.
TEST_F(PathShares, AreOfTheModulesOfForward) {
    phase(10, "forward");
    module(20, "Net (Net)", 0);
    module(30, "Net.h.0 (Block)", 0);
    launch(main, 100, 105, 205);
    end_module(110, 1);
    module(120, "Net.h.1 (Block)", 1);
    end_module(125, 2);
    module(130, "Net.head (Linear)", 2);
    launch(main, 200, 206, 306);
    end_module(210, 3);
    end_module(220, 3);
    end_phase(230);
    main.call(at(240), at(310), 100, stream_synchronize);
    step(400);
    EXPECT_THAT(shares(), UnorderedElementsAre("CPU code, , : 100",                // 310 to 400, and 0 to 10
                                               "return from a wait, , : 4",        //
                                               "kernels, forward, Net.head: 100",  //
                                               "short gap, forward, Net.head: 1",
                                               "kernels, forward, Net.h.*: 100",       //
                                               "launch latency, forward, Net.h.*: 5",  //
                                               "CPU code, forward, Net.h.*: 70",       // 30 to 100
                                               "CPU code, forward, Net: 10",           // 20 to 30
                                               "CPU code, forward, : 10"));            // 10 to 20
    EXPECT_EQ(look().bound_by, "kernels (50 % of the critical path), most of all in forward");
    EXPECT_TRUE(look().path_has_modules);
    EXPECT_THAT(look().no_modules, IsEmpty());
}

// From 43 to 700 the host runs other code, in the middle of it in the head. A kernel of 400 in Net.h.1 follows, for
// which it waits.
TEST_F(PathShares, FindingsNameTheModulesOfTheTimeThatTheyWouldSave) {
    phase(10, "forward");
    module(20, "Net (Net)", 0);
    module(30, "Net.h.0 (Block)", 0);
    launch(main, 40, 45, 100);
    end_module(110, 1);
    module(130, "Net.head (Linear)", 2);
    end_module(690, 3);
    module(695, "Net.h.1 (Block)", 3);
    launch(main, 700, 705, 1'105);
    main.call(at(710), at(1'110), 100, stream_synchronize);
    end_module(1'115, 4);
    end_module(1'120, 4);
    end_phase(1'130);
    step(1'300);
    std::vector<std::string> found;
    for (const finding& each : look().findings) {
        for (const std::string& module : each.modules) found.push_back(each.rule + ": " + module);
    }
    EXPECT_THAT(found, Contains("host_code: Net.head (97 %)"));  // and 20 after the wait, in no module
    EXPECT_THAT(found, Contains("synchronization: Net.h.* (100 %)"));
}

// Node 1 was made in the module, and autograd's thread executes it from 100 on. The GPU is the last to end, at 305.
TEST_F(PathShares, AreOfTheModulesThatMadeTheNodesOfBackward) {
    phase(10, "forward");
    module(20, "Net (Net)", 0);
    launch(main, 30, 35, 40);
    end_module(40, 3);
    end_phase(50);
    phase(60, "backward");
    autograd.add(torch_push(capture, at(100), "MulBackward0", 1));
    launch(autograd, 200, 205, 305);
    autograd.pop(at(210));
    end_phase(220);
    step(230);
    EXPECT_THAT(shares(), UnorderedElementsAre("kernels, backward, Net: 100",                //
                                               "launch latency, backward, Net: 5",           //
                                               "CPU code, backward, Net: 100",               // 100 to 200, in the node
                                               "hand-over between threads, backward, : 40",  // 60 to 100
                                               "CPU code, forward, : 20",                    // 10 to 20, 40 to 50
                                               "CPU code, forward, Net: 17",                 // 20 to 30, 33 to 40
                                               "CUDA call, forward, Net: 3",                 //
                                               "CPU code, , : 20"));                         // 0 to 10, 50 to 60
}

// The main thread computes for 2 ms before it goes backward, and 300 us after that. Without nodes it is not known when
// autograd's thread began: at most 50 us before its first call.
TEST_F(PathShares, AHandOverIsNotWhatAThreadDoesBefore) {
    launch(main, 10, 15, 20);
    phase(2'013, "backward");
    launch(autograd, 2'300, 2'305, 2'310);
    end_phase(2'320);
    main.call(at(2'620), at(2'622), 99, stream_synchronize);
    step(2'622);
    EXPECT_THAT(shares(),
                UnorderedElementsAre("CPU code, , : 2310",         // 0 to 10, 13 to 2,013, 2,320 to 2,620
                                     "CUDA call, , : 5",           //
                                     "CPU code, backward, : 237",  // to 2,250
                                     "hand-over between threads, backward, : 67",  // to 2,300, and 2,303 to 2,320
                                     "CUDA call, backward, : 3"));
}

// Captured in a step that is not examined; the nodes have the phase and the module of the capture.
TEST_F(PathShares, OfReplayedGraphsAreThoseOfTheCapture) {
    main.begin_capture(at(10), 90);
    phase(12, "forward");
    module(14, "Net (Net)", 0);
    module(15, "Net.up (Linear)", 0);
    main.node(at(16), 77);
    end_module(17, 0);
    main.node(at(18), 78);
    end_module(19, 0);
    end_phase(20);
    step(100);
    for (std::uint64_t t = 100; t < 1'300; t += 100) {
        main.launch_graph(at(t + 10), t, 3);
        capture.kernel(t, at(t + 15), at(t + 45), {.graph_node = 77})
            .kernel(t, at(t + 46), at(t + 66), {.graph_node = 78});
        main.call(at(t + 20), at(t + 70), 1'000 + t, stream_synchronize);
        step(t + 100);
    }
    const diagnosis of = look();
    EXPECT_GE(of.steps, 10U);
    std::vector<std::string> lines;
    for (const path_share& share : of.path) {
        lines.push_back(share.kind + ", " + share.where + ", " + share.module + ": " +
                        std::to_string(share.total_ns / 1'000 / static_cast<std::int64_t>(of.steps)));
    }
    EXPECT_THAT(lines, UnorderedElementsAre("CPU code, , : 40",  // 70 to 100, and 0 to 10
                                            "return from a wait, , : 4", "kernels, forward, Net: 20",
                                            "short gap, forward, Net: 1", "kernels, forward, Net.up: 30",
                                            "launch latency, , : 5"));
}

TEST_F(PathShares, SayWhatRecordsModules) {
    capture.parts().properties.erase("modules");
    capture.parts().properties["pytorch"] = "ops";  // backward nodes are known
    phase(10, "forward");
    launch(main, 100, 105, 205);
    main.add(torch_push(capture, at(210), "MulBackward0", 1));
    main.pop(at(220));
    end_phase(230);
    step(400);
    EXPECT_FALSE(look().path_has_modules);
    for (const path_share& share : look().path) EXPECT_EQ(share.module, "");
    EXPECT_THAT(look().no_modules, HasSubstr("prof run --modules"));
    EXPECT_THAT(shares(), Contains("CPU code, forward, : 217"));  // 10 to 230, without the call
}

// The kernel that was launched at 80 begins at 300, for no reason that was recorded. Host code: 330 to 400, and 20
// before the first launch, and 17 before each of the others.
TEST_F(PathShares, WhatIsNotExplainedBoundsNothing) {
    for (const std::uint64_t t : {20U, 40U, 60U}) launch(main, t, t + 5, t + 10);
    launch(main, 80, 300, 320);
    main.call(at(90), at(330), 100, stream_synchronize);
    step(400);
    const diagnosis of = look();
    EXPECT_EQ(of.bound_by, "CPU code (35 % of the critical path)");
    EXPECT_EQ(of.unexplained_ns, 215'000);
    EXPECT_EQ(of.path_ns, 400'000);
}

// Of the kernel in the last of ten steps that the host waits for no launch was recorded, and it is the first of its
// stream: what led to it is not known. Not explained is only the time since what the host did before, from 3'823 to
// 3'850, and not the steps before it.
TEST_F(PathShares, WhatIsNotExplainedEndsAtWhatTheHostDidBefore) {
    for (std::uint64_t begin = 0; begin < 4'000; begin += 400) {
        if (begin != 0) step(begin);
        for (const std::uint64_t t : {20U, 120U, 220U}) launch(main, begin + t, begin + t + 5, begin + t + 10);
        const bool is_last = begin == 3'600;
        if (is_last) capture.kernel(12'345, at(3'850), at(3'960), {.stream = 9});
        main.call(at(begin + 290), at(begin + (is_last ? 370 : 300)), 1'000 + begin, device_synchronize);
    }
    step(4'000);
    // Of nine steps, since the first is warm-up: eight with 19 us in calls, the last one with 9.
    EXPECT_THAT(shares(), UnorderedElementsAre("CPU code, , : 3292", "CUDA call, , : 161", "kernels, , : 110",
                                               "not explained, , : 27", "return from a wait, , : 10"));
}

// The call copies pageable memory for 200 us itself. Its operation begins when it returns, by clocks that differ a
// little, and ends within what they may differ: the call cannot have waited for it.
TEST_F(PathShares, NoCallWaitsForWhatBeginsAtItsEnd) {
    for (std::uint64_t begin = 0; begin < 1'600; begin += 400) {
        if (begin != 0) step(begin);
        main.call(at(begin + 100), at(begin + 300), 1'000 + begin, memcpy_blocking);
        capture.transfer(
            transfer_between(transfer_kind::memcpy, at(begin + 300), at(begin + 301) - 200, 1'000 + begin, 4'096, {}));
    }
    step(1'600);
    EXPECT_THAT(shares(), UnorderedElementsAre("CPU code, , : 600", "CUDA call, , : 600"));
}

TEST_F(PathShares, NameALateReturnFromAWait) {
    launch(main, 20, 25, 50);
    main.call(at(40), at(350), 100, stream_synchronize);
    step(400);
    EXPECT_EQ(look().bound_by, "the CPU's late return from waits for the GPU (75 % of the critical path)");
}

TEST_F(PathShares, BoundIsShort) {
    phase(0, "forward");
    main.push(at(1), std::string(5'000, 'x'), own);
    launch(main, 200, 205, 210);
    main.pop(at(380), own);
    end_phase(390);
    step(400);
    EXPECT_THAT(look().bound_by, HasSubstr("xxx"));
    EXPECT_LT(look().bound_by.size(), 150U);
}

// Dividing the path by places and modules changes neither its length nor the order of its pieces.
TEST(NamedPath, CoversTheStepsOnce) {
    std::size_t compared = 0;
    for (std::uint32_t seed = 0; seed < test::random_cases(1'000); ++seed) {
        const anything program(seed);
        const timeline data = program.capture.build();
        const attribution att = attribute(data);
        const std::vector<named_piece> pieces = named_critical_path(data, att);
        if (pieces.empty()) continue;
        ++compared;
        std::int64_t at_ns = pieces.front().start_ns;
        std::int64_t sum_ns = 0;
        for (const named_piece& piece : pieces) {
            ASSERT_EQ(piece.start_ns, at_ns) << "seed " << seed;
            ASSERT_GT(piece.end_ns, piece.start_ns) << "seed " << seed;
            at_ns = piece.end_ns;
            sum_ns += piece.end_ns - piece.start_ns;
        }
        ASSERT_EQ(diagnose(data, att).path_ns, sum_ns) << "seed " << seed;
    }
    EXPECT_GT(compared, test::random_cases(500));
}

}  // namespace
}  // namespace prof::diagnose_test
