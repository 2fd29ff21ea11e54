// The C interface by which what was recorded is read (prof/read.h). Nothing throws across it.
#include <prof/read.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>

#include "analysis/projection/projection.hpp"
#include "analysis/projection/xla_phases.hpp"
#include "analysis/reports/step_estimate.hpp"
#include "session/c_border.hpp"
#include "session/export_bound.hpp"
#include "session/export_symbol.hpp"
#include "session/exports.hpp"
#include "timeline/timeline.hpp"

struct prof_summary {
    prof::projection projection;
    prof::step_estimate steps;
    std::uint64_t dropped = 0;
};

namespace prof {
namespace {

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
    return out;
}

double half_width(const estimate& of) noexcept { return of.half_width.value_or(std::nan("")); }

prof_summary_steps public_steps(const step_estimate& of) noexcept {
    prof_summary_steps out{};
    out.captured_steps = of.captured_steps;
    out.windows = of.windows;
    out.steps = of.all_steps;
    out.stood_for = of.stood_for;
    out.gpu_ns = of.total.gpu_ns.mean;
    out.gpu_half_width_ns = half_width(of.total.gpu_ns);
    out.has_interval = of.total.gpu_ns.half_width ? 1 : 0;
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
    return out;
}

// For a caller that was compiled with this or another version of the struct: fields are only added, at the end.
// `first_version`: the size of the first version.
template <std::size_t first_version, typename TStruct>
int hand_out(const TStruct& from, const char* type, TStruct* out, std::size_t size) {
    static_assert(sizeof(TStruct) == first_version);
    if (size < first_version) {
        return fail(PROF_INVALID_ARGUMENT, std::to_string(size) + " is no sizeof(" + type + "); it takes " +
                                               std::to_string(first_version) + " bytes or more");
    }
    std::memset(out, 0, size);
    std::memcpy(out, &from, std::min(size, sizeof from));
    return PROF_OK;
}

int no_such_row() { return fail(PROF_INVALID_ARGUMENT, "the summary has no such row"); }

}  // namespace
}  // namespace prof

using namespace prof;

PROF_EXPORT prof_summary* prof_summary_open() {
    std::unique_ptr<prof_summary> summary;
    (void)guarded([&]() -> int {
        recording_session& session = begun_session();
        if (const outcome synced = session.sync(); !synced.ok()) return as_result(synced);
        const std::string path = session.absolute_capture_path();
        if (const std::string why = too_large_to_read(path, session.options().compress); !why.empty()) {
            return fail(PROF_FAILED, "no summary is made in the program of " + path + ": " + why +
                                         "; `prof report` makes one from it");
        }
        auto made = std::make_unique<prof_summary>();
        timeline data = load_timeline(path);
        // A capture that is not closed does not have the number of steps.
        data.properties.try_emplace("steps", std::to_string(session.steps()));
        const projection_options options = projection_options_of(session.options());
        const shown_timeline shown{data, options};
        const attribution att = attribute(shown.data(), options.attribution);
        made->projection = project(shown.data(), att, options);
        made->steps = estimate_steps(shown.data(), att, options.fold);
        for (const auto& [cause, count] : data.quality.dropped) made->dropped += count;
        summary = std::move(made);
        return PROF_OK;
    });
    return summary.release();
}

PROF_EXPORT void prof_summary_close(prof_summary* summary) { delete summary; }

PROF_EXPORT int64_t prof_summary_total_gpu_ns(const prof_summary* summary) { return summary->projection.total_gpu_ns; }

PROF_EXPORT size_t prof_summary_row_count(const prof_summary* summary) { return summary->projection.rows.size(); }

PROF_EXPORT int prof_summary_get_row(const prof_summary* summary, size_t index, prof_summary_row* out,
                                     size_t row_size) {
    return guarded([&]() -> int {
        const auto& rows = summary->projection.rows;
        if (index >= rows.size()) return no_such_row();
        return hand_out<128>(public_row(rows[index]), "prof_summary_row", out, row_size);
    });
}

PROF_EXPORT uint64_t prof_summary_dropped(const prof_summary* summary) { return summary->dropped; }

PROF_EXPORT int prof_summary_get_steps(const prof_summary* summary, prof_summary_steps* out, size_t steps_size) {
    return guarded([&] { return hand_out<56>(public_steps(summary->steps), "prof_summary_steps", out, steps_size); });
}

PROF_EXPORT size_t prof_summary_step_row_count(const prof_summary* summary) { return summary->steps.rows.size(); }

PROF_EXPORT int prof_summary_get_step_row(const prof_summary* summary, size_t index, prof_summary_step_row* out,
                                          size_t row_size) {
    return guarded([&]() -> int {
        const auto& rows = summary->steps.rows;
        if (index >= rows.size()) return no_such_row();
        return hand_out<48>(public_row(rows[index]), "prof_summary_step_row", out, row_size);
    });
}
