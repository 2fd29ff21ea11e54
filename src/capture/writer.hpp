// Writes a capture file, chunk by chunk. For the drain thread alone (one thread at a time); never throws once open,
// since it runs inside somebody else's program: after a failed write it stops writing, keeps the reason, and counts
// what it was given from then on.
//
// Each call writes one chunk (large spans: several) into a buffer of `buffer_bytes`, which goes to the kernel when it
// is full and by flush(). Nothing is allocated after construction. A single text that does not fit the buffer is cut.
// In a child made by fork nothing is written: the file is the parent's.
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

// What a capture that is being written has up to a moment: whole chunks, `bytes` of the file, header included.
struct capture_extent {
    std::uint64_t bytes = 0;
    std::uint32_t next_sequence = 0;
};

class capture_writer;

struct capture_writer_options {
    bool deflate = false;  // zlib level 1 on each chunk that gets smaller by it
    std::size_t buffer_bytes = 256U << 10;
    // Where chunks are put together, so that what is in it survives the process (region::writing_area()); used by one
    // writer at a time. Empty: in memory of the writer's.
    std::span<std::byte> shared_memory{};
    // Written with the file's header by one call. That lies in the file's first page, inside of which the kernel does
    // not cut a write: whoever has the header has this property, too, unless it is longer.
    std::pair<std::string_view, std::string_view> first_property{};
    std::array<std::uint8_t, 16> id{};                          // the capture's id (format::file_header)
    ssize_t (*write)(int, const void*, std::size_t) = nullptr;  // instead of write(2): for tests
    punch_function punch = nullptr;                             // instead of fallocate(2): likewise
    std::uint64_t longest_file = trimmable_file::usual_longest;
    // Begins as this capture does, whatever its name is by now, without what was dropped of it. REQUIRES: nothing of it
    // is dropped meanwhile.
    const capture_writer* copy_of = nullptr;
    capture_extent copied{};
};

class capture_writer {
public:
    using name_entry = std::pair<std::uint32_t, std::string_view>;

    // Creates `path` (mode 0600, O_EXCL | O_NOFOLLOW: an existing file or link is never touched). Throws prof::error,
    // and leaves no file then.
    capture_writer(const std::string& path, const capture_writer_options& options);
    ~capture_writer();  // flushes; writes no end chunk
    capture_writer(const capture_writer&) = delete;
    capture_writer& operator=(const capture_writer&) = delete;

    void property(std::string_view key, std::string_view value) noexcept;
    void names(std::span<const name_entry> entries) noexcept;
    void labels(std::span<const label> entries) noexcept;
    void thread(const format::thread_entry& entry) noexcept;
    void records(std::uint64_t thread_uid, std::uint64_t first_number, std::span<const record> records) noexcept;
    // As records(), of a time that is no window's. A section of it begins with a window record.
    // `as`: or known_graphs.
    void earlier(std::uint64_t thread_uid, std::uint64_t first_number, std::span<const record> records,
                 format::chunk_type as = format::chunk_type::earlier) noexcept;
    // `buffer`: the number of the buffer of CUPTI's that they come from; 0 if from none.
    void kernels(std::span<const kernel_record> kernels, std::uint64_t buffer = 0) noexcept;
    void transfers(std::span<const transfer_record> transfers, std::uint64_t buffer = 0) noexcept;
    void graphs(std::span<const graph_record> graphs, std::uint64_t buffer = 0) noexcept;
    void clocks(std::span<const clock_snapshot> snapshots) noexcept;
    void devices(std::span<const device_record> devices, std::uint64_t buffer = 0) noexcept;
    void drops(std::span<const std::pair<drop_cause, std::uint64_t>> counts) noexcept;
    void window(const format::window_entry& entry) noexcept;
    void key_frame(const format::key_frame_entry& entry) noexcept;
    // What is open on a thread whose next record has this number.
    void open(std::uint64_t thread_uid, std::uint64_t next_number, std::span<const record> records) noexcept;
    void end(format::end_reason reason) noexcept;

    void flush() noexcept;

    // What waits where the disk is full, or the user's share of it, until the write may be tried again; false: the
    // capture ends there, as it does without this. Called by whoever writes.
    void set_wait_for_room(std::function<bool()> wait) noexcept;
    // Held by whoever needs the capture's front to stay where it is. What writes takes it where the file must not
    // become longer, and replaces the file (trim()); where another has it, it waits as for room.
    void set_front(std::recursive_mutex& front) noexcept;

    // What is in the file. REQUIRES: it is flushed.
    capture_extent extent() const noexcept;
    // Where the next chunk goes: a place to drop all before, if that chunk is a key frame.
    std::uint64_t position() const noexcept;
    // Gives back the storage of all before `position`, the file's header excepted; to readers it is dropped. 0 or
    // errno. Where the file system makes no holes, later, and all at once (trimmable_file.hpp). REQUIRES: the writer is
    // flushed.
    int trim(std::uint64_t position) noexcept;

    bool failed() const noexcept;
    // Empty while all is well; else one line: what failed, on which file, why (strerror).
    const std::string& failure() const noexcept;
    std::uint64_t records_lost() const noexcept;   // records and GPU operations given after the failure (or in it)
    std::uint64_t bytes_written() const noexcept;  // that the file has

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace prof
