// SPDX-License-Identifier: Apache-2.0
// Captures of a few records through the C interface (prof/read.h), worked by hand. reading_test.py compares what other
// captures have with what the command prints.
#include <prof/prof.h>

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <prof/session.hpp>

#include "capture/writer.hpp"
#include "support/capture_builder.hpp"
#include "support/scratch_directory.hpp"

namespace prof::test {
namespace {

const std::string with_zero = std::string("evil\xFF\n/\\") + '\0' + "end";

// A range "a/b" of 100 ns with an inner one of a hostile name, a range that is called like a special row, a kernel of
// each, one without a range, and one whose launch was not seen.
struct Reading : testing::Test {
    scratch_directory scratch;
    std::string path = scratch / "small.prof";

    void SetUp() override {
        capture_builder capture;
        capture.thread("main")
            .push(100, "a/b")
            .launch(110, 1, "outer")
            .push(120, with_zero)
            .launch(130, 2, "inner")
            .pop(140)
            .pop(200)
            .push(300, "(no range)")
            .launch(310, 3, "inner")
            .pop(400)
            .launch(410, 4, "outer");
        capture.kernel(1, 1000, 1010, {}, "outer")
            .kernel(2, 1100, 1130, {}, "inner")
            .kernel(3, 1200, 1300, {}, "inner")
            .kernel(4, 1400, 1405, {}, "outer")
            .kernel(99, 1500, 1507, {}, "outer");
        capture.parts().properties["name"] = "by hand";
        capture.parts().properties["pid"] = "4711";
        capture.parts().drops = {{0, 12}, {3, 5}};  // ring_full, names_full
        capture_writer writer(path, {});
        capture_contents contents = capture.contents();
        contents.clocks = {{1, 1, 1, 1, 0}, {2000, 2000, 2000, 2000, 0}};  // ticks are nanoseconds
        write_contents(writer, contents);
        writer.end(format::end_reason::exited);
    }
};

using open_capture = std::unique_ptr<prof_capture, void (*)(prof_capture*)>;
using open_summary = std::unique_ptr<prof_summary, void (*)(prof_summary*)>;
using open_report = std::unique_ptr<prof_report, void (*)(prof_report*)>;

open_capture capture_at(const std::string& path) { return {prof_capture_open(path.c_str()), prof_capture_close}; }
open_summary summary_of(const std::string& path) { return {prof_summary_open_file(path.c_str()), prof_summary_close}; }
open_report report_of(const prof_capture* capture, const char* name, const char* const* settings = nullptr) {
    return {prof_report_open(capture, name, settings), prof_report_close};
}

struct expected_row {
    std::string path;
    std::string name;
    std::uint32_t kind;
    std::uint32_t parent;
    std::uint32_t depth;
    std::int64_t gpu_sum_ns;
    std::int64_t gpu_self_ns;
    std::int64_t host_ns;
};

TEST_F(Reading, RowsHaveKindParentAndName) {
    const open_summary summary = summary_of(path);
    ASSERT_NE(summary, nullptr) << prof_last_error();
    const std::string shown_name = "evil\xFF\n/\\";  // up to the zero byte
    const std::vector<expected_row> expected = {
        {R"(a\/b)", "a/b", PROF_ROW_RANGE, PROF_NO_ROW, 0, 40, 10, 100},
        {"a\\/b/evil\xFF\n\\/\\\\", shown_name, PROF_ROW_RANGE, 0, 1, 30, 30, 20},
        {R"(\(no range))", "(no range)", PROF_ROW_RANGE, PROF_NO_ROW, 0, 100, 100, 100},
        {"(no range)", "(no range)", PROF_ROW_NO_RANGE, PROF_NO_ROW, 0, 5, 5, 0},
        {"(ambiguous)", "(ambiguous)", PROF_ROW_AMBIGUOUS, PROF_NO_ROW, 0, 0, 0, 0},
        {"(unmatched)", "(unmatched)", PROF_ROW_UNMATCHED, PROF_NO_ROW, 0, 7, 7, 0}};
    ASSERT_EQ(prof_summary_row_count(summary.get()), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        prof_summary_row row{};
        ASSERT_EQ(prof_summary_get_row(summary.get(), i, &row, sizeof row), PROF_OK) << prof_last_error();
        const expected_row& of = expected[i];
        EXPECT_EQ(row.path, of.path);
        EXPECT_EQ(row.name, of.name);
        EXPECT_EQ(row.kind, of.kind) << row.path;
        EXPECT_EQ(row.parent, of.parent) << row.path;
        EXPECT_EQ(row.depth, of.depth) << row.path;
        EXPECT_EQ(row.gpu_sum_ns, of.gpu_sum_ns) << row.path;
        EXPECT_EQ(row.gpu_self_ns, of.gpu_self_ns) << row.path;
        EXPECT_EQ(row.host_ns, of.host_ns) << row.path;
    }
    EXPECT_EQ(prof_summary_total_gpu_ns(summary.get()), 152);
}

TEST_F(Reading, DropsAreByCause) {
    const open_summary summary = summary_of(path);
    EXPECT_EQ(prof_summary_dropped(summary.get()), 17U);
    ASSERT_EQ(prof_summary_drop_count(summary.get()), 2U);
    prof_drop drop{};
    ASSERT_EQ(prof_summary_get_drop(summary.get(), 0, &drop, sizeof drop), PROF_OK);
    EXPECT_STREQ(drop.cause, "names_full");
    EXPECT_EQ(drop.count, 5U);
    EXPECT_STREQ(drop.what, "names; the range is there without one");
    ASSERT_EQ(prof_summary_get_drop(summary.get(), 1, &drop, sizeof drop), PROF_OK);
    EXPECT_STREQ(drop.cause, "ring_full");
    EXPECT_EQ(drop.count, 12U);
    EXPECT_STREQ(drop.remedy, "more memory, fewer ranges, a free core");
}

TEST_F(Reading, ReportsHaveTypedColumns) {
    const open_capture capture = capture_at(path);
    ASSERT_NE(capture, nullptr) << prof_last_error();
    EXPECT_TRUE(std::string_view(prof_capture_title(capture.get())).starts_with("by hand, pid 4711: "));
    EXPECT_STREQ(prof_capture_property(capture.get(), "pid"), "4711");
    const open_report report = report_of(capture.get(), "kernels");
    ASSERT_NE(report, nullptr) << prof_last_error();
    prof_report_table shape{};
    ASSERT_EQ(prof_report_get_table(report.get(), 0, &shape, sizeof shape), PROF_OK);
    EXPECT_STREQ(shape.key, "rows");
    EXPECT_STREQ(shape.heading, "GPU time by kernel");
    ASSERT_EQ(shape.rows, 2U);
    // inner: 30 + 100 ns; outer: 10 + 5 + 7 ns.
    std::size_t found = 0;
    for (std::size_t i = 0; i < shape.columns; ++i) {
        prof_report_column column{};
        ASSERT_EQ(prof_report_get_column(report.get(), 0, i, &column, sizeof column), PROF_OK);
        const std::string key = column.key;
        if (key == "name") {
            EXPECT_EQ(column.type, PROF_CELL_TEXT);
            EXPECT_EQ(column.unit, PROF_UNIT_NONE);
            const char* names[2] = {};
            std::size_t sizes[2] = {};
            ASSERT_EQ(prof_report_read_texts(report.get(), 0, i, 0, 2, names, sizes), PROF_OK);
            EXPECT_EQ(std::string(names[0], sizes[0]), "inner");
            EXPECT_EQ(std::string(names[1], sizes[1]), "outer");
        } else if (key == "total_ns") {
            EXPECT_EQ(column.type, PROF_CELL_INTEGER);
            EXPECT_EQ(column.unit, PROF_UNIT_NS);
            std::int64_t values[2] = {};
            ASSERT_EQ(prof_report_read_integers(report.get(), 0, i, 0, 2, values, nullptr), PROF_OK);
            EXPECT_EQ(values[0], 130);
            EXPECT_EQ(values[1], 22);
        } else {
            continue;
        }
        ++found;
    }
    EXPECT_EQ(found, 2U);
}

// A name is whole where its size is given, and in CSV.
TEST_F(Reading, NamesWithZeroBytesAreWhole) {
    const open_capture capture = capture_at(path);
    const open_report report = report_of(capture.get(), "nvtx_pushpop_sum");
    ASSERT_NE(report, nullptr) << prof_last_error();
    prof_report_table shape{};
    ASSERT_EQ(prof_report_get_table(report.get(), 0, &shape, sizeof shape), PROF_OK);
    std::size_t found = 0;
    for (std::size_t row = 0; row < shape.rows; ++row) {
        for (std::size_t column = 0; column < shape.columns; ++column) {
            prof_report_cell cell{};
            ASSERT_EQ(prof_report_get_cell(report.get(), 0, row, column, &cell, sizeof cell), PROF_OK);
            if (cell.type == PROF_CELL_TEXT && std::string(cell.text, cell.text_size).ends_with(with_zero)) ++found;
        }
    }
    EXPECT_EQ(found, 1U);
    std::size_t size = 0;
    char* const text = prof_report_render(report.get(), "csv", &size);
    ASSERT_NE(text, nullptr) << prof_last_error();
    EXPECT_GT(size, std::strlen(text));
    EXPECT_NE(std::string(text, size).find(with_zero), std::string::npos);
    EXPECT_EQ(text[size], '\0');
    prof_free_text(text);
}

TEST_F(Reading, FilesThatFailHaveAReasonInErrno) {
    errno = ERANGE;
    EXPECT_EQ(capture_at(path + "/none"), nullptr);
    EXPECT_EQ(errno, ENOTDIR) << prof_last_error();
    EXPECT_EQ(capture_at(scratch.path), nullptr);
    EXPECT_EQ(errno, EISDIR) << prof_last_error();
    EXPECT_EQ(capture_at(scratch / "none.prof"), nullptr);
    EXPECT_EQ(errno, ENOENT) << prof_last_error();
    const std::string other = scratch / "other.prof";
    std::ofstream(other) << "no capture";
    EXPECT_EQ(capture_at(other), nullptr);
    EXPECT_EQ(errno, 0) << prof_last_error();
    const open_capture capture = capture_at(path);
    ASSERT_NE(capture, nullptr) << prof_last_error();
    EXPECT_EQ(prof_capture_export(capture.get(), (scratch / "none/t.json").c_str(), nullptr), PROF_FAILED);
    EXPECT_EQ(errno, ENOENT) << prof_last_error();
}

TEST_F(Reading, TracesOfPartsAndOfWholes) {
    const open_capture capture = capture_at(path);
    ASSERT_NE(capture, nullptr) << prof_last_error();
    const std::string trace = scratch / "t.json";
    const auto made = [&](std::initializer_list<const char*> settings) {
        std::vector<const char*> all(settings);
        all.push_back(nullptr);
        return prof_capture_export(capture.get(), trace.c_str(), all.data());
    };
    ASSERT_EQ(made({}), PROF_OK) << prof_last_error();
    const std::uintmax_t whole = std::filesystem::file_size(trace);
    ASSERT_EQ(made({"range=a/b"}), PROF_OK) << prof_last_error();
    EXPECT_LT(std::filesystem::file_size(trace), whole);
    EXPECT_EQ(made({"range=none"}), PROF_INVALID_ARGUMENT);
    EXPECT_EQ(made({"colour=red"}), PROF_INVALID_ARGUMENT);
    EXPECT_EQ(prof_capture_export(nullptr, trace.c_str(), nullptr), PROF_INVALID_ARGUMENT);
    EXPECT_EQ(prof_capture_export(capture.get(), nullptr, nullptr), PROF_INVALID_ARGUMENT);
}

TEST_F(Reading, OneCaptureIsReadBySeveralThreads) {
    const open_capture capture = capture_at(path);
    const open_report shared = report_of(capture.get(), "gpu-projection");
    const auto read_all = [&] {
        std::string all;
        for (std::size_t i = 0; i < prof_report_count(); ++i) {
            const open_report own = report_of(capture.get(), prof_report_name(i));
            for (const prof_report* const report : {own.get(), shared.get()}) {
                for (const char* const format : {"json", "table"}) {
                    char* const text = prof_report_render(report, format, nullptr);
                    all += text == nullptr ? prof_last_error() : text;
                    prof_free_text(text);
                }
            }
        }
        return all;
    };
    const std::string expected = read_all();
    std::vector<std::string> read(4);
    std::vector<std::thread> threads;
    for (std::string& each : read) threads.emplace_back([&] { each = read_all(); });
    for (std::thread& thread : threads) thread.join();
    for (const std::string& each : read) EXPECT_EQ(each, expected);
}

TEST_F(Reading, SessionsReadCapturesToo) {
    const session_summary summary = session::summary_of(path);
    ASSERT_EQ(summary.rows.size(), 6U);
    EXPECT_EQ(summary.rows[1].name, "evil\xFF\n/\\");
    EXPECT_EQ(summary.rows[1].parent, std::optional<std::size_t>(0));
    EXPECT_EQ(summary.rows[2].kind, PROF_ROW_RANGE);
    EXPECT_EQ(summary.rows[3].kind, PROF_ROW_NO_RANGE);
    EXPECT_FALSE(summary.rows[3].parent);
    ASSERT_EQ(summary.drops.size(), 2U);
    EXPECT_EQ(summary.drops[1].cause, "ring_full");
    EXPECT_EQ(summary.drops[1].what, "records: the drain thread came too late");
    EXPECT_THROW(session::summary_of(scratch / "none.prof"), session_error);
}

// The structs' layout is part of the interface.
static_assert(sizeof(prof_drop) == 32 && offsetof(prof_drop, remedy) == 24);
static_assert(sizeof(prof_summary_row) == 144 && offsetof(prof_summary_row, kind) == 128 &&
              offsetof(prof_summary_row, parent) == 132 && offsetof(prof_summary_row, name) == 136);
static_assert(sizeof(prof_summary_step_row) == 64 && offsetof(prof_summary_step_row, kind) == 48);
static_assert(sizeof(prof_report_table) == 40 && sizeof(prof_report_column) == 24 && sizeof(prof_report_cell) == 40);

}  // namespace
}  // namespace prof::test
