// SPDX-License-Identifier: Apache-2.0
#include "ring/producer.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <map>
#include <random>
#include <vector>

namespace prof::producer_test {
namespace {

region_options small_region(std::uint32_t records) {
    region_options options;
    options.place = "memory";
    options.large_rings = 1;
    options.large_ring_bytes = records * static_cast<std::uint32_t>(sizeof(record));
    options.medium_rings = 0;
    options.small_rings = 0;
    options.name_bytes = 1U << 16;
    options.name_slots = 1024;
    return options;
}

struct fixture {
    region where;
    ring_header* ring = where.claim_ring(1);
    producer out;

    explicit fixture(std::uint32_t records = 16) : where(small_region(records)) { out.attach(where, *ring, 1); }

    std::vector<record> drain() {
        ring_consumer<record> consumer(&ring->counters, where.slots(*ring), ring->capacity);
        const auto view = consumer.peek();
        std::vector<record> records(view.first.begin(), view.first.end());
        records.insert(records.end(), view.second.begin(), view.second.end());
        consumer.release(view.end);
        return records;
    }
    std::uint64_t dropped(drop_cause cause) { return where.drops()[static_cast<std::size_t>(cause)]; }
};

record of(record_kind kind, std::uint16_t domain = 0, std::uint64_t value = 0) {
    record r;
    r.kind = kind;
    r.domain = domain;
    r.value = value;
    return r;
}

TEST(Producer, CountsLevelsPerDomainFromZero) {
    fixture f;
    EXPECT_EQ(f.out.push(of(record_kind::range_push, 0)), 0);
    EXPECT_EQ(f.out.push(of(record_kind::range_push, 0)), 1);
    EXPECT_EQ(f.out.push(of(record_kind::range_push, 3)), 0);
    EXPECT_EQ(f.out.pop(of(record_kind::range_pop, 0)), 1);
    EXPECT_EQ(f.out.pop(of(record_kind::range_pop, 0)), 0);
    EXPECT_LT(f.out.pop(of(record_kind::range_pop, 0)), 0);
    EXPECT_EQ(f.dropped(drop_cause::pop_without_push), 1U);
    EXPECT_EQ(f.drain().size(), 5U);
}

TEST(Producer, ReservesThePlaceOfEveryRecordedRangesPop) {
    fixture f;
    int pushed = 0;
    for (int i = 0; i < 20; ++i) {
        f.out.push(of(record_kind::range_push));
        ++pushed;
    }
    for (int i = 0; i < pushed; ++i) f.out.pop(of(record_kind::range_pop));
    const auto records = f.drain();
    ASSERT_EQ(records.size(), 16U);  // 8 pushes and their 8 pops fill the ring
    for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(records[i].kind, record_kind::range_push);
    for (std::size_t i = 8; i < 16; ++i) EXPECT_EQ(records[i].kind, record_kind::range_pop);
    EXPECT_EQ(f.dropped(drop_cause::ring_full), 1U);                 // the ninth
    EXPECT_EQ(f.dropped(drop_cause::enclosing_range_dropped), 11U);  // and what was inside it
}

// A worker that never left a place would be charged for all it does after it.
TEST(Producer, ReservesThePlaceOfEveryAdoptionsEnd) {
    fixture f;
    EXPECT_EQ(f.out.push(of(record_kind::range_push)), 0);
    EXPECT_EQ(f.out.adopt_push(of(record_kind::adopt_push)), 0) << "no domain's pair";
    for (int i = 0; i < 20; ++i) f.out.write(of(record_kind::mark));
    EXPECT_EQ(f.out.adopt_push(of(record_kind::adopt_push)), 1);
    EXPECT_EQ(f.out.adopt_pop(of(record_kind::adopt_pop)), 1);
    EXPECT_EQ(f.out.adopt_pop(of(record_kind::adopt_pop)), 0);
    EXPECT_LT(f.out.adopt_pop(of(record_kind::adopt_pop)), 0);
    EXPECT_EQ(f.out.pop(of(record_kind::range_pop)), 0);
    const auto records = f.drain();
    ASSERT_EQ(records.size(), 16U);
    EXPECT_EQ(records[1].kind, record_kind::adopt_push);
    EXPECT_EQ(records[14].kind, record_kind::adopt_pop) << "of the first: the second was dropped whole";
    EXPECT_EQ(records[15].kind, record_kind::range_pop);
    EXPECT_EQ(f.dropped(drop_cause::pop_without_push), 1U);
}

TEST(Producer, ReservesThePlaceOfAnApiExit) {
    fixture f;
    for (int i = 0; i < 14; ++i) f.out.write(of(record_kind::mark));
    f.out.open_api(77, api_domain::driver, [](record& r) { r = of(record_kind::api_enter, 1, 77); });
    EXPECT_TRUE(f.out.is_open_api(77, api_domain::driver));
    EXPECT_FALSE(f.out.is_open_api(77, api_domain::runtime));
    EXPECT_TRUE(f.out.is_inside_api(77));
    EXPECT_FALSE(f.out.is_inside_api(78));
    f.out.write(of(record_kind::mark));  // only the exit's place is left
    f.out.close_api([](record& r) { r = of(record_kind::api_exit, 1, 77); });
    const auto records = f.drain();
    ASSERT_EQ(records.size(), 16U);
    EXPECT_EQ(records.back().kind, record_kind::api_exit);
    EXPECT_EQ(f.dropped(drop_cause::ring_full), 1U);
    EXPECT_FALSE(f.out.is_open_api(77, api_domain::driver));
    EXPECT_FALSE(f.out.has_open_api());
    EXPECT_FALSE(f.out.is_inside_api(77));
    EXPECT_FALSE(f.out.is_inside_api(0)) << "what a call outside all recordings would have";
}

// Of each but the last the exit never came: its place is free again.
TEST(Producer, ReservesNoPlaceForTheExitOfADroppedApiCall) {
    fixture f;
    for (std::uint32_t call = 1; call <= 3; ++call) {
        f.out.open_api(call, api_domain::driver, [&](record& r) { r = of(record_kind::api_enter, 1, call); });
    }
    for (int i = 0; i < 12; ++i) f.out.write(of(record_kind::mark));
    EXPECT_EQ(f.dropped(drop_cause::ring_full), 0U);
    f.out.write(of(record_kind::mark));
    EXPECT_EQ(f.dropped(drop_cause::ring_full), 1U) << "but for the last one's there is one";
    f.out.close_api([](record& r) { r = of(record_kind::api_exit, 1, 3); });
    EXPECT_EQ(f.drain().size(), 16U);
}

TEST(Producer, RecordsADomainAgainAfterADroppedRangeEnds) {
    fixture f;
    f.out.push(of(record_kind::range_push, 2));
    for (int i = 0; i < 14; ++i) f.out.write(of(record_kind::mark));
    EXPECT_EQ(f.out.push(of(record_kind::range_push, 2)), 1);
    EXPECT_EQ(f.dropped(drop_cause::ring_full), 1U);
    EXPECT_EQ(f.drain().size(), 15U);
    EXPECT_EQ(f.out.push(of(record_kind::range_push, 2)), 2);
    EXPECT_EQ(f.dropped(drop_cause::enclosing_range_dropped), 1U);
    EXPECT_EQ(f.out.pop(of(record_kind::range_pop, 2)), 2);
    EXPECT_EQ(f.out.pop(of(record_kind::range_pop, 2)), 1);
    EXPECT_EQ(f.drain().size(), 0U);
    EXPECT_EQ(f.out.push(of(record_kind::range_push, 2)), 1);
    EXPECT_EQ(f.out.push(of(record_kind::range_push, 2)), 2);
    for (const int level : {2, 1, 0}) EXPECT_EQ(f.out.pop(of(record_kind::range_pop, 2)), level);
    EXPECT_EQ(f.drain().size(), 5U);
}

TEST(Producer, RecognizesATextByAddressUnlessItChanged) {
    fixture f;
    char text[32];
    for (int round = 0; round < 2; ++round) {
        // Of the same length, longer by one, its beginning, empty.
        for (const char* next : {"kernel_a", "kernel_b", "kernel_b2", "kernel", "", "kernel_a"}) {
            std::snprintf(text, sizeof text, "%s", next);
            const std::uint32_t id = f.out.name_of(text);
            EXPECT_EQ(f.where.name_text(id), next);
            EXPECT_EQ(f.out.name_of(text), id);
        }
    }
    EXPECT_EQ(f.out.name_of(nullptr), 0U);
}

TEST(Producer, RecognizesASymbolByAddressUntilAModuleIsUnloaded) {
    fixture f;
    char text[32] = "kernel_a";
    const std::uint32_t a = f.out.symbol_of(text, 1);
    EXPECT_EQ(f.where.name_text(a), "kernel_a");
    std::snprintf(text, sizeof text, "kernel_b");
    EXPECT_EQ(f.out.symbol_of(text, 1), a) << "the bytes are not looked at";
    const std::uint32_t b = f.out.symbol_of(text, 2);
    EXPECT_EQ(f.where.name_text(b), "kernel_b");
    EXPECT_EQ(f.out.symbol_of(text, 2), b);
    // Without notice of unloading, and for a text that is no symbol, the bytes are compared.
    std::snprintf(text, sizeof text, "kernel_c");
    EXPECT_EQ(f.where.name_text(f.out.symbol_of(text, 0)), "kernel_c");
    std::snprintf(text, sizeof text, "kernel_d");
    EXPECT_EQ(f.where.name_text(f.out.symbol_of(text, 0)), "kernel_d");
    EXPECT_EQ(f.where.name_text(f.out.symbol_of(text, 3)), "kernel_d");
    std::snprintf(text, sizeof text, "range");
    EXPECT_EQ(f.where.name_text(f.out.name_of(text)), "range");
    EXPECT_EQ(f.out.symbol_of(nullptr, 3), 0U);
    EXPECT_EQ(f.out.symbol_of(nullptr, 4), 0U);
}

// A record that is dropped is not put together: its name takes no place in the table.
TEST(Producer, FillsOnlyRecordsThatAreWritten) {
    fixture f;
    while (f.dropped(drop_cause::ring_full) == 0) f.out.write(of(record_kind::mark));
    bool filled = false;
    f.out.push(0, [&](record&) { filled = true; });
    f.out.pop(0, [&](record&) { filled = true; });
    EXPECT_FALSE(filled);
}

// More than it remembers, and in an order in which none is the one before.
TEST(Producer, GivesEachOfManySymbolsItsOwnName) {
    region_options options;
    options.place = "memory";
    region where(options);
    producer out;
    out.attach(where, *where.claim_ring(1), 1);
    std::vector<std::string> symbols;
    for (int i = 0; i < 2000; ++i) symbols.push_back("_Z6kernelILi" + std::to_string(i) + "EEvv");
    std::map<std::string, std::uint32_t> ids;
    for (int round = 0; round < 3; ++round) {
        for (const std::string& symbol : symbols) {
            const std::uint32_t id = out.name_of(symbol.c_str());
            ASSERT_EQ(where.name_text(id), symbol);
            ASSERT_EQ(ids.try_emplace(symbol, id).first->second, id);
        }
    }
}

// Whatever the load, what is recorded is paired: per domain every pop closes a recorded push, and recorded plus dropped
// is everything that was asked for.
TEST(Producer, KeepsRangesPairedAndCountsDropsUnderAnyLoad) {
    for (std::uint32_t seed = 0; seed < 200; ++seed) {
        fixture f;
        std::mt19937 random(seed);
        std::map<std::uint16_t, int> open;      // as the program sees it
        std::map<std::uint16_t, int> recorded;  // as the records say
        std::uint64_t pushes = 0;
        std::uint64_t pushes_recorded = 0;
        const auto read = [&] {
            for (const record& r : f.drain()) {
                if (r.kind == record_kind::range_push) {
                    ++recorded[r.domain];
                    ++pushes_recorded;
                } else {
                    --recorded[r.domain];
                    ASSERT_GE(recorded[r.domain], 0);
                }
            }
        };
        for (int step = 0; step < 400; ++step) {
            const auto domain = static_cast<std::uint16_t>(random() % 3);
            const auto choice = random() % 10;
            if (choice < 5) {
                f.out.push(of(record_kind::range_push, domain));
                ++open[domain];
                ++pushes;
            } else if (choice < 9 && open[domain] > 0) {
                f.out.pop(of(record_kind::range_pop, domain));
                --open[domain];
            } else if (choice == 9) {
                read();
            }
        }
        for (auto& [domain, count] : open) {
            for (; count > 0; --count) {
                read();
                f.out.pop(of(record_kind::range_pop, domain));
            }
        }
        read();
        for (const auto& [domain, count] : recorded) EXPECT_EQ(count, 0) << "seed " << seed;
        EXPECT_EQ(pushes_recorded + f.dropped(drop_cause::ring_full) + f.dropped(drop_cause::enclosing_range_dropped),
                  pushes);
        EXPECT_EQ(f.dropped(drop_cause::pop_without_push), 0U);
    }
}

// One push an iteration whose pop is forgotten, as in a loop that is left by an exception.
TEST(Producer, RecordsAllRangesOfAProgramThatForgetsPops) {
    fixture f(256);
    constexpr int leaks = 5'000;
    std::map<record_kind, int> recorded;
    const auto read = [&] {
        for (const record& r : f.drain()) ++recorded[r.kind];
    };
    for (int i = 0; i < leaks; ++i) {
        f.out.push(of(record_kind::range_push, 3));
        f.out.push(of(record_kind::range_push, 3));
        f.out.open_api(7, api_domain::driver, [](record& r) { r = of(record_kind::api_enter); });
        f.out.close_api([](record& r) { r = of(record_kind::api_exit); });
        f.out.write(of(record_kind::mark));
        EXPECT_EQ(f.out.pop(of(record_kind::range_pop, 3)), i + 1);
        read();
    }
    EXPECT_EQ(f.dropped(drop_cause::ring_full) + f.dropped(drop_cause::enclosing_range_dropped), 0U);
    EXPECT_EQ(recorded[record_kind::api_enter], leaks);
    EXPECT_EQ(recorded[record_kind::api_exit], leaks);
    EXPECT_EQ(recorded[record_kind::mark], leaks);
    for (int i = leaks; i-- > 0;) {
        EXPECT_EQ(f.out.pop(of(record_kind::range_pop, 3)), i);
        read();
    }
    EXPECT_LT(f.out.pop(of(record_kind::range_pop, 3)), 0);
    EXPECT_EQ(recorded[record_kind::range_push], 2 * leaks);
    EXPECT_EQ(recorded[record_kind::range_pop], 2 * leaks);
    EXPECT_EQ(f.dropped(drop_cause::pop_without_push), 1U);
    EXPECT_EQ(f.out.epoch(), 1U) << "it has not begun anew";
}

// Nor does such a program lose the pairing of what is recorded, whatever the load: a pop that finds no place at all has
// the thread begin anew.
TEST(Producer, KeepsRangesPairedUnderAnyLoadWhenPopsAreForgotten) {
    int begun_anew = 0;
    int leaked = 0;
    for (std::uint32_t seed = 0; seed < 100; ++seed) {
        fixture f(256);
        std::mt19937 random(seed);
        std::map<std::uint16_t, std::vector<std::uint64_t>> open;      // as the program sees it
        std::map<std::uint16_t, std::vector<std::uint64_t>> recorded;  // as the records say
        std::uint64_t pushes = 0;
        std::uint64_t pushes_recorded = 0;
        const auto read = [&] {
            for (const record& r : f.drain()) {
                auto& stack = recorded[r.domain];
                if (r.kind == record_kind::range_push) {
                    stack.push_back(r.value);
                    ++pushes_recorded;
                } else {
                    ASSERT_FALSE(stack.empty());
                    ASSERT_EQ(stack.back(), r.value) << "the pop of another";
                    stack.pop_back();
                }
            }
        };
        const unsigned reads_one_in = 2 + seed % 60;
        std::size_t deepest = 0;
        const auto pop = [&](std::uint16_t domain) {
            f.out.pop(of(record_kind::range_pop, domain, open[domain].back()));
            open[domain].pop_back();
        };
        for (int step = 0; step < 3'000 && f.out.epoch() == 1; ++step) {
            const auto domain = static_cast<std::uint16_t>(random() % 2);
            const bool pushes_more = step < 2'000 ? random() % 100 < (domain == 0 ? 60U : 50U) : random() % 4 == 0;
            if (pushes_more) {
                open[domain].push_back(++pushes);
                f.out.push(of(record_kind::range_push, domain, pushes));
                deepest = std::max(deepest, open[domain].size());
            } else if (!open[domain].empty()) {
                pop(domain);
            }
            if (random() % reads_one_in == 0) read();
        }
        leaked += deepest > 128 ? 1 : 0;
        begun_anew += f.out.epoch() == 1 ? 0 : 1;
        for (auto& [domain, stack] : open) {
            while (!stack.empty() && f.out.epoch() == 1) {
                read();
                pop(domain);
            }
        }
        read();
        if (f.out.epoch() != 1) continue;
        for (const auto& [domain, stack] : recorded) EXPECT_TRUE(stack.empty()) << "seed " << seed;
        EXPECT_EQ(pushes_recorded + f.dropped(drop_cause::ring_full) + f.dropped(drop_cause::enclosing_range_dropped),
                  pushes);
        EXPECT_EQ(f.dropped(drop_cause::pop_without_push), 0U);
    }
    EXPECT_GT(leaked, 50);
    EXPECT_LT(begun_anew, 50);
}

#ifdef PROF_TEST_MEASURES_STACKS  // a sanitizer puts more there
// Calls `function` on a thread of its own, and returns how many bytes of its stack were used.
std::size_t stack_used_by(void* (*function)(void*), void* of) {
    constexpr std::size_t size = std::size_t{256} << 10;
    void* const stack = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(stack, MAP_FAILED);
    constexpr unsigned char mark = 0xA5;
    std::memset(stack, mark, size);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    EXPECT_EQ(pthread_attr_setstack(&attributes, stack, size), 0);
    pthread_t thread{};
    EXPECT_EQ(pthread_create(&thread, &attributes, function, of), 0);
    EXPECT_EQ(pthread_join(thread, nullptr), 0);
    pthread_attr_destroy(&attributes);
    const auto* const begin = static_cast<const unsigned char*>(stack);
    const auto* const lowest = std::find_if(begin, begin + size, [](unsigned char byte) { return byte != mark; });
    const auto used = static_cast<std::size_t>(begin + size - lowest);
    munmap(stack, size);
    return used;
}

// What a thread of the program uses of its stack stays resident until the thread ends.
TEST(Producer, UsesLittleOfTheStack) {
    fixture f;
    // So many that the known ones are forgotten at last.
    static std::array<std::array<char, 2>, known_texts::limit + known_texts::patience + 2> texts{};
    for (auto& text : texts) text[0] = 'a';
    const std::size_t unused = stack_used_by([](void*) -> void* { return nullptr; }, nullptr);
    const std::size_t used = stack_used_by(
        [](void* of) -> void* {
            auto& here = *static_cast<fixture*>(of);
            here.out.attach(here.where, *here.ring, 2);
            for (const auto& text : texts) (void)here.out.name_of(text.data());
            return nullptr;
        },
        &f);
    EXPECT_LT(used - unused, 4096U);
}
#endif

}  // namespace
}  // namespace prof::producer_test
