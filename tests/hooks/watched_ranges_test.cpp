// SPDX-License-Identifier: Apache-2.0
// Which pushes match, by name, domain and thread. tests/session/schedule_test.cpp tests what follows from a match.
#include "hooks/nvtx/watched_ranges.hpp"

#include <gtest/gtest.h>

#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "ring/region.hpp"

namespace prof::watched_ranges_test {
namespace {

std::string observed;  // 's' a step, '(' and ')' a capture range

bool note(range_use use, bool begins) noexcept {
    observed += use == range_use::step ? 's' : begins ? '(' : ')';
    return use == range_use::capture && begins;
}

struct WatchedRanges : testing::Test {
    region where{[] {
        region_options options;
        options.place = "memory";
        return options;
    }()};

    void watch(std::vector<watched_range> ranges) {
        watch_ranges(ranges, where, note);
        observed.clear();
    }
    void TearDown() override { watch_ranges({}, where, nullptr); }
};

TEST_F(WatchedRanges, MatchNameAndDomain) {
    const std::uint32_t app = where.domain("app");
    ASSERT_NE(app, 0U);
    const struct {
        const char* watched;
        std::uint32_t domain;
        const char* text;
        bool is_observed;
    } cases[] = {
        {"step", 0, "step", true},
        {"step", app, "step", true},
        {"step", 0, "steps", false},
        {"step", 0, "ste", false},
        {"step", 0, "", false},
        {"step@app", app, "step", true},
        {"step@app", 0, "step", false},
        {"step@default", 0, "step", true},
        {"step@default", app, "step", false},
        {"a@b@*", app, "a@b", true},
        {"a@b@*", app, "a", false},
        {"step #", 0, "step 12", true},
        {"step #", 0, "step #", true},
        {"step #", 0, "step ", false},
        {"step #", 0, "step 12a", false},
        {"#/#", 0, "3/400", true},
        {"step", 0, "step, op_id = 7", true},
        {"step", 0, "step, seq = 3, op_id = 7", true},
        {"step #", 0, "step 4, op_id = 7", true},
        {"step", 0, "step, op_id = x", false},
        {"step", 0, "step 4, op_id = 7", false},
    };
    for (const auto& c : cases) {
        watch({{range_use::step, *parse_range_name(c.watched)}});
        EXPECT_FALSE(opens_window(c.domain, c.text));
        EXPECT_EQ(observed, c.is_observed ? "s" : "") << c.watched << " hears \"" << c.text << "\" in " << c.domain;
    }
}

TEST_F(WatchedRanges, MatchEveryEncoding) {
    watch({{range_use::step, range_name("schritt ü")}});
    (void)opens_window(0, L"schritt ü");
    EXPECT_EQ(observed, "s");
    nvtxEventAttributes_t event{};
    event.size = sizeof event;
    event.messageType = NVTX_MESSAGE_TYPE_UNICODE;
    event.message.unicode = L"schritt ü";
    (void)opens_window(0, static_cast<const nvtxEventAttributes_t*>(&event));
    EXPECT_EQ(observed, "ss");
    event.size = 8;  // an unknown layout
    (void)opens_window(0, static_cast<const nvtxEventAttributes_t*>(&event));
    (void)opens_window(0, static_cast<const nvtxEventAttributes_t*>(nullptr));
    (void)opens_window(0, static_cast<const char*>(nullptr));
    (void)opens_window(0, nullptr);
    EXPECT_EQ(observed, "ss");
}

TEST_F(WatchedRanges, TakeStepsFromTheFirstThreadOnly) {
    watch({{range_use::step, range_name("step")}});
    (void)opens_window(0, "step");
    std::thread([] { (void)opens_window(0, "step"); }).join();
    (void)opens_window(0, "step");
    EXPECT_EQ(observed, "ss");
}

// Three threads at once, so that none has the storage of one that has ended.
TEST_F(WatchedRanges, TakeStepsFromTheNextThreadOnceTheFirstHasEnded) {
    watch({{range_use::step, range_name("step")}});
    std::binary_semaphore go_second(0);
    std::binary_semaphore go_third(0);
    std::binary_semaphore pushed(0);
    const auto push_when = [&](std::binary_semaphore& go) {
        go.acquire();
        (void)opens_window(0, "step");
        (void)opens_window(0, "step");
        pushed.release();
    };
    std::thread second([&] { push_when(go_second); });
    std::thread third([&] { push_when(go_third); });
    std::thread([] { (void)opens_window(0, "step"); }).join();
    EXPECT_EQ(observed, "s");
    go_second.release();
    pushed.acquire();
    EXPECT_EQ(observed, "sss") << "the second thread's";
    second.join();
    go_third.release();
    pushed.acquire();
    EXPECT_EQ(observed, "sssss") << "the third thread's";
    third.join();
    // Threads that come later may have the storage of those that have ended.
    std::thread first_again([&] {
        (void)opens_window(0, "step");
        std::thread([] { (void)opens_window(0, "step"); }).join();
    });
    first_again.join();
    EXPECT_EQ(observed, "ssssss");
}

TEST_F(WatchedRanges, EndWithTheThreadThatOpenedTheWindow) {
    watch({{range_use::capture, range_name("capture")}});
    producer opener;
    std::thread([&] {
        ASSERT_TRUE(opens_window(0, "capture"));
        remember_opener(&opener, 0, 0);
    }).join();
    EXPECT_EQ(observed, "()");
    note_pop(&opener, 0, 0);  // of a later thread with the same storage
    EXPECT_EQ(observed, "()");
}

TEST_F(WatchedRanges, EndAtThePopOfTheirLevelAndThread) {
    producer opener;
    producer other;
    watch({{range_use::capture, range_name("capture")}});
    ASSERT_TRUE(opens_window(0, "capture"));
    remember_opener(&opener, 0, 1);
    note_pop(&other, 0, 1);
    note_pop(&opener, 0, 2);
    note_pop(&opener, 3, 1);
    EXPECT_EQ(observed, "(");
    note_pop(&opener, 0, 1);
    note_pop(&opener, 0, 1);
    EXPECT_EQ(observed, "()");
    ASSERT_TRUE(opens_window(0, "capture"));
    remember_opener(nullptr, 0, -1);  // it was not recorded, and nor will its pop be
    EXPECT_EQ(observed, "()()");
}

TEST_F(WatchedRanges, ServeTwoUsesOfOneRange) {
    watch({{range_use::step, range_name("step")}, {range_use::capture, range_name("step")}});
    EXPECT_TRUE(opens_window(0, "step"));
    EXPECT_EQ(observed, "s(");
    watch({});
    EXPECT_FALSE(opens_window(0, "step"));
    EXPECT_EQ(observed, "");
}

}  // namespace
}  // namespace prof::watched_ranges_test
