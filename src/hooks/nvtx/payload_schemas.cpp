// SPDX-License-Identifier: Apache-2.0
#include "hooks/nvtx/payload_schemas.hpp"

#include <array>
#include <atomic>
#include <cstddef>

#include "ring/registry.hpp"

namespace prof {
namespace {

// `key` is stored last (release): while it is 0, the slot is empty or being filled.
struct slot {
    std::atomic<bool> is_taken{false};
    std::atomic<std::uint64_t> key{0};
    payload_layout layout;
};
std::array<slot, 1024> slots;
std::atomic<std::uint32_t> next_dynamic_id{1};

// Ids that a client chose are below 2^32 and belong to one domain. Ids that libprof made up are above, and valid in all
// domains.
std::uint64_t key_of(std::uint32_t domain, std::uint64_t id) noexcept {
    const std::uint64_t kind = id >= NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START ? 1 : 0;
    return (std::uint64_t{domain} << 33) | (kind << 32) | (id & 0xFFFFFFFFU);
}

std::size_t first_slot(std::uint64_t key) noexcept { return (key * 0x9E3779B97F4A7C15U) >> 54; }
static_assert(std::tuple_size_v<decltype(slots)> == 1U << 10);

const payload_layout* find(std::uint64_t key) noexcept {
    std::size_t slot = first_slot(key);
    for (std::size_t i = 0; i < slots.size(); ++i, slot = (slot + 1) % slots.size()) {
        // acquire: pairs with keep()'s release.
        const std::uint64_t found = slots[slot].key.load(std::memory_order_acquire);
        if (found == key) return &slots[slot].layout;
        // relaxed: a schema that is being registered just now may be missed once.
        if (found == 0 && !slots[slot].is_taken.load(std::memory_order_relaxed)) return nullptr;
    }
    return nullptr;
}

bool keep(std::uint64_t key, const payload_layout& layout) noexcept {
    std::size_t slot = first_slot(key);
    for (std::size_t i = 0; i < slots.size(); ++i, slot = (slot + 1) % slots.size()) {
        if (slots[slot].is_taken.exchange(true)) continue;
        slots[slot].layout = layout;
        // release: a reader that sees the key sees the layout.
        slots[slot].key.store(key, std::memory_order_release);
        return true;
    }
    return false;
}

}  // namespace

std::uint64_t register_payload_schema(std::uint32_t domain, const nvtxPayloadSchemaAttr_t& schema) noexcept {
    constexpr std::uint64_t needed =
        NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES;
    if ((schema.fieldMask & needed) != needed || schema.entries == nullptr) return 0;
    std::uint64_t id = (schema.fieldMask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID) != 0 ? schema.schemaId : 0;
    if (id == 0) {
        // relaxed: only has to be unique.
        id = NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START + next_dynamic_id.fetch_add(1, std::memory_order_relaxed);
    }
    const payload_layout layout = layout_of(schema);
    const std::uint64_t key = key_of(domain, id);
    if (!layout.is_empty() && find(key) == nullptr && !keep(key, layout)) {
        if (region* where = installed_region()) where->count_drop(drop_cause::labels_full);
    }
    return id;
}

payload_content read_payload(std::uint32_t domain, const nvtxPayloadData_t& data) noexcept {
    if (data.payload == nullptr) return {};
    const payload_layout* layout = find(key_of(domain, data.schemaId));
    return layout == nullptr ? payload_content{} : read_payload(*layout, data);
}

}  // namespace prof
