// From CUPTI's activity records to ours. Runs on the drain thread.
#pragma once

#include <cstdint>
#include <vector>

#include "hooks/cupti/library.hpp"
#include "record/gpu_record.hpp"
#include "ring/region.hpp"

namespace prof {

struct activity_batch {
    std::uint8_t* buffer = nullptr;  // that they come from
    std::uint64_t number = 0;        // of that use of it
    std::vector<kernel_record> kernels;
    std::vector<transfer_record> transfers;
    std::vector<graph_record> graphs;
    std::vector<device_record> devices;

    void clear() noexcept;
    // Room for what one buffer may hold, so that no array ever grows beyond it: address space, and memory only as it is
    // used.
    void reserve_for(std::size_t buffer_bytes);
};

// Adds the records of one completed buffer to `out`. Records without times are kept out and counted
// (cupti_no_timestamp), as are those of kinds that were not asked for (cupti_unknown_record). Graphs that were recorded
// as a whole once are so for good, while nothing is recorded too: what began before `since_ns` is no part of this.
void read_activity_buffer(const cupti_library& cupti, std::uint32_t epoch, std::uint64_t since_ns, region& where,
                          std::uint8_t* data, std::size_t valid_bytes, activity_batch& out);

}  // namespace prof
