// SPDX-License-Identifier: Apache-2.0
// The stacks of calls and what threads did before them, from their records: worked by hand.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "memory/simulated_allocator.hpp"
#include "support/capture_builder.hpp"
#include "timeline/timeline.hpp"

namespace prof::call_stacks_test {
namespace {

struct frame {
    std::string name;
    std::uint32_t line = 0;
    std::uint32_t index = 0;
    std::uint8_t flags = 0;
};

struct CallStacks : testing::Test {
    capture_builder capture;
    thread_script& main = capture.thread("main");

    void stack(std::uint64_t ns, std::uint64_t correlation, stack_role role, const std::vector<frame>& frames,
               std::uint32_t depth = 20, std::uint16_t domain = 0) {
        for (std::size_t i = 0; i < frames.size(); ++i) {
            const bool is_sample = role == stack_role::during;
            main.add({.ticks = ns,
                      .value = correlation,
                      .name = capture.name(frames[i].name),
                      .color = frames[i].line,
                      .category = frames[i].index | depth << 16,
                      .domain = static_cast<std::uint16_t>(i == 0 || is_sample ? domain : 0),
                      .kind = record_kind::code_line,
                      .flags = static_cast<std::uint8_t>(static_cast<std::uint8_t>(role) | frames[i].flags)});
        }
    }
    void time(std::uint64_t ns, std::uint64_t correlation, std::uint32_t ran, std::uint32_t waited, std::uint32_t looks,
              const std::string& by = {}) {
        main.add({.ticks = ns,
                  .value = correlation,
                  .name = by.empty() ? 0 : capture.name(by),
                  .color = ran | waited << 16,
                  .category = looks,
                  .kind = record_kind::thread_time});
    }
    void wait(std::uint64_t ns, std::uint64_t until_ns, std::uint64_t correlation, const std::vector<frame>& frames) {
        main.enter(ns, correlation);
        stack(until_ns, correlation, stack_role::call, frames);
        main.exit(until_ns, correlation);
    }
};

std::string text_of(const timeline& data, const code_line* line) {
    if (line == nullptr) return "none";
    const std::string name{data.name(line->name)};
    return name.substr(name.find('\n') + 1) + ":" + std::to_string(line->line);
}

TEST_F(CallStacks, ACallHasThatOfItsReturn) {
    wait(1'000, 50'000, 1,
         {{"item\nlib.py", 5, 0, library_line}, {"train\ntrain.py", 57, 1}, {"main\ntrain.py", 90, 4}});
    wait(60'000, 90'000, 2, {{"other\ntrain.py", 60, 0}});
    const timeline data = capture.build();
    ASSERT_EQ(data.call_stacks.size(), 2U);
    EXPECT_EQ(data.api_calls[data.call_stacks[0].call].correlation, 1U);
    EXPECT_EQ(text_of(data, own_line(data, data.call_stacks[0].stack)), "train.py:57");
    EXPECT_EQ(data.code_stacks[data.call_stacks[0].stack].depth, 20U);
    EXPECT_EQ(text_of(data, outer_line(data, data.call_stacks[0].stack)), "train.py:90");
    EXPECT_EQ(text_of(data, own_line(data, data.call_stacks[1].stack)), "train.py:60");
    EXPECT_EQ(stack_of_call(data, data.call_stacks[0].call, stack_role::before), nullptr);
}

TEST_F(CallStacks, ACallMayHaveThreeOfThem) {
    main.launch(1'000, 1);
    stack(900'000, 2, stack_role::during, {{"slow\na.py", 3, 0}}, 20, 32'768);
    time(900'000, 2, 60'000, 5'000, 3, "reading a pipe");
    stack(900'000, 2, stack_role::before, {{"train\na.py", 9, 0}});
    main.enter(900'000, 2);
    stack(950'000, 2, stack_role::call, {{"train\na.py", 9, 0}});
    main.exit(950'000, 2);
    const timeline data = capture.build();
    ASSERT_EQ(data.call_stacks.size(), 3U);
    const call_id call = data.call_stacks[0].call;
    EXPECT_EQ(data.api_calls[call].correlation, 2U);
    EXPECT_EQ(text_of(data, own_line(data, stack_of_call(data, call, stack_role::during)->stack)), "a.py:3");
    EXPECT_EQ(stack_of_call(data, call, stack_role::during)->position, 32'768U);
    EXPECT_EQ(text_of(data, own_line(data, stack_of_call(data, call, stack_role::before)->stack)), "a.py:9");
    // The same stack of two moments is there once.
    EXPECT_EQ(stack_of_call(data, call, stack_role::before)->stack, stack_of_call(data, call, stack_role::call)->stack);
    const call_account* const account = account_of_call(data, call);
    ASSERT_NE(account, nullptr);
    EXPECT_EQ(account->looks, 3U);
    EXPECT_EQ(account->ran, 60'000U);
    EXPECT_EQ(account->waited, 5'000U);
    EXPECT_EQ(data.name(account->blocked_in), "reading a pipe");
    EXPECT_EQ(account_of_call(data, call_id(call - 1)), nullptr);
}

TEST_F(CallStacks, SharesAreNeverMoreThanAll) {
    main.launch(1'000, 1);
    time(900'000, 2, 65'535, 40'000, 1);
    main.launch(900'000, 2);
    const timeline data = capture.build();
    ASSERT_EQ(data.call_accounts.size(), 1U);
    EXPECT_EQ(data.call_accounts[0].waited, 0U);
}

TEST_F(CallStacks, OfCallsThatAreMissingThereAreNone) {
    stack(900'000, 7, stack_role::before, {{"train\na.py", 9, 0}});
    time(900'000, 7, 1, 1, 1);
    main.launch(910'000, 2);
    const timeline data = capture.build();
    EXPECT_TRUE(data.call_stacks.empty());
    EXPECT_TRUE(data.call_accounts.empty());
}

TEST_F(CallStacks, FramesOfCppAreMarked) {
    wait(1'000, 50'000, 1,
         {{"ab12\n/usr/lib/libcudart.so", 0x10, 2, library_line | native_line},
          {"ff00\n/home/me/app", 0x1234, 3, native_line}});
    const timeline data = capture.build();
    ASSERT_EQ(data.call_stacks.size(), 1U);
    const code_line* const line = own_line(data, data.call_stacks[0].stack);
    ASSERT_NE(line, nullptr);
    EXPECT_TRUE(line->is_native);
    EXPECT_FALSE(line->is_library);
    EXPECT_EQ(text_of(data, line), "/home/me/app:" + std::to_string(0x1234));
}

TEST_F(CallStacks, ThoseLeftOutAreCounted) {
    main.launch(1'000, 1);
    stack(900'000, 2, stack_role::before, {{"train\na.py", 9, 0}, {"main\na.py", 1, 1}}, 2, 5);
    main.launch(900'000, 2);
    EXPECT_EQ(capture.build().quality.stacks_left_out, 5U);
}

// Of a block that is given out, and of a request that fails; a stack of a block whose record is missing is of none.
TEST_F(CallStacks, ABlockOfMemoryHasThatOfItsBirth) {
    simulated_allocator gpu;
    const std::uint64_t address = gpu.take(main, 1'000, 4096);
    stack(1'000, address, stack_role::birth, {{"forward\nmodel.py", 7, 0}, {"main\ntrain.py", 3, 1}}, 2, 5);
    const std::uint64_t plain = gpu.take(main, 2'000, 512);
    gpu.free(main, 3'000, plain);
    stack(3'000, plain, stack_role::birth, {{"lost\nmodel.py", 8, 0}});
    stack(3'500, address, stack_role::birth, {{"lost\nmodel.py", 9, 0}});
    gpu.fail(main, 4'000, 77);
    stack(4'000, 77, stack_role::birth, {{"train\ntrain.py", 12, 0}});
    const timeline data = capture.build();
    ASSERT_EQ(data.memory.size(), 4U);
    EXPECT_EQ(text_of(data, own_line(data, data.memory[0].stack)), "model.py:7");
    EXPECT_EQ(data.memory[1].stack, npos);
    EXPECT_EQ(data.memory[2].stack, npos);
    EXPECT_EQ(text_of(data, own_line(data, data.memory[3].stack)), "train.py:12") << "the last record of the thread";
    EXPECT_TRUE(data.call_stacks.empty());
    EXPECT_EQ(data.quality.stacks_left_out, 0U) << "those of calls alone";
}

// A stack of a kind that only a newer release knows.
TEST_F(CallStacks, OfAnUnknownMomentAreIgnored) {
    main.launch(1'000, 1);
    stack(900'000, 2, static_cast<stack_role>(7), {{"train\na.py", 9, 0}});
    main.launch(900'000, 2);
    EXPECT_TRUE(capture.build().call_stacks.empty());
}

}  // namespace
}  // namespace prof::call_stacks_test
