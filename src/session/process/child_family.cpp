// SPDX-License-Identifier: Apache-2.0
#include "session/process/child_family.hpp"

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <new>

namespace prof::child_family {
namespace {

struct counts {
    std::atomic<std::uint32_t> captures{0};     // begun by children
    std::atomic<std::uint32_t> named_rings{0};  // of children
};
counts* the_counts = nullptr;

constexpr std::uint32_t most_captures_of_children = 4096;
constexpr std::uint32_t most_named_rings_of_children = 64;

}  // namespace

void begin() noexcept {
    if (the_counts != nullptr) return;
    void* const page = mmap(nullptr, sizeof(counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED) the_counts = ::new (page) counts;
}

bool may_begin_capture() noexcept {
    return the_counts == nullptr || the_counts->captures.fetch_add(1) < most_captures_of_children;
}

bool may_name_rings() noexcept {
    if (the_counts == nullptr) return false;
    if (the_counts->named_rings.fetch_add(1) < most_named_rings_of_children) return true;
    release_name();
    return false;
}

void release_name() noexcept { the_counts->named_rings.fetch_sub(1); }

}  // namespace prof::child_family
