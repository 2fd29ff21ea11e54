// SPDX-License-Identifier: Apache-2.0
// What a program that is about to die says of itself, in a file that it maps: an entry is written when the thing that
// it tells of is done, so libprof has had its chance. Written by one thread for each area, read by the test afterwards
// and, the counts, meanwhile.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace prof::test {

enum class journal_event : std::uint64_t {
    pushed = 1,    // a range; a = its payload
    popped = 2,    //
    launched = 3,  // a kernel
    ran = 4,       // a kernel has ended, and CUPTI has been told; a, b = its start and end
};

struct journal_entry {
    journal_event what{};
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    bool operator==(const journal_entry&) const = default;
};

struct journal_area {
    static constexpr std::size_t capacity = 1U << 17;
    std::atomic<std::uint64_t> count{0};
    std::array<journal_entry, capacity> entries{};

    bool is_full() const noexcept { return count.load(std::memory_order_relaxed) == capacity; }
    void add(journal_event what, std::uint64_t a = 0, std::uint64_t b = 0) noexcept {
        const std::uint64_t at = count.load(std::memory_order_relaxed);
        if (at == capacity) return;
        entries[at] = {what, a, b};
        count.store(at + 1, std::memory_order_release);
    }
};

struct death_journal {
    journal_area threads[2];  // the main thread's, another one's
    journal_area gpu;
};

// In a file made of zeros, which is a journal with nothing in it.
inline death_journal& map_journal(const std::string& path) {
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(death_journal)) != 0) throw std::runtime_error("no journal " + path);
    void* at = mmap(nullptr, sizeof(death_journal), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (at == MAP_FAILED) throw std::runtime_error("no journal " + path);
    return *static_cast<death_journal*>(at);
}
inline void unmap_journal(death_journal& journal) noexcept { munmap(&journal, sizeof journal); }

}  // namespace prof::test
