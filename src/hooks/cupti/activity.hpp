// SPDX-License-Identifier: Apache-2.0
// Converts CUPTI's activity records to libprof's. Runs on the drain thread.
#pragma once

#include <cstdint>

#include "hooks/cupti/cupti_library.hpp"
#include "record/gpu_record.hpp"
#include "ring/region.hpp"

namespace prof {

struct activity_batch : gpu_records {
    std::uint8_t* buffer = nullptr;  // the buffer that they come from
    std::uint64_t number = 0;        // of that use of the buffer

    void clear() noexcept;
    // Reserves room for all that one buffer can hold, so that no array grows later. This takes address space; memory is
    // used only as records are added.
    void reserve_for(std::size_t buffer_bytes);
};

// Adds the records of one completed buffer to `out`. Records without times are left out and counted
// (cupti_no_timestamp), as are records of an unknown kind (cupti_unknown_record). Once graphs were recorded as a whole
// CUPTI records them for good, even while libprof records nothing. So graph records that began before `since_ns` are
// left out.
void read_activity_buffer(const cupti_library& cupti, std::uint32_t epoch, std::uint64_t since_ns, region& where,
                          std::uint8_t* data, std::size_t valid_bytes, activity_batch& out);

}  // namespace prof
