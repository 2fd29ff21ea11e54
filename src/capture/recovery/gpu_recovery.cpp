// SPDX-License-Identifier: Apache-2.0
#include "capture/recovery/gpu_recovery.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>
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

// Graphs are recorded for good once they were, so launches before the recording are left out.
bool is_plausible(const graph_record& r, const gpu_buffer_rules& rules) noexcept {
    return is_plausible<graph_record>(r, rules) && r.start_ns >= rules.since_ns;
}

bool is_plausible(const device_record& r, const gpu_buffer_rules&) noexcept { return r.multiprocessors != 0; }

}  // namespace

// A record that CUPTI began and did not finish has no end time. Where no record can begin (a hole, or a record type
// larger than is known here), the search continues at the next multiple of 8.
gpu_records read_gpu_buffer(std::span<const std::byte> bytes, const gpu_buffer_rules& rules) {
    gpu_records out;
    for (std::size_t position = 0; position + sizeof(std::uint32_t) <= bytes.size();) {
        std::uint32_t kind = 0;
        std::memcpy(&kind, bytes.data() + position, sizeof kind);
        const std::size_t size = layout::record_bytes(kind, rules.version);
        if (size == 0 || size > bytes.size() - position) {
            position += record_alignment;
            continue;
        }
        const cupti_activity read = read_activity(bytes.data() + position, rules.version, rules.epoch);
        std::visit(
            [&]<typename TRecord>(const TRecord& record) {
                if constexpr (!std::is_same_v<TRecord, std::monostate>) {
                    if (is_plausible(record, rules)) out.of<TRecord>().push_back(record);
                }
            },
            read.value);
        position += size;
    }
    return out;
}

}  // namespace prof
