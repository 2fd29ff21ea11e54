// SPDX-License-Identifier: Apache-2.0
// Rings small enough to fill, with the two ends of each in one hand.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "capture/capture_files.hpp"
#include "capture/writer.hpp"
#include "ring/producer.hpp"
#include "ring/region.hpp"

namespace prof::test {

inline constexpr std::array<std::uint8_t, 16> id = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

inline region_options small_region(const scratch_directory& folder) {
    region_options options;
    options.place = folder.path;
    options.large_ring_bytes = 4096;  // 128 records
    options.large_rings = 3;
    options.small_ring_bytes = 512;  // 16 records
    options.medium_rings = 0;
    options.small_rings = 2;
    options.name_bytes = 64U << 10;
    options.name_slots = 256;
    options.passing_name_bytes = 16U << 10;
    options.passing_name_slots = 256;
    options.label_capacity = 16;
    options.writing_bytes = 4096;
    options.id = id;
    return options;
}

inline capture_writer_options writer_options() {
    capture_writer_options options;
    options.id = id;
    return options;
}

// A thread's ring with its producer and its drain; the record numbered n has ticks n.
struct ringed_thread {
    ringed_thread(region& where, std::uint32_t tid)
        : ring(where.claim_ring(tid)),
          uid(ring->thread_uid.load()),
          drain(&ring->counters, where.slots(*ring), ring->capacity) {
        producer.attach(where, *ring, 1);
    }
    void write(std::uint64_t count) {
        for (; count != 0; --count, ++written) {
            producer.write({.ticks = written, .value = ~written, .kind = record_kind::mark});
        }
    }
    // As the drain thread does: up to `count` records to the file, then their slots back to the ring.
    void write_to(capture_writer& writer, std::uint64_t count) const {
        const auto view = drain.peek();
        writer.records(uid, view.begin, view.first.first(std::min<std::size_t>(count, view.first.size())));
        writer.flush();
    }
    void release(std::uint64_t count) { drain.release(drain.peek().begin + count); }
    void drain_to(capture_writer& writer, std::uint64_t count) {
        write_to(writer, count);
        release(count);
    }

    ring_header* ring;
    std::uint64_t uid;
    prof::producer producer;
    ring_consumer<record> drain;
    std::uint64_t written = 0;
};

}  // namespace prof::test
