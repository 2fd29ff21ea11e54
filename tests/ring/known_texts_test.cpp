// SPDX-License-Identifier: Apache-2.0
#include "ring/known_texts.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace prof::known_texts_test {
namespace {

TEST(KnownTexts, EmptiesItselfAtItsLimit) {
    const std::vector<char> bytes(known_texts::limit + 1);
    known_texts known;
    for (std::size_t i = 0; i < known_texts::limit; ++i) {
        EXPECT_EQ(known.find(&bytes[i]), nullptr);
        known.add({&bytes[i], static_cast<std::uint32_t>(i + 1)});
    }
    ASSERT_EQ(known.all().size(), known_texts::limit);
    for (std::size_t i = 0; i < known_texts::limit; ++i) {
        ASSERT_NE(known.find(&bytes[i]), nullptr);
        EXPECT_EQ(known.find(&bytes[i])->name, i + 1);
        EXPECT_EQ(known.all()[i].text, &bytes[i]) << "in the order in which they came";
    }
    for (std::uint32_t i = 1; i < known_texts::patience; ++i) {
        known.add({&bytes[known_texts::limit], 1000});
        ASSERT_EQ(known.find(&bytes[known_texts::limit]), nullptr);
        ASSERT_NE(known.find(&bytes[i % known_texts::limit]), nullptr);
    }
    known.add({&bytes[known_texts::limit], 1000});
    EXPECT_EQ(known.find(&bytes[0]), nullptr);
    EXPECT_EQ(known.find(&bytes[known_texts::limit])->name, 1000U);
    EXPECT_EQ(known.all().size(), 1U);
}

// Beside a map that is emptied when it was full for long. Addresses far apart and close together, so that places
// collide.
TEST(KnownTexts, AgreesWithAMap) {
    for (std::uint32_t seed = 0; seed < 50; ++seed) {
        std::mt19937_64 random(seed);
        std::vector<const char*> texts;
        for (int i = 0; i < 400; ++i) {
            const std::uint64_t address = i % 2 == 0 ? random() % (1ULL << 47) : 0x7f0000000000 + random() % 4096;
            texts.push_back(reinterpret_cast<const char*>(address + 1));
        }
        known_texts known;
        std::map<const char*, std::uint32_t> map;
        std::uint32_t refused = 0;
        for (std::uint32_t step = 1; step < 8000; ++step) {
            const char* const text = texts[random() % (step < 2500 ? 200 : texts.size())];
            const known_texts::entry* const found = known.find(text);
            ASSERT_EQ(found != nullptr, map.contains(text));
            if (found != nullptr) {
                ASSERT_EQ(found->name, map.at(text));
                continue;
            }
            known.add({text, step});
            if (map.size() == known_texts::limit && ++refused < known_texts::patience) continue;
            if (map.size() == known_texts::limit) map.clear();
            refused = 0;
            map[text] = step;
        }
    }
}

}  // namespace
}  // namespace prof::known_texts_test
