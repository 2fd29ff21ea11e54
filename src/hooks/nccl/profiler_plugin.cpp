// SPDX-License-Identifier: Apache-2.0
#include "hooks/nccl/profiler_plugin.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "base/cancellation_guard.hpp"
#include "base/clock.hpp"
#include "hooks/nccl/chained_plugin.hpp"
#include "hooks/nccl/own_handles.hpp"
#include "hooks/nccl/words.hpp"
#include "record/collective.hpp"
#include "ring/gate.hpp"
#include "ring/registry.hpp"

namespace prof::nccl {
namespace {

constexpr std::uint32_t kinds_of(int version) noexcept {
    if (version == 4) return collective | p2p;
    return collective | p2p | collective_api | kernel_launch | (version > 5 ? copy_collective : 0U);
}

// --- handles --------------------------------------------------------------------------------------------------------

std::atomic<std::uint32_t> latest_number{0};

std::uint32_t next_number() noexcept {
    // relaxed: only has to differ from others.
    const std::uint32_t number = latest_number.fetch_add(1, std::memory_order_relaxed) + 1;
    return number == 0 ? 1 : number;
}

// --- communicators --------------------------------------------------------------------------------------------------

// A communicator's entry is never used again, since records refer to it by its number.
struct communicator {
    std::array<char, 128> text{};             // communicator_text
    std::atomic<std::uint8_t> text_bytes{0};  // 0: not complete yet
    std::atomic<region*> labelled_in{nullptr};
    void* theirs = nullptr;  // the chained plugin's context
    bool has_theirs = false;
    int* mask = nullptr;
    std::uint16_t number = 0;
};

constexpr std::size_t most_communicators = 4096;
std::array<communicator, most_communicators> communicators;
std::atomic<std::uint32_t> communicator_count{0};

void label(region& where, communicator& comm) noexcept {
    const std::size_t bytes = comm.text_bytes.load(std::memory_order_acquire);
    if (bytes == 0 || comm.labelled_in.exchange(&where) == &where) return;
    where.add_label(label_kind::communicator, comm.number, where.keep({comm.text.data(), bytes}));
}

void label_all(region& where) noexcept {
    const std::uint32_t count = std::min<std::uint32_t>(communicator_count.load(), most_communicators);
    for (std::uint32_t i = 0; i < count; ++i) label(where, communicators[i]);
}

void describe(communicator& out, std::uint64_t id, std::uint32_t ranks, std::uint32_t rank, std::uint32_t nodes,
              const char* name) noexcept {
    const int printed = std::snprintf(out.text.data(), out.text.size(),
                                      "%" PRIx64 " %" PRIu32 " %" PRIu32 " %" PRIu32 " ", id, ranks, rank, nodes);
    auto used = static_cast<std::size_t>(printed);  // at most 52
    if (name != nullptr) {
        const std::size_t bytes = strnlen(name, out.text.size() - used);
        std::memcpy(out.text.data() + used, name, bytes);
        used += bytes;
    }
    out.text_bytes.store(static_cast<std::uint8_t>(used), std::memory_order_release);
}

// --- the masks ------------------------------------------------------------------------------------------------------

// NCCL has one mask for all communicators of a copy of its library. The copy may be unloaded after its last
// communicator, so a mask is written only while it is pinned, and not forgotten while it is.
struct mask_entry {
    std::atomic<int*> mask{nullptr};
    std::atomic<std::uint32_t> communicators{0};
    std::atomic<std::uint32_t> pins{0};
    std::atomic<int> added{0};  // bits that are set because of libprof alone
    std::atomic<int> kinds{0};  // that libprof wants in windows
};
std::array<mask_entry, 16> masks;

std::atomic<bool> is_wanted{false};
std::atomic<bool> is_refused{false};

bool is_window(std::uint32_t epoch) noexcept {
    return (epoch != 0 && !is_observed_only(epoch)) || epoch == resting_epoch;
}

void switch_mask(mask_entry& entry, bool on) noexcept {
    ++entry.pins;
    if (int* const mask = entry.mask.load(); mask != nullptr) {
        const int kinds = entry.kinds.load();
        if (on) {
            const int before = __atomic_fetch_or(mask, kinds, __ATOMIC_RELAXED);
            entry.added.fetch_or(kinds & ~before);
        } else {
            __atomic_fetch_and(mask, ~entry.added.exchange(0), __ATOMIC_RELAXED);
        }
    }
    --entry.pins;
}

void follow(std::uint32_t epoch) noexcept {
    const bool on = is_window(epoch) && is_wanted.load() && !is_refused.load();
    if (on && communicator_count.load() != 0) {
        if (region* const where = installed_region(); where != nullptr) label_all(*where);
    }
    for (mask_entry& entry : masks) switch_mask(entry, on);
}

// REQUIRES: `mask` is not null.
mask_entry* entry_of(int* mask, bool adds) noexcept {
    for (mask_entry& entry : masks) {
        int* expected = nullptr;
        if (entry.mask.load() == mask || (adds && entry.mask.compare_exchange_strong(expected, mask))) return &entry;
    }
    return nullptr;
}

void forget_mask(int* mask) noexcept {
    mask_entry* const entry = entry_of(mask, false);
    if (entry == nullptr || --entry->communicators != 0) return;
    switch_mask(*entry, false);
    entry->mask = nullptr;
    // Another thread may be writing to it: a few instructions. In a child it may have been a thread of the parent's.
    for (int i = 0; i < 1'000'000 && entry->pins.load() != 0; ++i) {
    }
}

std::uint32_t wanted_by_chained(const communicator& comm) noexcept {
    if (!comm.has_theirs || comm.mask == nullptr) return 0;
    const mask_entry* const entry = entry_of(comm.mask, false);
    const int added = entry == nullptr ? 0 : entry->added.load();
    return static_cast<std::uint32_t>(__atomic_load_n(comm.mask, __ATOMIC_RELAXED) & ~added);
}

std::atomic<const chained_plugin*> chained{nullptr};  // set by the first init, before NCCL has a context

// --- records --------------------------------------------------------------------------------------------------------

// One record in a window; nothing outside of windows.
void write(record_kind kind, std::uint16_t communicator, std::uint64_t value, std::uint32_t name, std::uint32_t color,
           std::uint32_t category, std::uint8_t flags) noexcept {
    if (!is_window(epoch_of(recording_epoch))) return;
    if (const recording_scope out{}) {
        record r;
        r.ticks = ticks_now();
        r.kind = kind;
        r.domain = communicator;
        r.value = value;
        r.name = name;
        r.color = color;
        r.category = category;
        r.flags = flags;
        out->write(r);
    }
}

void write_call(const communicator& comm, std::uint32_t number, std::uint32_t call_group, const packed_call& call,
                int root, std::uint8_t flags) noexcept {
    write(record_kind::collective_call, comm.number, pack(call), number, call_group, static_cast<std::uint32_t>(root),
          flags);
}

void write_collective(int version, const communicator& comm, const event_descriptor& event) noexcept {
    const auto& given = event.collective;
    std::uint32_t call = number_of(event.parent);
    const collective_function function = function_of(given.function);
    std::uint8_t flags = 0;
    if (version == 4) {
        call = next_number();
        flags = collective_launched_before;
        write_call(comm, call, number_of(event.parent), {given.count, function, type_of(given.type)}, given.root,
                   flags);
    }
    write(record_kind::collective_work, comm.number, given.sequence, call, 0,
          pack(packed_work{given.channels, algorithm_of(given.algorithm), protocol_of(given.protocol), function}),
          flags);
}

void write_p2p(int version, const communicator& comm, const event_descriptor& event) noexcept {
    const auto& given = event.p2p;
    std::uint32_t call = number_of(event.parent);
    const collective_function function = function_of(given.function);
    std::uint8_t flags = collective_is_p2p;
    if (version == 4) {
        call = next_number();
        flags |= collective_launched_before;
        write_call(comm, call, number_of(event.parent), {given.count, function, type_of(given.type)}, -1, flags);
    }
    write(record_kind::collective_work, comm.number, no_sequence, call, static_cast<std::uint32_t>(given.peer),
          pack(packed_work{given.channels, {}, {}, function}), flags);
}

constexpr std::uint8_t captured_flag(bool is_captured) noexcept { return is_captured ? collective_is_captured : 0; }

// Writes the records of an event, and returns the handle by which NCCL refers to it later. Null: it need not.
// `theirs`: the chained plugin's handle of it.
void* note(int version, const communicator& comm, const event_descriptor& event, std::uint32_t kind,
           void* theirs) noexcept {
    const auto handle_of = [theirs](handle_kind of_kind) {
        return theirs != nullptr ? theirs : make_handle(of_kind, next_number());
    };
    switch (kind) {
        case group_api:
            return handle_of(handle_kind::group);
        case collective_api: {
            const auto& given = event.collective_api;
            void* const handle = handle_of(handle_kind::call);
            write_call(comm, number_of(handle), number_of(event.parent),
                       {given.count, function_of(given.function), type_of(given.type)}, given.root,
                       captured_flag(given.is_captured));
            return handle;
        }
        case p2p_api: {
            const auto& given = event.p2p_api;
            void* const handle = handle_of(handle_kind::call);
            write_call(comm, number_of(handle), number_of(event.parent),
                       {given.count, function_of(given.function), type_of(given.type)}, -1,
                       static_cast<std::uint8_t>(captured_flag(given.is_captured) | collective_is_p2p));
            return handle;
        }
        case kernel_launch:
            write(record_kind::collective_launch, comm.number, number_of(event.parent), 0, 0, 0, 0);
            break;
        case collective:
            write_collective(version, comm, event);
            break;
        case p2p:
            write_p2p(version, comm, event);
            break;
        case copy_collective: {
            const auto& given = event.copies;
            write(record_kind::collective_work, comm.number, given.sequence, number_of(event.parent), 0,
                  pack(packed_work{0, {}, {}, function_of(given.function)}), collective_begins_copies);
            return theirs != nullptr ? theirs : make_handle(handle_kind::copies, number_of(event.parent));
        }
        default:
            break;
    }
    return theirs;
}

communicator* communicator_of(void* context) noexcept {
    const auto first = reinterpret_cast<std::uintptr_t>(communicators.data());
    const auto address = reinterpret_cast<std::uintptr_t>(context);
    return address < first || address >= first + sizeof communicators ? nullptr : static_cast<communicator*>(context);
}

}  // namespace

void follow_windows(bool wanted) noexcept {
    is_wanted = wanted;
    gate_follower = follow;
    follow(epoch_of(recording_epoch));
}

nccl_result add_communicator(int version, void** context, std::uint64_t id, int* mask, const char* name, int nodes,
                             int ranks, int rank, log_function log) noexcept {
    if (context == nullptr || mask == nullptr) return internal_error;
    *context = nullptr;
    const cancellation_guard guard;
    const chained_plugin& other = the_chained_plugin(version);
    chained = &other;
    if (other.is_refused) is_refused = true;
    // relaxed: hands out disjoint entries.
    const std::uint32_t index = communicator_count.fetch_add(1, std::memory_order_relaxed);
    if (index >= most_communicators) {
        communicator_count = most_communicators;
        if (region* const where = installed_region()) where->count_drop(drop_cause::labels_full);
        // It is the chained plugin's alone: without a context it has no events.
        return other.version == 0 ? success : other.init(context, id, mask, name, nodes, ranks, rank, log);
    }
    communicator& out = communicators[index];
    out.number = static_cast<std::uint16_t>(index);
    out.mask = mask;
    out.has_theirs = other.version != 0 && other.init(&out.theirs, id, mask, name, nodes, ranks, rank, log) == success;
    describe(out, id, static_cast<std::uint32_t>(std::max(ranks, 0)), static_cast<std::uint32_t>(std::max(rank, 0)),
             static_cast<std::uint32_t>(std::max(nodes, 0)), name);
    *context = &out;
    if (mask_entry* const entry = entry_of(mask, true); entry != nullptr) {
        ++entry->communicators;
        entry->kinds = static_cast<int>(kinds_of(version));
        const bool on = is_window(epoch_of(recording_epoch)) && is_wanted.load() && !is_refused.load();
        switch_mask(*entry, on);
        if (region* const where = installed_region(); where != nullptr && on) label(*where, out);
    }
    return success;
}

nccl_result start_event(int version, void* context, void** handle, event_descriptor* event) noexcept {
    if (handle == nullptr || event == nullptr) return success;
    *handle = nullptr;
    communicator* const comm = communicator_of(context);
    const std::uint32_t kind = static_cast<std::uint32_t>(version == 4 ? event->type & 0xFF : event->type);
    if (comm == nullptr) {
        const bool passes = chained.load() != nullptr && chained.load()->version != 0 && context != nullptr;
        return passes ? chained.load()->start(context, handle, *event, kind, version) : success;
    }
    void* theirs = nullptr;
    if (comm->has_theirs && chained.load()->gets(wanted_by_chained(*comm), kind)) {
        chained.load()->start(comm->theirs, &theirs, *event, kind, version);
    }
    // Whatever closed the window, a forked child's gate as well: no more of these are wanted.
    if (!is_window(epoch_of(recording_epoch))) {
        if (mask_entry* const entry = entry_of(comm->mask, false); entry != nullptr && entry->added.load() != 0) {
            switch_mask(*entry, false);
        }
        *handle = theirs;
        return success;
    }
    *handle = note(version, *comm, *event, kind, theirs);
    return success;
}

nccl_result stop_event(void* handle) noexcept {
    if (handle == nullptr) return success;
    if (!is_own_handle(handle)) return chained.load() == nullptr ? success : chained.load()->stop(handle);
    if (is_of_kind(handle, handle_kind::copies)) {
        write(record_kind::collective_work, no_communicator, no_sequence, number_of(handle), 0, 0,
              collective_ends_copies);
    }
    return success;
}

nccl_result record_state(void* handle, int state, state_arguments* arguments) noexcept {
    if (handle == nullptr || is_own_handle(handle) || chained.load() == nullptr) return success;
    return chained.load()->record_state(handle, state, arguments);
}

nccl_result finalize(void* context) noexcept {
    communicator* const comm = communicator_of(context);
    if (comm == nullptr)
        return chained.load() == nullptr || context == nullptr ? success : chained.load()->finalize(context);
    const cancellation_guard guard;
    if (comm->has_theirs && comm->theirs != nullptr)
        chained.load()->finalize(comm->theirs);  // NCCL asks for a context, too
    comm->has_theirs = false;
    if (comm->mask != nullptr) forget_mask(comm->mask);
    comm->mask = nullptr;
    return success;
}

bool is_refused_by_configuration() noexcept { return is_refused.load(); }

const char* problem_of_chained_plugin() noexcept {
    const chained_plugin* const other = chained.load();
    return other == nullptr ? "" : other->problem;
}

namespace {

template <int version>
nccl_result start_event_of(void* context, void** handle, event_descriptor* event) noexcept {
    return start_event(version, context, handle, event);
}

nccl_result init_v4(void** context, int* mask, const char* name, std::uint64_t id, int nodes, int ranks, int rank,
                    log_function log) noexcept {
    return add_communicator(4, context, id, mask, name, nodes, ranks, rank, log);
}

template <int version>
nccl_result init_later(void** context, std::uint64_t id, int* mask, const char* name, int nodes, int ranks, int rank,
                       log_function log) noexcept {
    return add_communicator(version, context, id, mask, name, nodes, ranks, rank, log);
}

}  // namespace
}  // namespace prof::nccl

// NCCL looks for these by name, the newest first.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
[[gnu::visibility("default")]] extern const prof::nccl::profiler_v4 ncclProfiler_v4;
[[gnu::visibility("default")]] extern const prof::nccl::profiler_v5 ncclProfiler_v5;
[[gnu::visibility("default")]] extern const prof::nccl::profiler_v6 ncclProfiler_v6;

constexpr prof::nccl::profiler_v4 ncclProfiler_v4 = {prof::nccl::own_name,          prof::nccl::init_v4,
                                                     prof::nccl::start_event_of<4>, prof::nccl::stop_event,
                                                     prof::nccl::record_state,      prof::nccl::finalize};
constexpr prof::nccl::profiler_v5 ncclProfiler_v5 = {prof::nccl::own_name,          prof::nccl::init_later<5>,
                                                     prof::nccl::start_event_of<5>, prof::nccl::stop_event,
                                                     prof::nccl::record_state,      prof::nccl::finalize};
constexpr prof::nccl::profiler_v6 ncclProfiler_v6 = {prof::nccl::own_name,          prof::nccl::init_later<6>,
                                                     prof::nccl::start_event_of<6>, prof::nccl::stop_event,
                                                     prof::nccl::record_state,      prof::nccl::finalize};
}
// NOLINTEND(readability-identifier-naming)
