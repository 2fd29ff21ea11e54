// SPDX-License-Identifier: Apache-2.0
// The reports ranks, stragglers, collectives, clocks and standstill, of a job's captures together.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/display_text.hpp"
#include "base/json_text.hpp"
#include "report/job_knowledge.hpp"
#include "report/makers.hpp"
#include "report/report_column.hpp"

namespace prof {
namespace {

constexpr const char* no_peers = "not looked at, for want of other ranks";

constexpr std::size_t most_ranks_shown = 8;  // for people: the worst

using answered = job_knowledge::answered_job;

// The straggler that the rank is, or is part of; null: none.
const straggler* straggler_of(const answered& job, std::uint32_t rank) {
    for (const straggler& each : job.answer.stragglers) {
        if (each.kind == straggler_kind::network) continue;
        if (std::find(each.ranks.begin(), each.ranks.end(), rank) != each.ranks.end()) return &each;
    }
    return nullptr;
}

std::string capitalized(std::string text) {
    if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
    return text;
}

// A sentence for each job of several ranks; of others their number.
text_list verdicts_of(const std::vector<answered>& jobs) {
    text_list out;
    std::size_t alone = 0;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        if (jobs.size() > 1 && jobs[j].ranks.ranks.size() < 2) {
            ++alone;
            continue;
        }
        const std::string verdict = capitalized(verdict_of(jobs[j].ranks, jobs[j].answer)) + '.';
        out.push_back(jobs.size() == 1 ? verdict
                                       : fmt::format("{} ({} ranks): {}", j, jobs[j].ranks.ranks.size(), verdict));
    }
    if (alone != 0) {
        out.push_back(fmt::format("{}{} job{} of one rank: no peers to compare {} with.", alone,
                                  out.empty() ? "" : " more", alone == 1 ? "" : "s", alone == 1 ? "it" : "them"));
    }
    return out;
}

// The capture that says more of what the verdict names: "" if that is no rank.
std::string capture_of_verdict(const answered& job) {
    const std::vector<standstill>& stands = job.answer.standstill.stands;
    const straggler* const worst = job.answer.worst();
    std::optional<std::uint32_t> rank;
    if (!stands.empty()) {
        const bool is_late = !stands.front().not_called.empty();
        rank = is_late ? stands.front().not_called.front().rank : stands.front().called.front().rank;
    } else if (worst != nullptr && worst->kind != straggler_kind::network) {
        rank = worst->ranks.front();
    }
    return rank ? job.ranks.ranks[*rank].path : std::string();
}

// Beside the rows, of the job with the most ranks.
void add_totals(table& to, const std::vector<answered>& jobs) {
    to.totals.emplace_back("jobs", jobs.size());
    if (jobs.empty()) return;
    const answered& job = jobs.front();
    text_list missing;
    for (const number_range& each : job.ranks.missing) {
        missing.push_back(each.first == each.last ? std::to_string(each.first)
                                                  : fmt::format("{}-{}", each.first, each.last));
    }
    text_list copies;
    for (const answered& each : jobs) {
        for (const capture_copy& copy : each.ranks.copies) copies.push_back(copy.path);
    }
    to.totals.insert(
        to.totals.end(),
        {{"ranks", job.ranks.ranks.size()},
         {"missing_ranks", std::move(missing)},
         {"copies", std::move(copies)},
         {"hosts", job.ranks.clocks.hosts.size()},
         {"steps", job.answer.steps},
         {"step_ns", job.answer.step_ns},
         {"verdict", verdict_of(job.ranks, job.answer)},
         {"verdicts", verdicts_of(jobs)},
         {"verdict_capture", text_or_none(capture_of_verdict(job))},
         {"stragglers", job.answer.stragglers.size()},
         {"least_seen_ns", none_unless(job.answer.no_verdict.empty(), job.answer.least_ns)},
         {"exposed_communication_ns", job.answer.exposed_ns},
         {"exposed_communication_is_at_most", job.answer.exposed_is_at_most},
         {"slowed_by_communication_ns", job.answer.slowing_ns},
         {"clock_error_ns", none_unless(job.ranks.clocks.hosts.size() == 1 || job.ranks.clocks.aligned_count() > 1,
                                        job.ranks.clocks.error_ns())},
         {"matched_by_sequence", job.ranks.by[0]},
         {"matched_by_group", job.ranks.by[1]},
         {"matched_by_order", job.ranks.by[2]},
         {"left_out_before_recording", job.ranks.lost.before_recording},
         {"left_out_after_recording", job.ranks.lost.after_recording},
         {"left_out_absent_ranks", job.ranks.lost.absent_ranks},
         {"left_out_ambiguous", job.ranks.lost.ambiguous},
         {"left_out_unplaced", job.ranks.lost.unplaced},
         {"missing_collectives", job.ranks.lost.missing},
         {"differing_collectives", job.ranks.lost.differing},
         {"standstill", sentences_of(job.ranks, job.answer.standstill)},
         {"differences", job.answer.differences},
         {"remarks", job.answer.remarks}});
}

// An element of a job's list, with what the reports on jobs have in common.
template <typename TItem>
struct in_job {
    std::size_t number;  // of the job
    const answered& job;
    const TItem& item;
};

template <typename TRow>
report_column<TRow> column_of_jobs(const std::vector<answered>& jobs) {
    return {{"job", jobs.size() > 1 ? "job" : "", quantity::identity}, &TRow::number};
}

// Cells of a member of the element.
template <typename TItem, typename TValue>
auto of_element(TValue TItem::*member) {
    return [member](const in_job<TItem>& row) { return row.item.*member; };
}
template <typename TItem>
auto text_of_element(std::string TItem::*member) {
    return [member](const in_job<TItem>& row) { return text_or_none(row.item.*member); };
}

bool have_one_host_each(const std::vector<answered>& jobs) {
    return std::all_of(jobs.begin(), jobs.end(),
                       [](const answered& job) { return job.ranks.clocks.hosts.size() == 1; });
}

// The rows that stand first.
auto first_rows(std::string_view report, std::size_t most_shown, std::string_view what = "ranks") {
    return [=](const table& whole, const shown_limits& limits) {
        shown_rows shown;
        const std::size_t most = std::min(limits.rows, most_shown);
        const std::size_t count = whole.rows.size() <= most + 1 ? whole.rows.size() : most;
        shown.rows.assign(whole.rows.begin(), whole.rows.begin() + static_cast<std::ptrdiff_t>(count));
        if (count < whole.rows.size()) {
            shown.notes.push_back(
                fmt::format("{} more {}: --report {} --format csv has all", whole.rows.size() - count, what, report));
        }
        return shown;
    };
}

// Whether every rank has a number. Else the reports name the captures.
bool have_numbers(const std::vector<answered>& jobs) {
    return std::all_of(jobs.begin(), jobs.end(), [](const answered& job) {
        const std::vector<rank_summary>& all = job.ranks.ranks;
        return std::all_of(all.begin(), all.end(), [](const rank_summary& each) { return each.rank.has_value(); });
    });
}

struct rank_of_job {
    std::size_t number;  // of the job
    const rank_summary& rank;
    const rank_figures& figures;
    const straggler* is;  // null: none
    bool has_steps;       // of those that all ranks have
    bool has_parts;       // else its steps are those of another rank
};

report_columns<rank_of_job> rank_columns(const std::vector<answered>& jobs) {
    const auto time_in = [](std::size_t index) {
        return [index](const rank_of_job& row) { return none_unless(row.has_parts, row.figures.parts[index]); };
    };
    const auto idle = [](const rank_of_job& row) {
        double idle_ns = 0;
        for (std::size_t part = first_idle_part; part < rank_part_count; ++part) idle_ns += row.figures.parts[part];
        return none_unless(row.has_parts, idle_ns);
    };
    const auto step = [](const rank_of_job& row) { return none_unless(row.has_steps, row.figures.step_ns); };
    const auto last_share = [](const rank_of_job& row) {
        const rank_figures& figures = row.figures;
        return none_unless(figures.collectives != 0,
                           static_cast<double>(figures.last) / static_cast<double>(figures.collectives));
    };
    return {
        column_of_jobs<rank_of_job>(jobs),
        {{"rank", "rank", quantity::identity}, [](const auto& row) { return row.rank.rank; }},
        {{"local_rank", "", quantity::identity}, [](const auto& row) { return row.rank.local_rank; }},
        {{"host", have_one_host_each(jobs) ? "" : "host", quantity::text, 2},
         [](const auto& row) { return text_or_none(row.rank.host); }},
        {{"step_ns", "step", quantity::time_ns, 3}, step},
        {{"excess_ns", "beyond peers", quantity::time_ns},
         [](const auto& row) { return none_unless(row.figures.has_peers, row.figures.excess_ns); }},
        {{"gain_ns", "job's gain", quantity::time_ns},
         [](const auto& row) { return none_unless(row.figures.is_priced, row.figures.gain_ns); }},
        {{"gain_error_ns", "±", quantity::time_ns, 4},
         [](const auto& row) { return none_unless(row.figures.is_priced, row.figures.error_ns); }},
        {{"wait_ns", "waits", quantity::time_ns, 1},
         [](const auto& row) { return none_unless(row.figures.collectives != 0, row.figures.wait_ns); }},
        {{"last_share", "last", quantity::share, 1}, last_share},
        {{"compute_ns", "computing", quantity::time_ns, 2}, time_in(compute_part)},
        {{"communication_ns", "communication", quantity::time_ns, 3}, time_in(communication_part)},
        {{"copies_ns", "", quantity::time_ns}, time_in(copy_part)},
        {{"idle_ns", "idle", quantity::time_ns, 2}, idle},
        {{"is_straggler", "", quantity::flag}, [](const auto& row) { return row.is != nullptr; }},
        {{"cause", ""}, [](const auto& row) { return row.is == nullptr ? table_cell() : text_or_none(row.is->cause); }},
        {{"capture", have_numbers(jobs) ? "" : "capture"}, [](const auto& row) { return row.rank.path; }}};
}

table ranks_table(const std::vector<answered>& jobs) {
    const report_columns<rank_of_job> columns = rank_columns(jobs);
    table out = make_table("ranks", "Ranks", columns);
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        const job_ranks& ranks = jobs[j].ranks;
        for (const std::uint32_t r : jobs[j].answer.order) {
            const auto& lent = ranks.of_other_steps;
            const bool has_steps = ranks.steps != 0 && !ranks.ranks[r].steps.empty();
            const bool has_parts = has_steps && std::find(lent.begin(), lent.end(), r) == lent.end();
            out.rows.push_back(cells_of(
                columns, {j, ranks.ranks[r], jobs[j].answer.ranks[r], straggler_of(jobs[j], r), has_steps, has_parts}));
        }
    }
    for (const answered& job : jobs) {
        for (const straggler& each : job.answer.stragglers) {
            const bool is_of_ranks = each.kind == straggler_kind::group || each.kind == straggler_kind::host;
            if (is_of_ranks && each.ranks.size() > 1) out.notes.push_back(gain_together(job.answer, each));
        }
    }
    add_totals(out, jobs);
    out.legend = {
        {"beyond peers",
         "beyond peers: its own work in a step, without waiting for collectives, beyond the median of "
         "the ranks that call the same collectives."},
        {"job's gain",
         "job's gain: by how much each step of the job would be shorter if the rank were as fast as these; "
         "priced for the ranks that could gain most, each alone."},
        {"waits", "waits: for ranks that arrive later at a collective, while its GPU computes nothing."},
        {"last", "last: the share of its collectives in which it arrives last, by more than the clocks' error."}};
    out.shorten = first_rows("ranks", most_ranks_shown);
    return out;
}

// Numbers, as far as ranks have one.
text_list ranks_of(const in_job<straggler>& row) {
    text_list out;
    for (const std::uint32_t r : row.item.ranks) {
        const std::optional<std::int64_t>& rank = row.job.ranks.ranks[r].rank;
        out.push_back(rank ? std::to_string(*rank) : row.job.ranks.name_of(r));
    }
    return out;
}

table stragglers_table(const std::vector<answered>& jobs) {
    using row = in_job<straggler>;
    const report_columns<row> columns = {
        column_of_jobs<row>(jobs),
        {{"kind", "kind", quantity::text, 3}, [](const row& one) { return to_string(one.item.kind); }},
        {{"name", "which"}, of_element(&straggler::name)},
        {{"ranks", ""}, ranks_of},
        {{"gain_ns", "job's gain", quantity::time_ns}, of_element(&straggler::gain_ns)},
        {{"gain_error_ns", "±", quantity::time_ns}, of_element(&straggler::error_ns)},
        {{"gain_share", "of a step", quantity::share},
         [](const row& one) { return one.item.gain_ns / std::max(one.job.answer.step_ns, 1.0); }},
        {{"steps", "in steps", quantity::count}, of_element(&straggler::steps)},
        {{"of_steps", "of", quantity::count, 1}, [](const row& one) { return one.job.answer.steps; }},
        {{"is_passing", "passing", quantity::flag, 2}, of_element(&straggler::is_passing)},
        {{"excess_ns", "beyond peers", quantity::time_ns, 3}, of_element(&straggler::excess_ns)},
        {{"cause", "cause"}, text_of_element(&straggler::cause)},
        {{"cause_ns", "of it", quantity::time_ns, 4},
         [](const row& one) { return none_unless(one.item.part_ns > 0, one.item.part_ns); }},
        {{"place", "in", quantity::text, 1}, text_of_element(&straggler::place)},
        {{"where", "where", quantity::text, 2}, text_of_element(&straggler::where)},
        {{"finding", ""}, text_of_element(&straggler::finding)},
        {{"line", "line", quantity::text, 1}, text_of_element(&straggler::line)}};
    table out = make_table("stragglers", "What holds the job up", columns);
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        for (const straggler& one : jobs[j].answer.stragglers) out.rows.push_back(cells_of(columns, {j, jobs[j], one}));
    }
    add_totals(out, jobs);
    if (out.rows.empty()) {
        out.instead = jobs.empty() ? no_peers : jobs.front().answer.no_verdict.empty() ? "nothing" : "not known";
    }
    return out;
}

// All ranks of all communicators were captured.
bool lack_none(const std::vector<answered>& jobs) {
    return std::none_of(jobs.begin(), jobs.end(), [](const answered& job) {
        const std::vector<collective_figures>& all = job.answer.collectives;
        return std::any_of(all.begin(), all.end(), [](const collective_figures& each) { return each.lacks_ranks; });
    });
}

report_columns<in_job<collective_figures>> collective_columns(const std::vector<answered>& jobs) {
    using row = in_job<collective_figures>;
    using figures = collective_figures;
    const auto communicator = [](const row& one) {
        return one.job.ranks.communicator_name(one.item.communicator_rank, one.item.communicator);
    };
    const auto last_rank = [](const row& one) {
        return one.item.last_rank == UINT32_MAX ? table_cell() : one.job.ranks.name_of(one.item.last_rank);
    };
    return {column_of_jobs<row>(jobs),
            {{"communicator", "communicator"}, communicator},
            {{"function", "function"}, [](const row& one) { return to_string(one.item.function); }},
            {{"bytes", "bytes", quantity::bytes}, of_element(&figures::bytes)},
            {{"ranks", "ranks", quantity::count}, of_element(&figures::ranks)},
            {{"lacks_ranks", lack_none(jobs) ? "" : "lacks ranks", quantity::flag}, of_element(&figures::lacks_ranks)},
            {{"count", "count", quantity::count, 2}, of_element(&figures::count)},
            {{"a_step", "a step", quantity::mean_count, 2}, of_element(&figures::a_step)},
            {{"transfer_ns", "transfer", quantity::time_ns}, of_element(&figures::transfer_ns)},
            {{"arrival_skew_ns", "arrival skew", quantity::time_ns, 1}, of_element(&figures::arrival_skew_ns)},
            {{"launch_skew_ns", "launch skew", quantity::time_ns, 2}, of_element(&figures::launch_skew_ns)},
            {{"clock_error_ns", have_one_host_each(jobs) ? "" : "clock ±", quantity::time_ns, 3},
             of_element(&figures::clock_error_ns)},
            {{"exposed_ns", "exposed a step", quantity::time_ns}, of_element(&figures::exposed_ns)},
            {{"hidden_ns", "hidden a step", quantity::time_ns, 1}, of_element(&figures::hidden_ns)},
            {{"bus_gb_per_s", "bus GB/s", quantity::number, 1, 1},
             [](const row& one) { return none_unless(one.item.bus_bytes_per_ns > 0, one.item.bus_bytes_per_ns); }},
            {{"last_rank", "last", quantity::text, 1}, last_rank},
            {{"last_share", "in", quantity::share, 1},
             [](const row& one) { return none_unless(one.item.last_rank != UINT32_MAX, one.item.last_share); }},
            {{"matched_by", ""}, [](const row& one) { return to_string(one.item.by); }}};
}

table collectives_table(const std::vector<answered>& jobs) {
    const auto columns = collective_columns(jobs);
    table out = make_table("collectives", "Collectives of the job", columns);
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        for (const collective_figures& one : jobs[j].answer.collectives) {
            out.rows.push_back(cells_of(columns, {j, jobs[j], one}));
        }
    }
    add_totals(out, jobs);
    if (out.rows.empty()) out.instead = jobs.empty() ? no_peers : "no collective of the steps was seen on two ranks";
    std::uint64_t outside = 0;
    for (const answered& job : jobs) outside += job.answer.outside_steps;
    if (outside != 0) {
        out.notes.push_back(fmt::format("{} collective{} outside the steps that count, as at the start, {} not here",
                                        with_thousands(outside), outside == 1 ? "" : "s", outside == 1 ? "is" : "are"));
    }
    if (!lack_none(jobs)) {
        out.notes.push_back(
            "where lacks ranks is yes, some ranks were not captured: the transfer is at most that long, as part of it "
            "may be waiting for them, and another rank may have been the last");
    }
    out.legend = {{"transfer",
                   "transfer: from the last arrival to the end, the median; arrival skew: between the first "
                   "and the last begin of its kernel; launch skew: between the first and the last call."},
                  {"exposed a step", "exposed: while the rank's GPU computes nothing, the mean of the ranks."}};
    return out;
}

table job_path_table(const std::vector<answered>& jobs) {
    using row = in_job<path_part>;
    const report_columns<row> columns = {
        column_of_jobs<row>(jobs),
        {{"part", "part"}, [](const row& path) { return path_part_name(path.job.ranks, path.item); }},
        {{"communicator", "communicator", quantity::text, 2},
         [](const row& path) {
             const path_part& part = path.item;
             if (part.rank != UINT32_MAX) return table_cell();
             return table_cell(path.job.ranks.communicator_name(part.communicator_rank, part.communicator));
         }},
        {{"kind", ""}, [](const row& path) { return path.item.rank == UINT32_MAX ? "transfer" : "own work"; }},
        {{"rank", "", quantity::identity},
         [](const row& path) {
             return path.item.rank == UINT32_MAX ? std::nullopt : path.job.ranks.ranks[path.item.rank].rank;
         }},
        {{"step_path_ns", "a step", quantity::time_ns}, [](const row& path) { return path.item.ns; }},
        {{"step_share", "of it", quantity::share},
         [](const row& path) { return path.item.ns / std::max(path.job.answer.step_ns, 1.0); }},
        {{"pieces", "pieces", quantity::count}, of_element(&path_part::pieces)}};
    table out = make_table("job_path", "What the job's steps wait for", columns);
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        for (const path_part& part : jobs[j].answer.path) out.rows.push_back(cells_of(columns, {j, jobs[j], part}));
    }
    out.legend = {{"part",
                   "part: from the last rank's end back, its own work up to the collective that it waited for "
                   "last, that one's transfer, the own work of the rank that came last to it, and so on."}};
    out.shorten = first_rows("job_path", most_ranks_shown, "parts");
    return out;
}

table clocks_table(const std::vector<answered>& jobs) {
    struct clock_of_job {
        std::size_t number;  // of the job
        const host_clock& clock;
        std::optional<std::int64_t> first_rank;
        std::ptrdiff_t ranks;
    };
    using row = clock_of_job;
    const auto fitted = [](auto figure) {
        return [figure](const row& host) { return none_unless(host.clock.is_aligned, host.clock.fit.*figure); };
    };
    using fit = decltype(host_clock::fit);
    const report_columns<row> columns = {
        column_of_jobs<row>(jobs),
        {{"host", "host"}, [](const row& host) { return text_or_none(host.clock.host); }},
        {{"first_rank", "rank", quantity::identity}, &row::first_rank},
        {{"ranks", "ranks", quantity::count}, &row::ranks},
        {{"is_aligned", "aligned", quantity::flag}, [](const row& host) { return host.clock.is_aligned; }},
        {{"offset_ns", "ahead by", quantity::time_ns}, fitted(&fit::offset_ns)},
        {{"drift_ppm", "drift ppm", quantity::number, 1, 3},
         [](const row& host) { return none_unless(host.clock.is_aligned, 1e6 * host.clock.fit.drift); }},
        {{"statistical_error_ns", "± statistical", quantity::time_ns}, fitted(&fit::statistical_ns)},
        {{"systematic_error_ns", "± systematic", quantity::time_ns}, fitted(&fit::systematic_ns)},
        {{"samples", "collectives", quantity::count, 1}, [](const row& host) { return host.clock.fit.samples; }}};
    table out = make_table("clocks", "Clocks of the job's hosts", columns);
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        const job_ranks& ranks = jobs[j].ranks;
        const std::vector<std::uint32_t>& hosts = ranks.clocks.of_rank;
        for (std::uint32_t h = 0; h < ranks.clocks.hosts.size(); ++h) {
            const auto first = std::find(hosts.begin(), hosts.end(), h) - hosts.begin();
            out.rows.push_back(
                cells_of(columns, {j, ranks.clocks.hosts[h], ranks.ranks[static_cast<std::size_t>(first)].rank,
                                   std::count(hosts.begin(), hosts.end(), h)}));
        }
    }
    out.legend = {{"ahead by", "ahead by: of the first host's clock, in the middle of what was recorded."},
                  {"± statistical",
                   "± statistical: 95 %, by bootstrap; ± systematic: as far as the offset may be off "
                   "without a collective that ends before its last rank has begun it."}};
    return out;
}

// A rank that waits in a collective when its recording ends, or for which the others wait.
struct rank_at_standstill {
    std::size_t number;  // of the job
    const answered& job;
    std::size_t finding;
    const standstill& stand;
    const standing_rank& rank;
    std::optional<bool> has_called;  // none: not known

    bool has_own_call() const noexcept { return rank.call != UINT32_MAX; }
    const rank_summary& summary() const { return job.ranks.ranks[rank.rank]; }
    const rank_ending& ending() const { return summary().ending; }
    const rank_call& call() const { return has_own_call() ? summary().calls[rank.call] : stand.call_in(job.ranks); }
    const std::string& communicator() const {
        const std::uint32_t owner = has_own_call() ? rank.rank : stand.called.front().rank;
        return job.ranks.ranks[owner].communicators[call().communicator].name;
    }
    std::string last_collective() const {
        return last_collective_of(job.ranks, rank.rank, has_own_call() ? call().called_ns : INT64_MAX);
    }
};

report_columns<rank_at_standstill> standstill_columns(const std::vector<answered>& jobs) {
    using row = rank_at_standstill;
    const auto text_of_ending = [](std::string rank_ending::*member) {
        return [member](const row& one) { return text_or_none(one.ending().*member); };
    };
    const auto before_end = [](std::string rank_ending::*text, std::int64_t rank_ending::*since_ns) {
        return [=](const row& one) {
            return none_unless(!(one.ending().*text).empty(), one.ending().at_ns - one.ending().*since_ns);
        };
    };
    return {
        column_of_jobs<row>(jobs),
        {{"finding", "", quantity::identity}, &row::finding},
        {{"kind", "collective", quantity::text, 3}, [](const row& one) { return to_string(one.stand.kind); }},
        {{"communicator", ""}, [](const row& one) { return text_or_none(one.communicator()); }},
        {{"function", "function", quantity::text, 2}, [](const row& one) { return to_string(one.call().function); }},
        {{"number", "number", quantity::identity, 3},
         [](const row& one) { return none_unless(one.call().number != no_sequence, one.call().number); }},
        {{"bytes", "bytes", quantity::bytes, 4},
         [](const row& one) { return none_unless(one.call().bytes != 0, one.call().bytes); }},
        {{"matched_by", ""}, [](const row& one) { return to_string(one.call().by); }},
        {{"rank", "rank", quantity::identity}, [](const row& one) { return one.summary().rank; }},
        {{"has_called", "has called", quantity::flag}, &row::has_called},
        {{"waits_ns", "waits", quantity::time_ns},
         [](const row& one) { return none_unless(one.has_own_call(), one.ending().at_ns - one.call().called_ns); }},
        {{"ended_before_ns", "", quantity::time_ns},
         [](const row& one) { return none_unless(one.rank.ended_before_ns != 0, one.rank.ended_before_ns); }},
        {{"place", "in", quantity::text, 1}, text_of_ending(&rank_ending::place)},
        {{"in_place_ns", "", quantity::time_ns}, before_end(&rank_ending::place, &rank_ending::place_ns)},
        {{"call", "call", quantity::text, 3}, text_of_ending(&rank_ending::call)},
        {{"line", "line", quantity::text, 1}, text_of_ending(&rank_ending::line)},
        {{"line_before_end_ns", "", quantity::time_ns}, before_end(&rank_ending::line, &rank_ending::line_ns)},
        {{"last_collective", "last collective before", quantity::text, 2},
         [](const row& one) { return text_or_none(one.last_collective()); }},
        {{"ended", ""}, [](const row& one) { return one.ending().how; }},
        {{"capture", ""}, [](const row& one) { return one.summary().path; }}};
}

table standstill_table(const std::vector<answered>& jobs) {
    const report_columns<rank_at_standstill> columns = standstill_columns(jobs);
    table out = make_table("standstill", "What the ranks waited for at the end", columns);
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        std::size_t finding = 0;
        for (const standstill& stand : jobs[j].answer.standstill.stands) {
            const auto add = [&](const standing_rank& rank, std::optional<bool> has_called) {
                out.rows.push_back(cells_of(columns, {j, jobs[j], finding, stand, rank, has_called}));
            };
            for (const standing_rank& rank : stand.not_called) add(rank, false);
            for (const std::uint32_t r : stand.unknown) add({.rank = r}, std::nullopt);
            for (const standing_rank& rank : stand.called) add(rank, true);
            ++finding;
        }
    }
    add_totals(out, jobs);
    if (out.rows.empty()) {
        out.instead = jobs.empty() ? no_peers : "nothing for longer than before";
    }
    out.legend = {{"has called",
                   "has called: the collective that the others wait in. waits: from its call to the end of "
                   "the rank's recording."},
                  {"line", "line: of the thread's last call of CUDA of which a stack was recorded."}};
    out.shorten = first_rows("standstill", 2 * most_ranks_shown);
    return out;
}

// What is said above a table, of each job.
using sentences_on = std::vector<std::string> (*)(const answered& job);

template <table (*make)(const std::vector<answered>&), bool has_findings, sentences_on sentences = nullptr>
class rank_report final : public report_job {
public:
    explicit rank_report(job_knowledge& shared) : shared_(shared) { shared.ask_for_ranks(has_findings); }
    void add(const report_input& /*input*/, const capture_heading& /*heading*/) override {}
    report_part finish() override {
        const std::vector<answered>& jobs = shared_.jobs();
        report_part out = part_of(make(jobs));
        if (sentences == nullptr) return out;
        text_block text;
        for (std::size_t j = 0; j < jobs.size(); ++j) {
            for (std::string& sentence : sentences(jobs[j])) {
                if (sentence.empty()) continue;
                sentence = capitalized(std::move(sentence));
                text.paragraphs.push_back(jobs.size() > 1 ? fmt::format("Job {}: {}", j, sentence)
                                                          : std::move(sentence));
            }
        }
        if (!text.paragraphs.empty()) out.blocks.insert(out.blocks.begin(), std::move(text));
        return out;
    }

private:
    job_knowledge& shared_;
};

std::vector<std::string> sentences_of_job(const answered& job) { return sentences_of(job.ranks, job.answer); }

std::vector<std::string> differences_of_job(const answered& job) {
    std::vector<std::string> out = sentences_on_differences(job.ranks, job.answer);
    for (std::string& sentence : out) sentence += '.';
    return out;
}

}  // namespace

std::unique_ptr<report_job> begin_ranks_job(job_knowledge& shared) {
    return std::make_unique<rank_report<ranks_table, true, sentences_of_job>>(shared);
}
std::unique_ptr<report_job> begin_stragglers_job(job_knowledge& shared) {
    return std::make_unique<rank_report<stragglers_table, true>>(shared);
}
std::unique_ptr<report_job> begin_collectives_job(job_knowledge& shared) {
    return std::make_unique<rank_report<collectives_table, false>>(shared);
}
std::unique_ptr<report_job> begin_clocks_job(job_knowledge& shared) {
    return std::make_unique<rank_report<clocks_table, false>>(shared);
}
std::unique_ptr<report_job> begin_job_path_job(job_knowledge& shared) {
    return std::make_unique<rank_report<job_path_table, false>>(shared);
}
std::unique_ptr<report_job> begin_standstill_job(job_knowledge& shared) {
    return std::make_unique<rank_report<standstill_table, false, differences_of_job>>(shared);
}

}  // namespace prof
