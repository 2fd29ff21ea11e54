// SPDX-License-Identifier: Apache-2.0
#include "session/exports.hpp"

#include <new>

#include "analysis/reports/reports.hpp"
#include "export/atomic_file.hpp"
#include "export/chrome/chrome_trace.hpp"
#include "export/report/report_text.hpp"
#include "timeline/load.hpp"

namespace prof {

projection_options projection_options_of(const session_options& options) {
    projection_options out;
    out.fold = options.fold;
    if (options.adopt) out.attribution.adopt_pattern = *options.adopt;
    out.attribution.domains = {.include = options.nvtx_domain_include, .exclude = options.nvtx_domain_exclude};
    return out;
}

attribution attribute_for_trace(const timeline& data, const attribution_options& options) {
    attribution_options all = options;
    all.domains = {};
    return attribute(data, all);
}

outcome write_exports(const session_options& options, const std::string& capture_path) {
    if (!options.exports.any()) return {};
    try {
        const std::string stem = capture_path.substr(0, capture_path.size() - std::string_view(".prof").size());
        const projection_options wanted = projection_options_of(options);
        const timeline data = load_timeline(capture_path);
        attribution att = attribute_for_trace(data, wanted.attribution);
        if (options.exports.trace) write_chrome_trace(data, att, stem + ".trace.json.gz");
        if (options.exports.summary) {
            if (!wanted.attribution.domains.empty()) att = attribute(data, wanted.attribution);
            atomic_file out(stem + ".summary.txt");
            const report_document summary = make_summary({.data = data,
                                                          .capture = capture_path,
                                                          .projected = wanted,
                                                          .att = &att,
                                                          .for_people = true,
                                                          .rows = options.rows});
            out.write(document_text(summary, {}));
            out.commit();
        }
    } catch (const std::bad_alloc&) {
        return outcome::failed("no memory for the exports of " + capture_path +
                               "; `prof export` and `prof report` make them from it");
    } catch (const std::exception& failure) {
        return outcome::failed(failure.what());
    }
    return {};
}

}  // namespace prof
