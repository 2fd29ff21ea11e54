// SPDX-License-Identifier: Apache-2.0
#include "timeline/kineto/trace_head.hpp"

#include <string_view>
#include <utility>

#include "base/number.hpp"

namespace prof {
namespace {

// Hostile files may have any number of members.
constexpr std::size_t most_members = 256;
constexpr std::size_t most_devices = 1024;
constexpr std::size_t most_complaints = 8;

void take_members(json_scanner& in, std::map<std::string, std::string>& out) {
    if (in.peek() != '{') return in.skip();
    in.begin('{');
    for (std::string_view key; in.next_member(key);) {
        const std::string name(key);
        const char next = in.peek();
        if (next == '{' || next == '[') {
            in.skip();
            continue;
        }
        const std::string_view value = next == '"' ? in.string() : in.word();
        if (out.size() < most_members) out.insert_or_assign(name, std::string(value));
    }
}

template <typename TNumber>
void take(const std::map<std::string, std::string>& from, const char* key, TNumber& to) {
    const auto found = from.find(key);
    if (found == from.end()) return;
    if (const auto number = parse_number<TNumber>(found->second)) to = *number;
}

trace_device device_of(const std::map<std::string, std::string>& members) {
    trace_device out;
    device_record& device = out.properties;
    take(members, "id", device.device);
    take(members, "totalGlobalMem", device.global_memory_bytes);
    take(members, "computeMajor", device.compute_capability_major);
    take(members, "computeMinor", device.compute_capability_minor);
    take(members, "numSms", device.multiprocessors);
    take(members, "maxThreadsPerBlock", device.max_threads_per_block);
    take(members, "maxThreadsPerMultiprocessor", device.max_threads_per_multiprocessor);
    take(members, "regsPerBlock", device.registers_per_block);
    take(members, "regsPerMultiprocessor", device.registers_per_multiprocessor);
    take(members, "sharedMemPerBlock", device.shared_bytes_per_block);
    take(members, "sharedMemPerMultiprocessor", device.shared_bytes_per_multiprocessor);
    take(members, "warpSize", device.warp_size);
    if (const auto name = members.find("name"); name != members.end()) out.name = name->second;
    return out;
}

void take_devices(json_scanner& in, std::vector<trace_device>& out) {
    if (in.peek() != '[') return in.skip();
    in.begin('[');
    while (in.next_element()) {
        std::map<std::string, std::string> members;
        take_members(in, members);
        if (out.size() < most_devices) out.push_back(device_of(members));
    }
}

void take_capture(json_scanner& in, trace_head& out) {
    out.is_of_libprof = true;
    if (in.peek() != '{') return in.skip();
    in.begin('{');
    for (std::string_view key; in.next_member(key);) {
        if (key == "capture") {
            take_members(in, out.capture);
        } else {
            in.skip();
        }
    }
}

void take_complaints(json_scanner& in, std::vector<std::string>& out) {
    if (in.peek() != '[') return in.skip();
    in.begin('[');
    while (in.next_element()) {
        if (in.peek() == '"' && out.size() < most_complaints) {
            out.emplace_back(in.string());
        } else {
            in.skip();
        }
    }
}

}  // namespace

void read_head(json_scanner& in, const std::string& key, trace_head& out) {
    const char next = in.peek();
    if (key == "deviceProperties") return take_devices(in, out.devices);
    if (key == "distributedInfo") return take_members(in, out.members);
    if (key == "libprof") return take_capture(in, out);
    if (key == "WARNING" || key == "ERROR") return take_complaints(in, out.complaints);
    if (next == '{' || next == '[') return in.skip();
    const std::string_view value = next == '"' ? in.string() : in.word();
    if (key == "baseTimeNanoseconds") {
        constexpr std::int64_t limit_ns = 2'000'000'000'000'000'000;
        out.base_ns = parse_number<std::int64_t>(value, 0, limit_ns).value_or(0);
    } else if (out.members.size() < most_members) {
        out.members.insert_or_assign(key, std::string(value));
    }
}

}  // namespace prof
