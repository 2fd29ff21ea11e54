// SPDX-License-Identifier: Apache-2.0
// Launches known work under known ranges, and writes down what it knows: tests/gpu/check_truth.py compares that with
// what libprof reports of the same process.
//
//   truth --journal FILE [SECTION…]
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "scenario.hpp"

int main(int argc, char** argv) {
    std::string path;
    std::vector<std::string> wanted;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (word == "--journal" && i + 1 < argc) {
            path = argv[++i];
        } else {
            wanted.push_back(word);
        }
    }
    const std::vector<std::string>& known = truth::section_names();
    const bool all_known = std::all_of(wanted.begin(), wanted.end(), [&](const std::string& name) {
        return std::find(known.begin(), known.end(), name) != known.end();
    });
    if (path.empty() || !all_known) {
        std::fprintf(stderr, "usage: truth --journal FILE [SECTION...]\nsections:");
        for (const std::string& name : known) std::fprintf(stderr, " %s", name.c_str());
        std::fprintf(stderr, "\n");
        return 2;
    }
    if (wanted.empty()) wanted = known;
    truth::journal out;
    const std::vector<std::string> carried_out = truth::run_sections(wanted, out);
    if (!out.write(path, truth::machine(), carried_out)) return 1;
    std::printf("%zu sections on %s\n", carried_out.size(), truth::machine().c_str());
    return 0;
}
