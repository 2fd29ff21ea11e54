// SPDX-License-Identifier: Apache-2.0
// What the tables of a capture need of its job: its names, its clock, and which operations are collectives. Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "export/parquet/table_schemas.hpp"
#include "ranks/host_clocks.hpp"

namespace prof {

struct exported_capture {
    struct carried_collective {
        std::uint32_t op = 0;       // index into timeline::ops
        std::int64_t begin_ns = 0;  // its start
        std::uint64_t key = 0;
    };

    std::string path{};
    std::string id{};   // 16 hexadecimal digits, by which the tables refer to the capture
    std::string job{};  // likewise of its job
    std::int64_t rank = no_rank;
    const host_clocks* clocks = nullptr;            // of the job
    std::uint32_t clock = 0;                        // in place of a rank there
    std::vector<carried_collective> collectives{};  // by op

    std::int64_t aligned(std::int64_t own_ns) const noexcept { return clocks->aligned(clock, own_ns); }
    const host_clock& host() const noexcept { return clocks->hosts[clocks->of_rank[clock]]; }
};

}  // namespace prof
