// Any bytes as the rings of a process that died, behind a header that is accepted.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "capture/capture_files.hpp"
#include "capture/payload.hpp"
#include "capture/recovery.hpp"
#include "ring/region_layout.hpp"

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
    }
    file.hold(bytes);
    recovery_basis basis;
    basis.rings_path = file.path();
    basis.next_number[1] = 3;
    const recovery found = recover_rings(id, basis);
    if (found.outcome.empty()) std::abort();
    for (const recovered_chunk& recovered : found.chunks) {
        const chunk c = recovered.view();
        if (!well_formed(c.type, c.payload)) std::abort();
    }
    return 0;
}
