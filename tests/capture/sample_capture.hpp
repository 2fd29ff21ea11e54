// SPDX-License-Identifier: Apache-2.0
// A small capture with every type of chunk in it; docs/reference/capture-format.md shows what its example prints of it.
#pragma once

#include <string>

#include "capture/writer.hpp"

namespace prof::test {

struct sample {
    std::vector<std::pair<std::string, std::string>> properties;
    std::vector<capture_writer::name_entry> names;
    std::vector<label> labels;
    format::thread_entry thread;
    std::vector<record> records;
    std::vector<record> graph_context;
    std::vector<kernel_record> kernels;
    std::vector<transfer_record> transfers;
    std::vector<graph_record> graphs;
    std::vector<clock_snapshot> clocks;
    std::vector<device_record> devices;
    std::vector<format::window_entry> windows;
    format::key_frame_entry key_frame;
    std::vector<std::pair<drop_cause, std::uint64_t>> drops;
};

const sample& sample_values();
void write_sample(capture_writer& writer);  // with its end

}  // namespace prof::test
