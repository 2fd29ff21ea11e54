// Any bytes as a capture: as they are, and with every checksum made right, so that what lies behind the checksums is
// reached too. Whatever is delivered must have the form of its type.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "capture/capture_files.hpp"
#include "capture/payload.hpp"
#include "capture/reader.hpp"
#include "fuzz/sealed_captures.hpp"
#include "record/error.hpp"

namespace {

using namespace prof;
using namespace prof::test;

void check(bool holds) {
    if (!holds) std::abort();
}

void read(const memory_file& file, std::size_t size) {
    try {
        capture_reader reader(file.path());
        chunk next;
        std::size_t chunks = 0;
        while (reader.next(next)) {
            check(well_formed(next.type, next.payload));
            check(reinterpret_cast<std::uintptr_t>(next.payload.data()) % 8 == 0);
            check(next.payload.size() <= format::largest_chunk_bytes);
            chunks += next.recovered ? 0 : 1;
        }
        check(reader.damage().bytes <= size);
        check(chunks * sizeof(format::chunk_header) <= size);
        check((reader.damage().bytes == 0) == reader.damage().first.empty());
    } catch (const error&) {
    }
}

}  // namespace

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
