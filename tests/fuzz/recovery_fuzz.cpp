// SPDX-License-Identifier: Apache-2.0
// Any bytes as the rings of a process that died, behind a header that is accepted.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>

#include "capture/capture_files.hpp"
#include "capture/payload.hpp"
#include "capture/recovery/recovery.hpp"
#include "fuzz/changed_number.hpp"
#include "ring/region_layout.hpp"

namespace {

void check(bool holds) {
    if (!holds) std::abort();
}

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
    if (seed % 2 == 0) return LLVMFuzzerMutate(data, size, most);
    std::minstd_rand random(seed / 2);
    prof::test::change_number(data, size, random);
    return size;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace prof;
    using namespace prof::test;
    static const memory_file file;
    constexpr std::array<std::uint8_t, 16> id{};

    byte_string bytes(data, data + size);
    if (size >= sizeof(region_header)) {
        put_at(bytes, offsetof(region_header, magic), region_magic);
        put_at(bytes, offsetof(region_header, version), region_version);
        put_at(bytes, offsetof(region_header, header_bytes), std::uint32_t{sizeof(region_header)});
        put_at(bytes, offsetof(region_header, id), id);
        put_at(bytes, offsetof(region_header, capture_number), std::uint32_t{7});
        const auto writing = value_at<std::uint64_t>(bytes, offsetof(region_header, writing_offset));
        if (writing < size && size - writing >= sizeof(writing_header)) {
            put_at(bytes, writing + offsetof(writing_header, capture_number), std::uint32_t{7});
        }
    }
    file.hold(bytes);
    recovery_basis basis;
    basis.rings_path = file.path();
    basis.next_number[1] = 3;
    basis.number = 7;
    const recovery found = recover_rings(id, basis);
    check(!found.outcome.empty());
    std::size_t kept = 0;
    std::size_t records = 0;
    for (const recovered_chunk& recovered : found.chunks) {
        const chunk c = recovered.view();
        check(well_formed(c.type, c.payload));
        kept += c.payload.size();
        if (c.type == format::chunk_type::records) records += records_of(c.payload).records.size();
    }
    check(kept <= (1U << 20) + 2 * size + sizeof(format::drop_entry) * drop_cause_count);
    // A ring gives each of its slots once.
    check(records <= size / sizeof(ring_header) * (size / sizeof(record)));
    return 0;
}
