// SPDX-License-Identifier: Apache-2.0
// A capture, changed chunk by chunk, through all that is made of captures: timeline, attribution, every report in every
// format, the trace. What comes out must be whole: JSON that another library reads, self times that add up.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "analysis/attribution/attribution.hpp"
#include "analysis/projection/projection.hpp"
#include "base/error.hpp"
#include "capture/capture_files.hpp"
#include "export/byte_sink.hpp"
#include "export/chrome/chrome_trace.hpp"
#include "export/chrome/trace_names.hpp"
#include "export/report/report_writer.hpp"
#include "fuzz/sealed_captures.hpp"
#include "report/make_reports.hpp"
#include "timeline/load.hpp"

namespace {

using namespace prof;
using namespace prof::test;

class text_sink final : public byte_sink {
public:
    void write(std::string_view bytes) override { text += bytes; }
    std::string text;
};

void check(bool holds) {
    if (!holds) std::abort();
}

void check_sums(const timeline& data, const attribution& att) {
    const projection projected = project(data, att, {});
    // Modulo 2^64: damaged times may leave 63 bits.
    std::uint64_t total = 0;
    for (const gpu_op& op : data.ops) {
        total += static_cast<std::uint64_t>(op.end_ns) - static_cast<std::uint64_t>(op.start_ns);
    }
    check(total == static_cast<std::uint64_t>(projected.total_gpu_ns));
    std::uint64_t self = 0;
    std::uint64_t self_ops = 0;
    for (const projection_row& row : projected.rows) {
        self += static_cast<std::uint64_t>(row.gpu_self_ns);
        self_ops += row.self_ops;
        check(row.self_ops <= row.ops && row.adopted_ops <= row.ops && row.ops <= data.ops.size());
    }
    check(self == total && self_ops == data.ops.size());
}

void check_reports(const timeline& data) {
    for (const report_format& format : report_formats()) {
        for (const report_kind& kind : report_kinds()) {
            const report_kind* const kinds[] = {&kind};
            const auto writer = format.make({});
            writer->add(make_document({.data = data, .capture = "x", .call_name = call_names(data)}, kinds));
            const std::string text = writer->text();
            check(!text.empty());
            if (format.name == "json") check(nlohmann::json::accept(text));
        }
    }
}

void check_texts(const timeline& data, const attribution& att) {
    check(!document_text(make_summary(data, {}, {}, &att), {.shown = {.rows = 40}}).empty());
    text_sink trace;
    (void)write_chrome_trace(data, att, trace, "x");
    check(nlohmann::json::accept(trace.text));
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
    return mutate_capture_in_place(data, size, most, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    static const memory_file file;
    byte_string sealed(bytes, bytes + size);
    seal(sealed);
    file.hold(sealed);
    try {
        const timeline data = load_timeline(file.path());
        attribution_options hiding;
        hiding.adopt_pattern = "*";
        hiding.domains.exclude = {"default", "d*"};
        const attribution plain = attribute(data, {});
        const attribution hidden = attribute(data, hiding);
        check_sums(data, plain);
        check_sums(data, hidden);
        // Texts take ten times as long as all before them.
        const std::uint32_t lot = crc32_at(sealed, 0, sealed.size()) % 16;
        if (lot == 0) check_reports(data);
        if (lot < 2) check_texts(data, lot == 0 ? plain : hidden);
    } catch (const error&) {
    }
    return 0;
}
