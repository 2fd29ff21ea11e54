// SPDX-License-Identifier: Apache-2.0
// The layout of the shared mapping, which survives the process. It holds the rings, the name tables, the label table,
// the drop counters and the chunks that are being written to the capture. Offsets are in bytes from the start of the
// mapping; all numbers are little-endian. docs/reference/capture-format.md describes every byte. A change of the layout
// changes region_version.
//
// region.hpp has the functions for it. Members that are not atomic are written before other threads can read them: at
// the creation of the region, or before a store with release order to the atomic member of the same struct (a ring's
// thread_uid, a label's kind, a buffer's state).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "record/drop.hpp"
#include "record/label.hpp"
#include "record/record.hpp"
#include "ring/ring_life.hpp"
#include "ring/spsc_ring.hpp"

namespace prof {

inline constexpr std::array<char, 8> region_magic = {'L', 'I', 'B', 'P', 'R', 'O', 'R', '\n'};
inline constexpr std::uint32_t region_version = 5;
inline constexpr std::size_t region_capture_path_bytes = 1024;
inline constexpr std::size_t region_drop_slots = 24;
static_assert(drop_cause_count <= region_drop_slots);

using drop_counters = std::array<std::atomic<std::uint64_t>, region_drop_slots>;

struct region_header {
    std::array<char, 8> magic{};
    std::uint32_t version = 0;
    std::uint32_t header_bytes = 0;
    std::uint64_t region_bytes = 0;
    std::array<std::uint8_t, 16> id{};  // the same as in the capture's header
    std::uint32_t pid = 0;
    std::uint32_t tick_source = 0;
    std::uint64_t names_offset = 0;  // name_table: the kept names
    std::uint64_t names_bytes = 0;
    std::uint64_t labels_offset = 0;  // label[label_capacity]
    std::uint32_t label_capacity = 0;
    std::uint32_t ring_count = 0;
    std::uint64_t rings_offset = 0;  // ring_header[ring_count]
    std::atomic<std::uint32_t> labels_reserved{0};
    std::atomic<std::uint32_t> domain_count{0};  // indices in use, the default domain (0) included
    std::atomic<std::uint64_t> next_thread_uid{1};
    drop_counters drops{};             // of no thread in particular
    std::uint64_t buffers_offset = 0;  // CUPTI's buffers: buffer_header, then buffer_bytes of its records
    std::uint64_t buffer_bytes = 0;
    std::uint64_t buffer_stride = 0;               // distance from one buffer to the next
    std::uint32_t buffer_count = 0;                // 0: the buffers are not in this mapping
    std::atomic<std::uint32_t> cupti_version{0};   // from cuptiGetVersion: selects the records' layout
    std::atomic<std::uint64_t> cupti_since_ns{0};  // when CUPTI was attached, on its clock
    std::atomic<std::uint32_t> cupti_epoch{0};     // of the records' correlation ids
    std::uint32_t writing_bytes = 0;               // size behind the writing_header; 0: there is none
    std::uint64_t writing_offset = 0;              // writing_header
    std::uint64_t passing_names_offset = 0;        // passing_names: its header and slots …
    std::uint64_t passing_arena_offset = 0;        // … and its texts
    // With zeros behind it; empty: there is none yet. A path that is too long fills the array, without a zero.
    std::array<char, region_capture_path_bytes> capture_path{};
    std::uint64_t mount_namespace = 0;  // in which capture_path is valid; 0: unknown
    // The number of the capture to which everything in the mapping belongs (format::file_header); 0: none yet.
    std::atomic<std::uint32_t> capture_number{0};
    std::uint32_t reserved = 0;
};

// In front of the bytes in which the capture's chunks are assembled: the chunks that are not in the file yet.
struct alignas(64) writing_header {
    std::atomic<std::uint32_t> capture_number{0};  // of the capture that the chunks belong to
    std::atomic<std::uint32_t> in_use{0};          // 1 while a capture is being written with it
    std::atomic<std::uint64_t> bytes{0};           // of whole chunks, counted from the beginning
};
static_assert(sizeof(writing_header) == 64);

// A label's kind is stored last (release): while it is none, the entry does not exist yet.
struct shared_label {
    std::atomic<std::uint32_t> kind{0};  // label_kind
    std::uint32_t name = 0;
    std::uint64_t key = 0;
};
static_assert(sizeof(shared_label) == sizeof(label));

struct ring_header {
    std::atomic<std::uint32_t> state{0};  // ring_state
    std::uint32_t capacity = 0;           // slots; a power of two
    std::uint64_t slots_offset = 0;       // record[capacity]
    std::atomic<std::uint64_t> thread_uid{0};
    std::atomic<std::uint32_t> tid{0};
    std::atomic<std::uint32_t> has_storage{0};  // its blocks are allocated (once, at the first claim)
    std::array<char, 32> name{};                // the thread's kernel name (comm) when it claimed the ring
    drop_counters drops{};                      // of all threads that had this ring; only ever grows
    ring_counters<std::uint64_t> counters;
};
static_assert(alignof(ring_header) == 64 && sizeof(ring_header) == 384);

enum class buffer_state : std::uint32_t {
    free = 0,       // all zeros
    taken = 1,      // CUPTI has it and writes into it
    completed = 2,  // CUPTI has returned it; it is not in the capture yet, or only just
};

// In front of each of CUPTI's activity buffers.
struct alignas(64) buffer_header {
    std::atomic<std::uint32_t> state{0};      // buffer_state
    std::uint32_t index = 0;                  // extra_buffer for a buffer beyond those of the mapping
    std::atomic<std::uint64_t> number{0};     // 1, 2, …: a new one each time CUPTI takes the buffer
    std::uint64_t valid_bytes = 0;            // once completed
    buffer_header* next = nullptr;            // for the process itself: link in its list of completed buffers
    std::atomic<std::uint32_t> next_free{0};  // for the process itself: index + 1 of the next free one; 0 ends the list
};
static_assert(sizeof(buffer_header) == 64);
inline constexpr std::uint32_t extra_buffer = UINT32_MAX;

}  // namespace prof
