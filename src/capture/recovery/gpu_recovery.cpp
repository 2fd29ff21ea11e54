#include "capture/recovery/gpu_recovery.hpp"

#include <algorithm>
#include <cstring>
#include <variant>

#include "record/cupti/cupti_layout.hpp"
#include "record/cupti/cupti_records.hpp"

namespace prof {
namespace {

constexpr std::size_t record_alignment = 8;

// Work from the body of a conditional node has no correlation id.
template <typename TRecord>
bool is_of_graph(const TRecord& r) noexcept {
    return r.graph_node_id != 0 && r.graph_id != 0;
}
bool is_of_graph(const graph_record&) noexcept { return false; }

template <typename TRecord>
bool is_plausible(const TRecord& r, const gpu_buffer_rules& rules) noexcept {
    return is_complete(r) && r.start_ns >= rules.earliest_ns && r.end_ns >= r.start_ns && r.end_ns <= rules.latest_ns &&
           (static_cast<std::uint32_t>(r.correlation) != 0 || is_of_graph(r));
}

}  // namespace

// A record that CUPTI began and did not finish has no end time. Where no record can begin (a hole, or a record type
// larger than is known here), the search continues at the next multiple of 8.
gpu_buffer_records read_gpu_buffer(std::span<const std::byte> bytes, const gpu_buffer_rules& rules) {
    gpu_buffer_records out;
    for (std::size_t at = 0; at + sizeof(std::uint32_t) <= bytes.size();) {
        std::uint32_t kind = 0;
        std::memcpy(&kind, bytes.data() + at, sizeof kind);
        const std::size_t size = layout::record_bytes(kind, rules.version);
        if (size == 0 || size > bytes.size() - at) {
            at += record_alignment;
            continue;
        }
        const cupti_activity read = read_activity(bytes.data() + at, rules.version, rules.epoch);
        if (const auto* const kernel = std::get_if<kernel_record>(&read.value)) {
            if (is_plausible(*kernel, rules)) out.kernels.push_back(*kernel);
        } else if (const auto* const transfer = std::get_if<transfer_record>(&read.value)) {
            if (is_plausible(*transfer, rules)) out.transfers.push_back(*transfer);
        } else if (const auto* const graph = std::get_if<graph_record>(&read.value)) {
            if (is_plausible(*graph, rules) && graph->start_ns >= rules.since_ns) out.graphs.push_back(*graph);
        } else if (const auto* const device = std::get_if<device_record>(&read.value)) {
            if (device->multiprocessors != 0) out.devices.push_back(*device);
        }
        at += size;
    }
    return out;
}

}  // namespace prof
