// SPDX-License-Identifier: Apache-2.0
// The reports on memory, and what other reports say of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "memory/simulated_allocator.hpp"
#include "report/capture_diagnosis.hpp"
#include "report/make_reports.hpp"
#include "report/memory_answer.hpp"
#include "report/reports.hpp"

namespace prof::memory_report_test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

report_document reports_of(const timeline& data, std::initializer_list<std::string_view> names) {
    std::vector<const report_kind*> kinds;
    for (const std::string_view name : names) kinds.push_back(find_report(name));
    return make_reports(data, "x.prof", {}, kinds);
}
const table& table_in(const report_document& document) { return *block_in<table>(document.parts.front()); }
table_cell cell(const table& of, std::size_t row, std::string_view key) {
    const auto column =
        std::find_if(of.columns.begin(), of.columns.end(), [&](const table_column& each) { return each.key == key; });
    return of.rows.at(row).at(static_cast<std::size_t>(column - of.columns.begin()));
}
table_cell total(const table& of, std::string_view key) {
    const auto found =
        std::find_if(of.totals.begin(), of.totals.end(), [&](const auto& each) { return each.first == key; });
    return found == of.totals.end() ? table_cell() : found->second;
}

// Nine steps, each with 3 MiB of activations and 1 MiB that stays.
struct leaking_program {
    leaking_program() {
        const std::uint16_t domain = capture.domain("prof");
        (void)gpu.take(main, 10, 100 * mib);
        for (std::uint64_t i = 0; i < 9; ++i) {
            const std::uint64_t at = 1000 * (i + 1);
            main.step(at, i, domain);
            main.push(at + 1, "forward").launch(at + 2, i + 1);
            const std::uint64_t activation = gpu.take(main, at + 10, 3 * mib);
            main.push(at + 11, "loss");
            (void)gpu.take(main, at + 20, mib);
            main.pop(at + 21).pop(at + 30).push(at + 31, "backward");
            gpu.free(main, at + 40, activation);
            main.pop(at + 50);
            capture.kernel(i + 1, at + 5, at + 45);
        }
        main.step(10'000, 9, domain);
        capture.h200();
    }

    capture_builder capture;
    thread_script& main = capture.thread("python");
    simulated_allocator gpu;
};

TEST(MemoryReport, HasRowsThatAddUpAndTotals) {
    const timeline data = leaking_program().capture.build();
    const report_document document = reports_of(data, {"memory"});
    const table& of = table_in(document);
    EXPECT_EQ(std::get<std::uint64_t>(total(of, "peak_bytes").value), (100 + 3 + 9) * mib);
    EXPECT_EQ(std::get<std::uint64_t>(total(of, "peak_step").value), 8U);
    EXPECT_EQ(std::get<double>(total(of, "growth_bytes_per_step").value), mib);
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < of.rows.size(); ++i) sum += std::get<std::int64_t>(cell(of, i, "peak_bytes").value);
    EXPECT_EQ(sum, static_cast<std::int64_t>((100 + 3 + 9) * mib));
    EXPECT_EQ(std::get<std::string>(cell(of, 0, "use").value), "parameters");
    EXPECT_EQ(std::get<std::string>(cell(of, 1, "path").value), "forward/loss");
    EXPECT_THAT(of.notes, Contains(HasSubstr("grows by 1.05 MB a step, by blocks that are born in forward/loss")));
    EXPECT_THAT(of.notes, Contains(HasSubstr("the peak is 117.44 MB of ")));
    EXPECT_TRUE(document.capture.warnings.empty());
}

TEST(MemoryReport, RowsThatAreLeftOutAreSummedUp) {
    capture_builder capture;
    thread_script& main = capture.thread("python");
    simulated_allocator gpu;
    std::uint64_t ns = 10;
    for (int i = 0; i < 40; ++i) {
        main.push(ns++, "part " + std::string(1, static_cast<char>('A' + i)));
        (void)gpu.take(main, ns++, mib);
        main.pop(ns++);
    }
    const timeline data = capture.build();
    const report_document document = reports_of(data, {"memory"});
    const table& of = table_in(document);
    ASSERT_EQ(of.rows.size(), 40U);
    const shown_rows shown = of.shorten(of, {.rows = 40});
    ASSERT_EQ(shown.rows.size(), 26U);
    EXPECT_EQ(std::get<std::string>(shown.rows.back().at(1).value), "… 15 more");
    EXPECT_EQ(of.shorten(of, {}).rows.size(), 40U);
}

TEST(MemoryReport, OfStepsHasEach) {
    const timeline data = leaking_program().capture.build();
    const report_document document = reports_of(data, {"memory_steps"});
    const table& of = table_in(document);
    ASSERT_EQ(of.rows.size(), 8U);
    EXPECT_EQ(std::get<std::uint64_t>(cell(of, 0, "peak_bytes").value), (100 + 3 + 2) * mib);
    EXPECT_EQ(std::get<std::string>(cell(of, 0, "path").value), "forward/loss");
    EXPECT_EQ(std::get<std::int64_t>(cell(of, 0, "growth_bytes").value), static_cast<std::int64_t>(mib));
}

TEST(MemoryReport, TheFirstScreenAndTheDiagnosisHaveIt) {
    const timeline data = leaking_program().capture.build();
    const report_document document = reports_of(data, {"gpu-projection", "diagnose"});
    const auto* const answer = block_in<answer_block>(document.parts.front());
    ASSERT_NE(answer, nullptr);
    EXPECT_THAT(answer->memory,
                testing::MatchesRegex("117.44 MB of .* and 1.05 MB more each step, step 8, in forward/loss: "
                                      "parameters 89 %, other 8 %, activations 3 %"));
    const auto* const memory = block_in<text_block>(document.parts.back());
    ASSERT_NE(memory, nullptr);
    EXPECT_THAT(memory->paragraphs.front(), HasSubstr("Memory: memory grows by 1.05 MB a step"));
}

TEST(MemoryReport, AFailureStandsAboveEveryReport) {
    leaking_program program;
    program.main.push(10'100, "forward");
    program.gpu.fail(program.main, 10'110, 90'000 * mib);
    program.main.pop(10'120);
    const timeline data = program.capture.build();
    for (const std::string_view name : {"memory", "kernels", "gpu-projection"}) {
        const report_document document = reports_of(data, {name});
        ASSERT_FALSE(document.capture.warnings.empty()) << name;
        EXPECT_THAT(
            document.capture.warnings.front(),
            HasSubstr("out of GPU memory in forward: 94.37 GB were asked for, with 114.29 MB allocated and 117.44 "
                      "MB reserved"))
            << name;
    }
    const report_document document = reports_of(data, {"memory"});
    EXPECT_EQ(std::get<std::uint64_t>(total(table_in(document), "failed_bytes").value), 90'000 * mib);
}

TEST(MemoryReport, SaysWhyThereIsNothing) {
    const auto note_of = [](const char* key, const char* value) {
        capture_builder capture;
        capture.thread("python").push(10, "forward").pop(20);
        if (key != nullptr) capture.parts().properties["allocations"] = "on";
        if (key != nullptr) capture.parts().properties[key] = value;
        const timeline data = capture.build();
        EXPECT_THAT(reports_of(data, {"kernels"}).capture.warnings, IsEmpty());
        const report_document document = reports_of(data, {"memory"});
        return table_in(document).notes.front();
    };
    EXPECT_THAT(note_of(nullptr, ""), HasSubstr("--allocations on"));
    EXPECT_THAT(note_of("allocator", "pytorch"), HasSubstr("cudaMallocAsync"));
    EXPECT_THAT(note_of("allocations", "on"), HasSubstr("was not in the program"));
    EXPECT_THAT(note_of("cuda_memory", "on"), HasSubstr("no call of CUDA had memory since"));
}

}  // namespace
}  // namespace prof::memory_report_test
