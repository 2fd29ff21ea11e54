// SPDX-License-Identifier: Apache-2.0
// cupti_conformance: an independent CUPTI client that runs a fixed scenario and writes what it saw, in order and
// content, to stdout. The same source runs on a real GPU and on the simulated one; compare_logs.py compares the two.
//
//   cupti_conformance --list             the sections' names
//   cupti_conformance SECTION [LIBCUPTI] one section
#include <cstdio>
#include <cstring>

#include "cupti_functions.hpp"
#include "sections.hpp"

int main(int argc, char** argv) {
    if (argc < 2) {
        std::fprintf(stderr, "usage: cupti_conformance --list | SECTION [LIBCUPTI]\n");
        return 2;
    }
    if (std::strcmp(argv[1], "--list") == 0) {
        for (const auto& [name, run] : sections()) {
            std::printf("%s\n", name.c_str());
        }
        return 0;
    }
    for (const auto& [name, run] : sections()) {
        if (name == argv[1]) {
            load_cupti(argc > 2 ? argv[2] : nullptr);
            run();
            return 0;
        }
    }
    std::fprintf(stderr, "cupti_conformance: no section %s\n", argv[1]);
    return 2;
}
