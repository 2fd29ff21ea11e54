// SPDX-License-Identifier: Apache-2.0
// The contents of a capture, collected chunk by chunk and not yet interpreted: the input of build_timeline().
//
// Chunks may come in any order: names after the records that use them, a thread's records out of order. A plain value;
// memory is that of the capture's records.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "base/progress.hpp"
#include "capture/format.hpp"
#include "capture/reader.hpp"
#include "capture/recovery/process_state.hpp"
#include "record/gpu_record.hpp"
#include "record/label.hpp"
#include "record/record.hpp"
#include "timeline/gpu_work.hpp"

namespace prof {

// Consecutive records of one thread.
struct record_run {
    std::uint64_t thread_uid = 0;
    std::uint64_t first_number = 0;  // number of the first record on its thread
    std::vector<record> records;
    bool recovered = false;  // from the rings of a process that died
    // Not later records of the thread, but what was open on it when the kept part of the capture began.
    bool is_open = false;
};

struct capture_contents : gpu_records {
    gpu_work work;  // what has been taken from the arrays of GPU records
    tick_source ticks = tick_source::monotonic_ns;
    std::uint64_t created_realtime_ns = 0;
    std::map<std::string, std::string> properties;
    std::unordered_map<std::uint32_t, std::string> names;
    std::vector<label> labels;
    std::vector<format::thread_entry> threads;
    std::vector<record_run> runs;
    std::vector<record_run> graph_context;  // from outside any window; each section begins with a window record
    std::vector<clock_snapshot> clocks;
    std::map<std::uint32_t, format::window_entry> windows;  // by epoch
    std::map<std::uint32_t, std::uint64_t> drops;           // drop_cause → count
    // The key frame with which the capture begins, if the part before it was trimmed; and the number of key frames.
    std::optional<format::key_frame_entry> begins;
    std::uint64_t key_frames = 0;
    capture_damage damage;
    bool ended = false;  // there was an end chunk
    format::end_entry end;
    process_state process = process_state::unknown;  // if there is none, and the capture says where it was
    std::string recovery;  // if there is none: one line on what was recovered, or why nothing was
};

// Moves the GPU operations from the arrays of records to `work`.
void collect_work(capture_contents& contents);

void add_chunk(capture_contents& contents, const chunk& added);

// Throws prof::error if the file cannot be opened or is no capture.
capture_contents read_contents(const std::string& path, progress_observer* progress = nullptr);

}  // namespace prof
