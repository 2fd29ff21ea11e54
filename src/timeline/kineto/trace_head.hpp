// SPDX-License-Identifier: Apache-2.0
// What a trace says of itself beside its events. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "record/gpu_record.hpp"
#include "timeline/kineto/json_scanner.hpp"

namespace prof {

struct trace_device {
    device_record properties;
    std::string name;
};

struct trace_head {
    std::int64_t base_ns = 0;
    std::vector<trace_device> devices;
    // Members with a number or a text, and those of distributedInfo.
    std::map<std::string, std::string> members;
    // Of a trace that libprof wrote: the properties of its capture. `is_of_libprof` without any: of several captures.
    std::map<std::string, std::string> capture;
    bool is_of_libprof = false;
    std::vector<std::string> complaints;  // of the profiler that wrote it (WARNING, ERROR)
};

// Reads the value of a member of the trace that is not its list of events. Throws json_damage.
void read_head(json_scanner& in, const std::string& key, trace_head& out);

}  // namespace prof
