// SPDX-License-Identifier: Apache-2.0
// Runs scenes of a victim without libprof and with it: status and output are to be the same.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "support/profiled_program.hpp"

namespace prof::test {

class bare_and_profiled : public testing::Test, public profiled_program {
protected:
    static int exited(int code) { return code << 8; }

    process_result run(const std::string& scene, bool with_libprof, environment e = {}) const {
        std::filesystem::create_directory(folder(with_libprof));
        e.insert({{"FAKE_GPU_CLOCK", ""}, {"LD_PRELOAD", with_libprof ? PROF_TEST_LIBRARY : ""}});
        return run_process({PROF_TEST_VICTIM, scene}, with(e), folder(with_libprof));
    }

    // Says what libprof wrote to stderr.
    std::string same_with_and_without(const std::string& scene, int status, const environment& e = {}) const {
        const process_result without = run(scene, false, e);
        const process_result with = run(scene, true, e);
        constexpr int core_was_dumped = 0x80;
        EXPECT_EQ(without.status & ~core_was_dumped, status) << without.err;
        EXPECT_EQ(with.status, without.status) << with.err;
        EXPECT_EQ(with.out, without.out);
        EXPECT_EQ(without.err, "");
        expect_one_line_at_most(with.err);
        return with.err;
    }
    static void expect_one_line_at_most(const std::string& text) {
        EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 1) << text;
    }

    // Where the scene runs.
    std::string folder(bool with_libprof) const { return scratch.path + (with_libprof ? "/with" : "/without"); }

    std::vector<timeline> captured(std::size_t expected) const {
        std::vector<timeline> out = all_captures();
        EXPECT_EQ(out.size(), expected);
        out.resize(expected);
        return out;
    }
};

}  // namespace prof::test
