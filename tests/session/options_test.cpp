#include "session/options.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace prof {
namespace {

TEST(Options, TakeEveryNameOfTheTable) {
    session_options out;
    EXPECT_EQ(set_option(out, "output_dir", "/tmp/x"), "");
    EXPECT_EQ(out.output_dir, "/tmp/x");
    EXPECT_EQ(set_option(out, "ring_bytes", "64K"), "");
    EXPECT_EQ(out.ring_bytes, 65536U);
    EXPECT_EQ(set_option(out, "name_bytes", "3M"), "");
    EXPECT_EQ(out.name_bytes, 3U << 20);
    EXPECT_EQ(set_option(out, "export", "summary"), "");
    EXPECT_FALSE(out.export_trace);
    EXPECT_TRUE(out.export_summary);
    EXPECT_EQ(set_option(out, "export", "none"), "");
    EXPECT_FALSE(out.export_summary);
    EXPECT_EQ(set_option(out, "export", "trace,summary"), "");
    EXPECT_TRUE(out.export_trace && out.export_summary);
    for (const char* what : {"ranges", "ops", "off"}) {
        EXPECT_EQ(set_option(out, "pytorch", what), "");
        EXPECT_EQ(out.pytorch, what);
    }
    EXPECT_EQ(set_option(out, "nvtx_domain_exclude", "NCCL,cu*"), "");
    EXPECT_EQ(out.nvtx_domain_exclude, "NCCL,cu*");
}

TEST(Options, RefuseBadValuesAndNameTheAcceptedOnes) {
    const std::pair<const char*, const char*> bad[] = {
        {"ring_bytes", "100"},
        {"ring_bytes", "3000K"},
        {"ring_bytes", "-1"},
        {"ring_bytes", "64Q"},
        {"ring_bytes", "1Mx"},
        {"name_bytes", ""},
        {"buffer_bytes", "1"},
        {"compress", "yes"},
        {"autostart", ""},
        {"export", "pdf"},
        {"export", "trace,,"},
        {"rank", "one"},
        {"rank", "-1"},
        {"cuda_graphs", "edges"},
        {"name", "a/b"},
        {"name", "a\nb"},
        {"output_dir", ""},
        {"pytorch", "all"},
        {"pytorch", ""},
        {"name_bytes", "99999999999999999999"},
        {"ring_bytes", "17179869184G"},
        {"nvtx_domain_include", "a,,b"},
        {"nvtx_domain_exclude", ""},
        {"schedule", "wait=1"},
        {"step_range", "@domain"},
        {"capture_range", "cudaprofilerapi"},
        {"nvtx_capture", ""},
        {"steps", "9-8"},
        {"capture_range_end", "repeat-shutdown:2"},
        {"export_each", "cycle"},
    };
    for (const auto& [name, value] : bad) {
        session_options out;
        const session_options before = out;
        const std::string line = set_option(out, name, value);
        EXPECT_NE(line.find("it takes "), std::string::npos) << name << "=" << value << ": " << line;
        EXPECT_EQ(line.find('\n', line.find("it takes")), std::string::npos);
        EXPECT_EQ(out.ring_bytes, before.ring_bytes);
    }
}

TEST(Options, NameAllOptionsWhenOneIsUnknown) {
    session_options out;
    const std::string line = set_option(out, "colour", "red");
    EXPECT_NE(line.find("there is no option \"colour\""), std::string::npos);
    for (const option& known : option_table()) EXPECT_NE(line.find(std::string(known.name)), std::string::npos);
}

TEST(Options, ComeFromTheEnvironmentAndBadOnesKeepTheDefault) {
    setenv("PROF_OUTPUT_DIR", "/somewhere", 1);
    setenv("PROF_RING_BYTES", "many", 1);
    setenv("PROF_UNRELATED", "of another program", 1);
    std::string complaint;
    const session_options out = options_from_environment(complaint);
    EXPECT_EQ(out.output_dir, "/somewhere");
    EXPECT_EQ(out.ring_bytes, session_options{}.ring_bytes);
    EXPECT_EQ(complaint, "PROF_RING_BYTES: \"many\" is not accepted; it takes a power of two from 4K to 64M");
    unsetenv("PROF_OUTPUT_DIR");
    unsetenv("PROF_RING_BYTES");
    unsetenv("PROF_UNRELATED");
}

}  // namespace
}  // namespace prof
