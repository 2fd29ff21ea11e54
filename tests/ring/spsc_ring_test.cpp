// SPDX-License-Identifier: Apache-2.0
#include "ring/spsc_ring.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <deque>
#include <random>
#include <thread>
#include <vector>

namespace prof::spsc_ring_test {
namespace {

// Counters of 8 bits: they wrap after 256 slots, which a test reaches at once.
struct tiny_ring {
    ring_counters<std::uint8_t> counters;
    std::array<int, 8> slots{};
    ring_producer<int, std::uint8_t> producer{&counters, slots.data(), slots.size()};
    ring_consumer<int, std::uint8_t> consumer{&counters, slots.data(), slots.size()};

    std::vector<int> drain(std::size_t most = SIZE_MAX) {
        const auto view = consumer.peek();
        std::vector<int> out(view.first.begin(), view.first.end());
        out.insert(out.end(), view.second.begin(), view.second.end());
        if (out.size() > most) out.resize(most);
        consumer.release(static_cast<std::uint8_t>(view.begin + out.size()));
        return out;
    }
};

TEST(SpscRing, HandsOverWhatWasWrittenInOrder) {
    tiny_ring ring;
    EXPECT_TRUE(ring.producer.write(1));
    EXPECT_TRUE(ring.producer.write(2));
    EXPECT_EQ(ring.drain(), (std::vector<int>{1, 2}));
    EXPECT_TRUE(ring.drain().empty());
}

TEST(SpscRing, RefusesWhenFullUntilSlotsAreReleased) {
    tiny_ring ring;
    for (int i = 0; i < 8; ++i) EXPECT_TRUE(ring.producer.write(i));
    EXPECT_FALSE(ring.producer.write(8));
    EXPECT_EQ(ring.drain(3), (std::vector<int>{0, 1, 2}));
    for (int i = 8; i < 11; ++i) EXPECT_TRUE(ring.producer.write(i));
    EXPECT_FALSE(ring.producer.write(11));
    EXPECT_EQ(ring.drain(), (std::vector<int>{3, 4, 5, 6, 7, 8, 9, 10}));
}

// As a signal handler does that makes a range while its thread is in a hook.
TEST(SpscRing, AcceptsARecordDuringTheWriteOfAnother) {
    tiny_ring ring;
    ASSERT_TRUE(ring.producer.take(1));
    std::vector<int> seen;
    ring.producer.put([&](int& slot) {
        EXPECT_TRUE(ring.producer.write(2));
        seen = ring.drain();
        slot = 1;
    });
    EXPECT_EQ(seen.size(), 2U);
    EXPECT_EQ(seen.back(), 2);
    EXPECT_TRUE(ring.drain().empty()) << "the head is behind the tail";
    EXPECT_TRUE(ring.producer.write(3));
    EXPECT_EQ(ring.drain(), (std::vector<int>{3}));
    for (int i = 0; i < 8; ++i) EXPECT_TRUE(ring.producer.write(i));
    EXPECT_FALSE(ring.producer.write(8));
}

TEST(SpscRing, KeepsReservedPlaces) {
    tiny_ring ring;
    EXPECT_TRUE(ring.producer.write(0, 1));
    EXPECT_TRUE(ring.producer.write(1, 2));
    EXPECT_FALSE(ring.producer.write(2, 3));  // 8 slots less 2 less 3
    EXPECT_TRUE(ring.producer.write(2, 2));
    EXPECT_FALSE(ring.producer.write(3));
    ring.producer.give_back(1);
    EXPECT_TRUE(ring.producer.write(3));
    for (int i = 4; i < 8; ++i) {
        ring.producer.put([&](int& slot) { slot = i; });
    }
    EXPECT_FALSE(ring.producer.take(1));
    EXPECT_EQ(ring.drain(), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
    EXPECT_TRUE(ring.producer.take(8));
}

// Places are taken one or two at a time; what is kept is written later, or given back.
TEST(SpscRing, NeverLacksAReservedPlace) {
    tiny_ring ring;
    std::deque<int> model;
    std::size_t kept = 0;
    std::mt19937 random(11);
    for (int next = 0; next < 20'000; ++next) {
        const unsigned what = random() % 8;
        if (what < 3) {
            const bool keeps = what == 0;
            const bool fits = model.size() + kept + (keeps ? 2 : 1) <= 8;
            ASSERT_EQ(ring.producer.write(next, keeps ? 1 : 0), fits) << next;
            if (!fits) continue;
            model.push_back(next);
            kept += keeps ? 1 : 0;
        } else if (what < 5 && kept != 0) {
            --kept;
            ring.producer.put([&](int& slot) { slot = next; });
            model.push_back(next);
        } else if (what == 5 && kept != 0) {
            --kept;
            ring.producer.give_back(1);
        } else if (what > 5) {
            for (const int value : ring.drain(random() % 10)) {
                ASSERT_FALSE(model.empty());
                ASSERT_EQ(value, model.front());
                model.pop_front();
            }
        }
    }
}

TEST(SpscRing, AgreesWithAQueueOverManyWrapsOfItsCounters) {
    tiny_ring ring;
    std::deque<int> model;
    std::mt19937 random(7);
    int next = 0;
    for (int step = 0; step < 20'000; ++step) {
        if (random() % 2 == 0) {
            const bool fits = model.size() < 8;
            ASSERT_EQ(ring.producer.write(next), fits);
            if (fits) model.push_back(next);
            ++next;
        } else {
            const std::size_t most = random() % 10;
            for (const int value : ring.drain(most)) {
                ASSERT_FALSE(model.empty());
                ASSERT_EQ(value, model.front());
                model.pop_front();
            }
        }
    }
    EXPECT_GT(next, 4 * 256);
}

TEST(SpscRing, LosesAndInventsNothingBetweenTwoThreads) {
    constexpr std::uint64_t count = 200'000;
    ring_counters<std::uint64_t> counters;
    std::vector<std::array<std::uint64_t, 4>> slots(64);
    std::thread writer([&] {
        ring_producer<std::array<std::uint64_t, 4>> producer(&counters, slots.data(), slots.size());
        for (std::uint64_t i = 0; i < count;) {
            if (producer.write({i, i * 3, ~i, i ^ 0x5555})) {
                ++i;
            } else {
                std::this_thread::yield();
            }
        }
    });
    ring_consumer<std::array<std::uint64_t, 4>> consumer(&counters, slots.data(), slots.size());
    std::uint64_t expected = 0;
    std::uint64_t wrong = 0;
    while (expected < count) {
        const auto view = consumer.peek();
        if (view.size() == 0) std::this_thread::yield();
        for (const auto part : {view.first, view.second}) {
            for (const auto& slot : part) {
                const std::uint64_t i = expected++;
                if (slot != std::array<std::uint64_t, 4>{i, i * 3, ~i, i ^ 0x5555}) ++wrong;
            }
        }
        consumer.release(view.end);
    }
    writer.join();
    EXPECT_EQ(wrong, 0U);
    EXPECT_EQ(consumer.peek().size(), 0U);
}

}  // namespace
}  // namespace prof::spsc_ring_test
