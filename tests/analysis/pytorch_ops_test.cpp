// SPDX-License-Identifier: Apache-2.0
// The table by operator, worked by hand.
#include "report/tables/pytorch_ops.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/projection/projection.hpp"
#include "report/makers.hpp"
#include "support/torch_records.hpp"

namespace prof::pytorch_ops_test {
namespace {

class PytorchOps : public testing::Test {
protected:
    PytorchOps() { capture.parts().properties["pytorch"] = "ops"; }

    void push(thread_script& thread, std::uint64_t ns, const std::string& name, std::int64_t sequence = -1) {
        thread.add(torch_push(capture, ns, name, sequence));
    }
    // A backward node from `begin` to `end`, with the engine's range around it and one launch inside.
    void node(thread_script& thread, std::uint64_t begin, std::uint64_t end, const std::string& name,
              std::int64_t sequence, std::uint64_t correlation) {
        push(thread, begin, "autograd::engine::evaluate_function: " + name);
        push(thread, begin + 1, name, sequence);
        thread.launch(begin + 2, correlation);
        thread.pop(end - 1).pop(end);
    }
    static pytorch_row row(const pytorch_table& table, std::string_view name) {
        const auto found =
            std::find_if(table.rows.begin(), table.rows.end(), [&](const pytorch_row& r) { return r.name == name; });
        EXPECT_NE(found, table.rows.end()) << name;
        return found == table.rows.end() ? pytorch_row{} : *found;
    }

    capture_builder capture;
    thread_script& main = capture.thread("python");
    thread_script& autograd = capture.thread("pt_autograd_0");
};

//  main:      0 forward [ 10 aten::linear #0 [ 20 aten::t #0 [] 30 | 40 aten::addmm #1 [ 50 launch A ] 60 ] 70
//                         80 launch B ] 100
//             200 aten::sum [ 210 aten::sum [ 220 launch C ] 230 | 232 aten::fill_ [] 235 ] 240
//  autograd:  300 evaluate [ 301 AddmmBackward0 #1 [ 302 launch D ] 309 ] 310
//             320 evaluate [ 321 TBackward0 #0 [ 322 launch E ] 329 ] 330
//  GPU times: A 1000, B 200, C 30, D 4000, E 7
void one_step(capture_builder& capture, thread_script& main) {
    const auto push = [&](std::uint64_t ns, const char* name, std::int64_t sequence = -1) {
        main.add(torch_push(capture, ns, name, sequence));
    };
    push(0, "forward");
    push(10, "aten::linear", 0);
    push(20, "aten::t", 0);
    main.pop(30);
    push(40, "aten::addmm", 1);
    main.launch(50, 1).pop(60).pop(70).launch(80, 2).pop(100);
    push(200, "aten::sum");
    push(210, "aten::sum");
    main.launch(220, 3).pop(230);
    push(232, "aten::fill_");
    main.pop(235).pop(240);
    capture.kernel(1, 1000, 2000).kernel(2, 2000, 2200).kernel(3, 3000, 3030);
    capture.kernel(4, 4000, 8000).kernel(5, 9000, 9007);
}

TEST_F(PytorchOps, CountSelfAndTotalOnHostAndGpu) {
    one_step(capture, main);
    node(autograd, 300, 310, "AddmmBackward0", 1, 4);
    node(autograd, 320, 330, "TBackward0", 0, 5);
    const pytorch_table table = pytorch_operators(capture.build());

    struct expected {
        const char* name;
        std::uint64_t calls;
        std::int64_t cpu_total, cpu_self, gpu_total, gpu_self;
        std::uint64_t gpu_ops;
        std::int64_t backward;
        std::uint64_t backward_calls;
    };
    const expected rows[] = {
        {"AddmmBackward0", 1, 8, 8, 4000, 4000, 1, 0, 0},
        {"aten::addmm", 1, 20, 20, 1000, 1000, 1, 4000, 1},
        {"forward", 1, 100, 40, 1200, 200, 1, 0, 0},
        {"aten::sum", 2, 60, 37, 60, 30, 1, 0, 0},  // one inside the other: both count
        {"TBackward0", 1, 8, 8, 7, 7, 1, 0, 0},
        {"aten::linear", 1, 60, 30, 1000, 0, 0, 4007, 2},
        {"aten::t", 1, 10, 10, 0, 0, 0, 7, 1},
        {"aten::fill_", 1, 3, 3, 0, 0, 0, 0, 0},
        {"autograd::engine::evaluate_function: AddmmBackward0", 1, 10, 2, 4000, 0, 0, 0, 0},
        {"autograd::engine::evaluate_function: TBackward0", 1, 10, 2, 7, 0, 0, 0, 0},
    };
    ASSERT_EQ(table.rows.size(), std::size(rows));
    for (std::size_t i = 0; i < std::size(rows); ++i) {
        const pytorch_row& r = table.rows[i];
        EXPECT_EQ(r.name, rows[i].name);
        EXPECT_EQ(r.calls, rows[i].calls) << r.name;
        EXPECT_EQ(r.cpu_total_ns, rows[i].cpu_total) << r.name;
        EXPECT_EQ(r.cpu_self_ns, rows[i].cpu_self) << r.name;
        EXPECT_EQ(r.gpu_total_ns, rows[i].gpu_total) << r.name;
        EXPECT_EQ(r.gpu_self_ns, rows[i].gpu_self) << r.name;
        EXPECT_EQ(r.gpu_ops, rows[i].gpu_ops) << r.name;
        EXPECT_EQ(r.backward_gpu_ns, rows[i].backward) << r.name;
        EXPECT_EQ(r.backward_calls, rows[i].backward_calls) << r.name;
    }
    EXPECT_EQ(table.backward_nodes, 2U);
    EXPECT_EQ(table.unlinked_nodes + table.ambiguous_nodes, 0U);
}

// As torch.profiler's table: percentages of the self time of all rows, and that time below them.
TEST_F(PytorchOps, HaveSharesAndATotal) {
    one_step(capture, main);
    node(autograd, 300, 310, "AddmmBackward0", 1, 4);
    const timeline data = capture.build();
    const table of = pytorch_ops_report({.data = data});
    const auto column = [&](std::string_view title) {
        const auto found = std::find_if(of.columns.begin(), of.columns.end(),
                                        [&](const table_column& each) { return each.title == title; });
        EXPECT_NE(found, of.columns.end()) << title;
        return static_cast<std::size_t>(found - of.columns.begin());
    };
    double cpu_share = 0;
    double gpu_share = 0;
    std::vector<std::string> names;
    for (const table_row& row : of.rows) {
        cpu_share += std::get<double>(row[column("self CPU %")].value);
        gpu_share += std::get<double>(row[column("self GPU %")].value);
        names.push_back(std::get<std::string>(row[column("name")].value));
    }
    EXPECT_NEAR(cpu_share, 1, 1e-9);
    EXPECT_NEAR(gpu_share, 1, 1e-9);
    EXPECT_EQ(names.back(), "engine: AddmmBackward0");
    EXPECT_EQ(std::get<std::string>(of.rows.back().front().value),
              "autograd::engine::evaluate_function: AddmmBackward0");
    // forward 40, linear 30, t 10, addmm 20, sum 37, fill_ 3, the node 8 and the engine around it 2.
    EXPECT_EQ(std::get<std::int64_t>(of.sums.front()[column("self CPU")].value), 150);
    EXPECT_EQ(std::get<std::int64_t>(of.sums.front()[column("self GPU")].value), 1000 + 200 + 30 + 4000);
    const table_row& sums = of.rows[3];
    EXPECT_EQ(names[3], "aten::sum");
    EXPECT_EQ(std::get<double>(sums[column("CPU/call")].value), 30);
    EXPECT_EQ(std::get<double>(sums[column("GPU/call")].value), 30);
}

TEST_F(PytorchOps, HaveNoColumnsOfZerosWithoutGpuWork) {
    push(main, 0, "aten::add");
    main.pop(10);
    const timeline data = capture.build();
    for (const table_column& column : pytorch_ops_report({.data = data}).columns) {
        EXPECT_TRUE(column.title.find("GPU") == std::string::npos && column.title != "backward") << column.title;
    }
}

TEST_F(PytorchOps, CountAPureRecursionAsOneCall) {
    push(main, 0, "aten::div_", 5);
    push(main, 10, "aten::div_");
    push(main, 20, "aten::div_");
    main.launch(30, 1);
    push(main, 40, "aten::to");
    main.pop(45).pop(50).pop(60).pop(80);
    capture.kernel(1, 100, 130).kernel(2, 200, 207);
    node(autograd, 90, 99, "DivBackward0", 5, 2);
    const pytorch_row r = row(pytorch_operators(capture.build()), "aten::div_");
    EXPECT_EQ(r.calls, 1U);
    EXPECT_EQ(r.cpu_total_ns, 80);
    EXPECT_EQ(r.cpu_self_ns, 75);
    EXPECT_EQ(r.gpu_total_ns, 30);
    EXPECT_EQ(r.gpu_self_ns, 30);
    EXPECT_EQ(r.backward_gpu_ns, 7);
    EXPECT_EQ(r.backward_calls, 1U);
}

TEST_F(PytorchOps, CountARecursionThatLaunchesAsTwoCalls) {
    push(main, 0, "aten::div_");
    main.launch(1, 1);
    push(main, 10, "aten::div_");
    main.pop(20).pop(30);
    const pytorch_row r = row(pytorch_operators(capture.build()), "aten::div_");
    EXPECT_EQ(r.calls, 2U);
    EXPECT_EQ(r.cpu_total_ns, 40);
}

TEST_F(PytorchOps, DoNotTakeTheTimeOfTheProgramsRanges) {
    one_step(capture, main);
    main.push(250, "backward");
    node(autograd, 300, 310, "AddmmBackward0", 1, 4);
    main.pop(400);
    node(autograd, 420, 430, "TBackward0", 0, 5);
    const projection projected = project(capture.build());
    std::string rows;
    for (const projection_row& r : projected.rows) rows += r.path + ' ' + std::to_string(r.gpu_self_ns) + '\n';
    EXPECT_EQ(rows, "forward 1200\nbackward 4000\n(no range) 37\n(ambiguous) 0\n(unmatched) 0\n");
    EXPECT_EQ(projected.adopted_ops, 1U);
}

TEST_F(PytorchOps, GiveANodeToTheLastOperatorOfItsNumber) {
    push(main, 0, "aten::view", 5);  // makes none: the number is shown again
    main.pop(1);
    push(main, 2, "aten::mul", 5);
    main.pop(3);
    push(main, 4, "aten::add", 6);
    main.pop(5);
    capture.kernel(1, 100, 130);
    node(autograd, 10, 20, "MulBackward0", 5, 1);
    const pytorch_table table = pytorch_operators(capture.build());
    EXPECT_EQ(row(table, "aten::mul").backward_gpu_ns, 30);
    EXPECT_EQ(row(table, "aten::view").backward_calls, 0U);
    EXPECT_EQ(row(table, "aten::add").backward_calls, 0U);
}

TEST_F(PytorchOps, DoNotGuessBetweenThreadsWithOneNumber) {
    thread_script& second = capture.thread("trainer");
    push(main, 0, "aten::mul", 5);
    main.pop(1);
    push(second, 0, "aten::add", 5);
    second.pop(1);
    capture.kernel(1, 100, 130).kernel(2, 200, 230);
    node(autograd, 10, 20, "MulBackward0", 5, 1);
    const pytorch_table table = pytorch_operators(capture.build());
    EXPECT_EQ(table.ambiguous_nodes, 1U);
    EXPECT_EQ(row(table, "aten::mul").backward_calls + row(table, "aten::add").backward_calls, 0U);
}

TEST_F(PytorchOps, GiveAReusedNumberToTheLaterOperator) {
    push(main, 0, "aten::mul", 5);
    main.pop(1);
    capture.kernel(1, 100, 130).kernel(2, 200, 207).kernel(3, 300, 301);
    node(autograd, 10, 20, "MulBackward0", 5, 1);
    push(autograd, 30, "aten::exp", 5);  // recomputed there: the thread counts for itself
    autograd.pop(31);
    node(autograd, 40, 50, "ExpBackward0", 5, 2);
    const pytorch_table table = pytorch_operators(capture.build());
    EXPECT_EQ(row(table, "aten::mul").backward_gpu_ns, 30);
    EXPECT_EQ(row(table, "aten::exp").backward_gpu_ns, 7);
}

TEST_F(PytorchOps, CountASecondBackwardThroughTheSameGraph) {
    push(main, 0, "aten::mul", 5);
    main.pop(1);
    capture.kernel(1, 100, 130).kernel(2, 200, 207);
    node(autograd, 10, 20, "MulBackward0", 5, 1);
    node(autograd, 30, 40, "MulBackward0", 5, 2);
    const pytorch_table table = pytorch_operators(capture.build());
    EXPECT_EQ(row(table, "aten::mul").backward_gpu_ns, 37);
    EXPECT_EQ(row(table, "aten::mul").backward_calls, 2U);
}

TEST_F(PytorchOps, CountNodesWithoutARecordedOperator) {
    capture.kernel(1, 100, 130);
    node(autograd, 10, 20, "MulBackward0", 5, 1);
    push(main, 30, "aten::mul", 5);  // too late to have made it
    main.pop(31);
    const pytorch_table table = pytorch_operators(capture.build());
    EXPECT_EQ(table.backward_nodes, 1U);
    EXPECT_EQ(table.unlinked_nodes, 1U);
    EXPECT_EQ(row(table, "aten::mul").backward_calls, 0U);
}

TEST_F(PytorchOps, AreNoneWithoutPytorch) {
    main.push(0, "forward").launch(1, 1).pop(2);
    capture.kernel(1, 10, 20);
    EXPECT_TRUE(pytorch_operators(capture.build()).rows.empty());
}

}  // namespace
}  // namespace prof::pytorch_ops_test
