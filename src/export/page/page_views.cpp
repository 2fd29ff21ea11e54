// SPDX-License-Identifier: Apache-2.0
#include "export/page/page_views.hpp"

namespace prof {
namespace {

constexpr page_view_kind kinds[] = {
    {make_answer_view},   {make_findings_view}, {make_ranks_view}, {make_processes_view}, {make_steps_view},
    {make_where_view},    {make_kernels_view},  {make_lines_view}, {make_timeline_view},  {make_memory_view},
    {make_counters_view}, {make_notes_view},    {make_terms_view},
};

}  // namespace

std::span<const page_view_kind> page_view_kinds() noexcept { return kinds; }

}  // namespace prof
