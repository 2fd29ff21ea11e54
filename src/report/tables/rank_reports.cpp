// SPDX-License-Identifier: Apache-2.0
// The reports ranks, stragglers, collectives, clocks and standstill, of a job's captures together.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/display_text.hpp"
#include "base/json_text.hpp"
#include "report/job_knowledge.hpp"
#include "report/makers.hpp"

namespace prof {
namespace {

constexpr const char* no_peers = "not looked at, for want of other ranks";

constexpr std::size_t most_ranks_shown = 8;  // for people: the worst

using answered = job_knowledge::answered_job;

table_cell number_or_none(const std::optional<std::int64_t>& number) {
    return number ? table_cell(*number) : table_cell();
}

// The straggler that the rank is, or is part of; null: none.
const straggler* straggler_of(const answered& job, std::uint32_t rank) {
    for (const straggler& each : job.answer.stragglers) {
        if (each.kind == straggler_kind::network) continue;
        if (std::find(each.ranks.begin(), each.ranks.end(), rank) != each.ranks.end()) return &each;
    }
    return nullptr;
}

void hide_if(table& of, std::size_t column, bool hidden) {
    if (hidden) of.columns[column].title.clear();
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
    to.totals.insert(to.totals.end(),
                     {{"ranks", job.ranks.ranks.size()},
                      {"missing_ranks", std::move(missing)},
                      {"hosts", job.ranks.clocks.hosts.size()},
                      {"steps", job.answer.steps},
                      {"step_ns", job.answer.step_ns},
                      {"verdict", verdict_of(job.ranks, job.answer)},
                      {"verdicts", verdicts_of(jobs)},
                      {"verdict_capture", text_or_none(capture_of_verdict(job))},
                      {"stragglers", job.answer.stragglers.size()},
                      {"least_seen_ns", job.answer.no_verdict.empty() ? table_cell(job.answer.least_ns) : table_cell()},
                      {"exposed_communication_ns", job.answer.exposed_ns},
                      {"slowed_by_communication_ns", job.answer.slowing_ns},
                      {"clock_error_ns", job.ranks.clocks.hosts.size() == 1 || job.ranks.clocks.aligned_count() > 1
                                             ? table_cell(job.ranks.clocks.error_ns())
                                             : table_cell()},
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

table ranks_table(const std::vector<answered>& jobs) {
    table out{"ranks", "Ranks", {}, {}, {}};
    out.columns = {{"job", jobs.size() > 1 ? "job" : "", quantity::identity},
                   {"rank", "rank", quantity::identity},
                   {"local_rank", "", quantity::identity},
                   {"host", "host", quantity::text, 2},
                   {"step_ns", "step", quantity::time_ns, 3},
                   {"excess_ns", "beyond peers", quantity::time_ns},
                   {"gain_ns", "job's gain", quantity::time_ns},
                   {"gain_error_ns", "±", quantity::time_ns, 4},
                   {"wait_ns", "waits", quantity::time_ns, 1},
                   {"last_share", "last", quantity::share, 1},
                   {"compute_ns", "computing", quantity::time_ns, 2},
                   {"communication_ns", "communication", quantity::time_ns, 3},
                   {"copies_ns", "", quantity::time_ns},
                   {"idle_ns", "idle", quantity::time_ns, 2},
                   {"is_straggler", "", quantity::flag},
                   {"cause", ""},
                   {"capture", ""}};
    bool has_one_host = true;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        const answered& job = jobs[j];
        has_one_host = has_one_host && job.ranks.clocks.hosts.size() == 1;
        for (const std::uint32_t r : job.answer.order) {
            const rank_summary& rank = job.ranks.ranks[r];
            const rank_figures& of = job.answer.ranks[r];
            const auto& lent = job.ranks.of_other_steps;
            const bool has_parts = std::find(lent.begin(), lent.end(), r) == lent.end();
            const auto part_cell = [&](double ns) { return has_parts ? table_cell(ns) : table_cell(); };
            double idle_ns = 0;
            for (std::size_t part = first_idle_part; part < rank_part_count; ++part) idle_ns += of.parts[part];
            const straggler* const is = straggler_of(job, r);
            const table_cell last =
                of.collectives == 0 ? table_cell()
                                    : table_cell(static_cast<double>(of.last) / static_cast<double>(of.collectives));
            out.rows.push_back({j, number_or_none(rank.rank), number_or_none(rank.local_rank), text_or_none(rank.host),
                                of.step_ns, of.has_peers ? table_cell(of.excess_ns) : table_cell(),
                                of.is_priced ? table_cell(of.gain_ns) : table_cell(),
                                of.is_priced && of.error_ns ? table_cell(*of.error_ns) : table_cell(),
                                of.collectives == 0 ? table_cell() : table_cell(of.wait_ns), last,
                                part_cell(of.parts[compute_part]), part_cell(of.parts[communication_part]),
                                part_cell(of.parts[copy_part]), part_cell(idle_ns), is != nullptr,
                                is == nullptr ? table_cell() : text_or_none(is->cause), rank.path});
        }
    }
    hide_if(out, 3, has_one_host);
    add_totals(out, jobs);
    out.legend = {
        {"beyond peers",
         "beyond peers: its own work in a step, without waiting for collectives, beyond the median of "
         "the ranks that call the same collectives."},
        {"job's gain",
         "job's gain: by how much each step of the job would be shorter if the rank were as fast as these; "
         "priced for the ranks that could gain most."},
        {"waits", "waits: for ranks that arrive later at a collective, while its GPU computes nothing."},
        {"last", "last: the share of its collectives in which it arrives last, by more than the clocks' error."}};
    out.shorten = [](const table& whole, const shown_limits& limits) {
        shown_rows shown;
        const std::size_t most = std::min(limits.rows, most_ranks_shown);
        const std::size_t count = whole.rows.size() <= most + 1 ? whole.rows.size() : most;
        shown.rows.assign(whole.rows.begin(), whole.rows.begin() + static_cast<std::ptrdiff_t>(count));
        if (count < whole.rows.size()) {
            shown.notes.push_back(
                fmt::format("{} more ranks: --report ranks --format csv has all", whole.rows.size() - count));
        }
        return shown;
    };
    return out;
}

table stragglers_table(const std::vector<answered>& jobs) {
    table out{"stragglers", "What holds the job up", {}, {}, {}};
    out.columns = {{"job", jobs.size() > 1 ? "job" : "", quantity::identity},
                   {"kind", "kind", quantity::text, 3},
                   {"name", "which"},
                   {"ranks", "", quantity::text},
                   {"gain_ns", "job's gain", quantity::time_ns},
                   {"gain_error_ns", "±", quantity::time_ns},
                   {"gain_share", "of a step", quantity::share},
                   {"steps", "in steps", quantity::count},
                   {"of_steps", "of", quantity::count, 1},
                   {"is_passing", "passing", quantity::flag, 2},
                   {"excess_ns", "beyond peers", quantity::time_ns, 3},
                   {"cause", "cause"},
                   {"cause_ns", "of it", quantity::time_ns, 4},
                   {"place", "in", quantity::text, 1},
                   {"where", "where", quantity::text, 2},
                   {"finding", ""},
                   {"line", "line", quantity::text, 1}};
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        const answered& job = jobs[j];
        for (const straggler& each : job.answer.stragglers) {
            text_list names;
            for (const std::uint32_t r : each.ranks) {
                names.push_back(job.ranks.ranks[r].rank ? std::to_string(*job.ranks.ranks[r].rank)
                                                        : job.ranks.name_of(r));
            }
            out.rows.push_back({j, std::string(to_string(each.kind)), each.name, std::move(names), each.gain_ns,
                                each.error_ns ? table_cell(*each.error_ns) : table_cell(),
                                each.gain_ns / std::max(job.answer.step_ns, 1.0), each.steps, job.answer.steps,
                                each.is_passing, each.excess_ns, text_or_none(each.cause), each.part_ns,
                                text_or_none(each.place), text_or_none(each.where), text_or_none(each.finding),
                                text_or_none(each.line)});
        }
    }
    add_totals(out, jobs);
    if (out.rows.empty()) {
        out.instead = jobs.empty() ? no_peers : jobs.front().answer.no_verdict.empty() ? "nothing" : "not known";
    }
    return out;
}

table collectives_table(const std::vector<answered>& jobs) {
    table out{"collectives", "Collectives of the job", {}, {}, {}};
    out.columns = {{"job", jobs.size() > 1 ? "job" : "", quantity::identity},
                   {"communicator", "communicator"},
                   {"function", "function"},
                   {"bytes", "bytes", quantity::bytes},
                   {"ranks", "ranks", quantity::count},
                   {"count", "count", quantity::count, 2},
                   {"a_step", "a step", quantity::mean_count, 2},
                   {"transfer_ns", "transfer", quantity::time_ns},
                   {"arrival_skew_ns", "arrival skew", quantity::time_ns, 1},
                   {"launch_skew_ns", "launch skew", quantity::time_ns, 2},
                   {"clock_error_ns", "clock ±", quantity::time_ns, 3},
                   {"exposed_ns", "exposed a step", quantity::time_ns},
                   {"hidden_ns", "hidden a step", quantity::time_ns, 1},
                   {"bus_gb_per_s", "bus GB/s", quantity::number, 1, 1},
                   {"last_rank", "last", quantity::text, 1},
                   {"last_share", "in", quantity::share, 1},
                   {"matched_by", "", quantity::text}};
    bool has_one_host = true;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        const answered& job = jobs[j];
        has_one_host = has_one_host && job.ranks.clocks.hosts.size() == 1;
        for (const collective_figures& each : job.answer.collectives) {
            const rank_communicator& of = job.ranks.ranks[each.communicator_rank].communicators[each.communicator];
            out.rows.push_back(
                {j, of.name.empty() ? fmt::format("{:016x}", of.key) : of.name, std::string(to_string(each.function)),
                 each.bytes, each.ranks, each.count, each.a_step, each.transfer_ns, each.arrival_skew_ns,
                 each.launch_skew_ns, each.clock_error_ns, each.exposed_ns, each.hidden_ns,
                 each.bus_bytes_per_ns > 0 ? table_cell(each.bus_bytes_per_ns) : table_cell(),
                 each.last_rank == UINT32_MAX ? table_cell() : table_cell(job.ranks.name_of(each.last_rank)),
                 each.last_rank == UINT32_MAX ? table_cell() : table_cell(each.last_share),
                 std::string(to_string(each.by))});
        }
    }
    hide_if(out, 10, has_one_host);
    add_totals(out, jobs);
    if (out.rows.empty()) out.instead = jobs.empty() ? no_peers : "no collective of the steps was seen on two ranks";
    std::uint64_t outside = 0;
    for (const answered& job : jobs) outside += job.answer.outside_steps;
    if (outside != 0) {
        out.notes.push_back(fmt::format("{} collective{} outside the steps that count, as at the start, {} not here",
                                        with_thousands(outside), outside == 1 ? "" : "s", outside == 1 ? "is" : "are"));
    }
    out.legend = {{"transfer",
                   "transfer: from the last arrival to the end, the median; arrival skew: between the first "
                   "and the last begin of its kernel; launch skew: between the first and the last call."},
                  {"exposed a step", "exposed: while the rank's GPU computes nothing, the mean of the ranks."}};
    return out;
}

table clocks_table(const std::vector<answered>& jobs) {
    table out{"clocks", "Clocks of the job's hosts", {}, {}, {}};
    out.columns = {{"job", jobs.size() > 1 ? "job" : "", quantity::identity},
                   {"host", "host"},
                   {"first_rank", "rank", quantity::identity},
                   {"ranks", "ranks", quantity::count},
                   {"is_aligned", "aligned", quantity::flag},
                   {"offset_ns", "ahead by", quantity::time_ns},
                   {"drift_ppm", "drift ppm", quantity::number, 1, 3},
                   {"statistical_error_ns", "± statistical", quantity::time_ns},
                   {"systematic_error_ns", "± systematic", quantity::time_ns},
                   {"samples", "collectives", quantity::count, 1}};
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        const answered& job = jobs[j];
        const host_clocks& clocks = job.ranks.clocks;
        for (std::uint32_t h = 0; h < clocks.hosts.size(); ++h) {
            const host_clock& each = clocks.hosts[h];
            const auto first = std::find(clocks.of_rank.begin(), clocks.of_rank.end(), h) - clocks.of_rank.begin();
            const auto count = std::count(clocks.of_rank.begin(), clocks.of_rank.end(), h);
            const bool is_known = each.is_aligned;
            const auto known = [&](auto value) { return is_known ? table_cell(value) : table_cell(); };
            out.rows.push_back({j, text_or_none(each.host),
                                number_or_none(job.ranks.ranks[static_cast<std::size_t>(first)].rank), count, is_known,
                                known(each.fit.offset_ns), known(1e6 * each.fit.drift), known(each.fit.statistical_ns),
                                known(each.fit.systematic_ns), each.fit.samples});
        }
    }
    out.legend = {{"ahead by", "ahead by: of the first host's clock, in the middle of what was recorded."},
                  {"± statistical",
                   "± statistical: 95 %, by bootstrap; ± systematic: as far as the offset may be off "
                   "without a collective that ends before its last rank has begun it."}};
    return out;
}

table standstill_table(const std::vector<answered>& jobs) {
    table out{"standstill", "What the ranks waited for at the end", {}, {}, {}};
    out.columns = {{"job", jobs.size() > 1 ? "job" : "", quantity::identity},
                   {"finding", "", quantity::identity},
                   {"kind", "collective", quantity::text, 3},
                   {"communicator", "", quantity::text},
                   {"function", "function", quantity::text, 2},
                   {"number", "number", quantity::identity, 3},
                   {"bytes", "bytes", quantity::bytes, 4},
                   {"matched_by", "", quantity::text},
                   {"rank", "rank", quantity::identity},
                   {"has_called", "has called", quantity::flag},
                   {"waits_ns", "waits", quantity::time_ns},
                   {"ended_before_ns", "", quantity::time_ns},
                   {"place", "in", quantity::text, 1},
                   {"in_place_ns", "", quantity::time_ns},
                   {"call", "call", quantity::text, 3},
                   {"line", "line", quantity::text, 1},
                   {"line_before_end_ns", "", quantity::time_ns},
                   {"last_collective", "last collective before", quantity::text, 2},
                   {"ended", "", quantity::text},
                   {"capture", ""}};
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        const answered& job = jobs[j];
        std::size_t finding = 0;
        for (const standstill& each : job.answer.standstill.stands) {
            const std::uint32_t first = each.called.front().rank;
            const auto add = [&](const standing_rank& of, bool has_called, bool is_known) {
                const rank_summary& rank = job.ranks.ranks[of.rank];
                const rank_ending& ending = rank.ending;
                const bool has_own = of.call != UINT32_MAX;
                const rank_call& is = has_own ? rank.calls[of.call] : each.call_in(job.ranks);
                const std::uint32_t owner = has_own ? of.rank : first;
                const std::string& communicator = job.ranks.ranks[owner].communicators[is.communicator].name;
                const std::int64_t before_ns = has_own ? is.called_ns : INT64_MAX;
                out.rows.push_back({j,
                                    finding,
                                    std::string(to_string(each.kind)),
                                    text_or_none(communicator),
                                    std::string(to_string(is.function)),
                                    is.number == no_sequence ? table_cell() : table_cell(is.number),
                                    is.bytes == 0 ? table_cell() : table_cell(is.bytes),
                                    std::string(to_string(is.by)),
                                    number_or_none(rank.rank),
                                    is_known ? table_cell(has_called) : table_cell(),
                                    has_own ? table_cell(ending.at_ns - is.called_ns) : table_cell(),
                                    of.ended_before_ns == 0 ? table_cell() : table_cell(of.ended_before_ns),
                                    text_or_none(ending.place),
                                    ending.place.empty() ? table_cell() : table_cell(ending.at_ns - ending.place_ns),
                                    text_or_none(ending.call),
                                    text_or_none(ending.line),
                                    ending.line.empty() ? table_cell() : table_cell(ending.at_ns - ending.line_ns),
                                    text_or_none(last_collective_of(job.ranks, of.rank, before_ns)),
                                    ending.how,
                                    rank.path});
            };
            for (const standing_rank& of : each.not_called) add(of, false, true);
            for (const std::uint32_t r : each.unknown) add({.rank = r}, false, false);
            for (const standing_rank& of : each.called) add(of, true, true);
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
    out.shorten = [](const table& whole, const shown_limits& limits) {
        shown_rows shown;
        const std::size_t most = std::min(limits.rows, 2 * most_ranks_shown);
        const std::size_t count = whole.rows.size() <= most + 1 ? whole.rows.size() : most;
        shown.rows.assign(whole.rows.begin(), whole.rows.begin() + static_cast<std::ptrdiff_t>(count));
        if (count < whole.rows.size()) {
            shown.notes.push_back(
                fmt::format("{} more ranks: --report standstill --format csv has all", whole.rows.size() - count));
        }
        return shown;
    };
    return out;
}

template <table (*make)(const std::vector<answered>&), bool has_sentences, bool has_findings>
class rank_report final : public report_job {
public:
    explicit rank_report(job_knowledge& shared) : shared_(shared) { shared.ask_for_ranks(has_findings); }
    void add(const report_input& /*input*/, const capture_heading& /*heading*/) override {}
    report_part finish() override {
        const std::vector<answered>& jobs = shared_.jobs();
        report_part out = part_of(make(jobs));
        if (!has_sentences || jobs.empty()) return out;
        text_block text;
        for (std::size_t j = 0; j < jobs.size(); ++j) {
            for (std::string& sentence : sentences_of(jobs[j].ranks, jobs[j].answer)) {
                if (sentence.empty()) continue;
                sentence = capitalized(std::move(sentence));
                text.paragraphs.push_back(jobs.size() > 1 ? fmt::format("Job {}: {}", j, sentence)
                                                          : std::move(sentence));
            }
        }
        out.blocks.insert(out.blocks.begin(), std::move(text));
        return out;
    }

private:
    job_knowledge& shared_;
};

class standstill_report final : public report_job {
public:
    explicit standstill_report(job_knowledge& shared) : shared_(shared) { shared.ask_for_ranks(false); }
    void add(const report_input& /*input*/, const capture_heading& /*heading*/) override {}
    // With a text only if there is something to say.
    report_part finish() override {
        const std::vector<answered>& jobs = shared_.jobs();
        report_part out = part_of(standstill_table(jobs));
        text_block text;
        for (std::size_t j = 0; j < jobs.size(); ++j) {
            for (std::string& sentence : sentences_on_differences(jobs[j].ranks, jobs[j].answer)) {
                sentence = capitalized(std::move(sentence)) + '.';
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

}  // namespace

std::unique_ptr<report_job> begin_ranks_job(job_knowledge& shared) {
    return std::make_unique<rank_report<ranks_table, true, true>>(shared);
}
std::unique_ptr<report_job> begin_stragglers_job(job_knowledge& shared) {
    return std::make_unique<rank_report<stragglers_table, false, true>>(shared);
}
std::unique_ptr<report_job> begin_collectives_job(job_knowledge& shared) {
    return std::make_unique<rank_report<collectives_table, false, false>>(shared);
}
std::unique_ptr<report_job> begin_clocks_job(job_knowledge& shared) {
    return std::make_unique<rank_report<clocks_table, false, false>>(shared);
}
std::unique_ptr<report_job> begin_standstill_job(job_knowledge& shared) {
    return std::make_unique<standstill_report>(shared);
}

}  // namespace prof
