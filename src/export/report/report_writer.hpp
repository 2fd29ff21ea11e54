// SPDX-License-Identifier: Apache-2.0
// Report documents in one format, and the formats there are. One thread; offline.
//
// To add a format: a writer in a file of its own, the declaration of its maker here, and a row in report_writer.cpp.
// The commands' flags, their help and the tests of all formats take it from there; CONTRIBUTING.md has the other
// places.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "export/byte_sink.hpp"
#include "export/report/report_text.hpp"
#include "report/report_document.hpp"

namespace prof {

// The documents of one or several captures, one after another, as one text.
class report_writer {
public:
    virtual ~report_writer() = default;

    virtual void add(const report_document& document) = 0;
    // Of all that were added, without what the destination has.
    virtual std::string text() const = 0;
    // Before the first document: what of the text will stay as it is may be written there while documents are added.
    virtual void write_to(byte_sink& /*destination*/) {}
};

struct writer_options {
    text_layout layout{};  // of formats for people
    // The request, whether or not all of it can be made: formats for programs use a simpler shape for one report of one
    // capture or of a job. Without reports of captures of their own, a job's captures are not several.
    bool several_captures = false;
    bool several_reports = false;
    // Of several captures, text has the tables of the main processes only (captured_process.hpp).
    bool outline = false;
};

struct report_format {
    std::string_view name;
    std::string_view purpose;  // a word or two behind the name in the help of an option; "": none
    bool is_for_people;        // it shows no more of a table than text_layout::shown
    std::unique_ptr<report_writer> (*make)(const writer_options& options);
};

// The first is the default.
std::span<const report_format> report_formats() noexcept;
// Null if there is none of that name.
const report_format* find_report_format(std::string_view name) noexcept;

// text_writer.cpp
std::unique_ptr<report_writer> make_text_writer(const writer_options& options);
// report_csv.cpp
std::unique_ptr<report_writer> make_csv_writer(const writer_options& options);
// report_json.cpp
std::unique_ptr<report_writer> make_json_writer(const writer_options& options);
// report_markdown.cpp
std::unique_ptr<report_writer> make_markdown_writer(const writer_options& options);
// report_html.cpp
std::unique_ptr<report_writer> make_html_writer(const writer_options& options);

}  // namespace prof
