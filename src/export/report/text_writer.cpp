// SPDX-License-Identifier: Apache-2.0
// Report documents as text, one capture after another.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/json_text.hpp"
#include "export/report/cell_text.hpp"
#include "export/report/common_lines.hpp"
#include "export/report/report_text.hpp"
#include "export/report/report_writer.hpp"
#include "export/report/screen/first_screen.hpp"
#include "export/report/shown_document.hpp"
#include "report/captured_process.hpp"
#include "report/tables/processes.hpp"

namespace prof {
namespace {

// The time that the unit of all tables is chosen for.
std::int64_t largest_time(const std::vector<report_document>& documents) {
    std::int64_t largest = 0;
    for (const report_document& document : documents) {
        for (const report_part& part : document.parts) {
            for (const table* const made : tables_in(part)) {
                if (is_shown(*made)) largest = std::max(largest, largest_time(*made));
            }
        }
    }
    return largest;
}

// One capture after another, with an empty line between. Before several stand the reports of all together, or else the
// table of their processes. All have one unit of time.
class text_writer final : public report_writer {
public:
    text_writer(const text_layout& layout, bool outline) : layout_(layout), outline_(outline) {}

    void add(const report_document& document) override {
        const bool is_of_job = !document.capture.members.empty();
        (is_of_job ? jobs_ : documents_).push_back(shown_document(document, layout_.shown));
    }

    std::string text() const override { return layout_.is_ascii ? with_ascii_cuts(made()) : made(); }

private:
    // As the first screen has them (fit_lines).
    static std::string with_ascii_cuts(std::string text) {
        constexpr std::string_view ellipsis = "…";
        for (std::size_t at = 0; (at = text.find(ellipsis, at)) != std::string::npos;) {
            text.replace(at, ellipsis.size(), "~");
        }
        return text;
    }

    std::string made() const {
        if (documents_.size() + jobs_.size() == 0) return {};
        if (documents_.size() + jobs_.size() == 1) {
            return shown_text(documents_.empty() ? jobs_.front() : documents_.front(), layout_);
        }
        std::vector<captured_process> processes;
        processes.reserve(documents_.size());
        for (const report_document& document : documents_) processes.push_back(document.capture.process);
        std::vector<bool> shown(documents_.size(), true);
        if (outline_) shown = processes_with_tables(processes, most_tables);
        std::vector<const report_document*> all;
        all.reserve(documents_.size());
        for (const report_document& document : documents_) all.push_back(&document);
        std::string screen =
            screen_text(job_screen(all, screen_layout_of(layout_), verdicts(), verdict_capture(), copies()), layout_);
        if (!screen.empty() && layout_.only_screen) return screen;

        const table overview = processes_table(processes);
        text_layout layout = layout_;
        layout.unit_ns = std::max({largest_time(overview), largest_time(documents_), largest_time(jobs_)});
        const text_layout layout_with_legend = layout;
        layout.legend = false;
        std::vector<report_document> with_tables;
        for (std::size_t i = 0; i < documents_.size(); ++i) {
            if (shown[i]) with_tables.push_back(documents_[i]);
        }
        const std::string common = take_common_lines(with_tables, layout);
        std::string out = screen.empty() ? screen : screen + '\n';
        for (const report_document& job : jobs_) out += shown_text(job, layout_with_legend);
        if (jobs_.empty() || !screen.empty()) out += table_text(overview, layout_with_legend);
        auto next = with_tables.begin();
        for (std::size_t i = 0; i < documents_.size(); ++i) {
            out += shown[i] ? '\n' + shown_text(*next++, layout) : lines_of_another(documents_[i].capture, layout);
        }
        if (!common.empty()) out += '\n' + common;
        const std::size_t left_out = documents_.size() - with_tables.size();
        if (left_out != 0) {
            out += fmt::format("\n{} of {} have no tables here: prof report FILE has them\n", left_out, shown.size());
        }
        return out;
    }

    static constexpr std::size_t most_tables = 8;

    // Of the report `ranks`: a sentence for each job; none if that was not made.
    std::vector<std::string> verdicts() const { return total_of_ranks<text_list>("verdicts"); }
    // The capture of the rank that the verdict names; "": none.
    std::string verdict_capture() const { return total_of_ranks<std::string>("verdict_capture"); }

    // Captures that are left out, as they are of a process that has another one.
    std::vector<std::string> copies() const { return total_of_ranks<text_list>("copies"); }

    template <typename TValue>
    TValue total_of_ranks(std::string_view wanted) const {
        for (const report_document& job : jobs_) {
            for (const report_part& part : job.parts) {
                const auto* const shown = part.name == "ranks" ? block_in<table>(part) : nullptr;
                if (shown == nullptr) continue;
                for (const auto& [name, value] : shown->totals) {
                    const auto* const found = name == wanted ? std::get_if<TValue>(&value.value) : nullptr;
                    if (found != nullptr) return *found;
                }
            }
        }
        return {};
    }

    // Of a process without a table: what must be known of it all the same.
    static std::string lines_of_another(const capture_heading& capture, const text_layout& layout) {
        if (capture.warnings.empty()) return {};
        return '\n' + terminal_safe(capture.title) + '\n' + facts_text(capture, layout);
    }

    text_layout layout_;
    bool outline_;
    std::vector<report_document> documents_;  // of captures
    std::vector<report_document> jobs_;       // of all together
};

}  // namespace

std::unique_ptr<report_writer> make_text_writer(const writer_options& options) {
    return std::make_unique<text_writer>(options.layout, options.outline);
}

}  // namespace prof
