// SPDX-License-Identifier: Apache-2.0
#include "report/tables/kernels.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/capture_builder.hpp"

namespace prof::kernels_test {
namespace {

TEST(CommunicationKernels, AreRecognizedByNcclsNames) {
    for (const char* symbol : {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                               "_Z40ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE",
                               "ncclKernel_AllReduce_TREE_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
                               "ncclSymkDevKernel_AllGather_LL", "void my::ncclKernel_Thing(int)"}) {
        EXPECT_TRUE(is_communication_kernel(symbol)) << symbol;
    }
    for (const char* symbol : {"gemm", "", "_Z", "ampere_sgemm_nccl_free", "_Z13reduce_kernelPf"}) {
        EXPECT_FALSE(is_communication_kernel(symbol)) << symbol;
    }
}

// The innermost range at the launch decides, whatever the kernel's name.
TEST(OpClassifier, KnowsWhatACommunicationLibraryLaunches) {
    capture_builder capture;
    const std::uint16_t nccl = capture.domain("NCCL");
    const std::uint16_t own = capture.domain("NCCLish");
    thread_script& main = capture.thread("python");
    main.push(0, "ncclAllReduce", nccl).launch(1, 1, "ring").push(2, "inner", own).launch(3, 2, "ring").pop(4, own);
    main.pop(5, nccl).launch(6, 3, "ring");
    for (std::uint64_t i = 1; i <= 3; ++i) capture.kernel(i, 100 * i, 100 * i + 50, {}, "ring");
    const timeline data = capture.build();
    const op_classifier class_of(data);
    ASSERT_EQ(data.ops.size(), 3U);
    EXPECT_EQ(class_of(data.ops[0]), op_class::communication);
    EXPECT_EQ(class_of(data.ops[1]), op_class::compute);
    EXPECT_EQ(class_of(data.ops[2]), op_class::compute);
}

TEST(OpClassifier, TakesCopiesBetweenGpusForCommunication) {
    capture_builder capture;
    for (std::uint32_t to = 0; to < 2; ++to) {
        transfer_record copy = transfer_between(transfer_kind::memcpy_peer, 100 + to * 100, 150 + to * 100, 0, 64, {});
        copy.destination_device = to;
        capture.transfer(copy);
    }
    const timeline data = capture.build();
    const op_classifier class_of(data);
    ASSERT_EQ(data.ops.size(), 2U);
    EXPECT_EQ(class_of(data.ops[0]), op_class::memory) << "within one GPU";
    EXPECT_EQ(class_of(data.ops[1]), op_class::communication);
}

TEST(OpClassifier, TakesThePatternsOfTheCapture) {
    capture_builder capture;
    capture.parts().properties["communication"] = "halo*\nother";
    capture.kernel(1, 100, 110, {}, "_Z13halo_exchangePf").kernel(2, 200, 210, {}, "another");
    const timeline data = capture.build();
    const op_classifier class_of(data);
    EXPECT_EQ(class_of(data.ops[0]), op_class::communication);
    EXPECT_EQ(class_of(data.ops[1]), op_class::compute);
}

TEST(KernelTable, SumsByName) {
    capture_builder capture;
    capture.kernel(1, 100, 110, {}, "_Z4gemmPf").kernel(2, 200, 230, {}, "_Z4gemmPf").kernel(3, 300, 310, {}, "relu");
    capture.parts().kernels[0].registers_per_thread = 32;
    capture.parts().kernels[1].registers_per_thread = 64;
    const std::vector<kernel_row> rows = kernel_table(capture.build());

    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].name, "gemm(float*)");
    EXPECT_EQ(rows[0].symbol, "_Z4gemmPf");
    EXPECT_DOUBLE_EQ(rows[0].share, 0.8);
    EXPECT_EQ(rows[0].time.instances, 2U);
    EXPECT_EQ(rows[0].time.total_ns, 40);
    EXPECT_EQ(rows[0].time.min_ns, 10);
    EXPECT_EQ(rows[0].time.max_ns, 30);
    EXPECT_EQ(rows[0].time.median_ns, 20);
    EXPECT_EQ(rows[0].time.mean_ns, 20);
    EXPECT_DOUBLE_EQ(rows[0].time.stddev_ns, std::sqrt(200.0));
    EXPECT_EQ(rows[0].registers_per_thread, 32U);
    EXPECT_EQ(rows[1].name, "relu");
}

TEST(KernelTable, OrdersEqualTimesByName) {
    capture_builder capture;
    capture.kernel(1, 100, 110, {}, "b").kernel(2, 200, 210, {}, "a").kernel(3, 300, 310, {}, "");
    const std::vector<kernel_row> rows = kernel_table(capture.build());
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(rows[0].name, "(unnamed)");
    EXPECT_EQ(rows[1].name, "a");
    EXPECT_EQ(rows[2].name, "b");
}

TEST(KernelTable, SumsInstancesOfATemplateUnderTheShortName) {
    capture_builder capture;
    capture.kernel(1, 100, 110, {}, "_Z4gemmIfEvPT_").kernel(2, 200, 230, {}, "_Z4gemmIdEvPT_");
    capture.kernel(3, 300, 305, {}, "_Z4reluPf");
    const std::vector<kernel_row> rows = kernel_table(capture.build(), kernel_name_style::short_form);
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].name, "gemm");
    EXPECT_EQ(rows[0].symbol, "") << "there are two";
    EXPECT_EQ(rows[0].time.total_ns, 40);
    EXPECT_EQ(rows[1].name, "relu");
    EXPECT_EQ(rows[1].symbol, "_Z4reluPf");
}

TEST(TransferTable, SumsByKindAndMemories) {
    capture_builder capture;
    const auto copy = [&](std::uint64_t start_ns, std::uint64_t end_ns, std::uint64_t bytes, std::uint8_t from) {
        capture.transfer({.start_ns = start_ns,
                          .end_ns = end_ns,
                          .correlation = start_ns,
                          .bytes = bytes,
                          .kind = transfer_kind::memcpy,
                          .copy_kind = 1,
                          .source_kind = from,
                          .destination_kind = 3});
    };
    copy(100, 200, 3'000, 1);
    copy(300, 400, 1'000, 1);
    copy(500, 510, 1'000, 2);
    capture.transfer(
        {.start_ns = 600, .end_ns = 640, .bytes = 64, .kind = transfer_kind::memset, .destination_kind = 3});
    capture.kernel(9, 700, 9'000);
    const std::vector<transfer_row> rows = transfer_table(capture.build());

    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(rows[0].operation, "Memcpy HtoD (Pageable -> Device)");
    EXPECT_EQ(rows[0].bytes, 4'000U);
    EXPECT_EQ(rows[0].min_bytes, 1'000U);
    EXPECT_EQ(rows[0].max_bytes, 3'000U);
    EXPECT_EQ(rows[0].time.total_ns, 200);
    EXPECT_DOUBLE_EQ(rows[0].gigabytes_per_s, 20.0);
    EXPECT_DOUBLE_EQ(rows[0].share, 0.8);
    EXPECT_EQ(rows[1].operation, "Memset (Device)");
    EXPECT_EQ(rows[2].operation, "Memcpy HtoD (Pinned -> Device)");
}

TEST(TransferTable, NamesPeerCopiesAndUnknownKinds) {
    EXPECT_EQ(
        transfer_name({.kind = transfer_kind::memcpy_peer, .copy_kind = 10, .source_kind = 3, .destination_kind = 3}),
        "Memcpy PtoP (Device -> Device)");
    EXPECT_EQ(transfer_name({.kind = transfer_kind::memcpy, .copy_kind = 99, .source_kind = 99, .destination_kind = 7}),
              "Memcpy Unknown (Unknown -> Managed Static)");
}

}  // namespace
}  // namespace prof::kernels_test
