// SPDX-License-Identifier: Apache-2.0
// Consecutive records of one thread, held in memory or left in the capture's file until the thread is walked. Plain
// values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "capture/reader.hpp"
#include "record/record.hpp"

namespace prof {

// What must be known of all records before any thread is walked.
struct record_survey {
    std::uint64_t earliest_ticks = UINT64_MAX;
    std::size_t ranges = 0;
    std::size_t api_calls = 0;
    std::size_t marks = 0;
    std::vector<std::uint64_t> places;  // the values of parent_here records
};
record_survey survey_of(std::span<const record> records);

// Records that were left in the file.
struct stored_records {
    stored_payload payload;
    std::size_t count = 0;
    record first;  // REQUIRES: count is not 0
    record_survey found;
};

struct record_run {
    std::uint64_t thread_uid = 0;
    std::uint64_t first_number = 0;  // number of the first record on its thread
    std::vector<record> records;     // none if they are stored
    bool recovered = false;          // from the rings of a process that died
    // Not later records of the thread, but what was open on it when the kept part of the capture began.
    bool is_open = false;
    std::optional<stored_records> stored{};

    std::size_t size() const noexcept { return stored ? stored->count : records.size(); }
    // REQUIRES: size() is not 0.
    const record& front() const noexcept { return stored ? stored->first : records.front(); }
};

}  // namespace prof
