// SPDX-License-Identifier: Apache-2.0
#include "export/report/report_writer.hpp"

#include <algorithm>
#include <iterator>

namespace prof {
namespace {

constexpr report_format formats[] = {
    {"table", "(default)", true, make_text_writer}, {"csv", "", false, make_csv_writer},
    {"json", "", false, make_json_writer},          {"markdown", "", true, make_markdown_writer},
    {"html", "", true, make_html_writer},
};

}  // namespace

std::span<const report_format> report_formats() noexcept { return formats; }

const report_format* find_report_format(std::string_view name) noexcept {
    const auto* const found = std::find_if(std::begin(formats), std::end(formats),
                                           [&](const report_format& format) { return format.name == name; });
    return found == std::end(formats) ? nullptr : found;
}

}  // namespace prof
