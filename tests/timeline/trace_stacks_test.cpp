// SPDX-License-Identifier: Apache-2.0
// The Python functions of traces made with with_stack: names as PyTorch 2.11 writes them, and stacks worked by hand.
#include "timeline/kineto/trace_stacks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "support/scratch_directory.hpp"
#include "timeline/load.hpp"

namespace prof::trace_stacks_test {
namespace {

using testing::UnorderedElementsAre;

std::string shown(std::string_view name) {
    const std::optional<trace_function> found = function_in_trace(name);
    if (!found) return "none";
    std::string out = found->name;
    out.replace(out.find('\n'), 1, " | ");
    return out + (found->is_library ? " | library" : "");
}

TEST(TraceFunctions, AreNamedAsInPython) {
    EXPECT_EQ(shown("ws.py(8): train"), "train (from line 8) | ws.py");
    EXPECT_EQ(shown("model/gpt (copy).py(120): forward"), "forward (from line 120) | model/gpt (copy).py");
    EXPECT_EQ(shown("/home/me/run.py(1): <module>"), "<module> (from line 1) | /home/me/run.py");
    EXPECT_EQ(shown("torch/nn/modules/module.py(1783): _call_impl"),
              "_call_impl | torch/nn/modules/module.py | library");
    EXPECT_EQ(shown("/venv/lib/python3.12/site-packages/mine/a.py(3): f"),
              "f | /venv/lib/python3.12/site-packages/mine/a.py | library");
    EXPECT_EQ(shown("typing.py(2119): cast"), "cast | typing.py | library");
    EXPECT_EQ(shown("typings.py(7): cast"), "cast (from line 7) | typings.py");
    EXPECT_EQ(shown("<built-in method item of Tensor object at 0x7f641d4905a0>"), "Tensor.item |  | library");
    EXPECT_EQ(shown("<built-in method run_backward of torch._C._EngineBase object at 0x7f64>"),
              "_EngineBase.run_backward |  | library");
    EXPECT_EQ(shown("<built-in method empty of type object at 0x7f64c6b3e180>"), "empty |  | library");
    EXPECT_EQ(shown("<built-in function sleep>"), "sleep |  | library");
    for (const char* odd : {"", "f", "a.py(): f", "a.py(x): f", "(): ", "a.py(3):f", "<built-in "}) {
        EXPECT_EQ(shown(odd), "none") << odd;
    }
}

// By the definition: those whose time contains the moment, the one that began last first.
TEST(TraceStacks, AreThoseThatASearchOfAllFinds) {
    for (std::uint32_t seed = 0; seed < 50; ++seed) {
        std::mt19937 random(seed);
        std::vector<trace_stacks::function> all;
        const auto fill = [&](auto&& self, std::int64_t from_ns, std::int64_t to_ns, int depth) -> void {
            for (std::int64_t at = from_ns; at < to_ns && depth < 6;) {
                const std::int64_t start_ns = at + static_cast<std::int64_t>(random() % 5);
                const std::int64_t end_ns = std::min(to_ns, start_ns + 1 + static_cast<std::int64_t>(random() % 60));
                if (start_ns >= end_ns) return;
                all.push_back({start_ns, end_ns, name_id(all.size() + 1)});
                self(self, start_ns + static_cast<std::int64_t>(random() % 2), end_ns, depth + 1);
                at = end_ns + static_cast<std::int64_t>(random() % 3);
            }
        };
        fill(fill, 0, 400, 0);
        trace_stacks stacks;
        for (const auto& each : all) stacks.add(each);
        stacks.settle(1000);
        std::vector<const trace_stacks::function*> found;
        for (std::int64_t ns = -2; ns < 410; ++ns) {
            std::uint32_t depth = 0;
            stacks.find(ns + 1000, 3, found, depth);
            std::vector<std::uint32_t> names;
            for (const auto* each : found) names.push_back(each->name);
            std::vector<std::uint32_t> expected;
            for (auto each = all.rbegin(); each != all.rend(); ++each) {
                if (each->start_ns <= ns && ns < each->end_ns) expected.push_back(each->name);
            }
            ASSERT_EQ(depth, expected.size()) << seed << " at " << ns;
            expected.resize(std::min<std::size_t>(expected.size(), 3));
            ASSERT_EQ(names, expected) << seed << " at " << ns;
        }
    }
}

std::string event(const char* category, const std::string& name, int ts_us, int us, const std::string& args = "") {
    return R"({"ph": "X", "cat": ")" + std::string(category) + R"(", "name": ")" + name +
           R"(", "pid": 1, "tid": 1, "ts": )" + std::to_string(ts_us) + R"(, "dur": )" + std::to_string(us) +
           R"(, "args": {)" + args + "}}";
}

std::string own_of(const timeline& data, stack_id stack) {
    const code_line* line = own_line(data, stack);
    return line == nullptr ? "none" : std::string(data.name(line->name));
}

// A wait of 80 us in item(), and 300 us of other code before the next launch: of its thirds the first and the second
// are load()'s, the third train()'s.
TEST(TraceStacks, AreThoseOfLongCallsAndOfTheCodeBefore) {
    const test::scratch_directory folder;
    const std::string path = folder.path + "/trace.json";
    const std::vector<std::string> events = {
        event("python_function", "run.py(40): <module>", 0, 2000),
        event("python_function", "run.py(8): train", 10, 1900),
        event("python_function", "<built-in method item of Tensor object at 0x1>", 95, 90),
        event("python_function", "data.py(3): load", 190, 240),
        event("python_function", "torch/utils/data/dataloader.py(70): __next__", 200, 200),
        event("cuda_runtime", "cudaLaunchKernel", 50, 5, R"("correlation": 1)"),
        event("cuda_runtime", "cudaStreamSynchronize", 100, 80, R"("correlation": 2)"),
        event("cuda_runtime", "cudaLaunchKernel", 480, 5, R"("correlation": 3)"),
        event("kernel", "k", 60, 100, R"("correlation": 1, "device": 0, "stream": 7)"),
        event("kernel", "k", 490, 100, R"("correlation": 3, "device": 0, "stream": 7)")};
    std::string text = "{\"traceEvents\": [";
    for (const std::string& each : events) text += (&each == &events.front() ? "" : ",\n") + each;
    std::ofstream(path) << text << "]}";
    const timeline data = load_timeline(path);
    std::vector<std::string> found;
    for (const call_stack& each : data.call_stacks) {
        const timeline_api_call& call = data.api_calls[each.call];
        found.push_back(std::to_string((call.end_ns - call.start_ns) / 1000) + " us, " +
                        std::to_string(static_cast<int>(each.role)) + ": " + own_of(data, each.stack));
    }
    EXPECT_THAT(found,
                UnorderedElementsAre("80 us, 0: train (from line 8)\nrun.py", "5 us, 1: train (from line 8)\nrun.py",
                                     "5 us, 2: load (from line 3)\ndata.py", "5 us, 2: load (from line 3)\ndata.py",
                                     "5 us, 2: train (from line 8)\nrun.py"));
    EXPECT_EQ(data.property("lines"), "functions");
}

}  // namespace
}  // namespace prof::trace_stacks_test
