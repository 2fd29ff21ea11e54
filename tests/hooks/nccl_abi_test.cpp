// SPDX-License-Identifier: Apache-2.0
// libprof's declarations of NCCL's profiler interface, against offsets worked out by hand from NCCL's headers
// (plugin/profiler/profiler_v4.h to profiler_v6.h), and its words.
#include <gtest/gtest.h>

#include <cstddef>

#include "hooks/nccl/chained_plugin.hpp"
#include "hooks/nccl/profiler_abi.hpp"
#include "hooks/nccl/words.hpp"

namespace prof::nccl {
namespace {

TEST(NcclAbi, DescriptorsHaveNcclsLayout) {
    EXPECT_EQ(offsetof(event_descriptor, type), 0U);
    EXPECT_EQ(offsetof(event_descriptor, parent), 8U);
    EXPECT_EQ(offsetof(event_descriptor, rank), 16U);
    EXPECT_EQ(offsetof(event_descriptor, collective_api.function), 24U);
    EXPECT_EQ(offsetof(event_descriptor, collective_api.count), 32U);
    EXPECT_EQ(offsetof(event_descriptor, collective_api.type), 40U);
    EXPECT_EQ(offsetof(event_descriptor, collective_api.root), 48U);
    EXPECT_EQ(offsetof(event_descriptor, collective_api.stream), 56U);
    EXPECT_EQ(offsetof(event_descriptor, collective_api.is_captured), 64U);
    EXPECT_EQ(offsetof(event_descriptor, p2p_api.function), 24U);
    EXPECT_EQ(offsetof(event_descriptor, p2p_api.count), 32U);
    EXPECT_EQ(offsetof(event_descriptor, p2p_api.type), 40U);
    EXPECT_EQ(offsetof(event_descriptor, p2p_api.stream), 48U);
    EXPECT_EQ(offsetof(event_descriptor, p2p_api.is_captured), 56U);
    EXPECT_EQ(offsetof(event_descriptor, collective.sequence), 24U);
    EXPECT_EQ(offsetof(event_descriptor, collective.function), 32U);
    EXPECT_EQ(offsetof(event_descriptor, collective.count), 56U);
    EXPECT_EQ(offsetof(event_descriptor, collective.root), 64U);
    EXPECT_EQ(offsetof(event_descriptor, collective.type), 72U);
    EXPECT_EQ(offsetof(event_descriptor, collective.channels), 80U);
    EXPECT_EQ(offsetof(event_descriptor, collective.algorithm), 88U);
    EXPECT_EQ(offsetof(event_descriptor, collective.protocol), 96U);
    EXPECT_EQ(offsetof(event_descriptor, collective.group), 104U);
    EXPECT_EQ(offsetof(event_descriptor, p2p.function), 24U);
    EXPECT_EQ(offsetof(event_descriptor, p2p.type), 40U);
    EXPECT_EQ(offsetof(event_descriptor, p2p.count), 48U);
    EXPECT_EQ(offsetof(event_descriptor, p2p.peer), 56U);
    EXPECT_EQ(offsetof(event_descriptor, p2p.channels), 60U);
    EXPECT_EQ(offsetof(event_descriptor, p2p.group), 64U);
    EXPECT_EQ(offsetof(event_descriptor, copies.sequence), 24U);
    EXPECT_EQ(offsetof(event_descriptor, copies.function), 32U);
    EXPECT_EQ(offsetof(event_descriptor, copies.count), 56U);
    EXPECT_EQ(offsetof(event_descriptor, copies.type), 72U);
    EXPECT_EQ(sizeof(event_descriptor), 112U);
    EXPECT_EQ(descriptor_bytes_v4, 104U);
}

TEST(NcclAbi, TablesHaveANameAndFiveFunctions) {
    EXPECT_EQ(sizeof(profiler_v4), 6 * sizeof(void*));
    EXPECT_EQ(sizeof(profiler_v5), 6 * sizeof(void*));
    EXPECT_EQ(offsetof(profiler_v5, init), 8U);
    EXPECT_EQ(offsetof(profiler_v5, start_event), 16U);
    EXPECT_EQ(offsetof(profiler_v5, stop_event), 24U);
    EXPECT_EQ(offsetof(profiler_v5, record_state), 32U);
    EXPECT_EQ(offsetof(profiler_v5, finalize), 40U);
}

TEST(NcclAbi, KnowsNcclsWords) {
    EXPECT_EQ(function_of("ReduceScatter"), collective_function::reduce_scatter);
    EXPECT_EQ(function_of("AlltoAll"), collective_function::all_to_all);
    EXPECT_EQ(function_of("PutSignal"), collective_function::other);
    EXPECT_EQ(function_of(nullptr), collective_function::other);
    EXPECT_EQ(type_of("ncclBfloat16"), collective_type::bf16);
    EXPECT_EQ(type_of(""), collective_type::unknown);
    EXPECT_EQ(algorithm_of("NVLS_TREE"), collective_algorithm::nvls_tree);
    EXPECT_EQ(protocol_of("LL128"), collective_protocol::ll128);
    EXPECT_EQ(protocol_of("Unknown"), collective_protocol::unknown);
}

TEST(NcclAbi, PacksNumbersReversibly) {
    const packed_call call{(std::uint64_t{1} << 48) - 1, collective_function::scatter, collective_type::f8_e5m2};
    EXPECT_EQ(unpack_call(pack(call)).count, call.count);
    EXPECT_EQ(unpack_call(pack(call)).function, call.function);
    EXPECT_EQ(unpack_call(pack(call)).type, call.type);
    const packed_work work{255, collective_algorithm::pat, collective_protocol::simple, collective_function::recv};
    EXPECT_EQ(unpack_work(pack(work)).channels, 255);
    EXPECT_EQ(unpack_work(pack(work)).algorithm, work.algorithm);
    EXPECT_EQ(unpack_work(pack(work)).protocol, work.protocol);
    EXPECT_EQ(unpack_work(pack(work)).function, work.function);
}

// Which kinds NCCL sends to a plugin that asked for others: it encloses what was asked for.
TEST(NcclAbi, AChainedPluginGetsWhatNcclWouldSend) {
    chained_plugin plugin;
    EXPECT_FALSE(plugin.gets(~0U, collective));
    plugin.version = 5;
    EXPECT_TRUE(plugin.gets(collective, group));
    EXPECT_TRUE(plugin.gets(collective, group_api));
    EXPECT_TRUE(plugin.gets(collective, collective_api));
    EXPECT_FALSE(plugin.gets(collective, kernel_launch));
    EXPECT_FALSE(plugin.gets(collective, p2p));
    EXPECT_TRUE(plugin.gets(proxy_op, p2p));
    EXPECT_FALSE(plugin.gets(0, group_api));
    EXPECT_FALSE(plugin.gets(copy_collective, copy_collective));  // it does not know that kind
    plugin.version = 4;
    EXPECT_FALSE(plugin.gets(~0U, collective_api));
}

}  // namespace
}  // namespace prof::nccl
