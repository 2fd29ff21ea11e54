// SPDX-License-Identifier: Apache-2.0
#include "capture/recovery/recovery_basis.hpp"

#include <algorithm>
#include <span>
#include <string_view>
#include <system_error>

#include "base/clock.hpp"
#include "base/number.hpp"
#include "capture/gpu_chunks.hpp"
#include "capture/payload.hpp"

namespace prof {
namespace {

// Parses "cause:count cause:count"; a damaged part counts as nothing.
std::map<std::uint32_t, std::uint64_t> read_counts(std::string_view text) {
    std::map<std::uint32_t, std::uint64_t> counts;
    while (!text.empty()) {
        const auto cause = take_number<std::uint32_t>(text);
        if (!cause || !text.starts_with(':')) break;
        text.remove_prefix(1);
        const auto count = take_number<std::uint64_t>(text);
        if (!count) break;
        counts[*cause] = *count;
        if (!text.empty()) text.remove_prefix(1);
    }
    return counts;
}

}  // namespace

chunk recovered_chunk::view() const noexcept { return {type, aux, std::as_bytes(std::span{words}).first(bytes), true}; }

void recovery_basis::add(const chunk& delivered) {
    switch (delivered.type) {
        case format::chunk_type::properties:
            for_each_property(delivered.payload, [this](std::string_view key, std::string_view value) {
                if (key == "rings_path") rings_path = value;
                if (key == "drops_before") drops_before = read_counts(value);
            });
            break;
        case format::chunk_type::thread:
            threads.insert(elements<format::thread_entry>(delivered.payload).front().uid);
            break;
        case format::chunk_type::records: {
            const record_block block = records_of(delivered.payload);
            std::uint64_t& next = next_number[delivered.aux];
            next = std::max(next, block.first_number + block.records.size());
            break;
        }
        case format::chunk_type::drops:
            for (const format::drop_entry& entry : elements<format::drop_entry>(delivered.payload)) {
                drops[entry.cause] = entry.count;
            }
            break;
        case format::chunk_type::clocks:
            for (const clock_snapshot& snapshot : elements<clock_snapshot>(delivered.payload)) {
                const std::uint64_t now = snapshot.cupti_ns != 0 ? snapshot.cupti_ns : snapshot.realtime_ns;
                first_gpu_ns = first_gpu_ns == 0 ? now : std::min(first_gpu_ns, now);  // the clock may be set back
                last_gpu_ns = std::max(last_gpu_ns, now);
            }
            break;
        case format::chunk_type::end:
            closed = true;
            break;
        default:
            with_gpu_record_of(delivered.type, [&]<typename TRecord>(std::type_identity<TRecord>) {
                buffers[delivered.aux][delivered.type] += elements<TRecord>(delivered.payload).size();
            });
            break;
    }
}

}  // namespace prof
