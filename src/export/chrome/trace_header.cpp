// SPDX-License-Identifier: Apache-2.0
#include "export/chrome/trace_header.hpp"

#include <map>
#include <set>
#include <string>

#include "analysis/quality/capture_notes.hpp"
#include "analysis/steps/capture_start.hpp"
#include "base/json_text.hpp"
#include "base/version.hpp"

namespace prof {
namespace {

// The properties without the long texts that are kept for reports.
std::map<std::string, std::string> described(const timeline& data) {
    std::map<std::string, std::string> out = data.properties;
    std::erase_if(out, [](const auto& property) { return property.first.starts_with("text."); });
    return out;
}

std::string device_properties(const timeline& data, const device_record& device) {
    std::string out = "{\"id\": " + std::to_string(device.device) + ", \"name\": ";
    append_json_string(out, data.name(name_id(device.name)));
    const auto field = [&](const char* key, std::uint64_t value) {
        out.append(", \"").append(key).append("\": ").append(std::to_string(value));
    };
    field("totalGlobalMem", device.global_memory_bytes);
    field("computeMajor", device.compute_capability_major);
    field("computeMinor", device.compute_capability_minor);
    field("maxThreadsPerBlock", device.max_threads_per_block);
    field("maxThreadsPerMultiprocessor", device.max_threads_per_multiprocessor);
    field("regsPerBlock", device.registers_per_block);
    field("regsPerMultiprocessor", device.registers_per_multiprocessor);
    field("warpSize", device.warp_size);
    field("sharedMemPerBlock", device.shared_bytes_per_block);
    field("sharedMemPerMultiprocessor", device.shared_bytes_per_multiprocessor);
    field("numSms", device.multiprocessors);
    return out + '}';
}

// Processes of one host may all have used the same GPU.
std::string all_devices(std::span<const trace_heading> captures) {
    std::string out = "[";
    std::set<std::string_view> written;
    for (const trace_heading& capture : captures) {
        for (const std::string& device : capture.devices) {
            if (captures.size() > 1 && !written.insert(device).second) continue;
            out.append(out.size() == 1 ? "\n    " : ",\n    ").append(device);
        }
    }
    return out + (out.size() == 1 ? "]" : "\n  ]");
}

// HTA finds the rank with a pattern that requires the blank after the colon.
std::string distributed_info(const timeline& data) {
    std::string out = "{\"rank\": " + std::to_string(data.number("rank").value_or(0));
    if (const auto world_size = data.number("world_size")) {
        out += ", \"world_size\": " + std::to_string(*world_size);
    }
    return out + "}";
}

// {"key": value, …} from a map; `to_json` converts its values to JSON.
template <typename TMap, typename TToJson>
std::string json_object(const TMap& map, TToJson&& to_json) {
    std::string out = "{";
    for (const auto& [key, value] : map) {
        if (out.size() > 1) out += ", ";
        append_json_string(out, key);
        out.append(": ").append(to_json(value));
    }
    return out + "}";
}

std::string json_array(const std::vector<std::string>& texts) {
    std::string out = "[";
    for (const std::string& text : texts) {
        if (out.size() > 1) out += ", ";
        append_json_string(out, text);
    }
    return out + ']';
}

std::string quality(const timeline& data) {
    std::string out =
        "\"capture\": " + json_object(described(data), [](const std::string& s) { return json_string(s); });
    out +=
        ",\n    \"dropped\": " + json_object(data.quality.dropped, [](std::uint64_t n) { return std::to_string(n); });
    const auto field = [&](const char* key, const std::string& value) {
        out.append(",\n    \"").append(key).append("\": ").append(value);
    };
    field("ended", data.quality.ended ? "true" : "false");
    field("ranges_open_at_end", std::to_string(data.quality.ranges_open_at_end));
    field("launches_without_completion", std::to_string(data.quality.launches_without_completion));
    field("recovered_records", std::to_string(data.quality.recovered_records));
    field("damaged_bytes", std::to_string(data.quality.damaged_bytes));
    const std::vector<capture_note> notes = capture_notes(data);
    field("warnings", json_array(texts_of(notes, {note_weight::warning})));
    field("notes", json_array(texts_of(notes, every_weight)));
    return out;
}

std::string all_qualities(std::span<const trace_heading> captures) {
    const std::string version = std::string("{\"version\": \"") + library_version + "\",\n    ";
    if (captures.size() == 1) return version + captures.front().quality + "}";
    std::string list;
    for (const trace_heading& capture : captures) {
        list.append(list.empty() ? "{" : ",\n    {").append(capture.quality).append("}");
    }
    return version + "\"captures\": [" + list + "]}";
}

}  // namespace

std::string process_name(const timeline& data) {
    const std::string& path = data.property("executable");
    return path.empty() ? "process" : path.substr(path.find_last_of('/') + 1);
}

trace_heading trace_heading_of(const timeline& data) {
    trace_heading out{
        .earliest_ns = earliest_moment(data), .distributed = distributed_info(data), .quality = quality(data)};
    for (const device_record& device : data.devices) out.devices.push_back(device_properties(data, device));
    return out;
}

void write_trace_header(trace_events& out, std::span<const trace_heading> captures, std::int64_t base_ns,
                        std::string_view trace_name) {
    out.raw("{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": ");
    out.raw(all_devices(captures));
    if (captures.size() == 1) {
        out.raw(",\n  \"distributedInfo\": ");
        out.raw(captures.front().distributed);
    }
    out.raw(",\n  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": ");
    out.raw(std::to_string(base_ns));
    out.raw(",\n  \"traceName\": ");
    out.raw(json_string(trace_name));
    out.raw(",\n  \"libprof\": ");
    out.raw(all_qualities(captures));
    out.raw(",\n  \"traceEvents\": [\n");
}

}  // namespace prof
