// SPDX-License-Identifier: Apache-2.0
#include "hooks/allocator/torch_allocator.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <type_traits>

#include "base/clock.hpp"
#include "hooks/allocator/gpu_memory.hpp"
#include "hooks/lines/call_lines.hpp"
#include "hooks/loaded_symbol.hpp"
#include "record/memory.hpp"
#include "record/stack_bounds.hpp"
#include "ring/gate.hpp"
#include "ring/registry.hpp"

// The type of c10's functions has c10::Device, which only looks like torch_device.
#if defined(__clang__)
#define PROF_CALLS_ITS_OWN_DEVICE __attribute__((no_sanitize("function")))
#else
#define PROF_CALLS_ITS_OWN_DEVICE
#endif

namespace prof {
namespace {

// c10::Device, passed by value in a register.
struct torch_device {
    std::int8_t kind;
    std::int8_t index;
};
static_assert(std::is_trivially_copyable_v<torch_device> && sizeof(torch_device) == 2);

// c10::reportMemoryUsageToProfiler and c10::reportOutOfMemoryToProfiler.
using report_function = void (*)(void* address, std::int64_t bytes, std::size_t allocated, std::size_t reserved,
                                 torch_device device);
using failure_function = void (*)(std::int64_t bytes, std::size_t allocated, std::size_t reserved, torch_device device);
constexpr const char* report_name = "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE";
constexpr const char* failure_name = "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE";

// libc10_cuda.so, libc10_hip.so, libc10_xpu.so; libc10.so itself reports the host's memory.
constexpr const char* allocators_prefix = "libc10_";

// Where calls go on. Set before an entry leads here, and never changed: a process has one PyTorch.
std::atomic<report_function> report_next{nullptr};
std::atomic<failure_function> failure_next{nullptr};

bool is_window(std::uint32_t epoch) noexcept {
    return (epoch != 0 && !is_observed_only(epoch)) || epoch == resting_epoch;
}

record begun(record_kind kind, std::uint64_t ticks, torch_device device) noexcept {
    record r;
    r.ticks = ticks;
    r.kind = kind;
    r.domain = packed_device(static_cast<std::uint8_t>(device.kind), static_cast<std::uint8_t>(device.index));
    return r;
}

void write_totals(producer& out, const record& after, std::uint64_t allocated, std::uint64_t reserved) noexcept {
    record totals;
    totals.ticks = after.ticks;
    totals.kind = record_kind::memory_totals;
    totals.domain = after.domain;
    pack_totals(totals, allocated, reserved);
    out.write(totals);
}

// --- the GPU as a whole ---------------------------------------------------------------------------------------------

// When a device was looked at. The allocator's lock of the device is held: the members are atomic only because another
// copy of the allocator may be there.
struct latest_look {
    std::atomic<std::uint64_t> reserved{0};
    std::atomic<std::uint64_t> ticks{0};
    std::atomic<std::uint32_t> window{0};
};
constexpr std::int8_t cuda_kind = 1;
constexpr std::size_t most_looked_at = 32;
constinit std::array<latest_look, most_looked_at> looks{};

// About a second, at a usual rate of the counter.
std::uint64_t look_period() noexcept { return has_tick_counter() ? 2'500'000'000 : 1'000'000'000; }

// Asks the driver how much of the GPU is in use. Rarely: when the allocator has just had more memory of the driver,
// when a request has failed, and about once a second, since libraries take memory without the allocator.
void look_at_gpu(producer& out, const record& after, std::size_t reserved, bool is_failure,
                 torch_device device) noexcept {
    if (device.kind != cuda_kind || device.index < 0) return;
    const auto index = static_cast<std::size_t>(device.index);
    if (index >= looks.size()) return;
    latest_look& last = looks[index];
    const std::uint32_t window = epoch_of(recording_epoch);
    // relaxed: as above.
    const bool has_grown = reserved > last.reserved.load(std::memory_order_relaxed);
    const bool is_new = window != last.window.load(std::memory_order_relaxed);
    const bool is_due = after.ticks - last.ticks.load(std::memory_order_relaxed) > look_period();
    if (!has_grown && !is_new && !is_due && !is_failure) return;
    last.reserved.store(reserved, std::memory_order_relaxed);
    last.ticks.store(after.ticks, std::memory_order_relaxed);
    last.window.store(window, std::memory_order_relaxed);
    gpu_memory now;
    if (!read_gpu_memory(now) || now.device != index) return;
    record r;
    r.ticks = after.ticks;
    r.kind = record_kind::gpu_memory;
    r.domain = after.domain;
    pack_totals(r, now.used, now.total);
    out.write(r);
}

void record_change(void* address, std::int64_t bytes, std::size_t allocated, std::size_t reserved,
                   torch_device device) noexcept {
    if (!is_window(epoch_of(recording_epoch))) return;
    const recording_scope out{};
    if (!out) return;
    const memory_change change{
        .address = reinterpret_cast<std::uint64_t>(address),
        .bytes = bytes < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(bytes) : static_cast<std::uint64_t>(bytes),
        .allocated = allocated,
        .reserved = reserved,
        .is_freed = bytes < 0};
    record r = begun(record_kind::memory_block, ticks_now(), device);
    pack(r, change);
    out->write(r);
    if ((r.flags & memory_totals_follow) != 0) [[unlikely]]
        write_totals(*out, r, allocated, reserved);
    if (!change.is_freed && are_lines_recorded()) {
        note_birth(*out, r.value, r.ticks, change.bytes >= stack_of_block_bytes);
    }
    if (!change.is_freed) look_at_gpu(*out, r, reserved, false, device);
}

void record_failure(std::int64_t bytes, std::size_t allocated, std::size_t reserved, torch_device device) noexcept {
    if (!is_window(epoch_of(recording_epoch))) return;
    const recording_scope out{};
    if (!out) return;
    record r = begun(record_kind::out_of_memory, ticks_now(), device);
    r.value = static_cast<std::uint64_t>(bytes);
    out->write(r);
    write_totals(*out, r, allocated, reserved);
    if (are_lines_recorded()) note_birth(*out, r.value, r.ticks, true);
    look_at_gpu(*out, r, reserved, true, device);
}

// What is called next is c10's, or a profiler's of the program: it may throw, through these two.
// relaxed: set before the function could be reached.
PROF_CALLS_ITS_OWN_DEVICE void on_change(void* address, std::int64_t bytes, std::size_t allocated, std::size_t reserved,
                                         torch_device device) {
    record_change(address, bytes, allocated, reserved, device);
    report_next.load(std::memory_order_relaxed)(address, bytes, allocated, reserved, device);
}
PROF_CALLS_ITS_OWN_DEVICE void on_failure(std::int64_t bytes, std::size_t allocated, std::size_t reserved,
                                          torch_device device) {
    record_failure(bytes, allocated, reserved, device);
    failure_next.load(std::memory_order_relaxed)(bytes, allocated, reserved, device);
}

// --- the import table -----------------------------------------------------------------------------------------------

struct replaced_entry {
    import_entry entry{};
    void* before = nullptr;
    void* own = nullptr;
};
struct entry_table {
    std::mutex mutex;  // nobody waits for it: in a forked child it may be a lost thread's
    std::array<replaced_entry, 16> entries{};
    std::atomic<std::size_t> count{0};
};
constinit entry_table replaced{};

void protect(const import_entry& entry, int access) noexcept {
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(entry.place) / page * page;
    (void)mprotect(reinterpret_cast<void*>(begin), page, access);
}

void* value_of(const import_entry& entry) noexcept { return __atomic_load_n(entry.place, __ATOMIC_RELAXED); }

// An entry that another thread's loader has not bound yet has a value of its own, and stays: the loader is about to
// write it. One that is bound at the first call leads to code of its object. The page of a protected entry stays
// writable as long as the entry is replaced, because the loader may not be done with the object's other ones.
void replace(const import_entry& entry, void* next, void* own) noexcept {
    void* const before = value_of(entry);
    const bool is_lazy = before >= entry.object_begin && before < entry.object_end;
    if (before == own || (before != next && !is_lazy) || replaced.count == replaced.entries.size()) return;
    if (entry.is_protected) protect(entry, PROT_READ | PROT_WRITE);
    replaced.entries[replaced.count++] = {entry, before, own};
    __atomic_store_n(entry.place, own, __ATOMIC_RELEASE);
}

template <typename TFunction>
void replace_all(const char* name, std::atomic<TFunction>& next, void* own) noexcept {
    std::array<import_entry, 8> found{};
    const std::size_t count = find_imports(allocators_prefix, name, found);
    if (count == 0) return;
    if (next.load() == nullptr) next = reinterpret_cast<TFunction>(first_loaded_symbol(name));
    if (next.load() == nullptr) return;
    for (std::size_t i = 0; i < count && i < found.size(); ++i) {
        replace(found[i], reinterpret_cast<void*>(next.load()), own);
    }
}

}  // namespace

void follow_torch_allocator(bool wanted) noexcept {
    if (!wanted) return leave_torch_allocator();
    const std::unique_lock lock{replaced.mutex, std::try_to_lock};
    if (!lock) return;
    find_gpu_memory();
    if (replaced.count != 0) {
        // An entry that was being bound by its first call while it was replaced leads past libprof.
        for (const replaced_entry& known : replaced.entries) {
            if (known.own != nullptr && value_of(known.entry) != known.own) {
                __atomic_store_n(known.entry.place, known.own, __ATOMIC_RELEASE);
            }
        }
        return;
    }
    replace_all(report_name, report_next, reinterpret_cast<void*>(&on_change));
    replace_all(failure_name, failure_next, reinterpret_cast<void*>(&on_failure));
}

void leave_torch_allocator() noexcept {
    const std::unique_lock lock{replaced.mutex, std::try_to_lock};
    if (!lock) return;
    const std::size_t count = replaced.count;
    const std::span<replaced_entry> all(replaced.entries.data(), count);
    for (replaced_entry& known : all) {
        if (value_of(known.entry) == known.own) __atomic_store_n(known.entry.place, known.before, __ATOMIC_RELEASE);
    }
    // Afterwards: several entries may lie in one page.
    for (replaced_entry& known : all) {
        if (known.entry.is_protected) protect(known.entry, PROT_READ);
        known = {};
    }
    replaced.count = 0;
}

bool was_torch_allocator_followed() noexcept { return report_next.load() != nullptr; }

}  // namespace prof
