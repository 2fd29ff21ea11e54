// SPDX-License-Identifier: Apache-2.0
#include "record/name_table.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace prof::name_table_test {
namespace {

// A table in zeroed memory of its own, with storage behind `committed` bytes of its arena.
struct owned_table {
    explicit owned_table(std::uint32_t slots = 1024, std::uint32_t arena = 1U << 16, std::uint32_t committed = 1U << 16)
        : memory((name_table::bytes_needed(slots, arena) + 7) / 8),
          table(name_table::create(memory.data(), slots, arena)) {
        table.commit(committed);
    }
    std::uint32_t intern(std::string_view text) { return table.intern(text, full); }

    std::vector<std::uint64_t> memory;
    name_table table;
    bool full = false;
};

TEST(NameTable, GivesTheSameTextTheSameId) {
    owned_table names;
    const std::uint32_t forward = names.intern("forward");
    EXPECT_NE(forward, 0U);
    EXPECT_NE(names.intern("backward"), forward);
    EXPECT_EQ(names.intern("forward"), forward);
    EXPECT_EQ(names.table.text(forward), "forward");
}

TEST(NameTable, KeepsTheEmptyNameAsZero) {
    owned_table names;
    EXPECT_EQ(names.intern(""), 0U);
    EXPECT_FALSE(names.full);
    EXPECT_EQ(names.table.text(0), "");
}

TEST(NameTable, KeepsEveryByteOfAHostileName) {
    owned_table names;
    std::string every_byte;
    for (int c = 0; c < 256; ++c) every_byte += static_cast<char>(c);
    const std::string almost = every_byte.substr(0, 255);
    const std::uint32_t id = names.intern(every_byte);
    EXPECT_EQ(names.table.text(id), every_byte);
    EXPECT_NE(names.intern(almost), id);
}

TEST(NameTable, DistinguishesNamesOfOneLengthByEveryByte) {
    owned_table names;
    std::set<std::uint32_t> ids;
    const std::string base(37, 'a');
    ids.insert(names.intern(base));
    for (std::size_t i = 0; i < base.size(); ++i) {
        std::string other = base;
        other[i] = 'b';
        ids.insert(names.intern(other));
    }
    EXPECT_EQ(ids.size(), base.size() + 1);
}

TEST(NameTable, RefusesNamesWhenStorageIsFullAndKeepsTheRest) {
    owned_table names(1024, 4096, 256);  // storage for 256 bytes only: 8 unused, then entries of 8 + 24
    std::vector<std::uint32_t> ids;
    for (int i = 0; i < 20; ++i) {
        const std::uint32_t id = names.intern("name number " + std::to_string(100 + i) + " padding");  // 23 bytes
        EXPECT_EQ(id == 0, names.full);
        if (id != 0) ids.push_back(id);
    }
    EXPECT_EQ(ids.size(), 7U);  // (256 − 8) / 32
    for (std::size_t i = 0; i < ids.size(); ++i) {
        EXPECT_EQ(names.table.text(ids[i]), "name number " + std::to_string(100 + i) + " padding");
    }
    names.table.commit(4096);
    EXPECT_NE(names.intern("one more"), 0U);
    EXPECT_FALSE(names.full);
}

TEST(NameTable, RefusesNamesWhenItsSlotsAreFull) {
    owned_table names(256);
    int kept = 0;
    for (int i = 0; i < 400; ++i) kept += names.intern("n" + std::to_string(i)) != 0 ? 1 : 0;
    EXPECT_EQ(kept, 256);
}

TEST(NameTable, GivesNoTextForAnUnknownId) {
    owned_table names;
    (void)names.intern("something");
    EXPECT_EQ(names.table.text(UINT32_MAX), "");
    EXPECT_EQ(names.table.text((1U << 16) / 8), "");
    EXPECT_EQ(names.table.text(5000), "");
}

TEST(NameTable, IteratesItsEntriesInOrder) {
    owned_table names;
    const std::vector<std::string> texts = {"a", "bb", "a longer one than eight", std::string(1000, 'x'), "e"};
    std::vector<std::uint32_t> ids;
    for (const std::string& text : texts) ids.push_back(names.intern(text));
    std::uint32_t cursor = 0;
    std::uint32_t id = 0;
    std::string_view text;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        ASSERT_TRUE(names.table.next_entry(cursor, id, text));
        EXPECT_EQ(id, ids[i]);
        EXPECT_EQ(text, texts[i]);
    }
    EXPECT_FALSE(names.table.next_entry(cursor, id, text));
    const std::uint32_t later = names.intern("later");
    ASSERT_TRUE(names.table.next_entry(cursor, id, text));
    EXPECT_EQ(id, later);
}

TEST(NameTable, GivesThreadsThatInternTheSameNameOneId) {
    owned_table names(4096, 1U << 20, 1U << 20);
    constexpr int thread_count = 4;
    constexpr int name_count = 500;
    std::vector<std::vector<std::uint32_t>> ids(thread_count);
    std::vector<std::thread> threads;
    for (int t = 0; t < thread_count; ++t) {
        threads.emplace_back([&, t] {
            bool full = false;
            for (int i = 0; i < name_count; ++i) {
                ids[static_cast<std::size_t>(t)].push_back(names.table.intern("name " + std::to_string(i), full));
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (int t = 1; t < thread_count; ++t) EXPECT_EQ(ids[static_cast<std::size_t>(t)], ids[0]);
    std::map<std::uint32_t, std::string> found;
    std::uint32_t cursor = 0;
    std::uint32_t id = 0;
    for (std::string_view text; names.table.next_entry(cursor, id, text);) found[id] = text;
    for (int i = 0; i < name_count; ++i) {
        EXPECT_EQ(found[ids[0][static_cast<std::size_t>(i)]], "name " + std::to_string(i));
    }
}

// --- a forked child's table

TEST(NameTable, TakesOverAllNamesWithTheirIds) {
    owned_table parents;
    std::map<std::uint32_t, std::string> known;
    for (int i = 0; i < 500; ++i) {
        const std::string name = "name " + std::to_string(i * i);
        known[parents.intern(name)] = name;
    }
    // Reserved and never stored, as by a thread that is still storing.
    auto& used = reinterpret_cast<name_table_header*>(parents.memory.data())->used;
    used += 48;
    const std::uint32_t last = parents.intern("the last");
    known[last] = "the last";
    used += 16;

    owned_table childs(2048, 1U << 17, 1U << 17);
    childs.table.take_over(parents.table);
    EXPECT_EQ(childs.table.used_bytes(), parents.table.used_bytes() - 16);
    for (const auto& [id, name] : known) {
        EXPECT_EQ(childs.table.text(id), name);
        EXPECT_EQ(childs.intern(name), id);
    }
    const std::uint32_t fresh = childs.intern("the child's");
    EXPECT_EQ(known.count(fresh), 0U);

    std::uint32_t cursor = 0;
    std::uint32_t id = 0;
    std::string_view text;
    std::size_t nameless = 0;
    while (childs.table.next_entry(cursor, id, text)) {
        if (!known.contains(id) && id != fresh) ++nameless;
    }
    EXPECT_EQ(cursor, childs.table.used_bytes()) << "the reader comes past what was never stored";
    EXPECT_EQ(nameless, 1U);
}

TEST(NameTable, TakesOverTheNamesThatFit) {
    owned_table parents;
    const std::uint32_t first = parents.intern(std::string(1000, 'a'));
    const std::uint32_t second = parents.intern(std::string(1000, 'b'));
    owned_table childs(1024, 1U << 16, 1500);
    childs.table.take_over(parents.table);
    EXPECT_EQ(childs.table.text(first).size(), 1000U);
    EXPECT_TRUE(childs.table.text(second).empty());
    EXPECT_EQ(childs.table.used_bytes(), 8U + 8 + 1000);
}

// Each name that was there before is taken over, whatever is added meanwhile.
TEST(NameTable, TakesOverATableWhileOtherThreadsAddToIt) {
    owned_table parents(1U << 14, 1U << 20, 1U << 20);
    std::vector<std::uint32_t> before;
    for (int i = 0; i < 200; ++i) before.push_back(parents.intern("before " + std::to_string(i)));
    std::atomic<bool> ends{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t) {
        threads.emplace_back([&, t] {
            bool full = false;
            for (int i = 0; !ends; ++i)
                parents.table.intern(std::to_string(t) + " meanwhile " + std::to_string(i), full);
        });
    }
    for (int round = 0; round < 20; ++round) {
        owned_table childs(1U << 14, 1U << 20, 1U << 20);
        childs.table.take_over(parents.table);
        for (int i = 0; i < 200; ++i) {
            EXPECT_EQ(childs.table.text(before[static_cast<std::size_t>(i)]), "before " + std::to_string(i));
        }
        std::uint32_t cursor = 0;
        std::uint32_t id = 0;
        std::string_view text;
        while (childs.table.next_entry(cursor, id, text)) {
        }
        EXPECT_EQ(cursor, childs.table.used_bytes());
    }
    ends = true;
    for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace prof::name_table_test
