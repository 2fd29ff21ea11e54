#include "hooks/nvtx/payload_schemas.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "ring/registry.hpp"

namespace prof {
namespace {

// A whole number inside a payload. Width 0: none.
struct number_field {
    std::uint64_t offset = 0;
    std::uint8_t width = 0;
    bool is_signed = false;
};

// Width 0: no whole number of two bytes or more.
number_field number_of_type(std::uint64_t type) noexcept {
    switch (type) {
        case NVTX_PAYLOAD_ENTRY_TYPE_USHORT:
        case NVTX_PAYLOAD_ENTRY_TYPE_UINT16:
            return {0, 2, false};
        case NVTX_PAYLOAD_ENTRY_TYPE_SHORT:
        case NVTX_PAYLOAD_ENTRY_TYPE_INT16:
            return {0, 2, true};
        case NVTX_PAYLOAD_ENTRY_TYPE_UINT:
        case NVTX_PAYLOAD_ENTRY_TYPE_UINT32:
            return {0, 4, false};
        case NVTX_PAYLOAD_ENTRY_TYPE_INT:
        case NVTX_PAYLOAD_ENTRY_TYPE_INT32:
            return {0, 4, true};
        case NVTX_PAYLOAD_ENTRY_TYPE_ULONG:
        case NVTX_PAYLOAD_ENTRY_TYPE_ULONGLONG:
        case NVTX_PAYLOAD_ENTRY_TYPE_UINT64:
        case NVTX_PAYLOAD_ENTRY_TYPE_SIZE:
            return {0, 8, false};
        case NVTX_PAYLOAD_ENTRY_TYPE_LONG:
        case NVTX_PAYLOAD_ENTRY_TYPE_LONGLONG:
        case NVTX_PAYLOAD_ENTRY_TYPE_INT64:
            return {0, 8, true};
        default:
            return {};
    }
}

// 0: not known here (a nested schema, an array).
std::uint64_t size_of_entry(const nvtxPayloadSchemaEntry_t& entry) noexcept {
    if ((entry.flags & NVTX_PAYLOAD_ENTRY_FLAG_POINTER) != 0) return sizeof(void*);
    if ((entry.flags & (7U << 4)) != 0) return 0;
    if (const number_field number = number_of_type(entry.type); number.width != 0) return number.width;
    switch (entry.type) {
        case NVTX_PAYLOAD_ENTRY_TYPE_CHAR:
        case NVTX_PAYLOAD_ENTRY_TYPE_UCHAR:
        case NVTX_PAYLOAD_ENTRY_TYPE_INT8:
        case NVTX_PAYLOAD_ENTRY_TYPE_UINT8:
        case NVTX_PAYLOAD_ENTRY_TYPE_BYTE:
            return 1;
        case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT:
        case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT32:
            return 4;
        case NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE:
        case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT64:
        case NVTX_PAYLOAD_ENTRY_TYPE_ADDRESS:
            return 8;
        default:
            return 0;
    }
}

bool says_bytes(const char* name) noexcept {
    constexpr std::string_view word = "bytes";
    const std::string_view text = name == nullptr ? std::string_view{} : std::string_view{name};
    const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + ('a' - 'A') : a) == b; };
    return std::search(text.begin(), text.end(), word.begin(), word.end(), same) != text.end();
}

// Offsets need not be given: then fields lie as in a C struct.
number_field find_bytes(const nvtxPayloadSchemaAttr_t& schema) noexcept {
    const std::uint64_t pack =
        (schema.fieldMask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ALIGNMENT) != 0 ? schema.packAlign : 0;
    std::uint64_t end = 0;  // of the field before; UINT64_MAX: not known
    for (std::size_t i = 0; i < schema.numEntries; ++i) {
        const nvtxPayloadSchemaEntry_t& entry = schema.entries[i];
        const std::uint64_t size = size_of_entry(entry);
        std::uint64_t offset = entry.offset;
        if (offset == 0 && end != 0) {
            const std::uint64_t alignment = std::max<std::uint64_t>(pack == 0 ? size : std::min(pack, size), 1);
            offset = end == UINT64_MAX ? UINT64_MAX : (end + alignment - 1) / alignment * alignment;
        }
        number_field number = number_of_type(entry.type);
        if (number.width != 0 && entry.flags == 0 && offset != UINT64_MAX && says_bytes(entry.name)) {
            number.offset = offset;
            return number;
        }
        end = size == 0 || offset == UINT64_MAX ? UINT64_MAX : offset + size;
    }
    return {};
}

// `key` is stored last (release): while it is 0 the slot is empty or being filled.
struct slot {
    std::atomic<bool> is_taken{false};
    std::atomic<std::uint64_t> key{0};
    number_field field;
};
std::array<slot, 1024> slots;
std::atomic<std::uint32_t> next_dynamic_id{1};

// Ids the client chose are below 2^32 and one domain's; those made up are above, and every domain's alike.
std::uint64_t key_of(std::uint32_t domain, std::uint64_t id) noexcept {
    const std::uint64_t kind = id >= NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START ? 1 : 0;
    return (std::uint64_t{domain} << 33) | (kind << 32) | (id & 0xFFFFFFFFU);
}

std::size_t first_slot(std::uint64_t key) noexcept { return (key * 0x9E3779B97F4A7C15U) >> 54; }
static_assert(std::tuple_size_v<decltype(slots)> == 1U << 10);

const number_field* find(std::uint64_t key) noexcept {
    std::size_t at = first_slot(key);
    for (std::size_t i = 0; i < slots.size(); ++i, at = (at + 1) % slots.size()) {
        // acquire: pairs with keep()'s release.
        const std::uint64_t found = slots[at].key.load(std::memory_order_acquire);
        if (found == key) return &slots[at].field;
        // relaxed: what is being put here just now may be missed once.
        if (found == 0 && !slots[at].is_taken.load(std::memory_order_relaxed)) return nullptr;
    }
    return nullptr;
}

bool keep(std::uint64_t key, const number_field& field) noexcept {
    std::size_t at = first_slot(key);
    for (std::size_t i = 0; i < slots.size(); ++i, at = (at + 1) % slots.size()) {
        if (slots[at].is_taken.exchange(true)) continue;
        slots[at].field = field;
        // release: the field is seen with its key.
        slots[at].key.store(key, std::memory_order_release);
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
    const number_field field = find_bytes(schema);
    const std::uint64_t key = key_of(domain, id);
    if (field.width != 0 && find(key) == nullptr && !keep(key, field)) {
        if (region* where = installed_region()) where->count_drop(drop_cause::labels_full);
    }
    return id;
}

bool read_payload_bytes(std::uint32_t domain, const nvtxPayloadData_t& data, std::uint64_t& bytes) noexcept {
    if (data.payload == nullptr) return false;
    const number_field* field = find(key_of(domain, data.schemaId));
    if (field == nullptr) return false;
    // SIZE_MAX: the client does not say how long the payload is.
    if (data.size != SIZE_MAX && (data.size < field->width || data.size - field->width < field->offset)) return false;
    std::uint64_t value = 0;
    std::memcpy(&value, static_cast<const std::byte*>(data.payload) + field->offset, field->width);
    const std::uint64_t sign = std::uint64_t{1} << (8 * field->width - 1);
    if (field->is_signed && (value & sign) != 0) return false;  // no number of bytes
    bytes = value;
    return true;
}

}  // namespace prof
