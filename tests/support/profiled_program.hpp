// SPDX-License-Identifier: Apache-2.0
// Runs the program of a test with libprof in it, on the simulated GPU, and reads what it recorded. For the tests that
// session_test() makes (session/CMakeLists.txt): it says which program, library and simulated CUPTI.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "support/run_process.hpp"
#include "timeline/load.hpp"

namespace prof::test {

// How libprof gets into a program: before all other libraries, by NVTX and CUDA, or by the program itself.
enum class way_in { preloaded, injected, its_own };

// A base of fixtures, beside testing::Test.
class profiled_program {
public:
    using environment = std::map<std::string, std::string>;  // an empty value removes a variable

    // `always`: what each run of the fixture has beyond the usual.
    explicit profiled_program(way_in how = way_in::preloaded, environment always = {})
        : how_(how), always_(std::move(always)) {}

    scratch_directory scratch;

    // `more` on top of what each run has: captures and rings below `scratch`, no exports, and a clock of the simulated
    // GPU that goes on with its work only.
    environment with(environment more = {}) const {
        const std::string injected = how_ == way_in::injected ? PROF_TEST_LIBRARY : "";
        more.insert(always_.begin(), always_.end());
        more.insert({{"PROF_OUTPUT_DIR", scratch.path + "/captures"},
                     {"PROF_CUPTI_LIBRARY", PROF_TEST_FAKE_CUPTI},
                     {"PROF_RINGS", scratch.path},
                     {"PROF_EXPORT", "none"},
                     {"FAKE_GPU_CLOCK", "virtual"},
                     {"LD_PRELOAD", how_ == way_in::preloaded ? PROF_TEST_LIBRARY : ""},
                     {"CUDA_INJECTION64_PATH", injected},
                     {"NVTX_INJECTION64_PATH", injected}});
        return more;
    }

    process_result run(std::vector<std::string> arguments, environment more = {}) const {
        arguments.insert(arguments.begin(), PROF_TEST_VICTIM);
        return run_process(arguments, with(std::move(more)), scratch.path);
    }

    // By the names of their files.
    std::vector<timeline> all_captures() const {
        std::vector<timeline> out;
        for (const std::string& path : scratch.files(".prof")) out.push_back(load_timeline(path));
        return out;
    }
    // "" if there is not exactly one.
    std::string path_of_capture() const {
        const std::vector<std::string> found = scratch.files(".prof");
        EXPECT_EQ(found.size(), 1U);
        return found.size() == 1 ? found.front() : std::string();
    }
    timeline only_capture() const {
        const std::string path = path_of_capture();
        return path.empty() ? timeline() : load_timeline(path);
    }

private:
    way_in how_;
    environment always_;
};

}  // namespace prof::test
