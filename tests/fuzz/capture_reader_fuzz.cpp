// SPDX-License-Identifier: Apache-2.0
// Any bytes as a capture: as they are, and with every checksum made right, so that what lies behind the checksums is
// reached too. Whatever is delivered must have the form of its type.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "base/error.hpp"
#include "capture/capture_files.hpp"
#include "capture/payload.hpp"
#include "capture/reader.hpp"
#include "fuzz/sealed_captures.hpp"

namespace {

using namespace prof;
using namespace prof::test;

void check(bool holds) {
    if (!holds) std::abort();
}

// What is read out of a payload lies in it.
void check_texts(const chunk& read) {
    const auto check_inside = [&](std::string_view text) {
        const auto begin = std::as_bytes(std::span{text}).data() - read.payload.data();
        check(begin >= 0 && static_cast<std::size_t>(begin) + text.size() <= read.payload.size());
    };
    if (read.type == format::chunk_type::names) {
        check(for_each_name(read.payload, [&](std::uint32_t, std::string_view text) { check_inside(text); }));
    } else if (read.type == format::chunk_type::properties) {
        check(for_each_property(read.payload, [&](std::string_view key, std::string_view value) {
            check_inside(key);
            check_inside(value);
        }));
    }
}

// The chunks that the file gives, from its beginning to its end.
std::size_t read_once(capture_reader& reader, std::size_t size) {
    chunk next;
    std::size_t chunks = 0;
    std::size_t recovered = 0;
    std::uint64_t delivered = 0;
    while (reader.next(next)) {
        check(well_formed(next.type, next.payload));
        check_texts(next);
        check(reinterpret_cast<std::uintptr_t>(next.payload.data()) % 8 == 0);
        check(next.payload.size() <= format::largest_chunk_bytes);
        delivered += next.payload.size();
        (next.recovered ? recovered : chunks) += 1;
    }
    check(delivered <= size + format::most_inflated_bytes(size));
    check(reader.damage().bytes <= size);
    check(chunks * sizeof(format::chunk_header) <= size);
    check((reader.damage().bytes == 0) == reader.damage().first.empty());
    check(reader.where_to_append().offset <= (size + 7) / 8 * 8 && reader.where_to_append().offset % 8 == 0);
    return chunks + recovered;
}

void read(const memory_file& file, std::size_t size) {
    try {
        capture_reader reader(file.path());
        const std::size_t chunks = read_once(reader, size);
        const capture_damage damage = reader.damage();
        reader.rewind();
        check(read_once(reader, size) == chunks);
        check(reader.damage().bytes == damage.bytes && reader.damage().chunks == damage.chunks);
        for (const auto& [type, bytes] : reader.payload_bytes_hints()) check(bytes <= 4 * size);
    } catch (const error&) {
    }
}

}  // namespace

// As any bytes, or chunk by chunk: a payload of another length has it in both of its header's fields.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
    return seed % 2 == 0 ? LLVMFuzzerMutate(data, size, most) : mutate_capture_in_place(data, size, most, seed / 2);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const memory_file file;
    byte_string bytes(data, data + size);
    file.hold(bytes);
    read(file, size);
    seal(bytes);
    file.hold(bytes);
    read(file, size);
    return 0;
}
