// SPDX-License-Identifier: Apache-2.0
// Writes a capture file, chunk by chunk. Used by one thread at a time, normally the drain thread. Nothing throws after
// construction, since this runs inside the profiled program. After a failed write it stops writing, keeps the reason,
// and counts the records that it is given.
//
// Each call writes one chunk (several if the span is large) into a buffer of `buffer_bytes`. The buffer goes to the
// kernel when it is full and in flush(). Nothing is allocated after construction. A single text that does not fit the
// buffer goes to the kernel at once, in a chunk that is not deflated; it is cut only if no chunk could hold it
// (format::largest_chunk_bytes). In a child made by fork nothing is written, since the file is the parent's.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "capture/format.hpp"
#include "capture/trimmable_file.hpp"
#include "record/drop.hpp"
#include "record/gpu_record.hpp"
#include "record/label.hpp"
#include "record/record.hpp"

namespace prof {

// The extent of a capture at some moment of its writing: whole chunks, `bytes` of the file, header included.
struct capture_extent {
    std::uint64_t bytes = 0;
    std::uint32_t next_sequence = 0;
};

class capture_writer;

struct capture_writer_options {
    bool deflate = false;  // compresses with zlib level 1; a chunk that would not shrink is stored as it is
    std::size_t buffer_bytes = 256U << 10;
    // Memory in which chunks are assembled, so that they survive the process (region::writing_area()). One writer uses
    // it at a time. Empty: the writer allocates memory.
    std::span<std::byte> shared_memory{};
    // Written together with the file's header by one call, within the file's first page, where the kernel does not cut
    // a write. So a file that has its header also has this property. A property that is too long is left out.
    std::pair<std::string_view, std::string_view> first_property{};
    std::array<std::uint8_t, 16> id{};  // the capture's id and number (format::file_header)
    std::uint32_t number = 0;
    ssize_t (*write)(int, const void*, std::size_t) = nullptr;  // replaces write(2) in tests
    punch_function punch = nullptr;                             // replaces fallocate(2) in tests
    std::uint64_t longest_file = trimmable_file::usual_longest;
    // Begins as a copy of that capture, without its trimmed part, up to `copied`. Works even if the capture's name has
    // changed. REQUIRES: it is not trimmed meanwhile.
    const capture_writer* copy_of = nullptr;
    capture_extent copied{};
};

class capture_writer {
public:
    using name_entry = std::pair<std::uint32_t, std::string_view>;

    // Creates `path` (its mode follows the umask; O_EXCL | O_NOFOLLOW: an existing file or link is never touched).
    // Throws prof::error, and then leaves no file.
    capture_writer(const std::string& path, const capture_writer_options& options);
    ~capture_writer();  // flushes; writes no end chunk
    capture_writer(const capture_writer&) = delete;
    capture_writer& operator=(const capture_writer&) = delete;

    void property(std::string_view key, std::string_view value) noexcept;
    void names(std::span<const name_entry> entries) noexcept;
    void labels(std::span<const label> entries) noexcept;
    void thread(const format::thread_entry& entry) noexcept;
    void records(std::uint64_t thread_uid, std::uint64_t first_number, std::span<const record> records) noexcept;
    // As records(), but outside any window. Each section must begin with a window record. `as`: graph_context or
    // known_graphs.
    void graph_context(std::uint64_t thread_uid, std::uint64_t first_number, std::span<const record> records,
                       format::chunk_type as = format::chunk_type::graph_context) noexcept;
    // GPU records of one type, or all (capture/gpu_chunks.hpp). `buffer`: the number of the CUPTI buffer from which the
    // records come; 0: none.
    template <typename TRecord>
    void gpu(std::span<const TRecord> records, std::uint64_t buffer = 0) noexcept;
    void gpu(const gpu_records& all, std::uint64_t buffer = 0) noexcept;
    void clocks(std::span<const clock_snapshot> snapshots) noexcept;
    void drops(std::span<const std::pair<drop_cause, std::uint64_t>> counts) noexcept;
    void window(const format::window_entry& entry) noexcept;
    void key_frame(const format::key_frame_entry& entry) noexcept;
    // The records that are open on a thread, whose next record has the number `next_number`.
    void open(std::uint64_t thread_uid, std::uint64_t next_number, std::span<const record> records) noexcept;
    void end(format::end_reason reason) noexcept;

    void flush() noexcept;

    // `wait` is called by the writing thread when the disk or the user's quota is full. It waits and returns true to
    // try the write again, or false to end the capture there. Without it the capture ends there.
    void set_wait_for_room(std::function<bool()> wait) noexcept;
    // Another thread holds `front` to keep the capture from being trimmed. The writing thread takes it to replace a
    // file that must not become longer; while another thread holds it, the writing thread calls `wait` as for a full
    // disk. The caller of trim() must hold it as well.
    void set_front(std::recursive_mutex& front) noexcept;

    // The extent of the file. REQUIRES: the writer is flushed.
    capture_extent extent() const noexcept;
    // The position of the next chunk. If that chunk is a key frame, everything before it may be trimmed.
    std::uint64_t position() const noexcept;
    // Frees the storage of everything before `position` except the file's header; readers see it as trimmed. Returns 0
    // or errno. If the file system cannot punch holes, this happens later and all at once (trimmable_file.hpp).
    // REQUIRES: the writer is flushed.
    int trim(std::uint64_t position) noexcept;

    bool failed() const noexcept;
    // Empty unless the writer has failed; then one line: what failed, on which file, and why (strerror).
    const std::string& failure() const noexcept;
    std::uint64_t records_lost() const noexcept;   // records and GPU operations lost in the failure or given after it
    std::uint64_t bytes_written() const noexcept;  // bytes in the file

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace prof
