// SPDX-License-Identifier: Apache-2.0
// The report small_kernel_operators, worked by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "analysis/breakdown/small_kernels.hpp"
#include "analysis/projection/projection.hpp"
#include "analysis/tables.hpp"
#include "report/makers.hpp"
#include "support/scratch_directory.hpp"
#include "support/torch_records.hpp"
#include "timeline/load.hpp"

namespace prof::small_kernel_operators_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::vector<std::string> keys = {"operator",  "module",  "is_replayed", "kernels",
                                       "kernel_ns", "idle_ns", "starved_ns"};

class SmallKernelOperators : public testing::Test {
protected:
    SmallKernelOperators() { capture.parts().properties["pytorch"] = "ops"; }

    // Launched as the GPU falls idle: each kernel takes 3 us, with 17 us between one and the next.
    void kernels(thread_script& on, int count) {
        for (int i = 0; i < count; ++i, now_ns += 20'000) {
            on.launch(now_ns, ++correlation);
            capture.kernel(correlation, now_ns + 2'000, now_ns + 5'000);
        }
    }
    void push(thread_script& on, const std::string& name, std::int64_t sequence = -1) {
        on.add(torch_push(capture, now_ns, name, sequence));
    }
    void in_operator(const std::string& name, int count) {
        push(main, name);
        kernels(main, count);
        main.pop(now_ns);
    }
    void enter(const std::string& module, std::int64_t sequence) {
        main.add(of_module(sequence, record_kind::range_push, capture.name(module)));
    }
    void leave(std::int64_t sequence) { main.add(of_module(sequence, record_kind::range_pop, 0)); }
    table report() {
        main.step(now_ns + 1'000'000, 2, own);
        const timeline data = capture.build();
        return small_kernel_operators_report({.data = data});
    }

    capture_builder capture;
    std::uint16_t own = capture.domain("prof");
    std::uint16_t phases = capture.domain(std::string(phase_domain));
    std::uint16_t modules = capture.domain(std::string(module_domain));
    thread_script& main = capture.thread("python");
    thread_script& autograd = capture.thread("pt_autograd_0");
    std::uint64_t correlation = 0;
    std::uint64_t now_ns = 1'000'000;

private:
    record of_module(std::int64_t sequence, record_kind kind, std::uint32_t name) const {
        return {.ticks = now_ns,
                .value = static_cast<std::uint64_t>(sequence),
                .name = name,
                .domain = modules,
                .kind = kind,
                .flags = static_cast<std::uint8_t>(payload_type::u64)};
    }
};

// rows_of() leaves out empty cells at the beginning.
// A run of 5 kernels in forward, whose first has no idle time before it, and one of 4 in backward.
TEST_F(SmallKernelOperators, HaveTheIdleTimeBeforeTheirKernels) {
    capture.parts().properties["modules"] = "all";
    main.step(now_ns, 1, own).push(now_ns, "forward", phases);
    enter("Net (Net)", 0);
    enter("Net.h.0 (Block)", 0);
    in_operator("aten::mul", 2);
    push(main, "aten::linear");
    in_operator("aten::addmm", 1);
    main.pop(now_ns);
    leave(2);
    enter("Net.h.1 (Block)", 2);
    in_operator("aten::mul", 1);
    leave(4);
    leave(4);
    kernels(main, 1);
    main.pop(now_ns, phases).push(now_ns, "backward", phases);
    push(autograd, "MulBackward0", 3);
    kernels(autograd, 4);
    autograd.pop(now_ns);
    main.pop(now_ns, phases);
    const table of = report();
    EXPECT_THAT(rows_of(of, keys),
                ElementsAre("MulBackward0 Net.h.* 0 4 12000 51000 51000", "aten::mul Net.h.* 0 3 9000 34000 34000",
                            "0 1 3000 17000 17000", "aten::addmm Net.h.* 0 1 3000 17000 17000"));
}

TEST_F(SmallKernelOperators, OfReplaysAreNotKnown) {
    main.step(now_ns, 1, own);
    in_operator("aten::mul", 3);
    main.enter(now_ns + 10, 100).exit(now_ns + 11'000, 100);
    for (std::uint64_t i = 1; i <= 4; ++i) {
        capture.kernel(100, now_ns + i * 5'000, now_ns + i * 5'000 + 3'000, {.graph_node = i, .graph = 1});
    }
    now_ns += 100'000;
    EXPECT_THAT(rows_of(report(), keys), ElementsAre("aten::mul  0 3 9000 34000 34000", "1 4 12000 6000 0"));
}

// Two kernels are no run.
TEST_F(SmallKernelOperators, AreThoseOfRunsOnly) {
    main.step(now_ns, 1, own).push(now_ns, "forward", phases);
    in_operator("aten::mul", 2);
    main.pop(now_ns, phases);
    const table of = report();
    EXPECT_THAT(of.rows, IsEmpty());
    EXPECT_EQ(of.instead, "no run of small kernels in a step");
}

TEST_F(SmallKernelOperators, HaveToBeRecorded) {
    main.step(now_ns, 1, own);
    kernels(main, 4);
    EXPECT_THAT(report().instead, HasSubstr("prof run --pytorch ops and --modules record them"));
}

// Its rows are those of small_kernels, otherwise divided.
TEST_F(SmallKernelOperators, AddUpToTheRuns) {
    main.step(now_ns, 1, own);
    for (int i = 0; i < 60; ++i) {
        main.push(now_ns, i % 4 == 0 ? "loss" : "model");
        in_operator("aten::op_" + std::to_string(i % 7), 1 + i % 5);
        kernels(main, i % 3);
        main.pop(now_ns);
        if (i % 6 == 0) now_ns += 150'000;
    }
    const table of = report();
    const timeline data = capture.build();
    const auto runs = find_small_kernels(data, attribute(data));
    ASSERT_TRUE(runs);
    EXPECT_GT(runs->places.size(), 1U);
    EXPECT_GT(of.rows.size(), 7U);
    std::int64_t kernels = 0;
    std::int64_t idle_ns = 0;
    std::int64_t starved_ns = 0;
    for (const table_row& row : of.rows) {
        const auto end = row.end();
        kernels += static_cast<std::int64_t>(std::get<std::uint64_t>((end - 4)->value));
        idle_ns += std::get<std::int64_t>((end - 2)->value);
        starved_ns += std::get<std::int64_t>((end - 1)->value);
    }
    EXPECT_EQ(static_cast<std::uint64_t>(kernels), runs->in_runs);
    EXPECT_EQ(idle_ns, runs->idle_ns);
    EXPECT_EQ(starved_ns, runs->starved_ns);
}

// torch.profiler's trace of 3 kernels of one operator and 1 of another: 17 us between one and the next.
TEST(SmallKernelOperatorsOfTraces, AreItsCpuOperators) {
    std::string events;
    const auto add = [&](const std::string& category, const std::string& name, int at_us, int us, int tid,
                         const std::string& args) {
        events += (events.empty() ? "" : ",\n") + std::string(R"({"ph": "X", "pid": 1, "cat": ")") + category +
                  R"(", "name": ")" + name + R"(", "tid": )" + std::to_string(tid) + R"(, "ts": )" +
                  std::to_string(at_us) + R"(, "dur": )" + std::to_string(us) + R"(, "args": {)" + args + "}}";
    };
    add("user_annotation", "ProfilerStep#1", 1000, 500, 1, "");
    for (int i = 0; i < 4; ++i) {
        const std::string number = R"("correlation": )" + std::to_string(i + 1);
        add("cpu_op", i < 3 ? "aten::mul" : "aten::add", 1100 + 20 * i, 10, 1, "");
        add("cuda_runtime", "cudaLaunchKernel", 1101 + 20 * i, 2, 1, R"("cbid": 211, )" + number);
        add("kernel", "k", 1103 + 20 * i, 3, 7, R"("device": 0, "context": 1, "stream": 7, )" + number);
    }
    const test::scratch_directory folder;
    const std::string path = folder / "trace.json";
    std::ofstream(path) << R"({"traceEvents": [)" << events << "]}";
    const timeline data = load_timeline(path);
    EXPECT_THAT(rows_of(small_kernel_operators_report({.data = data}), keys),
                ElementsAre("aten::mul  0 3 9000 34000 34000", "aten::add  0 1 3000 17000 17000"));
}

}  // namespace
}  // namespace prof::small_kernel_operators_test
