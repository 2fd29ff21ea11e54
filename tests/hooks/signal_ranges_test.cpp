// SPDX-License-Identifier: Apache-2.0
// Ranges that a signal's handler makes on the thread that it interrupts.
#include <gtest/gtest.h>
#include <nvtx3/nvToolsExt.h>
#include <signal.h>
#include <sys/time.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "hooks/nvtx/nvtx_hooks.hpp"
#include "hooks/nvtx/write_ranges.hpp"
#include "ring/registry.hpp"

namespace prof::signal_ranges_test {
namespace {

int NVTX_API attach(NvtxGetExportTableFunc_t get_export_table) { return install_nvtx_hooks(get_export_table) ? 1 : 0; }

struct SignalRanges : testing::Test {
    SignalRanges() {
        install_region(&where, nullptr);
        InitializeInjectionNvtx2_fnptr = attach;
        set_gate(recording_epoch, ++latest);
    }
    ~SignalRanges() override {
        set_gate(recording_epoch, 0);
        set_this_thread(nullptr);
        install_region(nullptr, nullptr);
    }
    // Of this thread: what it has written since.
    std::vector<record> drain() {
        ring_header& ring = where.rings().front();
        ring_consumer<record> consumer(&ring.counters, where.slots(ring), ring.capacity);
        const auto view = consumer.peek();
        std::vector<record> all(view.first.begin(), view.first.end());
        all.insert(all.end(), view.second.begin(), view.second.end());
        consumer.release(view.end);
        return all;
    }
    std::uint64_t dropped(drop_cause cause) { return where.drops()[static_cast<std::size_t>(cause)]; }

    static inline std::uint32_t latest = 0;
    region where{[] {
        region_options options;
        options.place = "memory";
        return options;
    }()};
};

// What is made while `fill` runs is made in the middle of a record: as by a handler that comes just then.
TEST_F(SignalRanges, AreCountedWhenMadeDuringARecord) {
    int handlers = 0;
    const auto handler = [&](record& r) {
        r.name = where.intern("interrupted");
        EXPECT_LT(nvtxRangePushA("in handler"), 0);
        nvtxMarkA("in handler");
        EXPECT_LT(nvtxRangePop(), 0);
        ++handlers;
    };
    const auto interrupted = [&](producer&, record& r) { handler(r); };
    EXPECT_EQ(nvtxRangePushA("outer"), 0);
    EXPECT_EQ(push_range(0, interrupted, nullptr), 1) << "the short way";
    EXPECT_EQ(write_push(0, interrupted, nullptr), 2) << "the long way";
    put_mark(0, interrupted);
    EXPECT_EQ(write_pop(0, handler), 2);
    EXPECT_EQ(pop_range(0, handler), 1);
    EXPECT_EQ(nvtxRangePushA("later"), 1);
    EXPECT_EQ(nvtxRangePop(), 1);
    EXPECT_EQ(nvtxRangePop(), 0);
    EXPECT_EQ(handlers, 5);
    EXPECT_EQ(dropped(drop_cause::signal_handler), 10U) << "a push and a mark each";
    std::vector<record_kind> kinds;
    for (const record& r : drain()) {
        kinds.push_back(r.kind);
        EXPECT_NE(where.name_text(r.name), "in handler");
    }
    constexpr auto push = record_kind::range_push;
    constexpr auto pop = record_kind::range_pop;
    EXPECT_EQ(kinds, (std::vector{push, push, push, record_kind::mark, pop, pop, push, pop, pop}));
}

volatile sig_atomic_t handled = 0;

void make_range(int) {
    nvtxRangePushA("in handler");
    nvtxRangePop();
    handled = handled + 1;
}

TEST_F(SignalRanges, KeepTheThreadsRecordsWheneverTheyAreMade) {
    constexpr int signals = 3'000;
    handled = 0;
    struct sigaction action {};
    struct sigaction before {};
    action.sa_handler = make_range;
    sigaction(SIGALRM, &action, &before);
    nvtxRangePushA("work");  // a thread's first range makes its producer, which is nothing for a handler
    nvtxRangePop();
    const itimerval often{{0, 50}, {0, 50}};
    ASSERT_EQ(setitimer(ITIMER_REAL, &often, nullptr), 0);
    std::uint64_t made = 1;
    std::uint64_t recorded[2] = {};  // of the thread, of the handler
    std::vector<std::string> open;
    const auto check = [&] {
        for (const record& r : drain()) {
            const std::string name{where.name_text(r.name)};
            if (r.kind == record_kind::range_push) {
                ++recorded[name == "in handler" ? 1 : 0];
                ASSERT_TRUE(open.empty() || name == "in handler") << "inside " << open.back();
                open.push_back(name);
            } else {
                ASSERT_EQ(r.kind, record_kind::range_pop);
                ASSERT_FALSE(open.empty());
                open.pop_back();
            }
        }
    };
    while (handled < signals && !HasFatalFailure()) {
        for (int i = 0; i < 200; ++i, ++made) {
            nvtxRangePushA("work");
            nvtxRangePop();
        }
        check();
    }
    const itimerval never{};
    setitimer(ITIMER_REAL, &never, nullptr);
    sigaction(SIGALRM, &before, nullptr);
    check();
    EXPECT_TRUE(open.empty());
    EXPECT_EQ(recorded[0], made);
    EXPECT_EQ(recorded[1] + dropped(drop_cause::signal_handler), static_cast<std::uint64_t>(handled));
    EXPECT_EQ(dropped(drop_cause::pop_without_push), 0U);
    EXPECT_EQ(dropped(drop_cause::ring_full), 0U);
}

}  // namespace
}  // namespace prof::signal_ranges_test
