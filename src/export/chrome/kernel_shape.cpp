// SPDX-License-Identifier: Apache-2.0
#include "export/chrome/kernel_shape.hpp"

#include <charconv>

#include "export/chrome/occupancy.hpp"

namespace prof {
namespace {

template <typename TNumber>
void append_number(std::string& out, TNumber value) {
    char digits[32];
    out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

void append_triple(std::string& out, std::string_view key, const std::uint32_t (&values)[3]) {
    out.append(key);
    char separator = '[';
    for (const std::uint32_t value : values) {
        out += separator;
        append_number(out, value);
        separator = ',';
    }
    out += ']';
}

std::uint64_t shared_bytes(const kernel_record& kernel) noexcept {
    return std::uint64_t{kernel.static_shared_bytes} + kernel.dynamic_shared_bytes;
}

std::string shape_text(const kernel_record& kernel, const device_record* device) {
    std::string out = "\"registers per thread\":";
    append_number(out, kernel.registers_per_thread);
    out += ",\"shared memory\":";
    append_number(out, shared_bytes(kernel));
    if (device != nullptr) {
        if (const auto estimate = estimate_occupancy(*device, kernel)) {
            out += ",\"blocks per SM\":";
            append_number(out, estimate->blocks_per_sm);
            out += ",\"warps per SM\":";
            append_number(out, estimate->warps_per_sm);
            out += ",\"est. achieved occupancy %\":";
            append_number(out, estimate->achieved_percent);
        }
    }
    append_triple(out, ",\"grid\":", kernel.grid);
    append_triple(out, ",\"block\":", kernel.block);
    if (kernel.cluster[0] > 0) append_triple(out, ",\"cluster\":", kernel.cluster);
    return out;
}

}  // namespace

std::string_view kernel_shape_args::of(const kernel_record& kernel, const device_record* device) {
    const std::uint64_t shared = shared_bytes(kernel);
    const shape key = {kernel.device,
                       kernel.registers_per_thread,
                       static_cast<std::uint32_t>(shared),
                       static_cast<std::uint32_t>(shared >> 32),
                       kernel.grid[0],
                       kernel.grid[1],
                       kernel.grid[2],
                       kernel.block[0],
                       kernel.block[1],
                       kernel.block[2],
                       kernel.cluster[0],
                       kernel.cluster[1],
                       kernel.cluster[2]};
    std::uint64_t hash = 0;
    for (const std::uint32_t word : key) hash = (hash ^ word) * 0x9E3779B97F4A7C15U;
    place& found = places_[hash >> 52];
    if (found.text.empty() || found.key != key) {
        found.key = key;
        found.text = shape_text(kernel, device);
    }
    return found.text;
}

}  // namespace prof
