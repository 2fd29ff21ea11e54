// SPDX-License-Identifier: Apache-2.0
// What the figures lack, and what was recorded of the program.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/display_text.hpp"
#include "base/version.hpp"
#include "export/page/page_text.hpp"
#include "export/page/page_views.hpp"
#include "export/report/screen/first_screen.hpp"

namespace prof {
namespace {

void add_list(page_view& to, std::string title, const std::vector<std::string>& from) {
    if (from.empty()) return;
    to.blocks.emplace_back(page_paragraph{std::move(title)});
    page_list list;
    for (std::size_t i = 0; i < std::min(from.size(), most_page_texts); ++i)
        list.items.push_back(page_sentence(from[i]));
    to.blocks.emplace_back(std::move(list));
}

std::vector<std::pair<std::string, std::string>> recording_of(const page_input& input) {
    const capture_heading& capture = input.document.capture;
    const timeline& data = input.report.data;
    std::vector<std::pair<std::string, std::string>> out;
    const auto add = [&](std::string word, const std::string& text) {
        if (!text.empty()) out.emplace_back(std::move(word), page_sentence(text));
    };
    add("command", capture.command);
    add("process", capture.title);
    std::map<std::string, std::size_t> gpus;
    for (const std::string& gpu : capture.process.used_gpus) ++gpus[gpu.empty() ? "GPU" : gpu];
    // The title counts those that the process sees, the rest of the page those that it used.
    const std::size_t seen = capture.process.gpus.size();
    const std::size_t used = capture.process.used_gpus.size();
    const std::string of_seen =
        used < seen ? fmt::format(", used {} of the {} that it sees", used, seen) : std::string();
    for (const auto& [name, count] : gpus) {
        add("GPU", (count == 1 ? name : fmt::format("{} x {}", count, name)) + of_seen);
    }
    add("recorded", capture.windows.empty() ? "the whole run" : capture.windows);
    if (capture.selection) add("selected", line_of_selection(capture));
    if (input.answer != nullptr && input.answer->step) {
        const step_figures& steps = *input.answer->step;
        add("steps", fmt::format("{} count; {} of warm-up before them; {}", with_thousands(steps.steps),
                                 with_thousands(steps.warm_up), what_a_step_is(steps)));
        add("a step begins", input.answer->where && input.answer->where->by_gpu
                                 ? "when the GPU is done with the one before, since the host runs ahead"
                                 : "when the host begins it");
    }
    if (!input.step.has_steps) {
        add("steps",
            "none was found, so that nothing here is by step; prof_step(), libprof.step() or --step-range NAME marks "
            "them");
    }
    if (input.findings != nullptr && input.diagnosed.sampled() != 0) {
        add("prices", fmt::format("by {} of {} steps", with_thousands(input.diagnosed.sampled()),
                                  with_thousands(input.findings->steps)));
    }
    add("records", fmt::format("{} ranges, {} CUDA calls, {} GPU operations", with_thousands(capture.process.ranges),
                               with_thousands(capture.process.calls), with_thousands(capture.process.ops)));
    constexpr std::pair<std::string_view, std::string_view> properties[] = {
        {"activities", "activities"},       {"modules", "modules"},
        {"operators", "pytorch"},           {"CUDA calls", "api_calls"},
        {"CUDA graphs", "cuda_graphs"},     {"lines", "lines"},
        {"Python", "python_version"},       {"PyTorch", "torch_version"},
        {"CUPTI", "cupti_version"},         {"driver", "driver_version"},
        {"recorded by", "libprof_version"},
    };
    for (const auto& [word, key] : properties) add(std::string(word), data.property(std::string(key)));
    add("page by", fmt::format("libprof {}", library_version));
    return out;
}

}  // namespace

page_view make_notes_view(const page_input& input) {
    const capture_heading& capture = input.document.capture;
    page_view out{.name = "notes", .heading = "Notes, and what was recorded", .link = "Notes"};
    out.keeps_blocks = true;
    std::vector<std::string> losses;
    losses.reserve(capture.dropped.size());
    for (const auto& [cause, count] : capture.dropped) {
        losses.push_back(fmt::format("{} records were lost: {}", with_thousands(count), cause));
    }
    std::vector<std::string> remarks;
    if (input.findings != nullptr) {
        remarks = input.findings->remarks;
        remarks.insert(remarks.end(), input.findings->not_looked.begin(), input.findings->not_looked.end());
    }
    const std::vector<std::pair<std::string, std::string>> recording = recording_of(input);
    const std::vector<std::string> notes = closing_notes(input.document);
    page_json rows = page_json::array();
    for (const auto& [word, text] : recording) rows.push_back({word, text});
    out.data = {{"losses", page_texts(losses)},       {"warnings", page_texts(capture.warnings)},
                {"facts", page_texts(capture.facts)}, {"notes", page_texts(notes)},
                {"remarks", page_texts(remarks)},     {"recording", std::move(rows)}};
    if (losses.empty()) {
        out.lead.emplace_back("Nothing of what was recorded was lost.");
    } else {
        add_list(out, "Lost:", losses);
    }
    add_list(out, "Warnings:", capture.warnings);
    add_list(out, "What was recorded:", capture.facts);
    add_list(out, "Notes:", notes);
    add_list(out, "On the findings:", remarks);
    page_table table{.caption = "The recording", .columns = {{}, {}}};
    for (const auto& [word, text] : recording) table.rows.push_back({word, text});
    out.blocks.emplace_back(std::move(table));
    return out;
}

}  // namespace prof
