// SPDX-License-Identifier: Apache-2.0
#include "export/page/page_writer.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <map>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include "base/markup_text.hpp"
#include "base/version.hpp"
#include "base/zlib_memory.hpp"
#include "export/page/page_files.hpp"
#include "export/page/page_frame.hpp"
#include "export/page/page_input.hpp"
#include "export/page/page_text.hpp"
#include "export/page/page_views.hpp"
#include "export/report/screen/first_screen.hpp"
#include "report/reports.hpp"

namespace prof {
namespace {

constexpr int page_version = 1;
constexpr std::size_t most_plain = 200'000;  // bytes of results that are not compressed

std::string gzip(std::string_view text) {
    constexpr int level = 7;
    constexpr int gzip_header = 16;
    constexpr int memory_level = 9;
    z_stream stream = unbegun_stream<z_stream>();
    if (deflateInit2(&stream, level, Z_DEFLATED, MAX_WBITS + gzip_header, memory_level, Z_DEFAULT_STRATEGY) != Z_OK) {
        throw std::bad_alloc{};
    }
    std::string out(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    const int done = deflate(&stream, Z_FINISH);
    out.resize(out.size() - stream.avail_out);
    deflateEnd(&stream);
    if (done != Z_STREAM_END) throw std::bad_alloc{};
    return out;
}

std::string table_html(const page_table& of) {
    std::string out = "<table>";
    if (!of.caption.empty()) out += "<caption>" + markup_text(of.caption) + "</caption>";
    const bool has_head = std::any_of(of.columns.begin(), of.columns.end(),
                                      [](const page_table::column& column) { return !column.title.empty(); });
    const auto cell = [&](std::size_t column, std::string_view text) {
        const bool is_number = column < of.columns.size() && of.columns[column].is_number;
        if (column == 0) return "<th scope=\"row\">" + markup_text(text) + "</th>";
        return (is_number ? "<td class=\"n\">" : "<td>") + markup_text(text) + "</td>";
    };
    if (has_head) {
        out += "<thead><tr>";
        for (const page_table::column& column : of.columns) {
            out += (column.is_number ? "<th scope=\"col\" class=\"n\">" : "<th scope=\"col\">") +
                   markup_text(column.title) + "</th>";
        }
        out += "</tr></thead>";
    }
    const auto add_row = [&](const std::vector<std::string>& cells) {
        out += "<tr>";
        for (std::size_t i = 0; i < cells.size(); ++i) out += cell(i, cells[i]);
        out += "</tr>\n";
    };
    out += "<tbody>\n";
    for (const std::vector<std::string>& row : of.rows) add_row(row);
    out += "</tbody>";
    if (!of.sums.empty()) {
        out += "<tfoot>";
        add_row(of.sums);
        out += "</tfoot>";
    }
    return out + "</table>\n";
}

std::string block_html(const page_table& of) { return table_html(of); }
std::string block_html(const page_paragraph& of) { return "<p>" + markup_text(of.text) + "</p>\n"; }
std::string block_html(const page_list& of) {
    const std::string_view tag = of.is_ordered ? "ol" : "ul";
    std::string out = fmt::format("<{}>\n", tag);
    for (const std::string& item : of.items) out += "<li>" + markup_text(item) + "</li>\n";
    return out + fmt::format("</{}>\n", tag);
}
std::string block_html(const page_terms& of) {
    std::string out = "<dl>\n";
    for (std::size_t i = 0; i < of.terms.size(); ++i) {
        out += fmt::format("<dt id=\"term-{}\">{}</dt><dd>{}</dd>\n", i, markup_text(of.terms[i].first),
                           markup_text(of.terms[i].second));
    }
    return out + "</dl>\n";
}

bool is_shown(const page_view& of) { return !of.data.is_null() || !of.blocks.empty() || !of.why.empty(); }

std::string blocks_html(const page_view& of) {
    if (of.blocks.empty()) return {};
    std::string out = of.keeps_blocks ? "<div>\n" : "<div class=\"plain\">\n";
    for (const page_block& block : of.blocks) {
        out += std::visit([](const auto& held) { return block_html(held); }, block);
    }
    return out + "</div>\n";
}

class page_maker {
public:
    page_maker(page_frame frame, std::vector<page_view> views, byte_sink& to)
        : frame_(std::move(frame)), views_(std::move(views)), to_(to) {}

    void write() {
        write_head();
        write_top();
        to_.write("<main>\n");
        for (const std::string& text : frame_.warnings) {
            to_.write("<p class=\"warning\">" + markup_text(page_sentence(text)) + "</p>\n");
        }
        for (std::size_t i = 0; i < views_.size(); ++i) {
            if (is_shown(views_[i]) && !views_[i].heading.empty()) write_section(i);
        }
        to_.write("</main>\n");
        to_.write(
            "<noscript><p>Drawings, search and the timeline need JavaScript; the tables are complete without "
            "it.</p></noscript>\n");
        write_results();
        to_.write("<script>");
        to_.write(page_script());
        to_.write("</script>\n");
        for (page_view& view : views_) {
            for (page_payload& payload : view.payloads) {
                to_.write(
                    fmt::format("<script type=\"text/plain\" id=\"{}\" data-encoding=\"gzip-base64\">", payload.id));
                to_.write(base64(gzip(payload.json)));
                to_.write("</script>\n");
                payload = {};
            }
        }
        to_.write("</body>\n</html>\n");
    }

private:
    void write_head() {
        const std::string policy =
            "default-src 'none'; script-src 'sha256-" + sha256_base64(page_script()) +
            "'; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'";
        to_.write("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        to_.write("<meta http-equiv=\"Content-Security-Policy\" content=\"" + policy + "\">\n");
        to_.write("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        to_.write("<meta name=\"color-scheme\" content=\"light dark\">\n");
        to_.write("<meta name=\"referrer\" content=\"no-referrer\">\n");
        to_.write(fmt::format("<meta name=\"generator\" content=\"libprof {}\">\n", library_version));
        to_.write("<title>" + markup_text(frame_.program) + " – prof</title>\n<style>");
        to_.write(page_style());
        to_.write("</style>\n</head>\n<body>\n");
    }

    void write_top() {
        std::string out = "<header class=\"top\"><div class=\"bar\"><strong class=\"program\" title=\"" +
                          markup_text(frame_.command) + "\">" + markup_text(frame_.program) +
                          "</strong><span class=\"facts\">" + markup_text(frame_.facts) +
                          "</span>\n<nav aria-label=\"Views\">";
        for (const page_view& view : views_) {
            if (!is_shown(view) || view.link.empty()) continue;
            out += "<a href=\"#" + view.name + "\">" + markup_text(view.link) + "</a> ";
        }
        to_.write(out + "</nav></div></header>\n");
    }

    void write_section(std::size_t index) {
        const page_view& view = views_[index];
        const bool is_first = view.name == "answer" || view.name == "change";
        std::string out = fmt::format(
            "<section class=\"view\" id=\"{0}\" data-view=\"{0}\" aria-labelledby=\"{0}-title\">\n"
            "<{1} id=\"{0}-title\">{2}</{1}>\n",
            view.name, is_first ? "h1" : "h2", markup_text(view.heading));
        for (const std::string& text : view.lead) out += "<p class=\"lead\">" + markup_text(text) + "</p>\n";
        if (!view.details.empty()) out += "<p class=\"lead small\">" + markup_text(view.details) + "</p>\n";
        if (!view.why.empty()) {
            out += "<p class=\"why\">" + markup_text(view.why) + "</p>\n";
        } else if (!view.data.is_null() && !view.keeps_blocks) {
            out += fmt::format("<div class=\"figure\" data-figure=\"{}\"></div>\n", view.name);
        }
        out += blocks_html(view);
        // Views without a heading are part of this one.
        for (std::size_t i = index + 1; i < views_.size() && views_[i].heading.empty(); ++i) {
            if (is_shown(views_[i])) {
                if (!views_[i].why.empty()) out += "<p class=\"why plain\">" + markup_text(views_[i].why) + "</p>\n";
                out += blocks_html(views_[i]);
            }
        }
        to_.write(out + "</section>\n");
    }

    void write_results() {
        page_json& out = frame_.results;
        page_json& views = out["views"] = page_json::object();
        for (page_view& view : views_) {
            if (!view.data.is_null()) views[view.name] = std::exchange(view.data, {});
        }
        const std::string text = out.dump(-1, ' ', false, page_json::error_handler_t::replace);
        if (text.size() <= most_plain) {
            to_.write("<script type=\"application/json\" id=\"results\">" + script_json(text) + "</script>\n");
        } else {
            to_.write("<script type=\"application/json\" id=\"results\" data-encoding=\"gzip-base64\">");
            to_.write(base64(gzip(text)));
            to_.write("</script>\n");
        }
    }

    page_frame frame_;
    std::vector<page_view> views_;
    byte_sink& to_;
};

// Of the page of a run.
class run_frame_maker {
public:
    explicit run_frame_maker(const page_input& input) : input_(input) {}

    page_frame make() const {
        const capture_heading& capture = input_.document.capture;
        page_frame out{.program = program(),
                       .command = page_sentence(capture.command),
                       .warnings = warnings(),
                       .results = results()};
        const auto add = [&](const std::string& text) {
            if (text.empty()) return;
            if (!out.facts.empty()) out.facts += " · ";
            out.facts += text;
        };
        for (const auto& [name, count] : gpus()) add(count == 1 ? name : fmt::format("{} × {}", count, name));
        if (capture.process.rank) add(fmt::format("rank {}", *capture.process.rank));
        add(file());
        return out;
    }

private:
    std::string program() const { return page_sentence(short_command(input_.document.capture)); }

    std::map<std::string, std::size_t> gpus() const {
        std::map<std::string, std::size_t> out;
        for (const std::string& gpu : input_.document.capture.process.used_gpus) {
            ++out[gpu.empty() ? "GPU" : page_name(gpu)];
        }
        return out;
    }
    std::string file() const {
        return page_name(std::filesystem::path(input_.document.capture.path).filename().string());
    }

    std::vector<std::string> warnings() const {
        std::vector<std::string> out = input_.document.capture.warnings;
        constexpr std::size_t most = 5;
        if (out.size() > most) {
            const std::size_t more = out.size() - most;
            out.resize(most);
            out.push_back(fmt::format("{} more warnings are among the notes", more));
        }
        return out;
    }

    page_json run_json() const {
        const capture_heading& capture = input_.document.capture;
        page_json list = page_json::array();
        for (const auto& [name, count] : gpus()) list.push_back({{"name", name}, {"count", count}});
        page_json warning_texts = page_json::array();
        for (const std::string& text : warnings()) warning_texts.push_back(page_sentence(text));
        const auto number = [](const std::optional<std::int64_t>& of) { return of ? page_json(*of) : page_json(); };
        std::string title = page_name(capture.process.program);
        if (capture.process.rank) title += fmt::format(", rank {}", *capture.process.rank);
        if (capture.process.pid) title += fmt::format(", pid {}", *capture.process.pid);
        if (!capture.process.host.empty()) title += " on " + page_name(capture.process.host);
        return {{"title", std::move(title)},
                {"command", page_sentence(capture.command)},
                {"program", program()},
                {"file", file()},
                {"gpus", std::move(list)},
                {"rank", number(capture.process.rank)},
                {"pid", number(capture.process.pid)},
                {"host", page_name(capture.process.host)},
                {"recorded_ns", capture.process.recorded_ns},
                {"selection", capture.selection ? page_sentence(line_of_selection(capture)) : std::string()},
                {"warnings", std::move(warning_texts)},
                {"processes", input_.job == nullptr ? 1 : input_.job->size()}};
    }

    page_json results() const {
        const page_step& step = input_.step;
        page_json out = page_results(run_json(), step.unit.name.empty() ? "ms" : step.unit.name, step.unit.decimals);
        page_json& parts = out["parts"] = page_json::array();
        for (const page_part& part : step.parts) {
            parts.push_back({{"key", part.key}, {"name", part.name}, {"kind", part.kind}, {"colour", part.colour}});
        }
        page_json& causes = out["causes"] = page_json::array();
        for (std::size_t i = 0; i < idle_cause_count; ++i) {
            const auto cause = static_cast<idle_cause>(i);
            const std::size_t part = step.part_of(cause);
            causes.push_back({{"key", cause_key(cause)},
                              {"name", cause_words(cause)},
                              {"part", part == SIZE_MAX ? page_json() : page_json(part)}});
        }
        return out;
    }

    const page_input& input_;
};

// Prices are those of the first screen. Where it has none: of what was selected, and of a recording without steps, if
// that is no long work.
void add_findings(page_input& to) {
    constexpr std::size_t most_records = 2'000'000;
    const timeline& data = to.report.data;
    const bool is_part = to.document.capture.selection.has_value();
    if (!is_part && to.answer != nullptr && to.answer->step) {
        to.findings = to.diagnosed.of_screen(*to.answer->step);
    } else if (is_part || data.api_calls.size() + data.ops.size() <= most_records) {
        to.findings = &to.diagnosed.get();
    } else {
        to.no_findings = "Nothing was priced, since no step was found.";
        return;
    }
    if (to.findings != nullptr && to.findings->steps != 0) return;
    const diagnosis& of = to.findings != nullptr ? *to.findings : to.diagnosed.get();
    to.no_findings = of.not_looked.empty() ? "Nothing could be examined." : page_sentence(of.not_looked.front() + ".");
    to.no_findings.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(to.no_findings.front())));
    to.findings = nullptr;
}

report_settings page_settings(const report_settings& from) {
    report_settings out = from;
    out.of_a_step = true;
    out.is_of_whole_run = false;
    return out;
}

}  // namespace

page_json page_results(page_json run, std::string_view unit, int decimals) {
    const std::int64_t unit_ns = unit == "s" ? 1'000'000'000 : unit == "µs" ? 1'000 : 1'000'000;
    page_json out{{"page", page_version}, {"prof", library_version}, {"run", std::move(run)}};
    out["unit"] = {{"name", unit}, {"ns", unit_ns}, {"decimals", decimals}};
    return out;
}

void write_framed_page(page_frame frame, std::vector<page_view> views, byte_sink& to) {
    page_maker(std::move(frame), std::move(views), to).write();
}

void page_job::add(const timeline& data, const std::string& path, const report_settings& settings) {
    with_report_input(data, path, page_settings(settings),
                      [&](const report_input& input, capture_diagnosis& diagnosed) {
                          const report_kind* const kind = &report_kinds().front();
                          members_.push_back(make_document_of(input, diagnosed, std::span(&kind, 1)));
                          ranks_.add(input);
                      });
    // Its tables are not needed, and may be long.
    for (report_part& part : members_.back().parts) {
        std::erase_if(part.blocks, [](const report_block& block) { return std::holds_alternative<table>(block); });
    }
}

std::size_t page_job::shown() {
    if (!jobs().empty()) {
        const auto& [ranks, answer] = jobs().front();
        const straggler* const worst = answer.worst();
        if (worst != nullptr && worst->kind != straggler_kind::network) {
            const std::string& path = ranks.ranks[worst->ranks.front()].path;
            for (std::size_t i = 0; i < members_.size(); ++i) {
                if (members_[i].capture.path == path) return i;
            }
        }
    }
    std::size_t best = 0;
    std::tuple<bool, bool, double> best_rank{false, false, 0};
    for (std::size_t i = 0; i < members_.size(); ++i) {
        const answer_block* const answer = answer_in(members_[i]);
        if (answer == nullptr || !answer->where) continue;
        const step_table& where = *answer->where;
        double communication_ns = 0;
        for (const step_table_row& row : where.rows) {
            communication_ns += static_cast<double>(row.of(step_column::communication));
        }
        const double steps = static_cast<double>(std::max<std::uint64_t>(where.steps, 1));
        // Who waits least communicates least; without communication the longest step counts.
        const double rank = communication_ns > 0 ? -communication_ns / steps
                                                 : static_cast<double>(where.wall_ns + where.cpu_ns) / steps * 1e-12;
        const std::tuple<bool, bool, double> of{where.devices != 0, where.has_steps, rank};
        if (i == 0 || best_rank < of) {
            best = i;
            best_rank = of;
        }
    }
    return best;
}

void write_page(const timeline& data, const std::string& path, const report_settings& settings, byte_sink& to,
                page_job* job) {
    with_report_input(
        data, path, page_settings(settings), [&](const report_input& input, capture_diagnosis& diagnosed) {
            diagnosed.ask_for_sets();
            const report_kind* const kind = &report_kinds().front();
            const report_document document = make_document_of(input, diagnosed, std::span(&kind, 1));
            const projected_timeline shown(input);
            page_input page{.report = input,
                            .diagnosed = diagnosed,
                            .document = document,
                            .answer = answer_in(document),
                            .shown = shown,
                            .subject = step_time_of(shown, input)};
            if (page.subject) {
                page.found = find_breakdown_steps(page.subject->data, page.subject->att,
                                                  !page.subject->step_function.empty(), page.subject->scope);
            }
            page.step = make_page_step(page);
            add_findings(page);
            if (job != nullptr && job->members().size() > 1) {
                page.job = &job->members();
                page.shown_member = job->shown();
                page.jobs = job->jobs();
            }
            std::vector<page_view> views;
            for (const page_view_kind& each : page_view_kinds()) views.push_back(each.make(page));
            // The answer is several views, of which the others have no heading.
            const auto behind = std::find_if(views.begin() + 1, views.end(),
                                             [](const page_view& each) { return !each.heading.empty(); });
            std::stable_partition(behind, views.end(), [](const page_view& each) { return each.stands_first; });
            write_framed_page(run_frame_maker(page).make(), std::move(views), to);
        });
}

}  // namespace prof
