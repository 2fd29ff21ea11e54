// SPDX-License-Identifier: Apache-2.0
// Activity records as the emulated version lays them out. Pure functions.
#pragma once

#include <cupti.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "fakes/fake_gpu.h"
#include "fakes/gpu/tools.hpp"

namespace fake {

struct record {
    std::array<std::uint8_t, 256> bytes{};
    std::size_t size = 0;
};

// 0 for a kind that the fake does not write.
std::size_t record_size(CUpti_ActivityKind kind, std::uint32_t version);

// The operation's record; times are 0 until it is complete. `kernel_kind` is KERNEL or CONCURRENT_KERNEL.
CUpti_ActivityKind record_kind(const fake_gpu_operation& operation, CUpti_ActivityKind kernel_kind);
record make_record(const fake_gpu_operation& operation, CUpti_ActivityKind kernel_kind, std::uint32_t version);

record make_api_record(const api_call_state& call, std::uint32_t thread_id, std::uint32_t version);
record make_external_record(CUpti_ExternalCorrelationKind kind, std::uint64_t external_id, std::uint32_t correlation_id,
                            std::uint32_t version);
// What records point to is gone, as after cuptiFinalize.
void forget_names();
record make_device_record(std::uint32_t index, const fake_gpu_device& device, std::uint32_t version);
record make_context_record(std::uint32_t context, std::uint32_t device, std::uint32_t version);

}  // namespace fake
