// SPDX-License-Identifier: Apache-2.0
#include "export/parquet/job_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "analysis/quality/capture_notes.hpp"
#include "analysis/quality/drop_causes.hpp"
#include "analysis/steps/whole_steps.hpp"
#include "ranks/arrivals.hpp"
#include "ranks/job_answer.hpp"
#include "ranks/job_replay.hpp"
#include "ranks/join_key.hpp"
#include "ranks/own_work.hpp"
#include "ranks/rank_summary.hpp"
#include "report/captured_process.hpp"
#include "report/projected_timeline.hpp"

namespace prof {
namespace {

constexpr std::string_view windows_as_steps = "window";

std::string hexadecimal(std::uint64_t value) { return fmt::format("{:016x}", value); }

// The same for a capture wherever it lies.
std::string id_of(const std::string& path, const timeline& data) {
    join_key key;
    key.add(std::filesystem::path(path).filename().string());
    for (const char* const name : {"hostname", "process_start", "pid", "rank"}) key.add(data.property(name));
    key.add(static_cast<std::uint64_t>(data.start_ns));
    return hexadecimal(key.value());
}

std::string weight_word(note_weight weight) {
    switch (weight) {
        case note_weight::warning:
            return "warning";
        case note_weight::heading:
            return "heading";
        case note_weight::detail:
            break;
    }
    return "detail";
}

void add_text(parquet_file& out, const std::string& text) { text.empty() ? out.none() : out.text(text); }

}  // namespace

struct job_tables::surveyed_capture {
    std::string path{};
    std::string id{};
    std::string clock{};  // rank_summary::clock
    std::string command{};
    std::string run_id{};
    std::string libprof{};
    captured_process process{};
    std::optional<std::int64_t> local_rank{};
    std::optional<std::int64_t> world_size{};
    std::int64_t start_ns = 0;  // own clock
    std::int64_t end_ns = 0;
    std::vector<capture_note> notes{};
    std::map<std::string, std::uint64_t> losses{};
    std::string step_source{};
    std::vector<whole_step> warm_up{};  // whole steps that do not count
    std::size_t steps = 0;              // of its summary
};

struct job_tables::exported_job {
    std::string name{};
    job_ranks of_ranks{};
    std::vector<std::size_t> captures{};  // indices into surveyed_, by rank and path
};

job_tables::job_tables() = default;
job_tables::~job_tables() = default;

bool job_tables::survey(const std::string& path, const report_input& input) {
    std::string id = id_of(path, input.data);
    if (!by_id_.try_emplace(id, surveyed_.size()).second) return false;
    const projected_timeline shown(input);
    const std::optional<step_time_subject> subject = step_time_of(shown, input);
    rank_summary summary = summarize_rank(subject->data, subject->att, subject->step_function, subject->scope);
    summary.path = path;
    summary.time = {};

    by_path_[path] = surveyed_.size();
    surveyed_capture& known = surveyed_.emplace_back();
    known.path = path;
    known.id = std::move(id);
    known.clock = summary.clock;
    known.command = input.data.property("command");
    known.run_id = summary.run_id;
    known.libprof = input.data.property("libprof_version");
    known.process = process_of(input.data);
    known.local_rank = summary.local_rank;
    known.world_size = summary.world_size;
    known.start_ns = input.data.start_ns;
    known.end_ns = input.data.end_ns;
    known.notes = capture_notes(input.data);
    known.losses = input.data.quality.dropped;
    known.steps = summary.steps.size();
    if (summary.has_steps || summary.ops == 0) {
        const whole_steps whole = find_whole_steps(subject->data, subject->att, !subject->step_function.empty());
        known.step_source = step_source_name(whole.source);
        // Without GPU work a summary has no steps.
        whole_steps counted = whole;
        leave_out_warm_up(counted);
        if (summary.ops == 0) {
            for (const whole_step& step : counted.steps) {
                summary.steps.push_back({.number = step.number,
                                         .from_ns = step.from_ns(),
                                         .to_ns = step.to_ns(),
                                         .host_from_ns = step.start_ns,
                                         .host_to_ns = step.end_ns});
            }
        }
        std::set<std::int64_t> begins;
        for (const whole_step& step : counted.steps) begins.insert(step.start_ns);
        std::copy_if(whole.steps.begin(), whole.steps.end(), std::back_inserter(known.warm_up),
                     [&](const whole_step& step) { return !begins.contains(step.start_ns); });
    } else {
        known.step_source = windows_as_steps;
    }
    summaries_.push_back(std::move(summary));
    return true;
}

void job_tables::place_rank(exported_job& job, std::uint32_t rank) {
    const rank_summary& summary = job.of_ranks.ranks[rank];
    std::vector<std::pair<std::string, std::uint32_t>> parts{{summary.path, 0}};
    parts.insert(parts.end(), summary.later_paths.begin(), summary.later_paths.end());
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const std::size_t number = by_path_.at(parts[i].first);
        const auto end =
            i + 1 < parts.size() ? parts[i + 1].second : static_cast<std::uint32_t>(summary.collectives.size());
        exported_capture& place = places_[number];
        place.job = job.name;
        place.rank = summary.rank.value_or(no_rank);
        place.clocks = &job.of_ranks.clocks;
        place.clock = rank;
        for (std::uint32_t c = parts[i].second; c < end; ++c) {
            const rank_collective& collective = summary.collectives[c];
            place.collectives.push_back({collective.op, collective.begin_ns, collective.key});
        }
        std::stable_sort(place.collectives.begin(), place.collectives.end(),
                         [](const auto& a, const auto& b) { return a.op < b.op; });
        job.captures.push_back(number);
    }
}

// Processes without GPU work are of no job by what they did: of the one whose run they share, or of the only one.
void job_tables::place_others() {
    std::map<std::string, std::size_t> job_of_run;
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
        for (const std::size_t capture : jobs_[j]->captures) {
            if (!surveyed_[capture].run_id.empty()) job_of_run.try_emplace(surveyed_[capture].run_id, j);
        }
    }
    const std::size_t jobs_with_gpu = jobs_.size();
    for (std::size_t i = 0; i < surveyed_.size(); ++i) {
        if (places_[i].clocks != nullptr) continue;
        const surveyed_capture& known = surveyed_[i];
        std::size_t number = jobs_.size();
        const auto run = job_of_run.find(known.run_id);
        if (!known.run_id.empty() && run != job_of_run.end()) {
            number = run->second;
        } else if (jobs_with_gpu == 1) {
            number = 0;
        }
        if (number == jobs_.size()) {
            jobs_.push_back(std::make_unique<exported_job>());
            jobs_.back()->name = "job-" + known.id;
            if (!known.run_id.empty()) job_of_run.try_emplace(known.run_id, number);
        }
        exported_job& job = *jobs_[number];
        host_clocks& clocks = job.of_ranks.clocks;
        const auto same = std::find_if(clocks.hosts.begin(), clocks.hosts.end(), [&](const host_clock& host) {
            return !known.process.host.empty() && host.clock == known.clock;
        });
        const auto host = static_cast<std::uint32_t>(same - clocks.hosts.begin());
        if (same == clocks.hosts.end()) {
            clocks.hosts.push_back({known.clock, known.process.host, clocks.hosts.empty(), {}});
        }
        exported_capture& place = places_[i];
        place.job = job.name;
        place.rank = known.process.rank.value_or(no_rank);
        place.clocks = &clocks;
        place.clock = static_cast<std::uint32_t>(clocks.of_rank.size());
        clocks.of_rank.push_back(host);
        job.captures.push_back(i);
    }
}

void job_tables::plan() {
    for (const surveyed_capture& known : surveyed_) places_.push_back({.path = known.path, .id = known.id});
    std::vector<rank_summary> with_gpu;
    std::map<std::size_t, rank_summary> others;
    for (std::size_t i = 0; i < summaries_.size(); ++i) {
        if (summaries_[i].ops != 0) {
            with_gpu.push_back(std::move(summaries_[i]));
        } else {
            others.emplace(i, std::move(summaries_[i]));
        }
    }
    summaries_.clear();
    for (job_ranks& ranks : jobs_among(std::move(with_gpu))) {
        jobs_.push_back(std::make_unique<exported_job>());
        exported_job& job = *jobs_.back();
        job.of_ranks = std::move(ranks);
        // The communicator with the most ranks has the same id on all of them, whichever captures are exported.
        std::pair<std::uint32_t, std::uint64_t> largest{0, 0};
        std::string least_id;
        for (const rank_summary& rank : job.of_ranks.ranks) {
            for (const rank_collective& collective : rank.collectives) {
                if (collective.by != collective_match::sequence) continue;
                const rank_communicator& communicator = rank.communicators[collective.communicator];
                largest = std::max(largest, {communicator.ranks, communicator.key});
            }
            const std::string& id = surveyed_[by_path_.at(rank.path)].id;
            if (least_id.empty() || id < least_id) least_id = id;
        }
        job.name = "job-" + (largest.first == 0 ? least_id : hexadecimal(largest.second));
        for (std::uint32_t r = 0; r < job.of_ranks.ranks.size(); ++r) place_rank(job, r);
    }
    place_others();
    for (auto& [capture, summary] : others) others_[capture] = std::move(summary.steps);
}

const std::string& job_tables::job_name(std::size_t number) const { return jobs_[number]->name; }

void job_tables::write_steps(std::size_t number, parquet_file& out) const {
    const exported_job& job = *jobs_[number];
    const job_ranks& ranks = job.of_ranks;
    const bool has_shared = std::any_of(ranks.matched.begin(), ranks.matched.end(),
                                        [](const matched_collective& matched) { return matched.count > 1; });
    // As the reports on ranks compare them (job_answer.cpp).
    std::optional<own_work> work;
    if (ranks.steps != 0 && ranks.ranks.size() > 1 && has_shared) {
        work.emplace(ranks, job_replay(ranks).origin_ns());
    }
    struct row {
        std::size_t capture = 0;
        const rank_step* step = nullptr;
        const whole_step* warm_up = nullptr;
        std::optional<std::uint32_t> common{};
        bool has_parts = false;
        double beyond_peers_ns = NAN;
    };
    const auto add = [&](const row& one) {
        const exported_capture& place = places_[one.capture];
        const surveyed_capture& known = surveyed_[one.capture];
        const rank_step step = one.step != nullptr ? *one.step
                                                   : rank_step{.number = one.warm_up->number,
                                                               .from_ns = one.warm_up->from_ns(),
                                                               .to_ns = one.warm_up->to_ns(),
                                                               .host_from_ns = one.warm_up->start_ns,
                                                               .host_to_ns = one.warm_up->end_ns};
        out.text(place.id);
        out.integer(place.rank);
        out.integer_of(step.number);
        out.integer(one.common);
        out.text(known.step_source);
        out.flag(one.step != nullptr);
        const std::int64_t start_ns = place.aligned(step.from_ns);
        out.integer(start_ns);
        out.integer(place.aligned(step.to_ns));
        out.integer(step.to_ns - step.from_ns);
        out.integer(place.aligned(step.host_from_ns));
        out.integer(place.aligned(step.host_to_ns));
        out.integer(step.from_ns - start_ns);
        std::int64_t idle_ns = 0;
        for (std::size_t part = first_idle_part; part < rank_part_count; ++part) idle_ns += step.parts[part];
        for (std::size_t part = 0; part < rank_part_count; ++part) {
            if (part == first_idle_part) one.has_parts ? out.integer(idle_ns) : out.none();
            one.has_parts ? out.integer(step.parts[part]) : out.none();
        }
        one.has_parts ? out.integer_of(step.kernels) : out.none();
        std::isnan(one.beyond_peers_ns) ? out.none() : out.number(one.beyond_peers_ns);
        out.end_row();
    };
    for (std::uint32_t r = 0; r < ranks.ranks.size(); ++r) {
        const rank_summary& rank = ranks.ranks[r];
        const bool is_lent =
            std::find(ranks.of_other_steps.begin(), ranks.of_other_steps.end(), r) != ranks.of_other_steps.end();
        std::vector<double> beyond_ns;
        if (work && !rank.steps.empty() && work->has_any_peers(r)) beyond_ns = work->excess(r, work->typical(r));
        // The capture of each step: those of further windows come after those before.
        std::vector<std::size_t> captures{by_path_.at(rank.path)};
        for (const auto& [path, first] : rank.later_paths) captures.push_back(by_path_.at(path));
        std::size_t part = 0;
        std::size_t end = surveyed_[captures.front()].steps;
        for (std::uint32_t s = 0; s < rank.steps.size(); ++s) {
            while (!is_lent && s >= end && part + 1 < captures.size()) end += surveyed_[captures[++part]].steps;
            row one{.capture = captures[part], .step = &rank.steps[s], .has_parts = !is_lent};
            const std::uint32_t first = ranks.first_step[r];
            if (s >= first && s - first < ranks.steps) one.common = s - first;
            if (one.common && *one.common < beyond_ns.size()) one.beyond_peers_ns = beyond_ns[*one.common];
            add(one);
        }
    }
    for (const std::size_t capture : job.captures) {
        const auto other = others_.find(capture);
        if (other == others_.end()) continue;
        for (const rank_step& step : other->second) add({.capture = capture, .step = &step});
    }
    for (const std::size_t capture : job.captures) {
        for (const whole_step& step : surveyed_[capture].warm_up) add({.capture = capture, .warm_up = &step});
    }
}

void job_tables::write_collectives(std::size_t number, parquet_file& out) const {
    const job_ranks& ranks = jobs_[number]->of_ranks;
    std::optional<job_replay> replay;
    if (ranks.steps != 0) replay.emplace(ranks);
    struct member_facts {
        std::uint32_t found = 1;  // ranks that have a record of it
        bool is_counted = false;
        bool is_last = false;
        bool is_whole = false;
        std::int64_t last_arrival_ns = 0;
        double transfer_ns = NAN;
        double clock_error_ns = NAN;
    };
    std::vector<std::vector<member_facts>> facts_of(ranks.ranks.size());
    for (std::size_t r = 0; r < ranks.ranks.size(); ++r) facts_of[r].resize(ranks.ranks[r].collectives.size());
    const auto is_common = [&](const collective_member& member) {
        const std::uint32_t step = ranks.at(member).step;
        const std::uint32_t first = ranks.first_step[member.rank];
        return step != UINT32_MAX && step >= first && step - first < ranks.steps;
    };
    for (std::size_t m = 0; m < ranks.matched.size(); ++m) {
        const matched_collective& matched = ranks.matched[m];
        const std::span<const collective_member> members = ranks.members_of(matched);
        member_facts facts{.found = matched.count, .is_whole = matched.count > 1 && matched.is_whole};
        std::optional<std::uint32_t> last;
        if (facts.is_whole) {
            facts.is_counted = std::any_of(members.begin(), members.end(), is_common);
            facts.clock_error_ns = clock_error_of(ranks, matched);
            const collective_arrivals arrivals = arrivals_of(ranks, matched, facts.clock_error_ns);
            facts.last_arrival_ns = arrivals.last_ns;
            last = arrivals.last_rank;
            if (replay) facts.transfer_ns = replay->transfer_ns(m);
        }
        for (const collective_member& member : members) {
            member_facts& known = facts_of[member.rank][member.collective];
            known = facts;
            known.is_last = last == member.rank;
        }
    }
    for (std::uint32_t r = 0; r < ranks.ranks.size(); ++r) {
        const rank_summary& rank = ranks.ranks[r];
        std::vector<std::uint32_t> place_texts;
        place_texts.reserve(rank.places.size());
        for (const std::string& place : rank.places) place_texts.push_back(out.text_id(place));
        std::vector<std::pair<std::uint32_t, const std::string*>> captures{{0, &rank.path}};
        for (const auto& [path, first] : rank.later_paths) captures.emplace_back(first, &path);
        std::size_t part = 0;
        for (std::uint32_t c = 0; c < rank.collectives.size(); ++c) {
            while (part + 1 < captures.size() && captures[part + 1].first <= c) ++part;
            const exported_capture& place = places_[by_path_.at(*captures[part].second)];
            const rank_collective& is = rank.collectives[c];
            const rank_communicator& communicator = rank.communicators[is.communicator];
            const member_facts& facts = facts_of[r][c];
            const bool has_step = is.step < rank.steps.size();
            out.text(place.id);
            out.integer(place.rank);
            has_step ? out.integer_of(rank.steps[is.step].number) : out.none();
            is_common({r, c}) ? out.integer(std::int64_t{is.step} - ranks.first_step[r]) : out.none();
            out.text(communicator.name.empty() ? hexadecimal(communicator.key) : communicator.name);
            out.integer(static_cast<std::int64_t>(communicator.key));
            out.text(to_string(is.function));
            out.integer_of(is.bytes);
            is.sequence == no_sequence ? out.none() : out.integer_of(is.sequence);
            out.text(to_string(is.by));
            out.integer(static_cast<std::int64_t>(is.key));
            out.integer(std::int64_t{facts.found});
            out.flag(facts.is_counted);
            const std::int64_t arrival_ns = place.aligned(is.begin_ns);
            out.integer(place.aligned(is.enqueued_ns));
            out.integer(arrival_ns);
            out.integer(place.aligned(is.end_ns));
            out.integer(is.end_ns - is.begin_ns);
            out.integer(is.begin_ns - arrival_ns);
            out.integer(is.exposed_ns);
            facts.is_whole ? out.integer(wait_of(is, facts.last_arrival_ns - arrival_ns)) : out.none();
            std::isnan(facts.transfer_ns) ? out.none() : out.number(facts.transfer_ns);
            out.flag(facts.is_last);
            std::isnan(facts.clock_error_ns) ? out.none() : out.number(facts.clock_error_ns);
            const double factor = facts.is_whole ? bus_factor(is.function, facts.found) : 0;
            factor > 0 ? out.number(factor) : out.none();
            is.place == 0 ? out.none() : out.text(place_texts[is.place]);
            out.end_row();
        }
    }
}

void job_tables::write_processes(std::size_t number, parquet_file& out) const {
    for (const std::size_t capture : jobs_[number]->captures) {
        const surveyed_capture& known = surveyed_[capture];
        const exported_capture& place = places_[capture];
        const host_clock& host = place.host();
        std::string gpus;
        for (const std::string& gpu : known.process.gpus) gpus += (gpus.empty() ? "" : ", ") + gpu;
        out.text(place.id);
        out.integer(place.rank);
        out.integer(known.local_rank);
        out.integer(known.world_size);
        add_text(out, known.process.host);
        out.integer(known.process.pid);
        out.text(known.process.program);
        add_text(out, known.command);
        add_text(out, known.run_id);
        out.text(std::filesystem::path(known.path).filename().string());
        add_text(out, gpus);
        out.integer(place.aligned(known.start_ns));
        out.integer(place.aligned(known.end_ns));
        out.integer(known.process.recorded_ns);
        add_text(out, known.process.state);
        out.integer_of(known.process.ops);
        out.integer(known.process.gpu_sum_ns);
        out.flag(host.is_aligned);
        out.integer(host.fit.at_ns);
        out.integer(host.fit.offset_ns);
        out.number(host.fit.drift);
        host.is_aligned ? out.number(host.fit.statistical_ns) : out.none();
        host.is_aligned ? out.number(host.fit.systematic_ns) : out.none();
        out.integer_of(host.fit.samples);
        add_text(out, known.libprof);
        out.end_row();
    }
}

void job_tables::write_notes(std::size_t number, parquet_file& out) const {
    const exported_job& job = *jobs_[number];
    const auto add = [&](const exported_capture* place, std::string_view kind, std::string_view cause,
                         std::optional<std::uint64_t> count, std::string_view text) {
        place != nullptr ? out.text(place->id) : out.none();
        place != nullptr ? out.integer(place->rank) : out.none();
        out.text(kind);
        cause.empty() ? out.none() : out.text(cause);
        count ? out.integer_of(*count) : out.none();
        out.text(text);
        out.end_row();
    };
    for (const std::size_t capture : job.captures) {
        for (const capture_note& note : surveyed_[capture].notes) {
            add(&places_[capture], weight_word(note.weight), {}, {}, note.text);
        }
        for (const auto& [cause, count] : surveyed_[capture].losses) {
            add(&places_[capture], "loss", cause, count, describe_drop(cause).what);
        }
    }
    const collective_losses& lost = job.of_ranks.lost;
    const std::tuple<std::string_view, std::uint64_t, std::string_view> left_out[] = {
        {"before_recording", lost.before_recording, "collectives that began before the last of their ranks recorded"},
        {"after_recording", lost.after_recording,
         "collectives before which the recording of one of their ranks had ended"},
        {"absent_ranks", lost.absent_ranks, "collectives of whose ranks one has no capture"},
        {"missing", lost.missing, "collectives that a rank does not have, which recorded before and after"},
        {"differing", lost.differing, "collectives whose members differ in function or size"},
        {"ambiguous", lost.ambiguous, "collectives that have more members than their communicator"},
        {"unplaced", lost.unplaced, "collectives whose kernel was not seen, or is another GPU's"},
    };
    for (const auto& [cause, count, text] : left_out) {
        if (count != 0) add(nullptr, "collectives", cause, count, text);
    }
    for (const number_range& absent : job.of_ranks.missing) {
        const std::string text =
            absent.first == absent.last
                ? fmt::format("rank {} has no capture with GPU work", absent.first)
                : fmt::format("ranks {} to {} have no capture with GPU work", absent.first, absent.last);
        add(nullptr, "job", "missing_ranks", static_cast<std::uint64_t>(absent.last - absent.first + 1), text);
    }
    for (const std::size_t capture : job.captures) {
        if (places_[capture].host().is_aligned) continue;
        add(&places_[capture], "job", "unaligned_clock", {},
            "the clock is not aligned, since no collective is shared with the first host: times are as recorded");
    }
}

void job_tables::forget_summaries() {
    for (const std::unique_ptr<exported_job>& job : jobs_) {
        job->of_ranks.ranks = {};
        job->of_ranks.members = {};
        job->of_ranks.matched = {};
    }
    others_.clear();
}

}  // namespace prof
