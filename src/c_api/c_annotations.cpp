// SPDX-License-Identifier: Apache-2.0
// The C interface for annotations: ranges, marks, counters and phases (prof/annotate.h). Hot path: no lock, no
// allocation but a thread's first, no error text.
#include <prof/annotate.h>

#include <string_view>

#include "base/export_symbol.hpp"
#include "hooks/nvtx/nvtx_hooks.hpp"
#include "ring/registry.hpp"
#include "session/process/step_counter.hpp"
#include "session/readiness.hpp"

namespace prof {
namespace {

// The event that NVTX would pass on. False: `attributes` is not one of this version's.
bool make_event(const char* name, const prof_attributes* attributes, nvtxEventAttributes_t& out) noexcept {
    out = {};
    out.version = NVTX_VERSION;
    out.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    out.messageType = NVTX_MESSAGE_TYPE_ASCII;
    out.message.ascii = name;
    if (name == nullptr) return false;
    if (attributes == nullptr) return true;
    static_assert(sizeof(prof_attributes) == 32);
    constexpr std::size_t largest = 4096;  // a later version's, from which only known fields are read
    if (attributes->size < sizeof *attributes || attributes->size > largest) return false;
    out.category = attributes->category;
    out.color = attributes->color;
    if (out.color != 0) out.colorType = NVTX_COLOR_ARGB;
    out.payload.ullValue = attributes->payload.u64;
    switch (attributes->payload_type) {
        case PROF_PAYLOAD_NONE:
            return true;
        case PROF_PAYLOAD_U64:
            out.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
            return true;
        case PROF_PAYLOAD_I64:
            out.payloadType = NVTX_PAYLOAD_TYPE_INT64;
            return true;
        case PROF_PAYLOAD_F64:
            out.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
            return true;
        default:
            return false;
    }
}

// A function that records one event of the process.
template <typename TRecord>
int put(const char* name, const prof_attributes* attributes, TRecord&& record) noexcept {
    nvtxEventAttributes_t event;
    if (!make_event(name, attributes, event)) return PROF_INVALID_ARGUMENT;
    return is_ready() && record(event) ? PROF_OK : PROF_WRONG_STATE;
}

}  // namespace
}  // namespace prof

using namespace prof;

PROF_EXPORT int prof_phase_push(const char* name, uint32_t category) {
    if (name == nullptr) return PROF_INVALID_ARGUMENT;
    if (!is_ready()) return PROF_WRONG_STATE;
    if (step_counter::program_counts() && std::string_view{name} == "step") return PROF_WRONG_STATE;
    return push_phase(name, category) ? PROF_OK : PROF_WRONG_STATE;
}

PROF_EXPORT int prof_phase_pop() { return pop_phase() ? PROF_OK : PROF_WRONG_STATE; }

PROF_EXPORT int prof_range_push(const char* name) { return put(name, nullptr, push_plain); }

PROF_EXPORT int prof_range_push_with(const char* name, const prof_attributes* attributes) {
    return put(name, attributes, push_plain);
}

PROF_EXPORT int prof_range_pop() { return pop_plain() ? PROF_OK : PROF_WRONG_STATE; }

PROF_EXPORT uint64_t prof_range_start(const char* name, const prof_attributes* attributes) {
    std::uint64_t number = 0;
    (void)put(name, attributes, [&](const nvtxEventAttributes_t& event) {
        number = start_plain(event);
        return number != 0;
    });
    return number;
}

PROF_EXPORT int prof_range_end(uint64_t number) {
    if (number == 0) return PROF_OK;
    return end_plain(number) ? PROF_OK : PROF_WRONG_STATE;
}

PROF_EXPORT int prof_mark(const char* name, const prof_attributes* attributes) {
    return put(name, attributes, mark_plain);
}

PROF_EXPORT int prof_counter(const char* name, double value) {
    prof_attributes attributes{};
    attributes.size = sizeof attributes;
    attributes.payload_type = PROF_PAYLOAD_F64;
    attributes.payload.f64 = value;
    return put(name, &attributes, count_plain);
}

PROF_EXPORT int prof_name_category(uint32_t category, const char* name) {
    if (name == nullptr) return PROF_INVALID_ARGUMENT;
    if (!is_ready()) return PROF_WRONG_STATE;
    name_plain_category(category, name);
    return PROF_OK;
}
