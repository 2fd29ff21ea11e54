// SPDX-License-Identifier: Apache-2.0
// The memory of ranges' names by itself: whose id means which text, and for how long.
#include "record/passing_names.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace prof::passing_names_test {
namespace {

struct owned_names {
    explicit owned_names(std::uint32_t arena_bytes = 4096, std::uint32_t slots = 64)
        : table((passing_names::table_bytes(slots) + 63) / 64),
          arena(arena_bytes / 64),
          names(passing_names::create(table.data(), slots, arena.data(), arena_bytes)) {
        names.commit(arena_bytes);
    }
    // Of a thread that comes now.
    std::uint32_t intern(std::string_view text) { return names.intern(text, names.begin(), full); }
    std::string_view text(std::uint32_t id) const {
        std::uint64_t position = 0;
        return names.position_of(id, position) ? names.text(id) : std::string_view{};
    }
    // Nobody else has any.
    bool free_some() {
        if (!names.retire()) return false;
        names.free();
        return true;
    }

    struct alignas(64) line {
        std::uint64_t words[8] = {};
    };
    std::vector<line> table;
    std::vector<line> arena;
    passing_names names;
    bool full = false;
};

TEST(PassingNames, GivesTheSameTextTheSameId) {
    owned_names names;
    const std::uint32_t forward = names.intern("forward");
    EXPECT_TRUE(is_passing(forward));
    EXPECT_NE(names.intern("backward"), forward);
    EXPECT_EQ(names.intern("forward"), forward);
    EXPECT_EQ(names.text(forward), "forward");
    EXPECT_EQ(names.intern(""), 0U);
    EXPECT_FALSE(names.full);
}

TEST(PassingNames, KeepsEveryByteOfAHostileName) {
    owned_names names;
    std::string every_byte;
    for (int c = 0; c < 256; ++c) every_byte += static_cast<char>(c);
    const std::uint32_t id = names.intern(every_byte);
    EXPECT_EQ(names.text(id), every_byte);
    EXPECT_NE(names.intern(every_byte.substr(0, 255)), id);
}

TEST(PassingNames, NeverRunsOutWhenNamesAreFreed) {
    owned_names names;
    std::map<std::uint32_t, std::string> latest;
    for (int i = 0; i < 100'000; ++i) {
        const std::string text = "iteration " + std::to_string(i) + std::string(static_cast<std::size_t>(i % 40), '.');
        const std::uint32_t id = names.intern(text);
        ASSERT_FALSE(names.full) << i;
        ASSERT_EQ(names.text(id), text);
        ASSERT_EQ(names.intern(text), id);
        latest[id] = text;
        if (names.free_some()) {
            std::erase_if(latest, [&](const auto& each) { return names.text(each.first).empty(); });
            for (const auto& [known, its_text] : latest) ASSERT_EQ(names.text(known), its_text);
            ASSERT_GT(latest.size(), 20U) << "half of the memory stays";
        }
    }
}

TEST(PassingNames, RefusesNamesWhenNoneIsFreedAndOverwritesNone) {
    owned_names names;
    std::map<std::uint32_t, std::string> all;
    for (int i = 0; !names.full; ++i) {
        const std::string text = "iteration " + std::to_string(i);
        if (const std::uint32_t id = names.intern(text); id != 0) all[id] = text;
    }
    EXPECT_GT(all.size(), 100U);
    for (const auto& [id, text] : all) EXPECT_EQ(names.text(id), text);
}

TEST(PassingNames, KeepsRetiredNamesReadableUntilTheyAreFreedButGivesThemToNobody) {
    owned_names names;
    const std::uint32_t old = names.intern("old");
    for (int i = 0; !names.names.retire(); ++i) ASSERT_NE(names.intern("name " + std::to_string(i)), 0U);
    EXPECT_EQ(names.text(old), "old");
    const std::uint32_t anew = names.intern("old");
    EXPECT_NE(anew, old);
    EXPECT_EQ(names.names.intern("old", 0, names.full), anew) << "the place in the table is the new one's";
    names.names.free();
    EXPECT_EQ(names.text(old), "");
    EXPECT_EQ(names.text(anew), "old");
    EXPECT_EQ(names.intern("old"), anew);
}

TEST(PassingNames, RefusesNamesLongerThanAnEighthOfTheMemory) {
    owned_names names;
    EXPECT_NE(names.intern(std::string(512, 'a')), 0U);
    EXPECT_EQ(names.intern(std::string(513, 'a')), 0U);
    EXPECT_TRUE(names.full);
}

TEST(PassingNames, WritesOnlyCommittedStorage) {
    owned_names names;
    names.names.commit(256);
    while (names.intern("name " + std::to_string(names.names.end())) != 0) {
    }
    EXPECT_LE(names.names.end(), 256U);
    names.names.commit(4096);
    EXPECT_NE(names.intern("another"), 0U);
}

// An id has 31 bits of the position.
TEST(PassingNames, GoesOnWhenIdsWrapAround) {
    owned_names names;
    auto* const header = reinterpret_cast<passing_names_header*>(names.table.data());
    constexpr std::uint64_t around = (std::uint64_t{1} << 34) - 2048;
    header->freed = header->begin = header->end = around;
    names.names.commit(4096);
    std::map<std::uint32_t, std::string> all;
    bool has_wrapped = false;
    for (int i = 0; i < 1000; ++i) {
        const std::string text = "iteration " + std::to_string(i);
        const std::uint32_t id = names.intern(text);
        ASSERT_EQ(names.text(id), text);
        has_wrapped = has_wrapped || (!all.empty() && id < all.rbegin()->first);
        all[id] = text;
        (void)names.free_some();
    }
    EXPECT_TRUE(has_wrapped);
    for (const auto& [id, text] : all) EXPECT_TRUE(names.text(id).empty() || names.text(id) == text);
}

TEST(PassingNames, KeepsTheNamesOfManyThreadsApart) {
    owned_names names(1U << 20, 1024);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&names, t] {
            bool full = false;
            for (int i = 0; i < 2000; ++i) {
                // Every second one is everybody's.
                const std::string text = "name " + std::to_string(i) + (i % 2 == 0 ? "" : " of " + std::to_string(t));
                const std::uint32_t id = names.names.intern(text, 0, full);
                ASSERT_EQ(names.names.text(id), text);
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace prof::passing_names_test
