// SPDX-License-Identifier: Apache-2.0
// When names of ranges are freed: not while a thread is at one, nor while one is in a ring.
#include "ring/name_recycling.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "ring/producer.hpp"

namespace prof::name_recycling_test {
namespace {

region_options small_names() {
    region_options options;
    options.place = "memory";
    options.large_rings = 8;
    options.large_ring_bytes = 16U << 10;
    options.passing_name_bytes = 16U << 10;
    options.passing_name_slots = 256;
    options.name_bytes = 4096;
    options.name_slots = 64;
    return options;
}

struct named_thread {
    explicit named_thread(region& where) : ring(where.claim_ring(1)) { out.attach(where, *ring, 1); }
    void mark(const std::string& text, std::uint64_t value = 0) {
        record r{.value = value, .kind = record_kind::mark};
        r.name = out.name_of(text.c_str());
        out.write(r);
    }
    ring_header* ring;
    producer out;
};

struct NameRecycling : testing::Test {
    region where{small_names()};
    name_recycling recycling{where};
    named_thread thread{where};
    int next = 0;

    void use_names_up() {
        while (where.passing().end() - where.passing().begin() <= 11 * 1024) {
            ASSERT_NE(thread.out.intern("iteration " + std::to_string(next++)), 0U);
        }
        thread.out.write({.kind = record_kind::mark});
    }
    bool free_names() {
        if (!recycling.prepare()) return false;
        recycling.finish();
        return true;
    }
};

TEST_F(NameRecycling, FreesNamesThatNoThreadUses) {
    const std::uint32_t old = thread.out.intern("old");
    thread.out.write({.kind = record_kind::mark});
    EXPECT_FALSE(free_names()) << "there is room";
    for (int turn = 0; turn < 20; ++turn) {
        use_names_up();
        ASSERT_TRUE(free_names());
    }
    EXPECT_EQ(where.name_text(old), "");
    EXPECT_EQ(where.drops()[static_cast<std::size_t>(drop_cause::names_full)], 0U);
}

TEST_F(NameRecycling, WaitsForAThreadThatUsesAName) {
    named_thread other(where);
    const std::uint32_t name = other.out.name_of("slow");
    use_names_up();
    EXPECT_FALSE(free_names());
    EXPECT_EQ(where.name_text(name), "slow");
    other.out.write({.name = name, .kind = record_kind::mark});
    (void)other.out.name_of("the next");  // and it is at another already
    EXPECT_TRUE(free_names());
    EXPECT_EQ(where.name_text(name), "");
}

TEST_F(NameRecycling, DoesNotWaitForADroppedRecord) {
    named_thread other(where);
    while (other.ring->drops[static_cast<std::size_t>(drop_cause::ring_full)] == 0) other.mark("full");
    use_names_up();
    EXPECT_TRUE(free_names());
}

TEST_F(NameRecycling, DoesNotWaitForAnEndedThread) {
    named_thread other(where);
    (void)other.out.name_of("last words");
    where.retire_ring(*other.ring);
    use_names_up();
    EXPECT_TRUE(free_names());
}

TEST_F(NameRecycling, WaitsForAThreadWithoutARing) {
    use_names_up();
    {
        const region::name_use here(where);
        EXPECT_FALSE(free_names());
    }
    EXPECT_TRUE(free_names());
}

// What a thread knows by address is forgotten in time.
TEST_F(NameRecycling, GivesAReusedTextANewId) {
    const char* const text = "work";
    const std::uint32_t before = thread.out.name_of(text);
    use_names_up();
    ASSERT_TRUE(free_names());
    const std::uint32_t after = thread.out.name_of(text);
    EXPECT_NE(after, before);
    EXPECT_EQ(where.name_text(after), "work");
    EXPECT_EQ(thread.out.name_of(text), after);
}

TEST_F(NameRecycling, KeepsRegisteredStringsAndSymbols) {
    const std::uint32_t registered = where.intern("registered");
    const std::uint32_t symbol = thread.out.symbol_of("_Z6kernelv", 1);
    thread.out.write({.kind = record_kind::mark});
    for (int turn = 0; turn < 5; ++turn) {
        use_names_up();
        ASSERT_TRUE(free_names());
    }
    EXPECT_EQ(where.name_text(registered), "registered");
    EXPECT_EQ(where.name_text(symbol), "_Z6kernelv");
    EXPECT_EQ(thread.out.symbol_of("_Z6kernelv", 1), symbol);
    EXPECT_EQ(where.intern("registered"), registered);
}

TEST_F(NameRecycling, PutsSymbolsAmongPassingNamesWhenTheTableIsFull) {
    while (!is_passing(where.intern("registered " + std::to_string(next++)))) {
    }
    const char* const symbol = "_Z6kernelv";
    std::uint32_t name = thread.out.symbol_of(symbol, 1);
    EXPECT_EQ(where.name_text(name), symbol);
    EXPECT_EQ(thread.out.known_symbol(symbol, 1), nullptr) << "its name may change";
    thread.out.write({.kind = record_kind::mark});
    use_names_up();
    ASSERT_TRUE(free_names());
    name = thread.out.symbol_of(symbol, 1);
    EXPECT_EQ(where.name_text(name), symbol);
    EXPECT_EQ(where.drops()[static_cast<std::size_t>(drop_cause::names_full)], 0U);
}

// Each record's name holds its thread and number. Names are few, so that their memory turns over hundreds of times.
TEST_F(NameRecycling, KeepsTheNameOfEachRecordOfManyThreads) {
    constexpr std::size_t threads = 4;
    constexpr std::uint64_t each = 20'000;
    std::atomic<std::size_t> running{threads};
    std::atomic<std::uint64_t> freed{0};
    std::deque<named_thread> all;
    for (std::size_t t = 0; t < threads; ++t) all.emplace_back(where);
    std::vector<std::thread> producers;
    for (std::size_t t = 0; t < threads; ++t) {
        producers.emplace_back([&, t] {
            for (std::uint64_t i = 0; i < each; ++i) {
                const auto& at = all[t].ring->counters;
                const auto waits = [&] { return where.passing().end() > freed + 14 * 1024 || at.head - at.tail > 256; };
                while (waits()) std::this_thread::yield();
                all[t].mark(i % 8 == 0 ? "everybody's" : std::to_string(t) + "." + std::to_string(i), i);
            }
            --running;
        });
    }
    std::uint64_t seen = 0;
    bool is_last = false;
    while (!is_last) {
        is_last = running == 0;
        const bool frees = recycling.prepare();
        for (std::size_t t = 0; t < threads; ++t) {
            ring_consumer<record> drain(&all[t].ring->counters, where.slots(*all[t].ring), all[t].ring->capacity);
            const auto view = drain.peek();
            for (const auto part : {view.first, view.second}) {
                for (const record& r : part) {
                    const std::string expected =
                        r.value % 8 == 0 ? "everybody's" : std::to_string(t) + "." + std::to_string(r.value);
                    EXPECT_EQ(where.name_text(r.name), expected);
                    ++seen;
                }
            }
            drain.release(view.end);
        }
        if (frees) recycling.finish();
        freed = where.passing().freed();
    }
    for (std::thread& producer : producers) producer.join();
    EXPECT_EQ(seen, threads * each);
    EXPECT_EQ(where.drops()[static_cast<std::size_t>(drop_cause::names_full)], 0U);
    EXPECT_GT(where.passing().end(), 40U * where.passing().arena_bytes());
}

}  // namespace
}  // namespace prof::name_recycling_test
