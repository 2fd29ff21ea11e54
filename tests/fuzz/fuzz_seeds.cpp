// fuzz_seeds FOLDER: a whole capture, a deflated one, and the rings of a process in its midst, for the fuzzers to
// start from. FOLDER/captures and FOLDER/rings are made anew.
#include <cstdio>
#include <exception>
#include <filesystem>

#include "capture/sample_capture.hpp"
#include "ring/producer.hpp"
#include "ring/region.hpp"

namespace {

void write_capture(const std::filesystem::path& path, bool deflate) {
    prof::capture_writer_options options;
    options.deflate = deflate;
    prof::capture_writer writer(path.string(), options);
    prof::test::write_sample(writer);
}

void write_rings(const std::filesystem::path& folder) {
    prof::region_options options;
    options.place = folder.string();
    options.large_ring_bytes = 512;
    options.large_rings = 2;
    options.small_ring_bytes = 128;
    options.medium_rings = 0;
    options.small_rings = 1;
    options.name_bytes = 512;
    options.name_slots = 16;
    options.label_capacity = 4;
    prof::region rings(options);
    rings.publish();
    rings.add_label(prof::label_kind::domain, 1, rings.intern("data"));
    for (std::uint32_t tid = 1; tid <= 3; ++tid) {
        prof::producer out;
        out.attach(rings, *rings.claim_ring(tid), 1);
        for (int i = 0; i < 3; ++i) out.write({.name = rings.intern("step"), .kind = prof::record_kind::mark});
    }
    rings.rings()[0].counters.tail = 2;
    std::filesystem::copy_file(rings.path(), folder / "seed.rings");
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc != 2) return 2;
    const std::filesystem::path folder = argv[1];
    for (const char* part : {"captures", "rings"}) {
        std::filesystem::remove_all(folder / part);
        std::filesystem::create_directories(folder / part);
    }
    write_capture(folder / "captures" / "plain.prof", false);
    write_capture(folder / "captures" / "deflated.prof", true);
    write_rings(folder / "rings");
    return 0;
} catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 1;
}
