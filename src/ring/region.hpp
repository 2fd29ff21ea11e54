// SPDX-License-Identifier: Apache-2.0
// Creates and owns the shared mapping (ring/region_layout.hpp), and hands out rings, labels and domains in it.
//
// One thread creates it once per process, at the first NVTX or CUDA use. Any thread may call claim_ring() (once per
// thread; it may allocate file blocks), add_label() and domain(). The consumer side belongs to the drain thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/own_descriptor.hpp"
#include "record/name_table.hpp"
#include "record/passing_names.hpp"
#include "ring/region_layout.hpp"

namespace prof {

inline constexpr std::uint32_t domain_limit = 256;

struct region_options {
    // "auto": /dev/shm if it has room, else `fallback_directory`, else anonymous memory. "memory": anonymous memory.
    // Anything else names a directory, with anonymous memory as the fallback. A directory is used only if
    // keeps_allocated_blocks() accepts its file system.
    std::string place = "auto";
    std::string fallback_directory;
    std::uint32_t large_ring_bytes = 1U << 20;  // for the first threads …
    std::uint32_t large_rings = 8;
    std::uint32_t medium_ring_bytes = 64U << 10;  // … for those after them …
    std::uint32_t medium_rings = 128;
    std::uint32_t small_ring_bytes = 8U << 10;  // … and for the rest
    std::uint32_t small_rings = 1024;
    std::uint32_t name_bytes = 2U << 20;  // kept names: registered strings, labels, kernels
    std::uint32_t name_slots = 1U << 15;
    std::uint32_t passing_name_bytes = 2U << 20;  // names of ranges; a power of two
    std::uint32_t passing_name_slots = 1U << 15;
    std::uint32_t label_capacity = 4096;
    std::uint32_t writing_bytes = 0;  // for chunks that are being written to the capture; a multiple of 8
    std::size_t buffer_bytes = 0;     // of each of CUPTI's buffers
    std::uint32_t buffer_count = 0;   // 0: the buffers are not in this mapping
    std::array<std::uint8_t, 16> id{};
    std::string notice;  // what notice() is if nothing else is to be said
};

// Where CUPTI's buffers lie. Each is a header of 64 bytes followed by `bytes`; they start `stride` bytes apart.
struct buffer_area {
    std::byte* memory = nullptr;
    std::size_t bytes = 0;
    std::size_t stride = 0;
    std::uint32_t count = 0;  // 0: the mapping has none
};

class region {
public:
    // Falls back to anonymous memory if there can be no file; notice() then has the reason in one line. Throws
    // prof::error only if there is no memory at all.
    explicit region(const region_options& options);
    ~region();  // unmaps; removes the file
    region(const region&) = delete;
    region& operator=(const region&) = delete;

    // Gives the file its name; called at the first record. Until then the file is nameless and vanishes with the
    // process. If the file system has no nameless files, it had its name from the start. Idempotent; any thread.
    void publish() noexcept;
    const std::string& path() const noexcept { return path_; }      // empty: anonymous memory
    const std::string& notice() const noexcept { return notice_; }  // empty: everything is as requested
    // From now on everything that is recorded belongs to another capture, whose number among those of this mapping is
    // returned: 1, 2, …. By one thread at a time, before the gate is opened for it.
    std::uint32_t begin_capture() noexcept;
    // States in the mapping where the capture is. By the thread that makes it.
    void set_capture_path(std::string_view path) noexcept;
    // Shortly before its first record.
    const clock_snapshot& made_at() const noexcept { return made_at_; }
    void remove_file() noexcept;    // at the end of the process; the mapping stays, since hooks may still use it
    void disown() noexcept;         // in a forked child: the file now belongs to the parent; the mapping stays
    void take_name_off() noexcept;  // removes the name only; the file vanishes with the process

    // In a forked child, before any other thread has the region. Takes over every name, domain, category and stream of
    // the parent's under the same number, because the program still uses these numbers. `calls`: whether calls to CUDA
    // are recorded in the child.
    void inherit(region& parent, bool calls) noexcept;
    bool records_calls() const noexcept { return records_calls_; }

    region_header& header() noexcept { return *header_; }
    name_table& names() noexcept { return names_; }
    passing_names& passing() noexcept { return passing_; }
    // Each returns 0 and counts names_full if there is no room. keep(): the name stays for the life of the process.
    // intern(): likewise while there is room, else a passing name, which may be freed later. intern_passing(): a
    // passing name, of a range. REQUIRES for it: the calling thread has announced that it is at a name, and
    // then read `since` (record/passing_names.hpp).
    std::uint32_t keep(std::string_view text) noexcept;
    std::uint32_t intern(std::string_view text) noexcept;
    std::uint32_t intern_passing(std::string_view text, std::uint64_t since) noexcept;
    // The text of any id; empty if there is none, or no longer. For the drain thread, and while a name_use exists.
    std::string_view name_text(std::uint32_t id) const noexcept;
    bool is_at_name_without_ring() const noexcept { return at_name_without_ring_.load() != 0; }

    // While one of these exists no range's name is freed. For a thread without a ring, which cannot announce that it is
    // at a name. Rare and short.
    class name_use {
    public:
        explicit name_use(region& where) noexcept : where_(where) { ++where_.at_name_without_ring_; }
        ~name_use() { --where_.at_name_without_ring_; }
        name_use(const name_use&) = delete;
        name_use& operator=(const name_use&) = delete;

    private:
        region& where_;
    };

    // Returns a free ring, now marked as claimed; null if there is none, or no storage for one.
    ring_header* claim_ring(std::uint32_t tid) noexcept;
    void retire_ring(ring_header& ring) noexcept;  // by the thread that claimed it, when it ends
    void free_ring(ring_header& ring) noexcept;    // by the consumer, once drained
    // All rings that were ever claimed. A ring that is claimed meanwhile is in the next call's result.
    std::span<ring_header> rings() noexcept;
    record* slots(const ring_header& ring) noexcept;

    // Adds a label, unless the key has this name already. Counts labels_full if there is no room.
    void add_label(label_kind kind, std::uint64_t key, std::uint32_t name) noexcept;
    // The label key of the thread that has this tid now.
    std::uint64_t thread_label_key(std::uint32_t tid) noexcept;
    // The index of the domain with this name; domain_limit if there are too many domains (counted as domains_full).
    std::uint32_t domain(std::string_view name) noexcept;
    bool label_at(std::uint32_t index, label& out) const noexcept;  // false: there is none (yet)

    // For a capture_writer: a writing_header with writing_bytes behind it; empty if the mapping has none.
    std::span<std::byte> writing_area() noexcept;

    buffer_area buffers() noexcept;
    // Allocates storage for a buffer. Returns false if there is none. Any thread, before the buffer's first use; a
    // system call.
    bool allocate_buffer(std::uint32_t index) noexcept;

    void count_drop(drop_cause cause, std::uint64_t count = 1) noexcept;
    // The drops of the region and all its rings, by cause.
    drop_counts drops() const noexcept;

    // For the drain thread: allocates storage for more names when they run short of it.
    void extend_names() noexcept;

private:
    bool map_where_there_is_room(region_options& options);
    bool map_file(const std::string& directory, bool is_asked_for);
    void map_memory();
    int allocate(std::size_t offset, std::size_t bytes) noexcept;
    void lay_out(const region_options& options);
    template <typename TNames>
    void extend(TNames& names, std::uint64_t used, std::size_t file_offset) noexcept;

    const clock_snapshot made_at_ = take_clock_snapshot(nullptr);
    std::size_t bytes_ = 0;
    std::byte* base_ = nullptr;
    region_header* header_ = nullptr;
    name_table names_;
    passing_names passing_;
    std::atomic<std::uint32_t> at_name_without_ring_{0};
    shared_label* labels_ = nullptr;
    std::array<std::atomic<std::uint32_t>, domain_limit> domain_names_{};  // by index: name + 1; 0: not known yet
    ring_header* rings_ = nullptr;
    std::uint32_t ring_count_ = 0;
    std::atomic<std::uint32_t> rings_ever_claimed_{0};  // a prefix of the rings: the first free ring is always taken
    std::size_t arena_file_offset_ = 0;
    std::size_t passing_file_offset_ = 0;
    std::atomic<int> fd_{-1};  // atomic: one thread may allocate storage while another removes the file
    file_identity file_;
    std::string path_;
    std::string notice_;
    std::atomic<bool> named_{false};
    bool records_calls_ = true;
};

}  // namespace prof
