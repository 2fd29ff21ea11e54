// SPDX-License-Identifier: Apache-2.0
// Collectives from records and from NCCL's NVTX ranges: worked by hand. tests/session/nccl_test.cpp has whole programs.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "record/collective.hpp"
#include "support/capture_builder.hpp"
#include "timeline/collectives.hpp"
#include "timeline/timeline.hpp"

namespace prof::collectives_test {
namespace {

struct Collectives : testing::Test {
    capture_builder capture;
    thread_script& main = capture.thread("main");

    void call(std::uint64_t ns, std::uint32_t number, std::uint32_t group, std::uint64_t count,
              collective_function function = collective_function::all_reduce, std::uint16_t communicator = 0) {
        main.add({.ticks = ns,
                  .value = pack(packed_call{count, function, collective_type::f32}),
                  .name = number,
                  .color = group,
                  .category = 0,
                  .domain = communicator,
                  .kind = record_kind::collective_call});
    }
    void announce(std::uint64_t ns, std::uint32_t group, std::uint16_t communicator = 0) {
        main.add({.ticks = ns, .value = group, .domain = communicator, .kind = record_kind::collective_launch});
    }
    void work(std::uint64_t ns, std::uint32_t number, std::uint64_t sequence, std::uint16_t communicator = 0) {
        main.add({.ticks = ns,
                  .value = sequence,
                  .name = number,
                  .category = pack(packed_work{2, collective_algorithm::tree, collective_protocol::ll,
                                               collective_function::all_reduce}),
                  .domain = communicator,
                  .kind = record_kind::collective_work});
    }
    void range(std::uint64_t from_ns, std::uint64_t to_ns, const std::string& name, std::uint64_t bytes,
               std::uint16_t domain, std::uint64_t correlation = 0) {
        main.add({.ticks = from_ns,
                  .value = bytes,
                  .name = capture.name(name),
                  .domain = domain,
                  .kind = record_kind::range_push,
                  .flags = static_cast<std::uint8_t>(payload_type::bytes)});
        if (correlation != 0) main.launch(from_ns + 1, correlation, "ncclDevKernel");
        main.pop(to_ns, domain);
    }
};

TEST_F(Collectives, TheAnnouncedLaunchCarriesThem) {
    call(100, 1, 9, 10);
    call(110, 2, 9, 20);
    main.launch(120, 1, "own");
    announce(130, 9);
    main.launch(140, 2, "ncclDevKernel");
    work(150, 1, 5);
    work(151, 2, 6);
    main.launch(160, 3, "ncclDevKernel");
    for (std::uint64_t i = 1; i <= 3; ++i) capture.kernel(i, 200 * i, 200 * i + 50);
    const timeline data = capture.build();
    ASSERT_EQ(data.collectives.size(), 2U);
    for (const collective_call& each : data.collectives) {
        ASSERT_NE(each.op, npos);
        EXPECT_EQ(data.ops[each.op].correlation, 2U);
        EXPECT_FALSE(each.is_unplaced);
    }
    EXPECT_EQ(data.collectives[0].sequence, 5U);
    EXPECT_EQ(data.collectives[0].bytes, 40U);
    EXPECT_EQ(data.collectives[1].sequence, 6U);
    EXPECT_EQ(data.collectives[0].communicator, npos);  // it has no label
}

// Records that were lost: no kernel rather than another one's.
TEST_F(Collectives, AKernelIsNotTakenFromAnotherGroup) {
    call(100, 1, 9, 10);
    announce(105, 9);
    work(110, 1, 0);  // the record of its launch is missing
    call(120, 2, 10, 10);
    announce(125, 10);
    main.launch(130, 2, "ncclDevKernel");
    work(140, 2, 1);
    work(150, 77, 2);  // its call is missing
    capture.kernel(2, 200, 250);
    const timeline data = capture.build();
    ASSERT_EQ(data.collectives.size(), 3U);
    EXPECT_EQ(data.collectives[0].op, npos);
    EXPECT_TRUE(data.collectives[0].is_unplaced);
    EXPECT_NE(data.collectives[1].op, npos);
    EXPECT_EQ(data.collectives[2].sequence, 2U);
    EXPECT_EQ(data.collectives[2].count, 0U);
}

// Words of a newer libprof, and numbers of no communicator.
TEST_F(Collectives, UnknownWordsAreDefined) {
    call(100, 1, 9, 10, static_cast<collective_function>(200), 4000);
    const timeline data = capture.build();
    ASSERT_EQ(data.collectives.size(), 1U);
    EXPECT_EQ(data.collectives[0].function, collective_function::other);
    EXPECT_EQ(data.collectives[0].communicator, npos);
    EXPECT_EQ(data.collectives[0].sequence, no_sequence);
}

TEST_F(Collectives, LabelsOfCommunicatorsMayBeDamaged) {
    timeline data;
    take_communicator(data, 1, "ab 8 3 2 tp group");
    ASSERT_EQ(data.communicators.size(), 2U);
    EXPECT_EQ(data.communicators[1].id, 0xABU);
    EXPECT_EQ(data.communicators[1].ranks, 8U);
    EXPECT_EQ(data.communicators[1].rank, 3U);
    EXPECT_EQ(data.communicators[1].nodes, 2U);
    EXPECT_EQ(data.communicators[1].name, "tp group");
    for (const char* const text :
         {"", "x", "ab", "ab 8 3", "ab 8 3 2", "ab  8 3 2 ", "-1 8 3 2 ", "ab 99999999999 3 2 "}) {
        take_communicator(data, 3, text);
    }
    take_communicator(data, UINT64_MAX, "ab 8 3 2 ");
    EXPECT_EQ(data.communicators.size(), 2U);
}

TEST_F(Collectives, RangesOfNcclGiveTheirFunctionAndSize) {
    const std::uint16_t domain = capture.domain("NCCL");
    range(100, 110, "ncclAllReduce", 4096, domain, 1);
    main.push(200, "ncclGroup", domain);
    range(210, 215, "ncclSend", 64, domain);
    range(220, 225, "ncclRecv", 32, domain);
    main.launch(230, 2, "ncclDevKernel");
    main.pop(240, domain);
    range(300, 310, "ncclAllGather", 8, domain);  // its launch is missing
    range(400, 410, "ncclAllReduce", 16, domain, 3);
    for (std::uint64_t i = 1; i <= 3; ++i) capture.kernel(i, 1000 * i, 1000 * i + 50);
    const timeline data = capture.build();
    ASSERT_EQ(data.collectives.size(), 5U);
    const std::vector<std::uint64_t> correlations = {1, 2, 2, 0, 3};
    for (std::size_t i = 0; i < correlations.size(); ++i) {
        const collective_call& each = data.collectives[i];
        EXPECT_EQ(each.source, collective_source::nvtx);
        EXPECT_EQ(each.op == npos ? 0 : data.ops[each.op].correlation, correlations[i]) << i;
    }
    EXPECT_EQ(data.collectives[1].function, collective_function::send);
    EXPECT_EQ(data.collectives[1].bytes, 64U);
    EXPECT_TRUE(data.collectives[3].is_unplaced);
}

}  // namespace
}  // namespace prof::collectives_test
