// SPDX-License-Identifier: Apache-2.0
// What becomes of the ranges that PyTorch's NVTX observer pushed.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "support/torch_records.hpp"

namespace prof::torch_ranges_test {
namespace {

class TorchRanges : public testing::Test {
protected:
    void with_operators() { capture.parts().properties["pytorch"] = "ops"; }
    void push(std::uint64_t ns, const std::string& name, std::int64_t sequence = -1) {
        main.add(torch_push(capture, ns, name, sequence, ++op_id));
    }
    void pop(std::uint64_t ns) { main.pop(ns); }

    static const timeline_range& range(const timeline& data, std::string_view name) {
        const auto found = std::find_if(data.ranges.begin(), data.ranges.end(),
                                        [&](const timeline_range& r) { return data.name(r.name) == name; });
        EXPECT_NE(found, data.ranges.end()) << name;
        return *found;
    }
    static std::string parent(const timeline& data, std::string_view name) {
        const range_id index = range(data, name).parent;
        return index == npos ? "" : std::string(data.name(data.ranges[index].name));
    }
    // Names of what is open, innermost first, joined by spaces.
    template <typename TNode>
    static std::string open(const timeline& data, const row_table<TNode>& nodes, row_index<TNode> head) {
        std::string names;
        for (; head != npos; head = nodes[head].below) {
            names.append(names.empty() ? "" : " ").append(data.name(data.ranges[nodes[head].range].name));
        }
        return names;
    }

    capture_builder capture;
    thread_script& main = capture.thread("python");
    std::uint64_t op_id = 0;
};

TEST_F(TorchRanges, CarryTheObserversNumbers) {
    with_operators();
    push(1, "aten::mm", 0x1'0000'0007);
    pop(2);
    const timeline data = capture.build();
    EXPECT_EQ(data.ranges[0].sequence, 0x1'0000'0007);
    EXPECT_EQ(data.ranges[0].payload, 1U);
    EXPECT_EQ(data.ranges[0].color, 0U);
    EXPECT_EQ(data.ranges[0].category, 0U);
}

TEST_F(TorchRanges, SeparateOperatorsFromTheProgramsRanges) {
    with_operators();
    main.push(0, "nvtx");
    push(1, "forward");
    push(2, "aten::linear", 3);
    main.push(3, "inside");  // of the default domain, too
    push(4, "aten::addmm", 4);
    main.launch(5, 1);
    pop(6);
    main.launch(7, 2);
    main.pop(8);
    main.launch(9, 3);
    pop(10);
    main.launch(11, 4);
    pop(12);
    main.pop(13);
    const timeline data = capture.build();

    EXPECT_FALSE(range(data, "forward").is_operator);
    EXPECT_TRUE(range(data, "aten::linear").is_operator);
    EXPECT_EQ(parent(data, "inside"), "forward");
    EXPECT_EQ(parent(data, "aten::linear"), "forward");
    EXPECT_EQ(parent(data, "aten::addmm"), "inside");
    EXPECT_EQ(open(data, data.open_nodes, data.api_calls[0].open), "inside forward nvtx");
    EXPECT_EQ(open(data, data.torch_nodes, data.api_calls[0].torch_open), "aten::addmm aten::linear forward");
    EXPECT_EQ(open(data, data.open_nodes, data.api_calls[1].open), "inside forward nvtx");
    EXPECT_EQ(open(data, data.torch_nodes, data.api_calls[1].torch_open), "aten::linear forward");
    EXPECT_EQ(open(data, data.open_nodes, data.api_calls[2].open), "forward nvtx");
    EXPECT_EQ(open(data, data.torch_nodes, data.api_calls[3].torch_open), "forward");
    EXPECT_EQ(range(data, "aten::addmm").end_ns - data.start_ns, 6);
    EXPECT_EQ(range(data, "inside").end_ns - data.start_ns, 8);
    EXPECT_EQ(range(data, "aten::linear").end_ns - data.start_ns, 10);
    EXPECT_EQ(range(data, "forward").end_ns - data.start_ns, 12);
    EXPECT_EQ(range(data, "nvtx").end_ns - data.start_ns, 13);
    EXPECT_TRUE(data.quality.dropped.empty());
}

TEST_F(TorchRanges, KeepAnOperatorOpenWhileAnotherDomainsRangeCloses) {
    with_operators();
    const std::uint16_t other = capture.domain("NCCL");
    push(1, "c10d::allreduce_");
    main.push(2, "ncclAllReduce", other);
    pop(3);  // of the default domain: the operator
    main.launch(4, 1);
    main.pop(5, other);
    const timeline data = capture.build();
    EXPECT_EQ(range(data, "c10d::allreduce_").end_ns - data.start_ns, 3);
    EXPECT_EQ(open(data, data.open_nodes, data.api_calls[0].open), "ncclAllReduce");
    EXPECT_EQ(data.api_calls[0].torch_open, npos);
}

TEST_F(TorchRanges, RecognizeOperatorsByNumberNamespaceOrPlace) {
    with_operators();
    push(1, "MyFunction", 0);  // an autograd function of the program's
    push(2, "library::op");
    pop(3);
    pop(4);
    push(5, "Model::forward");  // outside any operator, no namespace of PyTorch's
    push(6, "aten::detach");
    push(7, "detach");
    pop(8);
    push(9, "nccl:all_reduce");
    pop(10);
    pop(11);
    pop(12);
    const timeline data = capture.build();
    for (const char* name : {"MyFunction", "library::op", "aten::detach", "detach"}) {
        EXPECT_TRUE(range(data, name).is_operator) << name;
    }
    for (const char* name : {"Model::forward", "nccl:all_reduce"}) EXPECT_FALSE(range(data, name).is_operator) << name;
}

TEST_F(TorchRanges, HaveNoOperatorsUnlessRequested) {
    push(1, "aten::mm", 3);
    main.launch(2, 1);
    pop(3);
    const timeline data = capture.build();
    EXPECT_FALSE(range(data, "aten::mm").is_operator);
    EXPECT_EQ(open(data, data.open_nodes, data.api_calls[0].open), "aten::mm");
}

TEST_F(TorchRanges, AreCutAtTheEndIfOpen) {
    with_operators();
    push(1, "forward");
    push(2, "aten::mm", 3);
    main.mark(9, "last");
    const timeline data = capture.build();
    EXPECT_EQ(data.quality.ranges_open_at_end, 2U);
    EXPECT_EQ(range(data, "aten::mm").end_ns - data.start_ns, 9);
    EXPECT_EQ(range(data, "forward").end_ns - data.start_ns, 9);
}

TEST_F(TorchRanges, EndAtMissingRecords) {
    with_operators();
    push(1, "forward");
    push(2, "aten::mm", 3);
    main.mark(3, "lost");
    main.launch(4, 1);
    capture_contents contents = capture.contents(1);
    std::erase_if(contents.runs, [](const record_run& run) { return run.first_number == 2; });
    const timeline data = build_timeline(std::move(contents));
    EXPECT_EQ(range(data, "aten::mm").end_ns - data.start_ns, 2);
    EXPECT_EQ(data.api_calls[0].open, npos);
    EXPECT_EQ(data.api_calls[0].torch_open, npos);
}

}  // namespace
}  // namespace prof::torch_ranges_test
