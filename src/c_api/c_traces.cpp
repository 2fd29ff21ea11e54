// SPDX-License-Identifier: Apache-2.0
// Traces of a capture through the C interface (prof/read.h). Nothing throws across it.
#include "analysis/selection/step_choice.hpp"
#include "base/export_symbol.hpp"
#include "c_api/c_reading.hpp"
#include "export/capture_files/exports.hpp"

using namespace prof;

PROF_EXPORT int prof_capture_export(const prof_capture* capture, const char* path, const char* const* settings) {
    if (capture == nullptr) return refuse_null("capture");
    if (path == nullptr) return refuse_null("path");
    return caught(
        [&]() -> int {
            const result<report_settings> wanted = parse_report_settings(settings);
            if (!wanted.ok()) return fail(PROF_INVALID_ARGUMENT, wanted.failure().message());
            try {
                write_trace(capture->read->data, path, wanted.value());
            } catch (const nothing_selected& failure) {
                return fail(PROF_INVALID_ARGUMENT, failure.what());
            }
            return PROF_OK;
        },
        int{PROF_FAILED});
}
