// SPDX-License-Identifier: Apache-2.0
// The layout of the capture file: a header, then chunks to the end of the file. docs/reference/capture-format.md
// describes every byte.
//
// All numbers are little-endian. Each chunk carries its own length and checksum, so a reader can skip a damaged or
// unknown chunk and go on with the next. Written chunks are never changed; later chunks add to earlier ones (names,
// threads; for drops the latest count of a cause holds).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace prof::format {

inline constexpr std::array<char, 8> magic = {'L', 'I', 'B', 'P', 'R', 'O', 'F', '\n'};
inline constexpr std::uint32_t version = 1;
inline constexpr std::uint32_t chunk_magic = 0x4B4E4843;  // "CHNK"

struct file_header {
    std::array<char, 8> magic{};
    std::uint32_t version = 0;
    std::uint32_t header_bytes = 0;
    std::uint32_t pid = 0;
    std::uint32_t tick_source = 0;  // prof::tick_source
    std::uint64_t created_realtime_ns = 0;
    std::array<std::uint8_t, 16> id{};  // random; the rings' mapping carries the same id
    // Among the captures of these rings: 1, 2, …, in the order in which they were begun. 0: not numbered.
    std::uint32_t number = 0;
    std::uint32_t crc32 = 0;  // of the bytes before it
    std::uint64_t reserved2 = 0;
};
static_assert(sizeof(file_header) == 64 && std::is_trivially_copyable_v<file_header>);

// Begins the key of a property that is a text of the program's (prof_keep_text).
inline constexpr std::string_view text_prefix = "text.";

enum class chunk_type : std::uint32_t {
    properties = 1,  // text pairs {u32 key_bytes, u32 value_bytes, key, value} without padding; a later value replaces
    names = 2,       // {u32 id, u32 bytes, text, zero padding to 4}
    labels = 3,      // label[]: domains, categories, threads, streams that were given names
    thread = 4,      // thread_entry, one a chunk; a later one of the same uid replaces
    records = 5,     // aux = thread uid; u64 number of the first record (its position in its ring), then record[]
    kernels = 6,     // kernel_record[]
    transfers = 7,   // transfer_record[]
    clocks = 8,      // clock_snapshot[]
    devices = 9,     // device_record[]
    drops = 10,      // drop_entry[]
    end = 11,        // end_entry; the capture was closed
    graphs = 12,     // graph_record[]
    windows = 13,    // window_entry[]; a later one of the same epoch replaces
    graph_context = 14,  // as records, but outside any window: the ranges under which graphs were captured
    key_frame = 15,      // key_frame_entry; everything from before that still holds is repeated after it
    open = 16,          // as records: what was open on a thread at the key frame; the number is that of its next record
    known_graphs = 17,  // as graph_context: the whole graph history at the key frame
};

inline constexpr std::uint32_t chunk_deflated = 1;  // in chunk_header::flags: the payload is a zlib stream

struct chunk_header {
    std::uint32_t magic = chunk_magic;
    std::uint32_t type = 0;  // chunk_type
    std::uint32_t flags = 0;
    std::uint32_t sequence = 0;  // 0, 1, 2 …: a gap shows a lost chunk
    std::uint64_t aux = 0;
    std::uint32_t stored_bytes = 0;   // size in the file; the next chunk begins at the next multiple of 8
    std::uint32_t raw_bytes = 0;      // size of the inflated payload
    std::uint32_t payload_crc32 = 0;  // of the stored payload
    std::uint32_t header_crc32 = 0;   // of the bytes before it
};
static_assert(sizeof(chunk_header) == 40 && std::is_trivially_copyable_v<chunk_header>);

inline constexpr std::uint32_t largest_chunk_bytes = 16U << 20;  // of the raw payload; a reader refuses more

// The limit for what all deflated chunks of a file together may inflate to. Real captures deflate to a tenth at best.
constexpr std::uint64_t most_inflated_bytes(std::uint64_t file_bytes) noexcept {
    return largest_chunk_bytes + 32 * file_bytes;
}

struct thread_entry {
    std::uint64_t uid = 0;  // 1, 2, …: unlike a tid, never used again in this capture
    std::uint32_t tid = 0;
    std::uint32_t reserved = 0;
    std::array<char, 32> name{};  // the kernel's name of the thread (comm), zero-terminated
};
static_assert(sizeof(thread_entry) == 48);

struct drop_entry {
    std::uint32_t cause = 0;  // prof::drop_cause
    std::uint32_t reserved = 0;
    std::uint64_t count = 0;  // total so far
};
static_assert(sizeof(drop_entry) == 16);

// A period in which everything was recorded. A recording has at least one; nothing is recorded between windows.
struct window_entry {
    std::uint32_t epoch = 0;  // the high half of its launches' correlation keys (correlation_key)
    // The latest correlation id that was given while CUPTI was attached before the window began; 0: none.
    std::uint32_t warmup_calls = 0;
    std::uint64_t begin_ticks = 0;
    std::uint64_t end_ticks = 0;   // 0: it had not ended when this was written
    std::uint64_t first_step = 0;  // the step in which it began (docs/guide/schedule.md)
    std::uint64_t last_step = 0;   // the step in which it ended, or its latest step
    // If the window's steps were drawn at random: the first candidate step and the number of candidates. 0: not drawn.
    std::uint64_t drawn_first = 0;
    std::uint64_t drawn_among = 0;
    std::uint32_t ends_with_step = 0;  // 1: it ended together with its last step, so that step is complete
    std::uint32_t reserved = 0;
};
static_assert(sizeof(window_entry) == 64);

// A place where a reader may begin; everything before it may have been trimmed (docs/guide/flight-recorder.md).
struct key_frame_entry {
    std::uint64_t begin_ticks = 0;  // everything recorded later than this is after the key frame
    std::uint64_t latest_call = 0;  // the latest correlation_key of a launch before it; 0: none
    std::uint64_t records = 0;      // number before it, counted from the beginning of the recording
    std::uint64_t gpu_records = 0;
};
static_assert(sizeof(key_frame_entry) == 32);

enum class end_reason : std::uint32_t { none = 0, stopped = 1, exited = 2, died = 3, dumped = 4 };

struct end_entry {
    end_reason reason = end_reason::none;
    // If the process died: up to 255 the signal, from 256 on its exit status plus 256; 0: unknown.
    std::uint32_t how = 0;
    std::uint64_t realtime_ns = 0;
};
static_assert(sizeof(end_entry) == 16);

}  // namespace prof::format
