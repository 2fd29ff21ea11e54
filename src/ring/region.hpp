// Makes and owns the shared mapping (ring/region_layout.hpp) and gives out rings, labels and domains in it.
//
// Made once per process, at the first NVTX or CUDA use, by one thread. claim_ring() may be called by any thread (once
// per thread; it may allocate file blocks), add_label() and add_domain() by any thread; the consumer side belongs to
// the drain thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/own_descriptor.hpp"
#include "record/name_table.hpp"
#include "record/passing_names.hpp"
#include "ring/region_layout.hpp"

namespace prof {

inline constexpr std::uint32_t domain_limit = 256;

struct region_options {
    // "auto": /dev/shm if it has room, else `fallback_directory`, else anonymous memory. "memory": anonymous memory.
    // Anything else: that directory, else anonymous memory. A directory only where keeps_allocated_blocks().
    std::string place = "auto";
    std::string fallback_directory;
    std::uint32_t large_ring_bytes = 1U << 20;  // for the first threads …
    std::uint32_t large_rings = 8;
    std::uint32_t medium_ring_bytes = 64U << 10;  // … for those after them …
    std::uint32_t medium_rings = 128;
    std::uint32_t small_ring_bytes = 8U << 10;  // … and for the rest
    std::uint32_t small_rings = 1024;
    std::uint32_t name_bytes = 2U << 20;  // names that are kept: registered ones, labels, kernels
    std::uint32_t name_slots = 1U << 15;
    std::uint32_t passing_name_bytes = 2U << 20;  // names of ranges; a power of two
    std::uint32_t passing_name_slots = 1U << 15;
    std::uint32_t label_capacity = 4096;
    std::uint32_t writing_bytes = 0;  // for what is being written to the capture; a multiple of 8
    std::size_t buffer_bytes = 0;     // of each of CUPTI's buffers
    std::uint32_t buffer_count = 0;   // 0: they are not kept here
    std::array<std::uint8_t, 16> id{};
};

// Where CUPTI's buffers lie: a header of 64 bytes and `bytes` each, `stride` apart.
struct buffer_area {
    std::byte* memory = nullptr;
    std::size_t bytes = 0;
    std::size_t stride = 0;
    std::uint32_t count = 0;  // 0: the mapping has none
};

class region {
public:
    // Never fails for want of a file: then the memory is anonymous and notice() says why, in one line. Throws
    // prof::error when there is no memory at all.
    explicit region(const region_options& options);
    ~region();  // unmaps; removes the file
    region(const region&) = delete;
    region& operator=(const region&) = delete;

    // The file stays nameless (it vanishes with the process) until this gives it its name: called at the first record.
    // Where the file system has no nameless files it had its name from the start. Idempotent; any thread.
    void publish() noexcept;
    const std::string& path() const noexcept { return path_; }      // empty: anonymous memory
    const std::string& notice() const noexcept { return notice_; }  // empty: all as asked for
    void remove_file() noexcept;    // at the end of the process: the mapping stays, hooks may still be in it
    void disown() noexcept;         // in a forked child: the file is the parent's from now on; the mapping stays
    void take_name_off() noexcept;  // the file goes on without its name, and vanishes with the process

    // In a forked child, before anybody else has the region: every name, domain, category and stream of the parent's
    // is known here by the same number, since the program has these. `calls`: whether calls to CUDA are recorded here.
    void inherit(region& parent, bool calls) noexcept;
    bool records_calls() const noexcept { return records_calls_; }

    region_header& header() noexcept { return *header_; }
    name_table& names() noexcept { return names_; }
    passing_names& passing() noexcept { return passing_; }
    // Each counts names_full where it gives 0 for want of room. keep(): for the life of the process. intern(): the same
    // while there is room, else as a name of a range, which may be gone later. intern_passing(): as a range's name; for
    // a thread that has said that it is at a name, and then read `since` (record/passing_names.hpp).
    std::uint32_t keep(std::string_view text) noexcept;
    std::uint32_t intern(std::string_view text) noexcept;
    std::uint32_t intern_passing(std::string_view text, std::uint64_t since) noexcept;
    // The text of any id, empty if there is none (any more). For the draining thread, and while a name_use lives.
    std::string_view name_text(std::uint32_t id) const noexcept;
    bool is_at_name_without_ring() const noexcept { return at_name_without_ring_.load() != 0; }

    // While one lives no range's name is freed. For what has no ring to say so: rare, and short.
    class name_use {
    public:
        explicit name_use(region& where) noexcept : where_(where) { ++where_.at_name_without_ring_; }
        ~name_use() { --where_.at_name_without_ring_; }
        name_use(const name_use&) = delete;
        name_use& operator=(const name_use&) = delete;

    private:
        region& where_;
    };

    // A free ring, marked claimed; null if there is none (or no storage for one).
    ring_header* claim_ring(std::uint32_t tid) noexcept;
    void retire_ring(ring_header& ring) noexcept;  // by the thread that claimed it, when it ends
    void free_ring(ring_header& ring) noexcept;    // by the consumer, once drained
    // Those that were ever claimed. A thread that claims one meanwhile is in the next call's.
    std::span<ring_header> rings() noexcept;
    record* slots(const ring_header& ring) noexcept;

    // Nothing new where that is the name already. Counts labels_full.
    void add_label(label_kind kind, std::uint64_t key, std::uint32_t name) noexcept;
    // The key of the name of the thread that has this tid now.
    std::uint64_t thread_label_key(std::uint32_t tid) noexcept;
    // Index of the domain of this name; domain_limit when there are too many (counted: domains_full).
    std::uint32_t domain(std::string_view name) noexcept;
    bool label_at(std::uint32_t index, label& out) const noexcept;  // false: not there (yet)

    // For a capture_writer: a writing_header and writing_bytes behind it; empty if there are none.
    std::span<std::byte> writing_area() noexcept;

    buffer_area buffers() noexcept;
    // Puts storage behind a buffer; false if there is none. Any thread, before the first use; a system call.
    bool allocate_buffer(std::uint32_t index) noexcept;

    void count_drop(drop_cause cause, std::uint64_t count = 1) noexcept;
    // Of all rings and of the region, by cause.
    drop_counts drops() const noexcept;

    // By the drain thread: puts storage behind the next part of the names when it runs short.
    void extend_names() noexcept;

private:
    bool map_where_there_is_room(region_options& options);
    bool map_file(const std::string& directory, bool is_asked_for);
    void map_memory();
    int allocate(std::size_t offset, std::size_t bytes) noexcept;
    void lay_out(const region_options& options);
    template <typename TNames>
    void extend(TNames& names, std::uint64_t used, std::size_t file_offset) noexcept;

    std::size_t bytes_ = 0;
    std::byte* base_ = nullptr;
    region_header* header_ = nullptr;
    name_table names_;
    passing_names passing_;
    std::atomic<std::uint32_t> at_name_without_ring_{0};
    shared_label* labels_ = nullptr;
    std::array<std::atomic<std::uint32_t>, domain_limit> domain_names_{};  // by index: name + 1; 0: not yet known
    ring_header* rings_ = nullptr;
    std::uint32_t ring_count_ = 0;
    std::atomic<std::uint32_t> rings_ever_claimed_{0};  // a prefix: the first free ring is always taken
    std::size_t arena_file_offset_ = 0;
    std::size_t passing_file_offset_ = 0;
    std::atomic<int> fd_{-1};  // a thread may come for storage while another removes the file
    file_identity file_;
    std::string path_;
    std::string notice_;
    std::atomic<bool> named_{false};
    bool records_calls_ = true;
};

}  // namespace prof
