// SPDX-License-Identifier: Apache-2.0
// The stand-in for libc10_cuda.so (fake_c10.h).
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>

#include "fakes/torch/fake_c10.h"

namespace c10 {
struct Device {
    std::int8_t type;
    std::int8_t index;
};
void reportMemoryUsageToProfiler(void* address, std::int64_t bytes, std::size_t allocated, std::size_t reserved,
                                 Device device);
void reportOutOfMemoryToProfiler(std::int64_t bytes, std::size_t allocated, std::size_t reserved, Device device);
}  // namespace c10

namespace {

constexpr std::uint64_t unit = 512;
constexpr std::uint64_t segment_unit = std::uint64_t{2} << 20;

std::uint64_t rounded(std::uint64_t bytes, std::uint64_t to) {
    return (std::max<std::uint64_t>(bytes, 1) + to - 1) / to * to;
}

struct piece {
    std::uint64_t bytes = 0;
    std::uint64_t segment = 0;  // where it begins
    bool is_free = true;
};

struct device_allocator {
    std::mutex mutex{};
    std::map<std::uint64_t, piece> pieces{};            // by address
    std::set<std::uint64_t> free{};                     // addresses of those that are free
    std::map<std::uint64_t, std::uint64_t> segments{};  // begin → bytes
    std::uint64_t next_segment = 0;
    std::uint64_t allocated = 0;
    std::uint64_t reserved = 0;
    std::uint64_t peak = 0;
    std::uint64_t limit = 0;

    auto find_free(std::uint64_t bytes) {
        for (const std::uint64_t address : free) {
            if (const auto found = pieces.find(address); found->second.bytes >= bytes) return found;
        }
        return pieces.end();
    }
    bool reserve(std::uint64_t bytes) {
        const std::uint64_t size = rounded(bytes, segment_unit);
        if (limit != 0 && reserved + size > limit) return false;
        const std::uint64_t begin = next_segment;
        next_segment += size + segment_unit;
        segments[begin] = size;
        pieces[begin] = {size, begin, true};
        free.insert(begin);
        reserved += size;
        return true;
    }
    void give_back() {
        for (auto segment = segments.begin(); segment != segments.end();) {
            const auto found = pieces.find(segment->first);
            if (!found->second.is_free || found->second.bytes != segment->second) {
                ++segment;
                continue;
            }
            reserved -= segment->second;
            free.erase(found->first);
            pieces.erase(found);
            segment = segments.erase(segment);
        }
    }
};

constexpr std::uint64_t first_segment_of(std::uint64_t index) { return (std::uint64_t{0x7F00} + index) << 32; }
std::array<device_allocator, 4> devices{{{.next_segment = first_segment_of(0)},
                                         {.next_segment = first_segment_of(1)},
                                         {.next_segment = first_segment_of(2)},
                                         {.next_segment = first_segment_of(3)}}};

c10::Device cuda(int index) { return {1, static_cast<std::int8_t>(index)}; }
device_allocator& allocator_of(int index) { return devices.at(static_cast<std::size_t>(index)); }

}  // namespace

extern "C" {

std::uint64_t fake_c10_allocate(std::size_t asked, int index) {
    const std::uint64_t bytes = rounded(asked, unit);
    device_allocator& of = allocator_of(index);
    const std::lock_guard lock(of.mutex);
    auto found = of.find_free(bytes);
    if (found == of.pieces.end()) {
        if (!of.reserve(bytes)) {
            of.give_back();
            if (!of.reserve(bytes)) {
                c10::reportOutOfMemoryToProfiler(static_cast<std::int64_t>(bytes), of.allocated, of.reserved,
                                                 cuda(index));
                return 0;
            }
        }
        found = of.find_free(bytes);
    }
    piece& taken = found->second;
    of.free.erase(found->first);
    if (taken.bytes > bytes) {
        of.pieces[found->first + bytes] = {taken.bytes - bytes, taken.segment, true};
        of.free.insert(found->first + bytes);
    }
    taken.bytes = bytes;
    taken.is_free = false;
    of.allocated += bytes;
    of.peak = std::max(of.peak, of.allocated);
    c10::reportMemoryUsageToProfiler(reinterpret_cast<void*>(found->first), static_cast<std::int64_t>(bytes),
                                     of.allocated, of.reserved, cuda(index));
    return found->first;
}

void fake_c10_free(std::uint64_t address, int index) {
    device_allocator& of = allocator_of(index);
    const std::lock_guard lock(of.mutex);
    auto found = of.pieces.find(address);
    if (found == of.pieces.end()) return;
    const std::uint64_t bytes = found->second.bytes;
    found->second.is_free = true;
    of.free.insert(address);
    of.allocated -= bytes;
    c10::reportMemoryUsageToProfiler(reinterpret_cast<void*>(address), -static_cast<std::int64_t>(bytes), of.allocated,
                                     of.reserved, cuda(index));
    const auto joins = [&](auto left, auto right) {
        if (right == of.pieces.end() || !left->second.is_free || !right->second.is_free) return false;
        if (left->second.segment != right->second.segment) return false;
        left->second.bytes += right->second.bytes;
        of.free.erase(right->first);
        of.pieces.erase(right);
        return true;
    };
    joins(found, std::next(found));
    if (found != of.pieces.begin()) joins(std::prev(found), found);
}

void fake_c10_empty_cache(int index) {
    device_allocator& of = allocator_of(index);
    const std::lock_guard lock(of.mutex);
    of.give_back();
}

void fake_c10_set_limit(std::size_t bytes, int index) {
    device_allocator& of = allocator_of(index);
    const std::lock_guard lock(of.mutex);
    of.limit = bytes;
}

std::size_t fake_c10_allocated(int index) {
    device_allocator& of = allocator_of(index);
    const std::lock_guard lock(of.mutex);
    return of.allocated;
}
std::size_t fake_c10_reserved(int index) {
    device_allocator& of = allocator_of(index);
    const std::lock_guard lock(of.mutex);
    return of.reserved;
}
std::size_t fake_c10_peak(int index) {
    device_allocator& of = allocator_of(index);
    const std::lock_guard lock(of.mutex);
    const std::uint64_t out = of.peak;
    of.peak = of.allocated;
    return out;
}
}
