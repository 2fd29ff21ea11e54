#include "session/exports.hpp"

#include <new>

#include "analysis/reports/reports.hpp"
#include "export/atomic_file.hpp"
#include "export/chrome/chrome_trace.hpp"
#include "export/report/report_text.hpp"
#include "options/domain_list.hpp"
#include "timeline/timeline.hpp"

namespace prof {

projection_options projection_options_of(const session_options& options) {
    projection_options out;
    out.fold_digits = options.fold;
    if (options.adopt == "off") {
        out.attribution.adopt_pattern.clear();
    } else if (options.adopt != "auto") {
        out.attribution.adopt_pattern = options.adopt;
    }
    if (!options.nvtx_domain_include.empty()) {
        parse_domain_list(options.nvtx_domain_include, out.attribution.domains.include);
    }
    if (!options.nvtx_domain_exclude.empty()) {
        parse_domain_list(options.nvtx_domain_exclude, out.attribution.domains.exclude);
    }
    return out;
}

attribution attribute_for_trace(const timeline& data, const attribution_options& options) {
    attribution_options all = options;
    all.domains = {};
    return attribute(data, all);
}

std::string write_exports(const session_options& options, const std::string& capture_path) {
    if (!options.export_trace && !options.export_summary) return {};
    try {
        const std::string stem = capture_path.substr(0, capture_path.size() - std::string_view(".prof").size());
        const projection_options wanted = projection_options_of(options);
        const timeline data = load_timeline(capture_path);
        attribution att = attribute_for_trace(data, wanted.attribution);
        if (options.export_trace) write_chrome_trace(data, att, stem + ".trace.json.gz");
        if (options.export_summary) {
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
        return "no memory for the exports of " + capture_path + "; `prof export` and `prof report` make them from it";
    } catch (const std::exception& failure) {
        return failure.what();
    }
    return {};
}

}  // namespace prof
