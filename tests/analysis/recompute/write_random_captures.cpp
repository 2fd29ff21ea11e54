// SPDX-License-Identifier: Apache-2.0
// write_random_captures FOLDER FIRST LAST: for each seed FOLDER/SEED.prof and, in SEED.json, what is in it.
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>

#include "analysis/recompute/random_capture.hpp"

int main(int argc, char** argv) try {
    if (argc != 4) return 2;
    for (unsigned long seed = std::stoul(argv[2]); seed <= std::stoul(argv[3]); ++seed) {
        const prof::test::random_capture made(static_cast<std::uint32_t>(seed));
        const std::string stem = std::string{argv[1]} + '/' + std::to_string(seed);
        made.write(stem + ".prof");
        std::ofstream(stem + ".json") << made.description().dump();
    }
    return 0;
} catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 1;
}
