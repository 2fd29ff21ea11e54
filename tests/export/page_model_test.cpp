// SPDX-License-Identifier: Apache-2.0
// What a page is made of: a table of a step by step that adds up to the table, prices of sets of findings, kernels by
// phase and launching place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <numeric>
#include <string>

#include "analysis/attribution/attribution.hpp"
#include "analysis/kernels/kernel_uses.hpp"
#include "analysis/step_table/make_step_table.hpp"
#include "analysis/steps/whole_steps.hpp"
#include "diagnose/diagnosis.hpp"
#include "export/byte_sink.hpp"
#include "export/example_captures.hpp"
#include "export/page/page_writer.hpp"

namespace prof::page_model_test {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

std::int64_t sum(const std::vector<std::int64_t>& of) { return std::accumulate(of.begin(), of.end(), std::int64_t{0}); }

// Each step's cells are its length, and those of all steps are the table's.
TEST(PageModel, CellsOfStepsAddUpToTheTable) {
    for (const timeline& data : {steps_capture(0), steps_capture(1), eventful_capture(), graph_capture()}) {
        const attribution att = attribute(data);
        step_cells cells;
        const step_table table = make_step_table(data, att, {}, {}, nullptr, {}, &cells);
        std::map<step_column, std::int64_t> columns;
        std::int64_t host_ns = 0;
        for (const step_series& series : cells.series) {
            ASSERT_THAT(series.ns, SizeIs(cells.steps.size()));
            if (series.use) {
                columns[*series.use] += sum(series.ns);
            } else {
                host_ns += sum(series.ns);
            }
        }
        for (std::size_t i = 0; i < step_column_count; ++i) {
            const auto use = static_cast<step_column>(i);
            std::int64_t of_rows = 0;
            for (const step_table_row& row : table.rows) of_rows += row.of(use);
            EXPECT_EQ(columns[use], of_rows) << i;
        }
        EXPECT_EQ(host_ns, table.cpu_ns);
        for (std::size_t step = 0; step < cells.steps.size(); ++step) {
            std::int64_t of_step = 0;
            for (const step_series& series : cells.series) {
                if (series.use) of_step += series.ns[step];
            }
            EXPECT_EQ(of_step, cells.steps[step].length_ns() * table.devices);
        }
    }
}

TEST(PageModel, CellsChangeNothingOfTheTable) {
    const timeline data = steps_capture(1);
    const attribution att = attribute(data);
    step_cells cells;
    const step_table with = make_step_table(data, att, {}, {}, nullptr, {}, &cells);
    const step_table without = make_step_table(data, att);
    ASSERT_EQ(with.rows.size(), without.rows.size());
    for (std::size_t i = 0; i < with.rows.size(); ++i) EXPECT_EQ(with.rows[i].ns, without.rows[i].ns);
}

// A set's price is between the dearest of its own and their sum, since each removes what another may remove, too.
TEST(PageModel, SetsOfFindingsHavePrices) {
    for (const unsigned rank : {0U, 1U}) {
        const timeline data = steps_capture(rank);
        const attribution att = attribute(data);
        diagnosis_options options;
        options.least_share = 0.0001;
        const diagnosis plain = diagnose(data, att, options);
        EXPECT_THAT(plain.sets, SizeIs(0));
        options.wants_sets = true;
        const diagnosis found = diagnose(data, att, options);
        EXPECT_EQ(found.together_ns, plain.together_ns);
        std::map<std::uint32_t, std::int64_t> alone;
        std::uint32_t all = 0;
        for (const finding& each : found.findings) {
            EXPECT_NE(each.bit, 0U);
            EXPECT_EQ(all & each.bit, 0U);
            alone[each.bit] = each.gain_ns;
            all |= each.bit;
        }
        std::map<std::uint32_t, std::int64_t> sets;
        for (const finding_set& each : found.sets) sets[each.findings] = each.gain_ns;
        EXPECT_EQ(sets.size(), found.sets.size());
        for (const auto& [bit, gain_ns] : alone) EXPECT_EQ(sets[bit], gain_ns);
        if (!found.findings.empty()) {
            EXPECT_EQ(sets[all], found.findings.size() == 1 ? alone[all] : found.together_ns);
        }
        if (found.findings.size() <= 6) {
            EXPECT_EQ(sets.size(), (std::size_t{1} << found.findings.size()) - 1);
        }
    }
}

TEST(PageModel, KernelsAreThoseOfTheTimeline) {
    const timeline data = steps_capture(0);
    const attribution att = attribute(data);
    const whole_steps steps = find_whole_steps(data, att);
    const kernel_uses of = find_kernel_uses(data, att, steps, 2);
    std::int64_t total_ns = 0;
    std::uint64_t launches = 0;
    for (const gpu_op& op : data.ops) {
        if (is_transfer(op.kind)) continue;
        total_ns += op.end_ns - op.start_ns;
        ++launches;
    }
    EXPECT_EQ(of.total_ns, total_ns);
    EXPECT_EQ(of.launches, launches);
    EXPECT_LE(of.rows.size(), 2U);
    for (const kernel_use& row : of.rows) {
        std::int64_t of_phases = 0;
        for (const auto& [phase, ns] : row.phases) of_phases += ns;
        EXPECT_EQ(of_phases, row.total_ns);
        EXPECT_EQ(std::accumulate(row.bins.begin(), row.bins.end(), std::uint64_t{0}), row.launches);
    }
}

TEST(PageModel, BinsAreHalfOctaves) {
    EXPECT_EQ(duration_bin(0), 0U);
    EXPECT_EQ(duration_bin(1), 0U);
    EXPECT_EQ(duration_bin(2), 2U);
    EXPECT_EQ(duration_bin(1023), 19U);
    EXPECT_EQ(duration_bin(1024), 20U);
    EXPECT_EQ(duration_bin(INT64_MAX), 126U);
}

class text_sink final : public byte_sink {
public:
    void write(std::string_view bytes) override { text += bytes; }
    std::string text;
};

TEST(PageModel, NamesOfTheProgramAreNoMarkup) {
    for (const timeline& data : {eventful_capture(), edge_capture(), hta_capture(), dense_capture()}) {
        text_sink to;
        write_page(data, "a<b>&\"'.prof", {}, to);
        EXPECT_THAT(to.text, HasSubstr("a&lt;b&gt;&amp;&quot;&#39;.prof"));
        EXPECT_EQ(to.text.find("<b>"), std::string::npos);
        EXPECT_EQ(to.text.find('\0'), std::string::npos);
    }
}

TEST(PageModel, TextsOfPurposes) {
    EXPECT_EQ(purpose_of("_ZN2at6native29vectorized_elementwise_kernelE", op_class::compute),
              kernel_purpose::elementwise);
    EXPECT_EQ(purpose_of("nvjet_sm90_tst_256x128", op_class::compute), kernel_purpose::matrix);
    EXPECT_EQ(purpose_of("ncclDevKernel_AllReduce_Sum", op_class::communication), kernel_purpose::communication);
    EXPECT_EQ(purpose_of("flash_fwd_kernel", op_class::compute), kernel_purpose::attention);
    EXPECT_EQ(purpose_of("multi_tensor_apply_kernel_Adam", op_class::compute), kernel_purpose::optimizer);
    EXPECT_EQ(purpose_of("my_own_kernel", op_class::compute), kernel_purpose::other);
}

}  // namespace
}  // namespace prof::page_model_test
