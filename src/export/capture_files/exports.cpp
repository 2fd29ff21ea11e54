// SPDX-License-Identifier: Apache-2.0
#include "export/capture_files/exports.hpp"

#include <exception>
#include <new>
#include <string_view>

#include "analysis/projection/native_lines.hpp"
#include "analysis/selection/selected_part.hpp"
#include "export/atomic_file.hpp"
#include "export/chrome/chrome_trace.hpp"
#include "export/report/report_text.hpp"
#include "report/make_reports.hpp"
#include "timeline/load.hpp"

namespace prof {

attribution attribute_for_trace(const timeline& data, const attribution_options& options) {
    attribution_options all = options;
    all.domains = {};
    return attribute(data, all);
}

std::string stem_of(const std::string& capture_path) {
    constexpr std::string_view ending = ".prof";
    return capture_path.ends_with(ending) ? capture_path.substr(0, capture_path.size() - ending.size()) : capture_path;
}

void write_summary(const report_document& summary, const std::string& capture_path, const shown_limits& shown) {
    atomic_file out(stem_of(capture_path) + ".summary.txt");
    out.write(document_text(summary, {.shown = shown}));
    out.commit();
}

outcome write_exports(const session_options& options, const std::string& capture_path) {
    if (!options.exports.any_of_process()) return {};
    try {
        const report_settings settings{
            .projected = projection_options_of(options), .of_a_step = true, .shown = {.rows = options.rows}};
        timeline data = load_timeline(capture_path);
        resolve_native_lines(data, false);
        attribution att = attribute_for_trace(data, settings.projected.attribution);
        if (options.exports.trace) write_chrome_trace(data, att, stem_of(capture_path) + ".trace.json.gz");
        if (options.exports.summary) {
            const attribution_options& wanted = settings.projected.attribution;
            if (!wanted.domains.empty()) att = attribute(data, wanted);
            write_summary(make_summary(data, capture_path, settings, &att), capture_path, settings.shown);
        }
    } catch (const std::bad_alloc&) {
        return outcome::failed("no memory for the exports of " + capture_path +
                               "; `prof export` and `prof report` make them from it");
    } catch (const std::exception& failure) {
        return outcome::failed(failure.what());
    }
    return {};
}

void write_trace(const timeline& data, const std::string& path, const report_settings& settings) {
    if (changes_timeline(settings)) {
        const auto [changed, rest] = with_changes(data, settings);
        return write_trace(changed, path, rest);
    }
    const attribution_options& options = settings.projected.attribution;
    if (!settings.selection.is_part()) {
        write_chrome_trace(data, attribute_for_trace(data, options), path);
        return;
    }
    const projection_options all{.attribution = {.adopt_pattern = options.adopt_pattern}};
    const selected_part part(data, all, settings.selection, false);
    write_chrome_trace(part.data(), part.att(), path);
}

}  // namespace prof
