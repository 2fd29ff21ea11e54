// SPDX-License-Identifier: Apache-2.0
// write_sample_capture FILE [deflate]: the sample capture as a file, for other readers than libprof's.
#include <cstdio>
#include <exception>
#include <string_view>

#include "capture/sample_capture.hpp"

int main(int argc, char** argv) try {
    if (argc < 2) return 2;
    prof::capture_writer_options options;
    options.deflate = argc > 2 && std::string_view{argv[2]} == "deflate";
    for (std::uint8_t i = 0; i < 16; ++i) options.id[i] = i;
    prof::capture_writer writer(argv[1], options);
    prof::test::write_sample(writer);
    return writer.failed() ? 1 : 0;
} catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 1;
}
