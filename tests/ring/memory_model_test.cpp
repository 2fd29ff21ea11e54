// SPDX-License-Identifier: Apache-2.0
// The checker itself, on small programs whose outcomes are known from the standard.
#include "ring/memory_model.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>

namespace prof::test::model::memory_model_test {
namespace {

using outcomes = std::set<std::pair<int, int>>;
constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;

struct two_flags {
    atomic<int> x, y;
    int first = -1;
    int second = -1;
};

// All that two threads may see, as (first, second).
template <typename TFirst, typename TSecond>
outcomes seen_by(TFirst&& first, TSecond&& second) {
    outcomes all;
    const verdict found = explore([&](scenario& made) {
        const auto shared = std::make_shared<two_flags>();
        made.thread([=] { first(*shared); });
        made.thread([=] { second(*shared); });
        made.at_end([=, &all] { all.emplace(shared->first, shared->second); });
    });
    EXPECT_EQ(found.bug, "");
    return all;
}

TEST(MemoryModel, LoadMayReturnAnOldValue) {
    const auto reader = [](two_flags& f) {
        f.first = f.y.load(relaxed);
        f.second = f.x.load(relaxed);
    };
    const auto all = seen_by(
        [](two_flags& f) {
            f.x.store(1, relaxed);
            f.y.store(1, relaxed);
        },
        reader);
    EXPECT_EQ(all, (outcomes{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
}

TEST(MemoryModel, AcquireOfAReleaseSeesEarlierStores) {
    const auto all = seen_by(
        [](two_flags& f) {
            f.x.store(1, relaxed);
            f.y.store(1, release);
        },
        [](two_flags& f) {
            f.first = f.y.load(acquire);
            f.second = f.x.load(relaxed);
        });
    EXPECT_EQ(all, (outcomes{{0, 0}, {0, 1}, {1, 1}}));
}

TEST(MemoryModel, StoresOfTwoThreadsMayBothBeLate) {
    const auto all = seen_by(
        [](two_flags& f) {
            f.x.store(1, release);
            f.first = f.y.load(acquire);
        },
        [](two_flags& f) {
            f.y.store(1, release);
            f.second = f.x.load(acquire);
        });
    EXPECT_EQ(all, (outcomes{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
}

TEST(MemoryModel, ThreadNeverSeesALocationGoBack) {
    const auto all = seen_by(
        [](two_flags& f) {
            f.x.store(1, relaxed);
            f.x.store(2, relaxed);
        },
        [](two_flags& f) {
            f.first = f.x.load(relaxed);
            f.second = f.x.load(relaxed);
        });
    EXPECT_EQ(all, (outcomes{{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}}));
}

TEST(MemoryModel, OneOfTwoExchangesWins) {
    const auto take = [](atomic<int>& x) {
        int expected = 0;
        return x.compare_exchange_strong(expected, 1, relaxed, relaxed) ? 1 : 0;
    };
    const auto all = seen_by([=](two_flags& f) { f.first = take(f.x); }, [=](two_flags& f) { f.second = take(f.x); });
    EXPECT_EQ(all, (outcomes{{0, 1}, {1, 0}}));
}

TEST(MemoryModel, ExchangePassesOnAnEarlierRelease) {
    int seen = 0;
    const verdict found = explore([&](scenario& made) {
        const auto f = std::make_shared<two_flags>();
        made.thread([=] {
            f->x.store(1, relaxed);
            f->y.store(1, release);
        });
        made.thread([=] {
            int expected = 1;
            f->y.compare_exchange_strong(expected, 2, relaxed, relaxed);
        });
        made.thread([=, &seen] {
            if (f->y.load(acquire) != 2) return;
            ++seen;
            expect(f->x.load(relaxed) == 1, "the release sequence is broken");
        });
    });
    EXPECT_EQ(found.bug, "");
    EXPECT_GT(seen, 0);
}

verdict message_through_plain_memory(std::memory_order store_order, std::memory_order load_order) {
    return explore([=](scenario& made) {
        struct shared_state {
            plain<int> data;
            atomic<int> ready;
        };
        const auto shared = std::make_shared<shared_state>();
        made.thread([=] {
            shared->data.set(42);
            shared->ready.store(1, store_order);
        });
        made.thread([=] {
            if (shared->ready.load(load_order) == 1) expect(shared->data.get() == 42, "the data is not there");
        });
    });
}

TEST(MemoryModel, PlainMemoryNeedsBothReleaseAndAcquire) {
    EXPECT_EQ(message_through_plain_memory(release, acquire).bug, "");
    EXPECT_NE(message_through_plain_memory(relaxed, acquire).bug, "");
    EXPECT_NE(message_through_plain_memory(release, relaxed).bug, "");
}

TEST(MemoryModel, ReportsUnorderedStores) {
    const verdict found = explore([](scenario& made) {
        const auto f = std::make_shared<two_flags>();
        made.thread([=] { f->x.store(1, release); });
        made.thread([=] { f->x.store(2, release); });
    });
    EXPECT_NE(found.bug.find("not ordered"), std::string::npos);
}

}  // namespace
}  // namespace prof::test::model::memory_model_test
