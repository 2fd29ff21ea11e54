// SPDX-License-Identifier: Apache-2.0
#include "export/report/common_lines.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>

#include "export/report/report_text.hpp"
#include "export/report/shown_document.hpp"
#include "export/report/text_style.hpp"

namespace prof {
namespace {

// Calls `visit` with each list of notes in the document.
template <typename TVisit>
void for_each_list(report_document& document, TVisit&& visit) {
    visit(document.capture.notes);
    for (report_part& part : document.parts) {
        visit(part.reading_notes);
        for (report_block& block : part.blocks) {
            if (auto* const made = std::get_if<table>(&block)) visit(made->notes);
        }
    }
}

void add_new(const std::vector<std::string>& sentences, std::vector<std::string>& to) {
    for (const std::string& sentence : sentences) {
        if (std::find(to.begin(), to.end(), sentence) == to.end()) to.push_back(sentence);
    }
}

}  // namespace

std::string take_common_lines(std::vector<report_document>& documents, const text_layout& layout) {
    std::map<std::string, std::set<std::size_t>> documents_of;
    std::vector<std::string> in_order;
    table_explanation explanation;
    for (std::size_t i = 0; i < documents.size(); ++i) {
        for_each_list(documents[i], [&](const std::vector<std::string>& notes) {
            for (const std::string& note : notes) {
                std::set<std::size_t>& of = documents_of[note];
                if (of.empty()) in_order.push_back(note);
                of.insert(i);
            }
        });
        for (const report_part& part : documents[i].parts) {
            for (const table* const made : tables_in(part)) {
                if (!is_shown(*made)) continue;
                const table_explanation own = explanation_of(*made, layout);
                add_new(own.left_out, explanation.left_out);
                add_new(own.legend, explanation.legend);
            }
        }
    }
    const auto is_common = [&](const std::string& note) { return documents_of[note].size() > 1; };
    for (report_document& document : documents) {
        for_each_list(document, [&](std::vector<std::string>& notes) { std::erase_if(notes, is_common); });
    }
    std::erase_if(in_order, [&](const std::string& note) { return !is_common(note); });
    // As the notes of one document they are made ready for a terminal, and stand in one block.
    report_document common;
    common.capture.notes = in_order;
    std::string out = notes_text(common, layout);
    const std::string below = explanation_text(explanation, layout);
    if (!below.empty() && !out.empty()) out += '\n';
    return out + styled(below, text_role::note, layout.color);
}

}  // namespace prof
