// SPDX-License-Identifier: Apache-2.0
// Texts as `perf script` of perf 6.1 writes them, with and without -F and call chains.
#include "timeline/perf_samples.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace prof::perf_samples_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> shown(const perf_samples& of) {
    std::vector<std::string> out;
    for (const perf_sample& sample : of.samples) {
        const perf_function& in = of.functions[sample.function];
        out.push_back(std::to_string(sample.tid) + " " + std::to_string(sample.monotonic_ns) + " " + in.name + " | " +
                      in.file);
    }
    return out;
}

TEST(PerfSamples, AreLinesWithTheChosenFields) {
    const perf_samples of = read_perf_script(
        "# a comment\n"
        "  4242  5678.123456789:      7f12ab34 forward(Tensor const&)+0x1f (/usr/lib/libtorch.so)\n"
        "  4243  5678.000001:  ffffffff81041234 native_write_msr ([kernel.kallsyms])\n"
        "  4243  5679.5:           55aa [unknown] ([unknown])\n"
        "  4242  5680.123456789:      7f12ab38 forward(Tensor const&)+0x23 (/usr/lib/libtorch.so)\r\n");
    EXPECT_THAT(shown(of), ElementsAre("4242 5678123456789 forward(Tensor const&) | /usr/lib/libtorch.so",
                                       "4243 5678000001000 native_write_msr | [kernel.kallsyms]",
                                       "4243 5679500000000 [unknown] | ",
                                       "4242 5680123456789 forward(Tensor const&) | /usr/lib/libtorch.so"));
    EXPECT_EQ(of.functions.size(), 3U);
    EXPECT_EQ(of.not_read, 0U);
}

TEST(PerfSamples, AreLinesWithAllFields) {
    const perf_samples of = read_perf_script(
        "python3 -m x 10/4242 [003] 5678.1:     250000 cpu-clock:u:      7f12 std::vector<int>::size() const+0x1 (/a b "
        "(c)/d)\n"
        "python3  4243 5678.2: cycles: 7f13 main+0x1 (/bin/x)\n");
    EXPECT_THAT(shown(of), ElementsAre("4242 5678100000000 std::vector<int>::size() const | /a b (c)/d",
                                       "4243 5678200000000 main | /bin/x"));
}

TEST(PerfSamples, OfAChainAreItsInnermostFrame) {
    const perf_samples of = read_perf_script(
        "python3  4242 5678.1:     250000 cpu-clock:u: \n"
        "\t    7f12 memcpy+0x1 (/lib/libc.so.6)\n"
        "\t    7f13 main+0x1 (/bin/x)\n"
        "\n"
        "4242 5678.2: \n"
        "\t    7f13 main+0x1 (/bin/x)\n"
        "\n"
        "4242 5678.3: \n"
        "\n"
        "\t    7f13 main+0x1 (/bin/x)\n");
    EXPECT_THAT(shown(of),
                ElementsAre("4242 5678100000000 memcpy | /lib/libc.so.6", "4242 5678200000000 main | /bin/x"));
}

TEST(PerfSamples, AnythingElseIsCounted) {
    EXPECT_THAT(shown(read_perf_script("")), IsEmpty());
    const perf_samples of = read_perf_script(
        "{\"traceEvents\": []}\n4242 x: 7f12 main (/bin/x)\n4242 5.1234567890: 7f12 main (/bin/x)\n99999999999 5.1: 7f "
        "a (b)\n"
        "5.1: 7f a (b)\n7f12 main (/bin/x)\n");
    EXPECT_THAT(of.samples, IsEmpty());
    EXPECT_EQ(of.not_read, 6U);
}

}  // namespace
}  // namespace prof::perf_samples_test
