// SPDX-License-Identifier: Apache-2.0
// What the truth program knows of itself: which operation it launched in which ranges, and, from the kernels' own
// stamps, when each ran. Written as JSON; tests/gpu/check_truth.py does the arithmetic, in another language than the
// one that is checked. Any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "kernels.hpp"

namespace truth {

// A range while it was open. Its path is of real names: the checker folds digits.
struct instance {
    std::string path;
    bool is_process_range = false;
};

// Where work runs, with stamps of its own: devices 0 and 1, two contexts and two green contexts of device 0.
inline constexpr int most_places = 6;
inline constexpr int first_context = 2;
inline constexpr int first_green_context = 4;
constexpr int device_of(int place) { return place < first_context ? place : 0; }

struct operation {
    enum class kind { kernel, copy, set, peer };
    kind what = kind::kernel;
    std::string kernel;
    int place = 0;
    std::uint64_t bytes = 0;
    std::uint64_t requested_ns = 0;     // kernel
    std::uint32_t stamp = 0;            // kernel: where its stamp is
    std::vector<std::uint32_t> open;    // instances that it counts for, outermost first
    std::vector<std::string> captured;  // of a graph's node: ranges of its capture, outermost first
    std::uint32_t replay = 0;           // 1, 2, …: of which graph launch
    bool is_adopted = false;
};

struct timed_by_events {
    std::string path;
    double elapsed_ns = 0;
};

// A call that waited for a kernel: how long it took by the host's clock around it, and how long the kernel must have
// gone on after it was called (0: not known).
struct timed_wait {
    std::string path;
    std::uint64_t took_ns = 0;
    std::uint64_t least_ns = 0;
};

class journal {
public:
    std::uint32_t open(const std::string& path, bool is_process_range = false);
    void add(const operation& op);
    void add(const timed_by_events& timed);
    void add(const timed_wait& timed);
    // For the stamps of one kernel launch: its id, and room for `runs` of them.
    spin new_spin(int place, kernel which, std::uint64_t ns, std::uint32_t runs = 1);
    std::uint32_t next_replay();
    std::uint32_t stamps_used(int place) const;

    void set_stamps(int place, std::vector<stamp> stamps);
    // False, with a line on stderr, if it cannot be written.
    bool write(const std::string& path, const std::string& machine, const std::vector<std::string>& sections) const;

private:
    mutable std::mutex mutex_;
    std::vector<instance> instances_;
    std::vector<operation> operations_;
    std::vector<timed_by_events> timed_;
    std::vector<timed_wait> waits_;
    std::vector<std::vector<stamp>> stamps_{most_places};
    std::uint32_t ids_[most_places] = {};
    std::uint32_t stamps_used_[most_places] = {};
    std::uint32_t replays_ = 0;
};

}  // namespace truth
