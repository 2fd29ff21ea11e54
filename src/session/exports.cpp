#include "session/exports.hpp"

#include "export/atomic_file.hpp"
#include "export/chrome_trace.hpp"
#include "export/report_text.hpp"
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
    return out;
}

std::string write_exports(const session_options& options, const std::string& capture_path) {
    if (!options.export_trace && !options.export_summary) return {};
    try {
        const std::string stem = capture_path.substr(0, capture_path.size() - std::string_view(".prof").size());
        const projection_options wanted = projection_options_of(options);
        const timeline data = load_timeline(capture_path);
        const attribution att = attribute(data, wanted.attribution);
        if (options.export_trace) write_chrome_trace(data, att, stem + ".trace.json.gz");
        if (options.export_summary) {
            atomic_file out(stem + ".summary.txt");
            out.write(summary_text(data, project(data, att, wanted), text_layout{}));
            out.commit();
        }
    } catch (const std::exception& failure) {
        return failure.what();
    }
    return {};
}

}  // namespace prof
