// SPDX-License-Identifier: Apache-2.0
// The views of a page, in their order. Each maker has a file of its own in views/.
#pragma once

#include <span>
#include <string>

#include "export/page/page_input.hpp"
#include "export/page/page_view.hpp"

namespace prof {

struct page_view_kind {
    page_view (*make)(const page_input& input);
};
std::span<const page_view_kind> page_view_kinds() noexcept;

// What a finding asks for, in the imperative: "have the next batch ready".
std::string action_of(const finding& of, bool has_gpu);

// "Rank 3 holds the job up: ...", as the first screen has it, without a full stop; "": nothing is known of ranks.
std::string job_verdict(const page_input& input);

page_view make_answer_view(const page_input& input);
page_view make_findings_view(const page_input& input);
page_view make_ranks_view(const page_input& input);
page_view make_processes_view(const page_input& input);
page_view make_steps_view(const page_input& input);
page_view make_where_view(const page_input& input);
page_view make_kernels_view(const page_input& input);
page_view make_lines_view(const page_input& input);
page_view make_timeline_view(const page_input& input);
page_view make_memory_view(const page_input& input);
page_view make_counters_view(const page_input& input);
page_view make_notes_view(const page_input& input);
page_view make_terms_view(const page_input& input);

}  // namespace prof
