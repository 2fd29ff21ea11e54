// SPDX-License-Identifier: Apache-2.0
// The page's view of memory: its data against values worked by hand, what adds up, and that no peak is thinned away.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "export/byte_sink.hpp"
#include "export/page/page_text.hpp"
#include "export/page/page_writer.hpp"
#include "memory/training_program.hpp"

namespace prof::page_memory_test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t mib = training_program::mib;

class text_sink final : public byte_sink {
public:
    void write(std::string_view bytes) override { text += bytes; }
    std::string text;
};

std::string page_of(const timeline& data) {
    text_sink to;
    write_page(data, "train.prof", {}, to);
    return std::move(to.text);
}

// The view's data; null: the page has none. REQUIRES: results that are not compressed.
json view_of(const std::string& page) {
    const std::string begin = R"(<script type="application/json" id="results">)";
    const std::size_t at = page.find(begin);
    EXPECT_NE(at, std::string::npos);
    if (at == std::string::npos) return {};
    const std::size_t from = at + begin.size();
    return json::parse(page.substr(from, page.find("</script>", from) - from))["views"]["memory"];
}
json view_of(const timeline& data) { return view_of(page_of(data)); }

// "activations 1625": the bytes of each use in MiB, at one of the moments.
std::vector<std::string> uses_at(const json& view, std::size_t device, std::size_t moment) {
    std::vector<std::string> out;
    const json& bytes = view["devices"][device]["by_use"][moment];
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (bytes[i] == 0) continue;
        out.push_back(view["uses"][i]["key"].get<std::string>() + ' ' +
                      std::to_string(bytes[i].get<std::int64_t>() / static_cast<std::int64_t>(mib)));
    }
    return out;
}

std::int64_t sum(const json& of) {
    return std::accumulate(of.begin(), of.end(), std::int64_t{0},
                           [](std::int64_t all, const json& one) { return all + one.get<std::int64_t>(); });
}

// At each moment of each device uses and places add up to what was allocated, to the byte.
void check_sums(const json& view) {
    for (const json& device : view["devices"]) {
        const json& places = device["places"];
        for (std::size_t m = 0; m < device["moments"].size(); ++m) {
            const auto allocated = device["moments"][m]["allocated"].get<std::int64_t>();
            EXPECT_EQ(sum(device["by_use"][m]), allocated);
            EXPECT_EQ(sum(places["bytes"][m]) + places["rest"]["bytes"][m].get<std::int64_t>(), allocated);
            std::map<std::size_t, std::int64_t> uses;
            for (std::size_t i = 0; i < places["use"].size(); ++i) {
                uses[places["use"][i].get<std::size_t>()] += places["bytes"][m][i].get<std::int64_t>();
            }
            if (places["rest"]["count"] != 0) continue;
            for (const auto& [use, bytes] : uses) EXPECT_EQ(device["by_use"][m][use].get<std::int64_t>(), bytes);
        }
    }
}

TEST(PageMemory, HasThePeaksTakenApart) {
    const training_program program({});
    const timeline data = program.capture.build();
    const std::string page = page_of(data);
    const json view = view_of(page);
    ASSERT_EQ(view["devices"].size(), 1U);
    const json& device = view["devices"][0];
    EXPECT_EQ(device["name"], "GPU 0");
    EXPECT_EQ(device["limit"], 150'000'000'000);
    ASSERT_EQ(device["moments"].size(), 2U);
    const json& highest = device["moments"][0];
    EXPECT_EQ(highest["key"], "peak");
    EXPECT_EQ(highest["step"], 7);
    EXPECT_EQ(highest["allocated"], program.peak_bytes(7));
    EXPECT_EQ(highest["where"], "in backward");
    EXPECT_GE(highest["reserved"], highest["allocated"]);
    EXPECT_EQ(device["moments"][1]["key"], "median");
    EXPECT_EQ(device["moments"][1]["allocated"], program.peak_bytes(3));
    EXPECT_THAT(uses_at(view, 0, 0), ElementsAre("parameters 316", "optimizer_state 632", "gradients 27",
                                                 "activations 1625", "workspace 32"));
    EXPECT_THAT(uses_at(view, 0, 1), ElementsAre("parameters 316", "optimizer_state 632", "gradients 27",
                                                 "activations 1300", "workspace 32"));
    check_sums(view);
    EXPECT_THAT(page, HasSubstr("The peak is 2.76 GB of 150.00 GB, in step 7, in "));
    EXPECT_THAT(page, HasSubstr("In the median step it is 2.42 GB."));
    EXPECT_LT(page.find("id=\"steps\""), page.find("id=\"memory\"")) << "nothing has happened that it should be first";
}

TEST(PageMemory, TheCurveHasEachChangeOfAShortRun) {
    const training_program program({.steps = 4});
    const timeline data = program.capture.build();
    const json view = view_of(data);
    const json& curve = view["devices"][0]["curve"];
    ASSERT_EQ(curve["time_ns"].size(), data.memory.size());
    EXPECT_EQ(curve["changes"], data.memory.size());
    for (std::size_t i = 0; i < data.memory.size(); ++i) {
        EXPECT_EQ(curve["allocated"][i], data.memory[i].allocated);
        EXPECT_EQ(curve["reserved"][i], data.memory[i].reserved);
        EXPECT_EQ(curve["time_ns"][i].get<std::int64_t>() - curve["time_ns"][0].get<std::int64_t>(),
                  data.memory[i].time_ns - data.memory[0].time_ns);
    }
    EXPECT_EQ(curve["segments"].size(), 1U);
    EXPECT_THAT(view["steps"]["number"], ElementsAre(0, 1, 2, 3));
    EXPECT_EQ(view["steps"]["start_ns"][1].get<std::int64_t>() - view["steps"]["start_ns"][0].get<std::int64_t>(),
              40'000'000);
    // The first step is the warm-up.
    EXPECT_THAT(view["devices"][0]["peaks"]["step"], ElementsAre(1, 2, 3));
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(view["devices"][0]["peaks"]["allocated"][i], program.peak_bytes(i + 1));
    }
}

// However long the run: the most and the least of each piece of time that a screen can show are in the curve.
TEST(PageMemory, NoPeakIsThinnedAway) {
    training_program program({.steps = 300, .layers = 3, .long_step = 211, .blocks = 4, .step_ns = 2'000'000});
    const timeline data = program.capture.build();
    const json view = view_of(data);
    const json& curve = view["devices"][0]["curve"];
    const std::size_t kept = curve["time_ns"].size();
    ASSERT_GT(data.memory.size(), 10'000U);
    EXPECT_EQ(curve["changes"], data.memory.size());
    EXPECT_LT(kept, 6'000U);
    constexpr std::size_t pieces = 500;
    const std::int64_t first_ns = data.memory.front().time_ns;
    const double length_ns = static_cast<double>(data.memory.back().time_ns - first_ns) / pieces;
    const auto piece = [&](std::int64_t ns) {
        return static_cast<std::size_t>(static_cast<double>(ns - first_ns) / length_ns);
    };
    struct extremes {
        std::uint64_t least = UINT64_MAX;
        std::uint64_t most = 0;
        void take(std::uint64_t value) {
            least = std::min(least, value);
            most = std::max(most, value);
        }
        bool operator==(const extremes&) const = default;
    };
    std::map<std::size_t, std::pair<extremes, extremes>> of_all;
    std::map<std::size_t, std::pair<extremes, extremes>> of_kept;
    for (const memory_event& each : data.memory) {
        of_all[piece(each.time_ns)].first.take(each.allocated);
        of_all[piece(each.time_ns)].second.take(each.reserved);
    }
    const std::int64_t begin_ns = first_ns - curve["time_ns"][0].get<std::int64_t>();
    for (std::size_t i = 0; i < kept; ++i) {
        const std::size_t at = piece(curve["time_ns"][i].get<std::int64_t>() + begin_ns);
        of_kept[at].first.take(curve["allocated"][i].get<std::uint64_t>());
        of_kept[at].second.take(curve["reserved"][i].get<std::uint64_t>());
    }
    EXPECT_EQ(of_kept, of_all);
    EXPECT_EQ(view["devices"][0]["moments"][0]["step"], 211);
    EXPECT_EQ(view["devices"][0]["moments"][0]["allocated"], program.peak_bytes(211));
    check_sums(view);
}

TEST(PageMemory, AnErrorStandsFirst) {
    const training_program program({.failing_step = 9, .last_step = 9});
    const std::string page = page_of(program.capture.build());
    const json view = view_of(page);
    const json& moments = view["devices"][0]["moments"];
    ASSERT_EQ(moments.size(), 3U);
    EXPECT_EQ(moments[0]["key"], "failure");
    EXPECT_EQ(moments[0]["step"], 9) << "which was not recorded to its end";
    EXPECT_EQ(moments[0]["asked"], std::uint64_t{3} << 30);
    // In the backward of the third of six layers: activations of four, gradients of three, and a workspace.
    EXPECT_EQ(moments[0]["allocated"], (3 * 316 + 4 * 150 + 3 * 27 + 32) * mib);
    EXPECT_EQ(moments[1]["key"], "peak");
    check_sums(view);
    EXPECT_THAT(page, HasSubstr("Memory ran out in "));
    EXPECT_THAT(page, HasSubstr("3.22 GB were asked for, with 1.74 GB allocated and "));
    EXPECT_LT(page.find("id=\"memory\""), page.find("id=\"steps\""));
    EXPECT_LT(page.find("id=\"answer\""), page.find("id=\"memory\""));
}

TEST(PageMemory, TheEndOfAKilledProcessStandsFirst) {
    training_program program({.last_step = 9});
    program.capture.parts().end = {.reason = format::end_reason::died, .how = 9, .realtime_ns = 0};
    const std::string page = page_of(program.capture.build());
    const json view = view_of(page);
    EXPECT_EQ(view["devices"][0]["moments"][0]["key"], "end");
    EXPECT_EQ(view["devices"][0]["moments"][0]["allocated"], (3 * 316 + 4 * 150 + 3 * 27 + 32) * mib);
    check_sums(view);
    EXPECT_THAT(page, HasSubstr("When the process was killed, 1.74 GB were allocated and "));
    EXPECT_LT(page.find("id=\"memory\""), page.find("id=\"steps\""));
}

TEST(PageMemory, EachGpuHasItsOwn) {
    const training_program program({.gpus = 2});
    const json view = view_of(program.capture.build());
    ASSERT_EQ(view["devices"].size(), 2U);
    EXPECT_EQ(view["devices"][0]["name"], "GPU 1") << "the fullest first";
    EXPECT_EQ(view["devices"][0]["moments"][0]["allocated"], program.peak_bytes(7, 1));
    EXPECT_EQ(view["devices"][1]["moments"][0]["allocated"], program.peak_bytes(7, 0));
    check_sums(view);
}

TEST(PageMemory, LostRecordsAreAPart) {
    capture_builder capture;
    thread_script& main = capture.thread("python");
    simulated_allocator gpu;
    const std::uint64_t first = gpu.take(main, 10, 4 * mib);
    gpu.writes = false;
    (void)gpu.take(main, 20, 2 * mib);
    gpu.writes = true;
    (void)gpu.take(main, 30, mib);
    const json more = view_of(capture.build());
    EXPECT_THAT(uses_at(more, 0, 0), ElementsAre("other 5", "lost_records 2"));
    check_sums(more);
    gpu.writes = false;
    gpu.free(main, 40, first);
    gpu.writes = true;
    (void)gpu.take(main, 50, 8 * mib);
    const json less = view_of(capture.build());
    EXPECT_THAT(uses_at(less, 0, 0), ElementsAre("other 13", "lost_records -2"));
    check_sums(less);
    EXPECT_EQ(less["devices"][0]["moments"][0]["step"], nullptr) << "there are no steps";
    EXPECT_TRUE(less["steps"]["number"].empty());
}

TEST(PageMemory, BetweenWindowsNothingIsKnown) {
    capture_builder capture;
    thread_script& main = capture.thread("python");
    simulated_allocator gpu;
    (void)gpu.take(main, 1'010, mib);
    gpu.writes = false;
    (void)gpu.take(main, 2'500, 6 * mib);
    gpu.writes = true;
    (void)gpu.take(main, 3'010, mib);
    capture.parts().windows[1] = {.epoch = 1, .begin_ticks = 1'000, .end_ticks = 2'000};
    capture.parts().windows[2] = {.epoch = 2, .begin_ticks = 3'000, .end_ticks = 4'000};
    const json view = view_of(capture.build());
    const json& curve = view["devices"][0]["curve"];
    EXPECT_THAT(curve["allocated"], ElementsAre(mib, 8 * mib));
    ASSERT_EQ(curve["segments"].size(), 2U);
    EXPECT_EQ(curve["segments"][0][0], 0);
    EXPECT_EQ(curve["segments"][1][0], 1);
    const auto begin_ns = curve["time_ns"][0].get<std::int64_t>() - 1'010;
    EXPECT_EQ(curve["segments"][0][1].get<std::int64_t>() - begin_ns, 2'000);
    EXPECT_EQ(curve["segments"][1][1].get<std::int64_t>() - begin_ns, 4'000);
    check_sums(view);
}

// "found nothing" and "could not look" are two sentences; of programs without PyTorch nothing is missing.
TEST(PageMemory, SaysHowToRecordIt) {
    const auto page_with = [](const char* thread, const char* key) {
        capture_builder capture;
        capture.thread(thread).push(10, "forward").launch(20, 1).pop(30);
        capture.kernel(1, 40, 50);
        if (key != nullptr) capture.parts().properties[key] = "on";
        return page_of(capture.build());
    };
    const std::string how = "No allocation was recorded: `prof run --allocations on` does.";
    EXPECT_EQ(view_of(page_with("pt_autograd_0", nullptr))["why"], how);
    EXPECT_THAT(page_with("pt_autograd_0", nullptr), HasSubstr("<p class=\"why\">" + how));
    EXPECT_THAT(page_with("pt_autograd_0", nullptr), Not(HasSubstr("href=\"#memory\"")));
    EXPECT_THAT(page_with("main", nullptr), Not(HasSubstr("id=\"memory\"")));
    EXPECT_THAT(view_of(page_with("main", "allocations"))["why"].get<std::string>(),
                HasSubstr("was not in the program"));
}

TEST(PageMemory, HostileNamesAreText) {
    capture_builder capture;
    thread_script& main = capture.thread("python");
    simulated_allocator gpu;
    main.push(5, "<img src=x onerror=alert(1)></script>");
    (void)gpu.take(main, 10, mib);
    main.pop(20);
    const std::string page = page_of(capture.build());
    EXPECT_THAT(page, Not(HasSubstr("<img")));
    EXPECT_EQ(view_of(page)["devices"][0]["places"]["path"][0], "<img src=x onerror=alert(1)><\\/script>")
        << "a slash in a name is no step of a path";
}

}  // namespace
}  // namespace prof::page_memory_test
