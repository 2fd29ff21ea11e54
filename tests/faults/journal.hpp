// SPDX-License-Identifier: Apache-2.0
// What the program that meets faults writes down of its own work, in a file that it maps: an entry stands there when
// the thing that it is of is done.
//
// Whether a thing has to be in the capture goes by phases: the first thread counts them up before and after each
// command that it gives to libprof, so an odd phase is one in which a command is under way.
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

enum class deed : std::uint32_t { none, pushed, popped, launched };

// Serial numbers are those of a thread's ranges, or of its launches, from 1; thread_step * thread stands above them.
inline constexpr std::uint32_t thread_step = 1U << 20;

struct journal_entry {
    deed what = deed::none;
    std::uint32_t serial = 0;
    std::uint32_t parent = 0;  // the range around it; 0: none
    std::uint32_t before = 0;  // the phases before and after it
    std::uint32_t after = 0;
};

struct journal_area {
    static constexpr std::size_t capacity = 1U << 16;
    std::atomic<std::uint32_t> count{0};
    std::array<journal_entry, capacity> entries{};

    bool has_room() const noexcept { return count.load() + 256 < capacity; }
    void add(const journal_entry& entry) noexcept {
        const std::uint32_t at = count.load(std::memory_order_relaxed);
        if (at == capacity) return;
        entries[at] = entry;
        count.store(at + 1, std::memory_order_release);
    }
};

enum class recorded : std::uint8_t { unknown, yes, no };

struct journal {
    static constexpr std::size_t most_threads = 4;
    static constexpr std::size_t most_phases = 1024;
    std::atomic<std::uint32_t> phase{0};
    std::array<std::atomic<recorded>, most_phases> phases{};  // whether libprof records then
    std::atomic<std::uint32_t> failed_commands{0};            // that came back with PROF_FAILED
    std::atomic<std::uint32_t> children{0};                   // each may have its one line
    std::atomic<std::uint64_t> longest_ns{0};                 // that one range or launch took
    std::atomic<std::int32_t> pid{0};
    std::array<journal_area, most_threads> threads{};
};

// In a file made of zeros, which is a journal with nothing in it.
inline journal& map_journal(const std::string& path) {
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, sizeof(journal)) != 0) throw std::runtime_error("no journal " + path);
    void* const at = mmap(nullptr, sizeof(journal), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (at == MAP_FAILED) throw std::runtime_error("no journal " + path);
    return *static_cast<journal*>(at);
}
inline void unmap_journal(journal& at) noexcept { munmap(&at, sizeof at); }

// The name of a range or a kernel goes by its serial number.
inline constexpr std::array<const char*, 5> range_names = {"forward", "backward", "optimizer", "data", "loss"};
inline std::string range_name_of(std::uint32_t serial) {
    return serial % 7 == 6 ? "iteration " + std::to_string(serial) : range_names[serial % range_names.size()];
}

}  // namespace prof::test
