// SPDX-License-Identifier: Apache-2.0
// The summary through the C interface (prof/read.h). Nothing throws across it.
#include <cmath>

#include "analysis/projection/projection.hpp"
#include "analysis/projection/xla_phases.hpp"
#include "base/export_symbol.hpp"
#include "c_api/c_reading.hpp"
#include "export/capture_files/exports.hpp"
#include "report/tables/step_estimate.hpp"
#include "session/parts/export_bound.hpp"
#include "timeline/build.hpp"
#include "timeline/load.hpp"

struct prof_summary {
    prof::projection projection;
    prof::step_estimate steps;
    prof::named_counts drops;
    std::uint64_t dropped = 0;
};

namespace prof {
namespace {

static_assert(PROF_NO_ROW == npos);

std::uint32_t public_kind(row_kind kind, bool is_observed) noexcept {
    switch (kind) {
        case row_kind::range:
            return is_observed ? PROF_ROW_PHASE : PROF_ROW_RANGE;
        case row_kind::no_range:
            return PROF_ROW_NO_RANGE;
        case row_kind::ambiguous:
            return PROF_ROW_AMBIGUOUS;
        case row_kind::unmatched:
            break;
    }
    return PROF_ROW_UNMATCHED;
}

prof_summary_row public_row(const projection_row& row) noexcept {
    prof_summary_row out{};
    out.path = row.path.c_str();
    out.depth = row.depth;
    out.captured = row.is_captured ? 1 : 0;
    out.instances = row.instances;
    out.host_ns = row.host_ns;
    out.gpu_sum_ns = row.gpu_sum_ns;
    out.gpu_self_ns = row.gpu_self_ns;
    out.gpu_child_ns = row.gpu_child_ns;
    out.gpu_busy_ns = row.gpu_busy_ns;
    out.gpu_span_ns = row.gpu_span_ns;
    out.ops = row.ops;
    out.self_ops = row.self_ops;
    out.adopted_ops = row.adopted_ops;
    out.adopted_ns = row.adopted_ns;
    out.communication_ns = row.communication_ns;
    out.wait_ns = row.wait_ns;
    out.payload_bytes = row.payload_bytes;
    out.kind = public_kind(row.kind, row.is_observed);
    out.parent = row.parent;
    out.name = row.name.c_str();
    return out;
}

double half_width(const estimate& measured) noexcept { return measured.half_width.value_or(std::nan("")); }

prof_summary_steps public_steps(const step_estimate& measured) noexcept {
    prof_summary_steps out{};
    out.captured_steps = measured.captured_steps;
    out.windows = measured.windows;
    out.steps = measured.all_steps;
    out.stood_for = measured.stood_for;
    out.gpu_ns = measured.total.gpu_ns.mean;
    out.gpu_half_width_ns = half_width(measured.total.gpu_ns);
    out.has_interval = measured.total.gpu_ns.half_width ? 1 : 0;
    return out;
}

prof_summary_step_row public_row(const step_estimate_row& row) noexcept {
    prof_summary_step_row out{};
    out.path = row.path.c_str();
    out.depth = row.depth;
    out.captured = row.is_captured ? 1 : 0;
    out.gpu_ns = row.gpu_ns.mean;
    out.gpu_half_width_ns = half_width(row.gpu_ns);
    out.instances = row.instances.mean;
    out.instances_half_width = half_width(row.instances);
    out.kind = public_kind(row.kind, row.is_observed);
    out.parent = row.parent;
    out.name = row.name.c_str();
    return out;
}

std::unique_ptr<prof_summary> summarized(const timeline& data, const projection_options& options) {
    auto out = std::make_unique<prof_summary>();
    const shown_timeline shown{data, options};
    const attribution att = attribute(shown.data(), options.attribution);
    out->projection = project(shown.data(), att, options);
    out->steps = estimate_steps(shown.data(), att, options.fold);
    out->drops = drops_of(data);
    for (const auto& [cause, count] : out->drops) out->dropped += count;
    return out;
}

// What was recorded until now, or that nothing was.
result<timeline> recorded(recording_session& session) {
    const outcome synced = session.sync();
    if (synced.code() == outcome_code::wrong_state) return build_timeline({});
    if (!synced.ok()) return synced;
    const std::string path = session.absolute_capture_path();
    if (const outcome fits = check_size_to_read(path, session.options().compress); !fits.ok()) {
        return outcome::failed("no summary is made in the program of " + path + ": " + fits.message() +
                               "; `prof report` makes one from it");
    }
    return load_timeline(path);
}

int no_summary() noexcept { return refuse_null("summary"); }

}  // namespace
}  // namespace prof

using namespace prof;

PROF_EXPORT prof_summary* prof_summary_open() {
    std::unique_ptr<prof_summary> summary;
    (void)controlled([&]() -> int {
        recording_session& session = begun_session();
        result<timeline> data = recorded(session);
        if (!data.ok()) return as_result(data.failure());
        // A capture that is not closed does not have the number of steps.
        data.value().properties.try_emplace("steps", std::to_string(session.steps()));
        summary = summarized(data.value(), projection_options_of(session.options()));
        return PROF_OK;
    });
    return summary.release();
}

PROF_EXPORT prof_summary* prof_summary_open_file(const char* path) {
    if (path == nullptr) return null_of(refuse_null("path"));
    return caught([&] { return summarized(load_capture(path), {}).release(); }, nullptr);
}

PROF_EXPORT prof_summary* prof_capture_summary(const prof_capture* capture, const char* const* settings) {
    if (capture == nullptr) return null_of(refuse_null("capture"));
    return caught(
        [&]() -> prof_summary* {
            const result<report_settings> wanted = parse_report_settings(settings);
            if (!wanted.ok()) return null_of(fail(PROF_INVALID_ARGUMENT, wanted.failure().message()));
            return summarized(capture->read->data, wanted.value().projected).release();
        },
        nullptr);
}

PROF_EXPORT void prof_summary_close(prof_summary* summary) { delete summary; }

PROF_EXPORT int64_t prof_summary_total_gpu_ns(const prof_summary* summary) {
    return summary == nullptr ? 0 : summary->projection.total_gpu_ns;
}

PROF_EXPORT size_t prof_summary_row_count(const prof_summary* summary) {
    return summary == nullptr ? 0 : summary->projection.rows.size();
}

PROF_EXPORT int prof_summary_get_row(const prof_summary* summary, size_t index, prof_summary_row* row,
                                     size_t row_size) {
    if (summary == nullptr) return no_summary();
    return caught(
        [&]() -> int {
            const auto& rows = summary->projection.rows;
            if (index >= rows.size()) return no_such("row", index, rows.size());
            return fill_struct<128, 144>(public_row(rows[index]), "prof_summary_row", row, row_size);
        },
        int{PROF_FAILED});
}

PROF_EXPORT uint64_t prof_summary_dropped(const prof_summary* summary) {
    return summary == nullptr ? 0 : summary->dropped;
}

PROF_EXPORT size_t prof_summary_drop_count(const prof_summary* summary) {
    return summary == nullptr ? 0 : summary->drops.size();
}

PROF_EXPORT int prof_summary_get_drop(const prof_summary* summary, size_t index, prof_drop* drop, size_t drop_size) {
    if (summary == nullptr) return no_summary();
    return caught([&] { return fill_drop(summary->drops, index, drop, drop_size); }, int{PROF_FAILED});
}

PROF_EXPORT int prof_summary_get_steps(const prof_summary* summary, prof_summary_steps* steps, size_t steps_size) {
    if (summary == nullptr) return no_summary();
    return caught(
        [&] { return fill_struct<56, 56>(public_steps(summary->steps), "prof_summary_steps", steps, steps_size); },
        int{PROF_FAILED});
}

PROF_EXPORT size_t prof_summary_step_row_count(const prof_summary* summary) {
    return summary == nullptr ? 0 : summary->steps.rows.size();
}

PROF_EXPORT int prof_summary_get_step_row(const prof_summary* summary, size_t index, prof_summary_step_row* row,
                                          size_t row_size) {
    if (summary == nullptr) return no_summary();
    return caught(
        [&]() -> int {
            const auto& rows = summary->steps.rows;
            if (index >= rows.size()) return no_such("row", index, rows.size());
            return fill_struct<48, 64>(public_row(rows[index]), "prof_summary_step_row", row, row_size);
        },
        int{PROF_FAILED});
}
