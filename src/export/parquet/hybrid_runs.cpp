// SPDX-License-Identifier: Apache-2.0
#include "export/parquet/hybrid_runs.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace prof {
namespace {

constexpr std::size_t in_group = 8;  // values that are packed together
constexpr std::size_t most_groups = std::size_t{1} << 20;

void append_varint(std::string& out, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out += static_cast<char>(0x80U | (value & 0x7F));
    out += static_cast<char>(value);
}

// The last group is filled up with zeros, which readers pass over.
void append_packed(std::string& out, std::span<const std::uint32_t> values, unsigned width) {
    while (!values.empty()) {
        const std::size_t count = std::min(values.size(), most_groups * in_group);
        const std::size_t groups = (count + in_group - 1) / in_group;
        append_varint(out, groups << 1 | 1);
        const std::size_t end = out.size() + groups * width;
        std::uint64_t bits = 0;
        unsigned held = 0;
        for (const std::uint32_t value : values.first(count)) {
            bits |= std::uint64_t{value} << held;
            for (held += width; held >= 8; held -= 8, bits >>= 8) out += static_cast<char>(bits & 0xFF);
        }
        if (held > 0) out += static_cast<char>(bits & 0xFF);
        out.resize(end, '\0');
        values = values.subspan(count);
    }
}

void append_run(std::string& out, std::uint32_t value, std::size_t count, unsigned width) {
    append_varint(out, std::uint64_t{count} << 1);
    for (unsigned held = 0; held < width; held += 8) out += static_cast<char>(value >> held & 0xFF);
}

}  // namespace

unsigned bit_width_of(std::uint32_t largest) noexcept {
    return largest == 0 ? 1 : static_cast<unsigned>(std::bit_width(largest));
}

void append_hybrid(std::string& out, std::span<const std::uint32_t> values, unsigned width) {
    std::size_t packed_from = 0;  // values from here to `next` are to be packed
    for (std::size_t next = 0; next < values.size();) {
        std::size_t end = next + 1;
        while (end < values.size() && values[end] == values[next]) ++end;
        // Values before a run are packed in whole groups, so the run may give them some of its own.
        const std::size_t missing = (in_group - (next - packed_from) % in_group) % in_group;
        if (end - next < missing + in_group) {
            next = end;
            continue;
        }
        const std::size_t begin = next + missing;
        append_packed(out, values.subspan(packed_from, begin - packed_from), width);
        append_run(out, values[begin], end - begin, width);
        packed_from = next = end;
    }
    append_packed(out, values.subspan(packed_from), width);
}

}  // namespace prof
