// SPDX-License-Identifier: Apache-2.0
#include "capture/recovery/unwritten.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

#include "capture/chunk_header.hpp"
#include "capture/payload.hpp"
#include "ring/region_layout.hpp"

namespace prof {
namespace {

constexpr std::uint64_t most_writing_bytes = sizeof(format::chunk_header) + format::largest_chunk_bytes;

template <typename TField>
TField field(const input_file& file, std::uint64_t offset) {
    TField value{};
    const auto bytes = std::as_writable_bytes(std::span{&value, 1});
    return file.read(offset, bytes) == bytes.size() ? value : TField{};
}

// Copies the payload if it matches its header. `room`: the size of the buffer in which the chunk was assembled.
bool copy_payload(const format::chunk_header& header, std::span<const std::byte> stored, std::size_t room,
                  recovered_chunk& out) {
    if (crc32_of(stored) != header.payload_crc32 || header.raw_bytes > room) return false;
    const auto type = static_cast<format::chunk_type>(header.type);
    if (!is_known(type) || (header.flags & ~format::chunk_deflated) != 0) return false;
    out = {type, header.aux, {}, header.raw_bytes};
    out.words.resize(chunk_place(header.raw_bytes) / sizeof(std::uint64_t));
    const auto payload = std::as_writable_bytes(std::span{out.words}).first(header.raw_bytes);
    if ((header.flags & format::chunk_deflated) != 0) {
        if (!inflate_exactly(stored, payload)) return false;
    } else {
        std::copy(stored.begin(), stored.end(), payload.begin());
    }
    return well_formed(type, payload);
}

}  // namespace

unwritten_chunks read_unwritten(const input_file& rings, const recovery_basis& contents) {
    unwritten_chunks out;
    const auto offset = field<std::uint64_t>(rings, offsetof(region_header, writing_offset));
    const auto room = field<std::uint32_t>(rings, offsetof(region_header, writing_bytes));
    if (room > most_writing_bytes || offset > rings.size() || room > rings.size() - offset) return out;
    const auto number = field<std::uint32_t>(rings, offset + offsetof(writing_header, capture_number));
    if (room == 0 || number != contents.number) return out;
    std::vector<std::byte> copied(
        std::min<std::uint64_t>(room, field<std::uint64_t>(rings, offset + offsetof(writing_header, bytes))));
    if (rings.read(offset + sizeof(writing_header), copied) < copied.size()) return out;

    // In a running process other chunks may be there by now; then a checksum fails or the sequence numbers do not
    // continue.
    std::uint32_t next = contents.next_sequence;
    for (std::span<const std::byte> rest = copied;;) {
        const auto header = chunk_header_in(rest);
        if (!header || !has_possible_lengths(*header) || header->sequence > next) break;
        const std::size_t bytes = sizeof *header + header->stored_bytes;
        if (bytes > rest.size()) break;
        if (header->sequence == next) {
            recovered_chunk made;
            if (!copy_payload(*header, rest.first(bytes).subspan(sizeof *header), room, made)) break;
            out.has_next = true;
            if (made.type == format::chunk_type::end) break;
            out.chunks.push_back(std::move(made));
            ++next;
        }
        rest = rest.subspan(std::min<std::size_t>(chunk_place(bytes), rest.size()));
    }
    return out;
}

}  // namespace prof
