// SPDX-License-Identifier: Apache-2.0
// How a process ended, what was open and which launches had no completion, on captures worked by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "analysis/tables.hpp"
#include "capture/recovery/seal.hpp"
#include "report/makers.hpp"
#include "report/reports.hpp"
#include "support/capture_builder.hpp"

namespace prof::death_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

table death(const timeline& data, const domain_filter& domains = {}) {
    const report_kind* const kind = find_report("death");
    if (kind == nullptr) {
        ADD_FAILURE() << "no such report";
        return {};
    }
    const report_part made =
        kind->make({.data = data,
                    .names = kernel_name_style::full,
                    .hidden = hidden_domains(data, domains),
                    .projected = {.attribution = {.domains = domains}},
                    .call_name = [](const timeline_api_call& call) { return "call" + std::to_string(call.cbid); }});
    return *block_in<table>(made);
}

std::vector<std::string> rows(const table& of) {
    return rows_of(of, {"what", "tid", "thread", "range", "kernel", "count", "before_end_ns"});
}

std::string total(const table& of, const std::string& key) {
    for (const auto& [name, value] : of.totals) {
        if (name == key) return shown(value);
    }
    return "none";
}

capture_builder died(std::uint32_t how) {
    capture_builder capture;
    capture.parts().end = {.reason = format::end_reason::died, .how = how, .realtime_ns = 0};
    return capture;
}

// The last that is known is the end of a kernel, at 200.
capture_builder in_the_middle_of_a_step() {
    capture_builder capture = died(ended_by_signal(SIGKILL));
    capture.thread("python")
        .push(90, "iteration 2")
        .pop(95)
        .push(100, "iteration 3")
        .push(110, "forward")
        .launch(120, 1, "_Z4gemmIfEvPT_")
        .launch(130, 2, "_Z4gemmIfEvPT_")
        .launch(140, 3, "_Z4gemmIfEvPT_")
        .pop(150)
        .push(160, "backward")
        .launch(170, 4, "relu");
    capture.thread("loader").push(180, "read");
    capture.kernel(1, 125, 200, {}, "_Z4gemmIfEvPT_");
    return capture;
}

TEST(DeathReport, HasOneRowForKernelsOfOneName) {
    capture_builder capture;
    capture.thread("python").launch(10, 1, "_Z4gemmIfEvPT_").launch(20, 2, "_Z4gemmIdEvPT_").push(30, "end").pop(40);
    const timeline data = capture.build();
    const report_input input{.data = data, .names = kernel_name_style::short_form};
    EXPECT_THAT(rows(death_report(input)), ElementsAre("unfinished launch 1001 python  gemm 2 30"));
}

TEST(DeathReport, ListsOpenRangesAndUnfinishedLaunches) {
    const table report = death(in_the_middle_of_a_step().build());
    EXPECT_THAT(
        rows(report),
        ElementsAre("open range 1001 python iteration 3  1 100", "open range 1001 python iteration 3/backward  1 40",
                    "open range 1002 loader read  1 20", "unfinished launch 1001 python iteration 3/backward relu 1 30",
                    "unfinished launch 1001 python iteration 3/forward void gemm<float>(float*) 2 70"));
    EXPECT_EQ(total(report, "ended"), "the process was killed by signal 9 (SIGKILL)");
    EXPECT_EQ(total(report, "launches_without_completion"), "3");
    EXPECT_EQ(report.heading, "How it ended: the process was killed by signal 9 (SIGKILL)");
}

TEST(DeathReport, HasNoRowsWhenAllWorkCompleted) {
    capture_builder capture;
    capture.thread("main").push(1, "a").launch(2, 1).pop(4);
    capture.kernel(1, 10, 20);
    const table report = death(capture.build());
    EXPECT_THAT(rows(report), IsEmpty());
    EXPECT_EQ(total(report, "launches_without_completion"), "0");
}

TEST(DeathReport, LeavesOutHiddenDomainsAndRangesCutByAWindow) {
    capture_builder capture = died(0);
    const std::uint16_t nccl = capture.domain("NCCL");
    capture.parts().windows.insert_or_assign(1U, format::window_entry{.epoch = 1, .begin_ticks = 1, .end_ticks = 10});
    capture.parts().windows.insert_or_assign(2U, format::window_entry{.epoch = 2, .begin_ticks = 50, .end_ticks = 90});
    capture.thread("main")
        .push(2, "cut by the window's end")
        .add({.ticks = 50, .value = 2, .kind = record_kind::window})
        .push(51, "step")
        .push(52, "group", nccl)
        .push(53, "inner")
        .push(54, "reduce", nccl)
        .launch(60, correlation_key(2, 7), "sum_k");
    const timeline data = capture.build();
    const domain_filter without_nccl{.include = {}, .exclude = {"NCCL"}};
    EXPECT_THAT(rows(death(data, without_nccl)),
                ElementsAre("open range 1001 main step  1 39", "open range 1001 main step/inner  1 37",
                            "unfinished launch 1001 main step/inner sum_k 1 30"));
    EXPECT_THAT(rows(death(data)),
                ElementsAre("open range 1001 main step  1 39", "open range 1001 main step/NCCL:group  1 38",
                            "open range 1001 main step/NCCL:group/inner  1 37",
                            "open range 1001 main step/NCCL:group/inner/NCCL:reduce  1 36",
                            "unfinished launch 1001 main step/NCCL:group/inner/NCCL:reduce sum_k 1 30"));
}

// Names that have a slash, no text, or a domain; and a hidden range that outlives the one it was opened in.
TEST(DeathReport, HasThePathsOfTheProjection) {
    capture_builder capture = died(0);
    const std::uint16_t nccl = capture.domain("NCCL");
    capture.thread("main")
        .push(1, "closed before")
        .push(2, "comm", nccl)
        .pop(3)
        .push(4, "a/b")
        .push(5, "")
        .push(6, "reduce 7", nccl)
        .launch(10, 1, "sum_k");
    const timeline data = capture.build();
    EXPECT_THAT(rows(death(data)),
                ElementsAre("open range 1001 main closed before/NCCL:comm  1 9",
                            "open range 1001 main closed before/NCCL:comm/a\\/b  1 7",
                            "open range 1001 main closed before/NCCL:comm/a\\/b/(unnamed)  1 6",
                            "open range 1001 main closed before/NCCL:comm/a\\/b/(unnamed)/NCCL:reduce 7  1 5",
                            "unfinished launch 1001 main closed before/NCCL:comm/a\\/b/(unnamed)/NCCL:reduce 7 "
                            "sum_k 1 1"));
    EXPECT_THAT(rows(death(data, {.include = {}, .exclude = {"NCCL"}})),
                ElementsAre("open range 1001 main a\\/b  1 7", "open range 1001 main a\\/b/(unnamed)  1 6",
                            "unfinished launch 1001 main a\\/b/(unnamed) sum_k 1 1"));
}

// What autograd's thread has open hangs under what the one thread has that it may work for; under none of two.
TEST(DeathReport, PutsAdoptedRangesUnderTheirAdopter) {
    capture_builder capture = died(0);
    capture.thread("main").push(1, "backward").launch(2, 1);
    capture.thread("pt_autograd_0").push(4, "layer 3").launch(5, 2, "gemm");
    capture.kernel(1, 10, 20);
    EXPECT_THAT(
        rows(death(capture.build())),
        ElementsAre("open range 1001 main backward  1 19", "open range 1002 pt_autograd_0 backward/layer 3  1 16",
                    "unfinished launch 1002 pt_autograd_0 backward/layer 3 gemm 1 15"));
    capture.thread("second").push(1, "evaluate").launch(2, 3);
    capture.kernel(3, 10, 20);
    EXPECT_THAT(rows(death(capture.build())),
                testing::Contains("open range 1002 pt_autograd_0 (ambiguous)/layer 3  1 16"));
}

TEST(DeathReport, StatesHowTheProcessEnded) {
    const auto end_of = [](std::uint32_t how) { return total(death(died(how).build()), "ended"); };
    EXPECT_EQ(end_of(ended_by_signal(SIGSEGV)), "the process was killed by signal 11 (SIGSEGV)");
    EXPECT_EQ(end_of(ended_by_signal(SIGABRT)), "the process was killed by signal 6 (SIGABRT)");
    EXPECT_EQ(end_of(ended_by_signal(SIGTERM)), "the process was killed by signal 15 (SIGTERM)");
    EXPECT_EQ(end_of(ended_by_signal(40)), "the process was killed by signal 40");
    EXPECT_EQ(end_of(ended_with_status(5)), "the process ended with status 5 without exit handlers (os._exit or exec)");
    EXPECT_EQ(end_of(ended_with_status(0)), "the process ended with status 0 without exit handlers (os._exit or exec)");
    EXPECT_EQ(end_of(0), "the process ended without exit handlers (os._exit), or was killed");
    capture_builder unsealed;
    unsealed.parts().ended = false;
    EXPECT_EQ(total(death(unsealed.build()), "ended"),
              "the process ended, or is still running, without closing this capture");
    unsealed.parts().process = process_state::gone;
    EXPECT_EQ(total(death(unsealed.build()), "ended"),
              "the process ended without closing this capture: prof seal completes the file");
    unsealed.parts().process = process_state::running;
    unsealed.parts().properties["pid"] = "77";
    EXPECT_EQ(total(death(unsealed.build()), "ended"), "process 77 still runs: this is what it has recorded so far");
    EXPECT_EQ(total(death(capture_builder().build()), "ended"), "the recording was closed in good order");
}

TEST(DeathReport, StatesThatNothingWasLostOnlyWhereThatIsKnown) {
    const std::string recovered =
        "the capture was not closed; 6 records were recovered from its rings, /dev/shm/a.rings";
    const auto end_of = [&](const std::string& recovery, auto&& change) {
        capture_builder capture = died(0);
        capture.parts().properties["forked_from"] = "1";
        capture.parts().properties["recovery"] = recovery;
        change(capture);
        return total(death(capture.build()), "ended");
    };
    const auto leave = [](capture_builder&) {};
    const std::string calm = "the process ended without exit handlers (os._exit)";
    EXPECT_EQ(end_of(recovered, leave), calm + "; nothing was lost");
    EXPECT_EQ(end_of(recovered + ", then it ends too early", leave), calm);
    EXPECT_EQ(end_of("the capture was not closed; nothing was recovered from its rings, /a: gone", leave), calm);
    EXPECT_EQ(end_of(recovered, [](capture_builder& capture) { capture.parts().drops[0] = 3; }), calm);
    EXPECT_EQ(end_of(recovered, [](capture_builder& capture) { capture.thread("main").launch(2, 1); }), calm);
    EXPECT_EQ(end_of(recovered, [](capture_builder& capture) { capture.thread("main").push(1, "a"); }),
              calm + ", or was killed; nothing was lost");
}

}  // namespace
}  // namespace prof::death_test
