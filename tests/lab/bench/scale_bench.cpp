// SPDX-License-Identifier: Apache-2.0
// What reading and exporting a recording of millions of records costs: time and peak memory of each stage, from the
// file to tables and traces, on one thread. A capture of a known shape is written first (synthetic_capture.hpp), or one
// that is given is read; what comes out is checked against what was put in, so that no stage is fast by leaving work
// out.
//
//   scale_bench --records 10000000 --shape training --trace plain --trace gzip
//
// With --write it only writes the capture, for programs that measure the command (tests/lab/report_scale.py).
// --rank R --ranks N makes it one of a job's (tests/lab/job_scale.py).
//
// Peak memory is the process's, with the kernel's high-water mark reset before each stage where that is allowed.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/projection/projection.hpp"
#include "base/clock.hpp"
#include "capture/reader.hpp"
#include "diagnose/diagnosis.hpp"
#include "export/chrome/chrome_trace.hpp"
#include "export/report/report_text.hpp"
#include "lab/bench/synthetic_capture.hpp"
#include "report/tables/gpu_projection.hpp"
#include "timeline/build.hpp"

namespace prof::bench {
namespace {

std::uint64_t status_kilobytes(std::string_view key) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with(key)) return std::stoull(line.substr(key.size() + 1));
    }
    return 0;
}

class stages {
public:
    explicit stages(std::uint64_t records) : records_(records) {}

    template <typename TAction>
    auto run(const char* what, TAction&& action) {
        std::ofstream("/proc/self/clear_refs") << "5";
        const double began = seconds_on(CLOCK_MONOTONIC);
        const double cpu_began = seconds_on(CLOCK_PROCESS_CPUTIME_ID);
        auto result = action();
        print(what, seconds_on(CLOCK_MONOTONIC) - began, seconds_on(CLOCK_PROCESS_CPUTIME_ID) - cpu_began);
        return result;
    }
    double processor_seconds() const { return processor_seconds_; }  // of the latest stage

    void print_total() const {
        fmt::print("{:<14} {:>8.3f} s, processor {:>7.3f} s, peak {:>5.1f} bytes/record\n", "all of it", total_seconds_,
                   total_processor_seconds_, bytes_a_record(peak_kilobytes_));
    }

private:
    static double seconds_on(clockid_t clock) { return static_cast<double>(clock_ns(clock)) / 1e9; }
    double bytes_a_record(std::uint64_t kilobytes) const {
        return static_cast<double>(kilobytes) * 1024 / static_cast<double>(records_);
    }

    void print(const char* what, double seconds, double processor_seconds) {
        processor_seconds_ = processor_seconds;
        total_seconds_ += seconds;
        total_processor_seconds_ += processor_seconds;
        const std::uint64_t peak = status_kilobytes("VmHWM");
        peak_kilobytes_ = std::max(peak_kilobytes_, peak);
        fmt::print(
            "{:<14} {:>8.3f} s, processor {:>7.3f} s, {:>6.1f} ns/record; peak {:>5.1f} bytes/record, kept {:>5.1f}\n",
            what, seconds, processor_seconds, 1e9 * processor_seconds / static_cast<double>(records_),
            bytes_a_record(peak), bytes_a_record(status_kilobytes("VmRSS")));
        std::fflush(stdout);
    }

    std::uint64_t records_;
    double processor_seconds_ = 0;
    double total_seconds_ = 0;
    double total_processor_seconds_ = 0;
    std::uint64_t peak_kilobytes_ = 0;
};

void expect(bool holds, const char* what) {
    if (!holds) throw std::runtime_error(std::string("scale_bench: ") + what);
}

void check(const timeline& data, const projection& projected, const synthetic_counts& put_in) {
    expect(data.ranges.size() == put_in.ranges, "ranges were lost");
    const auto of_kind = [&](op_kind kind) {
        return static_cast<std::uint64_t>(
            std::count_if(data.ops.begin(), data.ops.end(), [&](const gpu_op& op) { return op.kind == kind; }));
    };
    expect(of_kind(op_kind::kernel) == put_in.kernels, "kernels were lost");
    expect(of_kind(op_kind::memcpy) == put_in.copies, "copies were lost");
    expect(projected.total_gpu_ns == put_in.gpu_ns, "the GPU time is not what was put in");
    std::int64_t self_ns = 0;
    for (const projection_row& row : projected.rows) self_ns += row.gpu_self_ns;
    expect(self_ns == put_in.gpu_ns, "the self column does not add up to the total");
    expect(data.quality.launches_without_completion == 0, "launches were not matched");
}

void write_trace(stages& timed, const timeline& data, const attribution& att, const std::string& path) {
    const bool gzip = path.ends_with(".gz");
    const trace_counts counts =
        timed.run(gzip ? "trace, gzip" : "trace, plain", [&] { return write_chrome_trace(data, att, path); });
    const std::uint64_t events = counts.host_ranges + counts.api_calls + counts.gpu_ops + counts.projected_ranges +
                                 2 * counts.process_ranges + counts.instants + 2 * counts.flows;
    const auto bytes = static_cast<double>(std::filesystem::file_size(path));
    fmt::print("{:<14} {} events, {:.1f} MB; {:.2f} million events and {:.0f} MB a second of the processor's time\n",
               "", events, bytes / 1e6, static_cast<double>(events) / 1e6 / timed.processor_seconds(),
               bytes / 1e6 / timed.processor_seconds());
    expect(counts.gpu_ops == data.ops.size(), "operations are missing in the trace");
    std::filesystem::remove(path);
}

int run(int argc, char** argv) {
    CLI::App app{"Time and memory of reading and exporting a large recording"};
    const std::map<std::string, capture_shape> shapes = {
        {"training", capture_shape::training}, {"threads", capture_shape::threads},
        {"deep", capture_shape::deep},         {"names", capture_shape::names},
        {"graphs", capture_shape::graphs},     {"requests", capture_shape::requests},
        {"layers", capture_shape::layers},     {"pytorch", capture_shape::pytorch}};
    std::uint64_t records = 1'000'000;
    capture_shape shape = capture_shape::training;
    std::string directory = std::filesystem::temp_directory_path();
    std::string given;
    std::string kept;
    std::vector<std::string> traces;
    std::string fold = "counters";
    synthetic_rank in_job;
    app.add_option("--records", records, "Records to write (at least)");
    app.add_option("--shape", shape)->transform(CLI::CheckedTransformer(shapes));
    app.add_option("--directory", directory, "Where the capture and the traces go, and are removed again");
    app.add_option("--capture", given, "Read this capture instead of writing one");
    app.add_option("--write", kept, "Only write the capture, to this file");
    app.add_option("--rank", in_job.rank, "Write it as this rank of a job");
    app.add_option("--ranks", in_job.ranks, "The ranks of the job");
    app.add_option("--fold", fold, "The rule by which the projection folds names");
    app.add_option("--trace", traces, "Write a trace, too")->check(CLI::IsMember({"plain", "gzip"}));
    CLI11_PARSE(app, argc, argv);

    if (!kept.empty()) {
        fmt::print("{} records\n", write_synthetic_capture(kept, shape, records, in_job).records);
        return 0;
    }
    const std::string stem = fmt::format("{}/scale_bench-{}", directory, getpid());
    const std::string path = given.empty() ? stem + ".prof" : given;
    synthetic_counts put_in;
    if (given.empty()) {
        put_in = write_synthetic_capture(path, shape, records, in_job);
    } else {
        const capture_contents contents = read_contents(given);
        put_in.records = contents.kernels.size() + contents.transfers.size();
        for (const record_run& part : contents.runs) put_in.records += part.records.size();
        put_in.bytes = std::filesystem::file_size(given);
    }
    fmt::print("{} records, {:.1f} MB\n", put_in.records, static_cast<double>(put_in.bytes) / 1e6);

    stages timed(put_in.records);
    capture_contents contents = timed.run("read", [&] { return read_compactly(path); });
    if (given.empty()) std::filesystem::remove(path);
    const timeline data = timed.run("timeline", [&] { return build_timeline(std::move(contents)); });
    const attribution att = timed.run("attribution", [&] { return attribute(data); });
    const std::optional<fold_rule> rule = parse_fold_rule(fold);
    expect(rule.has_value(), "no such rule");
    const projection projected = timed.run("projection", [&] { return project(data, att, {.fold = *rule}); });
    if (given.empty()) check(data, projected, put_in);
    const std::string table = timed.run("table", [&] {
        return document_text({.parts = {gpu_projection_part(projected, {})}}, {.shown = {.rows = 40}});
    });
    expect(!table.empty(), "the table is empty");
    const diagnosis found = timed.run("diagnosis", [&] { return diagnose(data, att); });
    expect(found.steps != 0, "nothing was diagnosed");
    timed.print_total();
    for (const std::string& kind : traces) {
        write_trace(timed, data, att, stem + (kind == "gzip" ? ".json.gz" : ".json"));
    }
    return 0;
}

}  // namespace
}  // namespace prof::bench

int main(int argc, char** argv) {
    try {
        return prof::bench::run(argc, argv);
    } catch (const std::exception& failure) {
        fmt::print(stderr, "{}\n", failure.what());
        return 1;
    }
}
