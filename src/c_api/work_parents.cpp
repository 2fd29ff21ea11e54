// SPDX-License-Identifier: Apache-2.0
// The C interface by which a thread declares whose work it does (prof/prof.h). Hot path: a clock read and a ring write
// each; no lock, no allocation but a thread's first, no error text.
#include <prof/prof.h>

#include <atomic>

#include "base/clock.hpp"
#include "base/export_symbol.hpp"
#include "ring/registry.hpp"

namespace prof {
namespace {

// Not reset when a recording begins: a number from an earlier recording must be unknown in the next.
std::atomic<std::uint64_t> next_place{1};

record adoption_record(record_kind kind, std::uint64_t place) noexcept {
    record r;
    r.ticks = ticks_now();
    r.value = place;
    r.kind = kind;
    return r;
}

}  // namespace
}  // namespace prof

using namespace prof;

PROF_EXPORT uint64_t prof_parent_here() {
    const recording_scope out;
    if (!out) return 0;
    // relaxed: only has to be unique.
    const std::uint64_t place = next_place.fetch_add(1, std::memory_order_relaxed);
    out->write(adoption_record(record_kind::parent_here, place));
    return place;
}

PROF_EXPORT int prof_adopt_push(uint64_t place) {
    const recording_scope out;
    if (!out) return PROF_WRONG_STATE;
    out->adopt_push(adoption_record(record_kind::adopt_push, place));
    return PROF_OK;
}

PROF_EXPORT int prof_adopt_pop() {
    if (has_only_parents_ranges()) {
        (void)ends_parents_range(domain_limit);
        return PROF_WRONG_STATE;
    }
    const recording_scope out{recording_producer(false)};
    if (!out) return PROF_WRONG_STATE;
    return out->adopt_pop(adoption_record(record_kind::adopt_pop, 0)) < 0 ? PROF_WRONG_STATE : PROF_OK;
}
