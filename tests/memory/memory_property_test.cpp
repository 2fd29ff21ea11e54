// SPDX-License-Identifier: Apache-2.0
// Random programs against a model that knows each block: every figure of the account is compared with what the model
// counts by brute force, and rows add up to the allocator's total, to the byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "memory/block_account.hpp"
#include "memory/memory_summary.hpp"
#include "memory/simulated_allocator.hpp"
#include "support/sanitized.hpp"

namespace prof::memory_property_test {
namespace {

struct modelled_step {
    std::uint64_t peak = 0;
    std::int64_t growth = 0;
    std::uint64_t churn = 0;
    std::uint64_t births = 0;
    std::map<std::string, std::uint64_t> at_peak;  // by range of birth
};

class random_program {
public:
    explicit random_program(unsigned seed) : numbers_(seed), allocator_(static_cast<std::uint8_t>(seed % 3)) {
        // The recording may begin late.
        allocator_.writes = pick(2) == 0;
        for (std::size_t i = pick(20); i > 0; --i) born_[allocator_.take(thread(0), ns_++, size())] = "";
        before = allocator_.writes ? 0 : allocator_.allocated;
        if (!allocator_.writes) {
            for (auto& [address, range] : born_) range = "before";
        }
        allocator_.writes = true;
        const std::uint16_t domain = capture.domain("prof");
        for (std::size_t step = 0; step < 6; ++step) {
            thread(0).step(ns_++, step, domain);
            run_step();
        }
        thread(0).step(ns_++, 6, domain);
    }

    capture_builder capture;
    std::vector<modelled_step> steps;
    std::uint64_t before = 0;
    std::uint64_t end() const { return allocator_.allocated; }

private:
    std::size_t pick(std::size_t count) { return numbers_() % count; }
    std::uint64_t size() {
        // Some of them fit into no units of 512 bytes.
        return pick(10) == 0 ? 1 + pick(5000) : 512 * (1 + pick(100'000));
    }
    thread_script& thread(std::size_t index) {
        while (threads_.size() <= index)
            threads_.push_back(&capture.thread("thread " + std::to_string(threads_.size())));
        return *threads_[index];
    }

    void run_step() {
        modelled_step of{.peak = allocator_.allocated, .at_peak = by_range()};
        const std::uint64_t begin = allocator_.allocated;
        for (std::size_t part = 0; part < 4; ++part) {
            const std::size_t on = pick(3);
            const std::string range = "range " + std::string(1, static_cast<char>('a' + pick(4)));
            thread(on).push(ns_++, range);
            for (std::size_t i = pick(30); i > 0; --i) change(thread(on), range, of);
            thread(on).pop(ns_++);
        }
        of.growth = static_cast<std::int64_t>(allocator_.allocated - begin);
        steps.push_back(std::move(of));
    }

    void change(thread_script& on, const std::string& range, modelled_step& of) {
        if (!born_.empty() && pick(2) == 0) {
            const auto freed = std::next(born_.begin(), static_cast<std::ptrdiff_t>(pick(born_.size())));
            allocator_.free(on, ns_++, freed->first);
            born_.erase(freed);
            return;
        }
        const std::uint64_t bytes = size();
        born_[allocator_.take(on, ns_++, bytes)] = range;
        of.churn += bytes;
        ++of.births;
        if (allocator_.allocated > of.peak) {
            of.peak = allocator_.allocated;
            of.at_peak = by_range();
        }
    }

    std::map<std::string, std::uint64_t> by_range() const {
        std::map<std::string, std::uint64_t> out;
        for (const auto& [address, range] : born_) out[range] += allocator_.alive.at(address);
        return out;
    }

    std::minstd_rand numbers_;
    simulated_allocator allocator_;
    std::uint64_t ns_ = 1000;
    std::vector<thread_script*> threads_;
    std::map<std::uint64_t, std::string> born_;  // address → range of birth
};

std::map<std::string, std::uint64_t> rows_of(const memory_device& of) {
    std::map<std::string, std::uint64_t> out;
    for (const memory_row& row : of.rows) {
        if (row.at_peak == 0) continue;
        EXPECT_GT(row.at_peak, 0);
        out[row.use == memory_use::before_recording ? "before" : row.path] += static_cast<std::uint64_t>(row.at_peak);
    }
    return out;
}

TEST(MemoryProperties, AreThoseOfTheModel) {
    for (unsigned seed = 1; seed <= test::random_cases(100); ++seed) {
        const random_program program(seed);
        const timeline data = program.capture.build();
        if (data.memory.empty()) continue;
        const memory_summary found = measure_memory(data, attribute(data));
        ASSERT_EQ(found.devices.size(), 1U) << seed;
        const memory_device& of = found.devices.front();
        EXPECT_EQ(found.doubtful, 0U) << seed;
        EXPECT_EQ(of.device, seed % 3);
        EXPECT_EQ(of.before, program.before) << seed;
        EXPECT_EQ(of.end_allocated, program.end()) << seed;
        ASSERT_TRUE(of.has_steps);
        std::size_t highest = SIZE_MAX;
        for (std::size_t i = 0; i < of.steps.size(); ++i) {
            const memory_step& step = of.steps[i];
            const modelled_step& wanted = program.steps.at(step.number);
            EXPECT_EQ(step.peak, wanted.peak) << seed << ", step " << step.number;
            EXPECT_EQ(step.growth, wanted.growth) << seed << ", step " << step.number;
            EXPECT_EQ(step.churn, wanted.churn) << seed << ", step " << step.number;
            EXPECT_EQ(step.births, wanted.births) << seed << ", step " << step.number;
            if (highest == SIZE_MAX || step.peak > of.steps[highest].peak) highest = i;
        }
        EXPECT_EQ(of.highest, highest) << seed;
        EXPECT_EQ(rows_of(of), program.steps.at(of.steps[of.highest].number).at_peak) << seed;
        const auto sum = [&](std::int64_t memory_row::*bytes) {
            return std::accumulate(of.rows.begin(), of.rows.end(), std::int64_t{0},
                                   [&](std::int64_t total, const memory_row& row) { return total + row.*bytes; });
        };
        EXPECT_EQ(sum(&memory_row::at_end), static_cast<std::int64_t>(program.end())) << seed;
        EXPECT_EQ(sum(&memory_row::at_median), static_cast<std::int64_t>(of.steps[of.median].peak)) << seed;
    }
}

// Whatever records are lost, rows add up to the total, since a row of their own has the difference.
TEST(MemoryProperties, RowsAddUpAlthoughRecordsAreLost) {
    for (unsigned seed = 1; seed <= test::random_cases(50); ++seed) {
        const random_program program(seed);
        capture_contents contents = program.capture.contents();
        std::minstd_rand numbers(seed);
        for (record_run& run : contents.runs) {
            std::erase_if(run.records, [&](const record& r) {
                const bool is_memory = r.kind == record_kind::memory_block || r.kind == record_kind::memory_totals;
                return is_memory && numbers() % 10 == 0;
            });
        }
        const timeline data = build_timeline(std::move(contents));
        for (const memory_device& of : measure_memory(data, attribute(data)).devices) {
            std::int64_t end = 0;
            std::int64_t peak = 0;
            for (const memory_row& row : of.rows) {
                end += row.at_end;
                peak += row.at_peak;
            }
            EXPECT_EQ(peak, static_cast<std::int64_t>(of.steps[of.highest].peak)) << seed;
            if (data.memory.back().has_totals) {
                EXPECT_EQ(end, static_cast<std::int64_t>(of.end_allocated)) << seed;
            }
        }
    }
}

}  // namespace
}  // namespace prof::memory_property_test
