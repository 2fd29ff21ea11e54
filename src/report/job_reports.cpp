// SPDX-License-Identifier: Apache-2.0
#include "report/job_reports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/display_text.hpp"
#include "report/capture_heading.hpp"
#include "report/reports.hpp"

namespace prof {
namespace {

constexpr std::size_t most_warnings = 20;  // of which each may be that of one capture among a thousand

}  // namespace

job_reports::job_reports(std::span<const report_kind* const> kinds, std::size_t captures) {
    for (const report_kind* const kind : kinds) {
        if (kind->begin_job != nullptr && captures > 1) {
            jobs_.push_back({kind, kind->begin_job(shared_)});
        } else {
            of_captures_.push_back(kind);
        }
    }
}

void job_reports::add(const report_input& input) {
    if (jobs_.empty()) return;
    const capture_heading heading = heading_of(input);
    add_to_heading(heading);
    shared_.add(input);
    for (const job& each : jobs_) each.report->add(input, heading);
}

void job_reports::add_to_heading(const capture_heading& member) {
    heading_.members.push_back(member.path);
    for (const auto& [cause, count] : member.dropped) heading_.dropped[cause] += count;
    for (const std::string& text : member.warnings) {
        const auto known = std::find_if(warnings_.begin(), warnings_.end(),
                                        [&](const shared_warning& warning) { return warning.text == text; });
        if (known != warnings_.end()) {
            ++known->captures;
        } else if (warnings_.size() < most_warnings) {
            warnings_.push_back({text, member.path, 1});
        } else {
            ++more_warnings_;
        }
    }
}

std::optional<report_document> job_reports::finish(const report_settings& settings) {
    const std::size_t captures = heading_.members.size();
    if (jobs_.empty() || captures == 0) return {};
    heading_.title = fmt::format("{} capture{}", with_thousands(captures), captures == 1 ? "" : "s");
    for (const shared_warning& warning : warnings_) {
        std::string where;
        if (warning.captures < captures) where = warning.first + ": ";
        if (warning.captures < captures && warning.captures > 1) {
            where = fmt::format("{} and {} more: ", warning.first, warning.captures - 1);
        }
        heading_.warnings.push_back(where + warning.text);
    }
    if (more_warnings_ != 0) {
        heading_.warnings.push_back(
            fmt::format("{} more warnings: the report of each capture has its own", with_thousands(more_warnings_)));
    }
    report_document out{.capture = std::move(heading_)};
    for (const job& each : jobs_) {
        out.parts.push_back(each.report->finish());
        arrange(out.parts.back(), *each.kind, settings.sort, settings.limit);
    }
    return out;
}

bool is_of_one_rank(const report_part& part) {
    const table* const ranks = part.name == "ranks" ? block_in<table>(part) : nullptr;
    return ranks != nullptr && std::any_of(ranks->totals.begin(), ranks->totals.end(), [](const auto& total) {
               const auto* const count =
                   total.first == "ranks" ? std::get_if<std::uint64_t>(&total.second.value) : nullptr;
               return count != nullptr && *count < 2;
           });
}

}  // namespace prof
