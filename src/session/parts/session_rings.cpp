// SPDX-License-Identifier: Apache-2.0
#include "session/parts/session_rings.hpp"

#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "ring/registry.hpp"
#include "session/process/child_family.hpp"
#include "session/process/heritage.hpp"
#include "session/process/memory_plan.hpp"

namespace prof {
namespace {

std::array<std::uint8_t, 16> random_id() noexcept {
    std::array<std::uint8_t, 16> id{};
    if (getrandom(id.data(), id.size(), GRND_NONBLOCK) != static_cast<ssize_t>(id.size())) {
        // Early in boot: time and process distinguish two captures well enough.
        const std::uint64_t now = clock_ns(CLOCK_REALTIME);
        const auto pid = static_cast<std::uint64_t>(getpid());
        std::memcpy(id.data(), &now, sizeof now);
        std::memcpy(id.data() + sizeof now, &pid, sizeof pid);
    }
    return id;
}

std::uint64_t limit_on_address_space() noexcept {
    rlimit limit{};
    const bool has_limit = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return has_limit ? limit.rlim_cur : UINT64_MAX;
}

}  // namespace

void session_rings::make(const session_options& options, bool may_use_gpu, tracer_options& gpu_sizes) {
    region_options wanted;
    wanted.place = options.rings;
    wanted.fallback_directory = options.output_dir;
    wanted.id = random_id();
    const std::uint64_t memory = fitting_memory(options.memory, limit_on_address_space());
    if (memory != options.memory) {
        wanted.notice = "the program's address space is limited (ulimit -v), so the recording's memory is " +
                        std::to_string(memory >> 20) + "M instead of " + std::to_string(options.memory >> 20) + "M";
    }
    divide_memory(memory, wanted, gpu_sizes);
    if (inherits_) {
        wanted.fallback_directory.clear();  // it may be far away, and there may be many children
        divide_childs_memory(*parents_region(), wanted);
    }
    auto made = std::make_unique<region>(wanted);
    if (inherits_) made->inherit(*parents_region(), may_use_gpu);
    {
        const session_lock lock(mutex_);
        history_ = std::make_unique<graph_history>(*made);
    }
    region_ = made.release();
}

void session_rings::install() const noexcept { install_region(region_, first_use_); }

void session_rings::install_unobserved() const noexcept { install_region(region_, nullptr); }

graph_history* session_rings::history() {
    const session_lock lock(mutex_);
    return history_.get();
}

void session_rings::forget_history() {
    const session_lock lock(mutex_);
    history_ = std::make_unique<graph_history>(memory());
}

void session_rings::discard_leftovers(bool observes) {
    region& rings = memory();
    graph_history& graphs = *history();
    for (ring_header& ring : rings.rings()) {
        auto found = glance<record>(ring, rings.slots(ring));
        if (found.state == ring_state::free) continue;
        // relaxed: the thread that wrote these records wrote the uid before.
        const std::uint64_t uid = ring.thread_uid.load(std::memory_order_relaxed);
        for (const std::span<const record> part : {found.view.first, found.view.second}) {
            if (!part.empty() && observes) graphs.observe(uid, part, false);
        }
        found.consumer.release(found.view.end);
        if (found.state == ring_state::retired) {
            graphs.end_thread(uid, ticks_now());
            rings.free_ring(ring);
        }
    }
}

void session_rings::describe_child(const session_options& options, property_list& properties) {
    properties.emplace(properties.begin(), "forked_from", std::to_string(parent_of_child()));
    if (keep_their_name(options)) return;
    memory().take_name_off();
    are_nameless_ = true;
    std::erase_if(properties, [](const auto& property) { return property.first == "rings_path"; });
}

bool session_rings::keep_their_name(const session_options& options) {
    if (!inherits_ || are_counted_) return true;
    if (options.run_id.empty()) return false;
    are_counted_ = child_family::may_name_rings();
    return are_counted_;
}

void session_rings::take_name_off() noexcept {
    if (are_counted_.exchange(false)) child_family::release_name();
    if (are_made()) memory().take_name_off();
}

void session_rings::remove_file() noexcept {
    if (are_made()) memory().remove_file();
}

}  // namespace prof
