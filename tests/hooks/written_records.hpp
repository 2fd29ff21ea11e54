// SPDX-License-Identifier: Apache-2.0
// What the hooks have written, taken from all rings of a region.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "ring/region.hpp"

namespace prof::test {

// Kind, domain, name, color, category, value, flags.
using written_record =
    std::tuple<record_kind, std::uint16_t, std::string, std::uint32_t, std::uint32_t, std::uint64_t, std::uint8_t>;

inline std::vector<written_record> drain_records(region& where) {
    std::vector<written_record> out;
    std::uint64_t before = 0;
    for (ring_header& ring : where.rings()) {
        ring_consumer<record> consumer(&ring.counters, where.slots(ring), ring.capacity);
        const auto view = consumer.peek();
        for (const auto part : {view.first, view.second}) {
            for (const record& r : part) {
                EXPECT_GE(r.ticks, before);
                before = r.ticks;
                out.emplace_back(r.kind, r.domain, where.name_text(r.name), r.color, r.category, r.value, r.flags);
            }
        }
        consumer.release(view.end);
    }
    return out;
}

}  // namespace prof::test
