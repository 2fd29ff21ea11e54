// SPDX-License-Identifier: Apache-2.0
// The contents of a capture, collected chunk by chunk and not yet interpreted: the input of build_timeline().
//
// Chunks may come in any order: names after the records that use them, a thread's records out of order. A plain value;
// memory is that of the capture's records, or of what read_compactly() keeps of them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
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
#include "timeline/gpu_work.hpp"
#include "timeline/matrix_calls.hpp"
#include "timeline/reading_thread.hpp"
#include "timeline/record_run.hpp"
#include "timeline/traced_collective.hpp"

namespace prof {

struct capture_contents : gpu_records {
    gpu_work work;  // what has been taken from the arrays of GPU records
    tick_source ticks = tick_source::monotonic_ns;
    std::uint64_t created_realtime_ns = 0;
    std::map<std::string, std::string> properties;
    std::unordered_map<name_id, std::string> names;
    std::vector<label> labels;
    std::vector<format::thread_entry> threads;
    std::unordered_map<std::uint64_t, std::uint32_t> processes;  // by a thread's uid: timeline_thread::process; 0
    std::vector<record_run> runs;
    std::vector<record_run> graph_context;  // from outside any window; each section begins with a window record
    std::vector<clock_snapshot> clocks;
    std::map<std::uint32_t, format::window_entry> windows;  // by epoch
    std::map<std::uint32_t, std::uint64_t> drops;           // drop_cause → count
    // The key frame with which the capture begins, if the part before it was trimmed; and the number of key frames.
    std::optional<format::key_frame_entry> begins;
    std::uint64_t key_frames = 0;
    std::vector<traced_collective> collectives;  // of a trace
    matrix_calls multiplications;                // with the threads' uids in place of their indexes
    capture_damage damage;
    std::vector<std::string> warnings;  // become timeline_quality::damage and ::notes
    std::vector<std::string> notes;
    bool ended = false;  // there was an end chunk
    format::end_entry end;
    std::shared_ptr<capture_reader> reader;          // set if runs are stored
    process_state process = process_state::unknown;  // if there is none, and the capture says where it was
    std::string recovery;  // if there is none: one line on what was recovered, or why nothing was
};

// Moves the GPU operations from the arrays of records to `work`.
void collect_work(capture_contents& contents);

void add_chunk(capture_contents& contents, const chunk& added);

// Throws prof::error if the file cannot be opened or is no capture.
capture_contents read_contents(const std::string& path, progress_observer* progress = nullptr);

// The same for build_timeline(), in less memory: GPU records go to `work`, and threads' records stay in the file where
// they stand there as they are, not deflated. build_timeline() then throws capture_has_changed if they do not stay so.
capture_contents read_compactly(const std::string& path, progress_observer* progress = nullptr,
                                reading_thread thread = reading_thread::callers);

}  // namespace prof
