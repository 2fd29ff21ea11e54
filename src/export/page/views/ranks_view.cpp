// SPDX-License-Identifier: Apache-2.0
// The ranks of a job together: who holds it up and what that costs, how late each rank reaches the collectives of each
// step, who waits for whom, and what the collectives take. The verdict and its prices are those of the report `ranks`.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/display_text.hpp"
#include "base/json_text.hpp"
#include "export/page/page_text.hpp"
#include "export/page/page_views.hpp"
#include "ranks/arrivals.hpp"
#include "ranks/job_answer.hpp"

namespace prof {
namespace {

constexpr std::size_t most_map_rows = 128;
constexpr std::size_t most_map_columns = 240;
constexpr std::size_t most_listed = 40;  // ranks, collectives
constexpr std::size_t most_in_matrix = 16;
constexpr std::size_t most_sentences = 12;
constexpr double not_known = -1;

// As the page has microseconds: "455.6 µs".
std::string with_page_units(std::string text) {
    constexpr std::string_view word = " us";
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + word.size())) {
        const std::size_t end = at + word.size();
        const bool is_unit = at > 0 && text[at - 1] >= '0' && text[at - 1] <= '9' &&
                             (end == text.size() || std::isalnum(static_cast<unsigned char>(text[end])) == 0);
        if (is_unit) text.replace(at, word.size(), " µs");
    }
    return text;
}

// How late a rank was, or nothing is known of it.
struct lateness {
    float sum_ns = 0;  // of a million ranks and steps there is one
    std::uint32_t count = 0;

    void add(std::int64_t ns) noexcept {
        sum_ns += static_cast<float>(ns);
        ++count;
    }
    double mean_ns() const noexcept { return count == 0 ? not_known : static_cast<double>(sum_ns) / count; }
};

// What the members of the job's collectives wait for each other.
struct waits_of_job {
    std::vector<std::vector<lateness>> late{};           // by rank and step of the job
    std::vector<std::map<std::uint32_t, double>> waits;  // by rank: for whom, in all steps; no rank: not known for whom
    std::vector<double> waits_in_step;                   // of all ranks together, by step
    double clock_error_ns = 0;                           // the largest
};
constexpr std::uint32_t no_rank = UINT32_MAX;

waits_of_job waits_of_all(const job_ranks& job) {
    waits_of_job out;
    out.late.assign(job.ranks.size(), std::vector<lateness>(job.steps));
    out.waits.resize(job.ranks.size());
    out.waits_in_step.resize(job.steps);
    for (const matched_collective& of : job.matched) {
        if (of.count < 2) continue;
        const collective_waits found = waits_in(job, of);
        out.clock_error_ns = std::max(out.clock_error_ns, found.clock_error_ns);
        const std::span<const collective_member> members = job.members_of(of);
        for (std::size_t i = 0; i < members.size(); ++i) {
            const collective_member& each = members[i];
            const std::optional<std::uint32_t> step = job.step_of(each);
            if (!step) continue;
            const std::int64_t at_ns = job.aligned(each.rank, job.at(each).begin_ns);
            out.late[each.rank][*step].add(at_ns - found.arrivals.first_ns);
            const std::int64_t waits_ns = found.wait_ns[i];
            if (waits_ns <= 0) continue;
            out.waits[each.rank][found.arrivals.last_rank.value_or(no_rank)] += static_cast<double>(waits_ns);
            out.waits_in_step[*step] += static_cast<double>(waits_ns);
        }
    }
    return out;
}

class ranks_view {
public:
    ranks_view(const page_input& input, const job_knowledge::answered_job& of)
        : input_(input),
          step_(input.step),
          job_(of.ranks),
          answer_(of.answer),
          steps_(static_cast<double>(std::max<std::uint32_t>(of.ranks.steps, 1))),
          found_(waits_of_all(of.ranks)) {
        while (reference_ + 1 < job_.ranks.size() && job_.ranks[reference_].steps.empty()) ++reference_;
    }

    page_view run() {
        page_view out{.name = "ranks",
                      .heading = page_sentence(job_verdict(input_)) + ".",
                      .link = "Ranks",
                      .data = page_json::object()};
        sentences(out);
        page_json names = page_json::array();
        for (std::uint32_t r = 0; r < job_.ranks.size(); ++r) names.push_back(name(r));
        out.data["names"] = std::move(names);
        out.data["step_ns"] = whole(answer_.step_ns);
        out.data["steps"] = job_.steps;
        out.data["hosts"] = job_.clocks.hosts.size();
        out.data["clock_error_ns"] = whole(found_.clock_error_ns);
        out.data["shown"] = shown_rank();
        stragglers(out);
        ranks(out);
        map_of(out.data);
        arrivals(out);
        waits(out);
        collectives(out);
        return out;
    }

private:
    static std::int64_t whole(double ns) { return std::llround(std::clamp(ns, -9e15, 9e15)); }
    std::string name(std::uint32_t rank) const { return page_label(terminal_safe(job_.name_of(rank))); }
    std::string time(double ns) const { return step_.text(ns); }
    std::string signed_time(double ns) const {
        const std::string absolute = time(std::abs(ns));
        return ns < 0 && absolute != time(0) ? "−" + absolute : absolute;
    }
    std::string unit() const { return std::string(step_.unit.name.empty() ? "ms" : step_.unit.name); }

    page_json shown_rank() const {
        const std::string& path = (*input_.job)[input_.shown_member].capture.path;
        for (std::uint32_t r = 0; r < job_.ranks.size(); ++r) {
            if (job_.ranks[r].path == path) return r;
        }
        return {};
    }

    void sentences(page_view& out) const {
        std::vector<std::string> all = sentences_of(job_, answer_);
        // The heading has the first one, and the table what further ones hold the job up. What limits the answer stays
        // behind the figures.
        constexpr std::size_t most_told = 3;
        const std::size_t remarks = std::min(answer_.remarks.size(), all.size());
        page_json later = page_json::array();
        std::size_t told = 0;
        for (std::size_t i = 1; i < all.size() && told < most_sentences; ++i) {
            if (i > most_told && i <= answer_.stragglers.size()) continue;
            ++told;
            std::string text = capitalized(with_page_units(page_sentence(all[i])));
            if (i + remarks >= all.size()) {
                later.push_back(text);
                out.blocks.emplace_back(page_paragraph{std::move(text)});
            } else {
                out.lead.push_back(std::move(text));
            }
        }
        if (input_.jobs.size() > 1) {
            const std::size_t more = input_.jobs.size() - 1;
            out.lead.push_back(
                fmt::format("The directory has captures of {} more job{}, of which the report ranks tells.", more,
                            more == 1 ? "" : "s"));
        }
        out.data["remarks"] = std::move(later);
    }

    void stragglers(page_view& out) const {
        page_json& list = out.data["stragglers"] = page_json::array();
        page_table table{.caption = "What holds the job up",
                         .columns = {{"which"},
                                     {fmt::format("gain in {} a step", unit()), true},
                                     {"±", true},
                                     {"in steps", true},
                                     {"cause"}}};
        for (const straggler& each : answer_.stragglers) {
            if (list.size() == most_listed) break;
            const std::optional<double> error_ns = each.error_ns;
            std::string cause = each.cause;
            if (!each.place.empty()) cause += ", in " + each.place;
            if (!each.where.empty()) cause += ", " + each.where;
            list.push_back({{"kind", to_string(each.kind)},
                            {"name", page_label(terminal_safe(each.name))},
                            {"ranks", each.ranks},
                            {"gain_ns", whole(each.gain_ns)},
                            {"error_ns", error_ns ? page_json(whole(*error_ns)) : page_json()},
                            {"steps", each.steps},
                            {"is_passing", each.is_passing},
                            {"cause", page_sentence(cause)},
                            {"finding", page_sentence(each.finding)},
                            {"line", page_label(terminal_safe(each.line))}});
            table.rows.push_back({page_label(terminal_safe(each.name)), time(each.gain_ns),
                                  error_ns ? time(*error_ns) : "", fmt::format("{} of {}", each.steps, job_.steps),
                                  page_label(cause)});
        }
        if (!table.rows.empty()) out.blocks.emplace_back(std::move(table));
    }

    // All of them, in columns, the worst first; the HTML has the first of them.
    void ranks(page_view& out) const {
        page_json& to = out.data["ranks"] = page_json::object();
        std::vector<std::int64_t> step_ns;
        std::vector<std::int64_t> late_ns;
        std::vector<std::int64_t> wait_ns;
        std::vector<std::int64_t> compute_ns;
        std::vector<std::uint64_t> last;
        std::vector<std::uint64_t> collectives;
        page_json rank = page_json::array();
        page_json host = page_json::array();
        page_json excess_ns = page_json::array();
        page_json gain_ns = page_json::array();
        page_json error_ns = page_json::array();
        page_table table{.caption = "Ranks, the worst first",
                         .columns = {{"rank"},
                                     {"host"},
                                     {fmt::format("step in {}", unit()), true},
                                     {"beyond peers", true},
                                     {"the job's gain", true},
                                     {"late", true},
                                     {"waits for others", true},
                                     {"last in", true}}};
        const bool has_hosts = job_.clocks.hosts.size() > 1;
        if (!has_hosts) table.columns.erase(table.columns.begin() + 1);
        for (const std::uint32_t r : answer_.order) {
            const rank_figures& of = answer_.ranks[r];
            const double late = mean_late(r);
            const std::optional<double> error = of.error_ns;
            rank.push_back(r);
            host.push_back(page_label(page_name(job_.ranks[r].host)));
            step_ns.push_back(whole(of.step_ns));
            excess_ns.push_back(of.has_peers ? page_json(whole(of.excess_ns)) : page_json());
            gain_ns.push_back(of.is_priced ? page_json(whole(of.gain_ns)) : page_json());
            error_ns.push_back(of.is_priced && error ? page_json(whole(*error)) : page_json());
            late_ns.push_back(whole(late));
            wait_ns.push_back(whole(waits_of(r)));
            compute_ns.push_back(whole(of.parts[compute_part]));
            last.push_back(of.last);
            collectives.push_back(of.collectives);
            constexpr std::size_t most_rows = 16;
            if (table.rows.size() >= most_rows) continue;
            std::vector<std::string> cells{name(r)};
            if (has_hosts) cells.push_back(page_label(page_name(job_.ranks[r].host)));
            cells.push_back(job_.steps == 0 || job_.ranks[r].steps.empty() ? "" : time(of.step_ns));
            cells.push_back(of.has_peers ? signed_time(of.excess_ns) : "");
            cells.push_back(of.is_priced ? time(of.gain_ns) : "");
            cells.push_back(late < 0 ? "" : time(late));
            cells.push_back(time(waits_of(r)));
            cells.push_back(of.collectives == 0
                                ? ""
                                : sentence_share(static_cast<double>(of.last) / static_cast<double>(of.collectives)));
            table.rows.push_back(std::move(cells));
        }
        to = {{"rank", std::move(rank)},
              {"host", std::move(host)},
              {"step_ns", std::move(step_ns)},
              {"excess_ns", std::move(excess_ns)},
              {"gain_ns", std::move(gain_ns)},
              {"error_ns", std::move(error_ns)},
              {"late_ns", std::move(late_ns)},
              {"wait_ns", std::move(wait_ns)},
              {"compute_ns", std::move(compute_ns)},
              {"last", std::move(last)},
              {"collectives", std::move(collectives)}};
        if (answer_.order.size() > table.rows.size()) {
            table.caption += fmt::format(", {} of {}", table.rows.size(), answer_.order.size());
        }
        out.blocks.emplace_back(std::move(table));
    }

    // In the mean of its collectives.
    double mean_late(std::uint32_t rank) const {
        double sum_ns = 0;
        double count = 0;
        for (const lateness& each : found_.late[rank]) {
            sum_ns += static_cast<double>(each.sum_ns);
            count += each.count;
        }
        return count > 0 ? sum_ns / count : not_known;
    }
    double waits_of(std::uint32_t rank) const {
        double out = 0;
        for (const auto& [whom, ns] : found_.waits[rank]) out += ns;
        return out / steps_;
    }

    // A cell has the latest of its ranks and steps, so that what is late in few of them is seen.
    void map_of(page_json& data) const {
        const std::size_t count = job_.ranks.size();
        const std::size_t per_row = (count + most_map_rows - 1) / most_map_rows;
        const std::size_t per_column = std::max<std::size_t>((job_.steps + most_map_columns - 1) / most_map_columns, 1);
        std::vector<std::uint64_t> numbers;
        for (std::size_t s = 0; s < job_.steps; s += per_column) {
            numbers.push_back(job_.ranks[reference_].steps[job_.first_step[reference_] + s].number);
        }
        page_json rows = page_json::array();
        for (std::size_t from = 0; from < count; from += per_row) {
            std::vector<std::int64_t> cells;
            for (std::size_t s = 0; s < job_.steps; s += per_column) {
                double latest_ns = not_known;
                for (std::size_t r = from; r < std::min(count, from + per_row); ++r) {
                    for (std::size_t i = s; i < std::min<std::size_t>(job_.steps, s + per_column); ++i) {
                        latest_ns = std::max(latest_ns, found_.late[r][i].mean_ns());
                    }
                }
                cells.push_back(whole(latest_ns));
            }
            rows.push_back(std::move(cells));
        }
        data["map"] = {
            {"per_row", per_row}, {"per_column", per_column}, {"number", numbers}, {"rows", std::move(rows)}};
    }

    // The collectives of two steps, and when each rank comes to them: of the step in which the ranks wait longest, and
    // of the one with the median wait.
    void arrivals(page_view& out) const {
        page_json& list = out.data["arrivals"] = page_json::array();
        if (job_.steps == 0) return;
        std::vector<std::uint32_t> order(job_.steps);
        std::iota(order.begin(), order.end(), 0U);
        std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
            return found_.waits_in_step[a] < found_.waits_in_step[b];
        });
        const std::uint32_t longest = order.back();
        const std::uint32_t median = order[(order.size() - 1) / 2];
        if (page_json of = arrivals_in(longest, "longest waits"); !of["rows"].empty()) list.push_back(std::move(of));
        if (median == longest) return;
        if (page_json of = arrivals_in(median, "median wait"); !of["rows"].empty()) list.push_back(std::move(of));
    }

    page_json arrivals_in(std::uint32_t step, std::string_view why) const {
        struct placed {
            const matched_collective* of = nullptr;
            collective_arrivals when{};
            double error_ns = 0;
        };
        std::vector<placed> all;
        for (const matched_collective& of : job_.matched) {
            if (of.count < 2 || job_.step_of(job_.members_of(of).front()) != step) continue;
            const double error_ns = clock_error_of(job_, of);
            all.push_back({&of, arrivals_of(job_, of, error_ns), error_ns});
        }
        const std::size_t count = all.size();
        if (count > most_listed) {  // those with the longest waits, in the order in which they begin
            std::stable_sort(all.begin(), all.end(), [](const placed& a, const placed& b) {
                return a.when.last_ns - a.when.first_ns > b.when.last_ns - b.when.first_ns;
            });
            all.resize(most_listed);
        }
        std::stable_sort(all.begin(), all.end(),
                         [](const placed& a, const placed& b) { return a.when.first_ns < b.when.first_ns; });
        const std::uint32_t first = job_.first_step[reference_] + step;
        const rank_step& shown = job_.ranks[reference_].steps[first];
        const std::int64_t start_ns = job_.aligned(reference_, shown.from_ns);
        page_json rows = page_json::array();
        for (const placed& each : all) rows.push_back(arrivals_at(*each.of, each.when, each.error_ns, start_ns));
        return {{"step", shown.number}, {"why", why}, {"collectives", count}, {"rows", std::move(rows)}};
    }

    // The latest ranks, each with what it is later than the first.
    page_json arrivals_at(const matched_collective& of, const collective_arrivals& when, double error_ns,
                          std::int64_t start_ns) const {
        const std::span<const collective_member> members = job_.members_of(of);
        const rank_collective& is = job_.at(members.front());
        std::vector<std::pair<std::int64_t, std::uint32_t>> late;
        std::int64_t end_ns = INT64_MIN;
        for (const collective_member& each : members) {
            late.emplace_back(job_.aligned(each.rank, job_.at(each).begin_ns) - when.first_ns, each.rank);
            end_ns = std::max(end_ns, job_.aligned(each.rank, job_.at(each).end_ns));
        }
        std::sort(late.rbegin(), late.rend());
        page_json latest = page_json::array();
        for (std::size_t i = 0; i < late.size() && i < most_in_matrix; ++i) {
            latest.push_back({late[i].second, late[i].first});
        }
        return {{"function", to_string(is.function)},
                {"bytes", is.bytes},
                {"ranks", members.size()},
                {"begin_ns", when.first_ns - start_ns},
                {"end_ns", end_ns - when.first_ns},
                {"clock_error_ns", whole(error_ns)},
                {"last", when.last_rank ? page_json(*when.last_rank) : page_json()},
                {"late_ns", std::move(latest)}};
    }

    // A step, for each that others wait for, the most first: how long a rank waits for it in the mean, and who the
    // most.
    void waits(page_view& out) const {
        struct waited {
            std::uint32_t rank = no_rank;
            double sum_ns = 0;
            std::uint32_t most = no_rank;
            double most_ns = 0;
            std::uint32_t ranks = 0;
        };
        std::map<std::uint32_t, waited> by;
        for (std::uint32_t r = 0; r < job_.ranks.size(); ++r) {
            for (const auto& [whom, ns] : found_.waits[r]) {
                waited& of = by[whom];
                of.rank = whom;
                of.sum_ns += ns / steps_;
                ++of.ranks;
                if (ns / steps_ <= of.most_ns) continue;
                of.most_ns = ns / steps_;
                of.most = r;
            }
        }
        std::vector<waited> all;
        all.reserve(by.size());
        for (const auto& [rank, of] : by) all.push_back(of);
        std::stable_sort(all.begin(), all.end(), [](const waited& a, const waited& b) { return a.sum_ns > b.sum_ns; });
        const auto count = static_cast<double>(job_.ranks.size());
        page_json& list = out.data["waited_for"] = page_json::array();
        page_table table{
            .caption = "For whom the ranks wait in collectives, the mean of all ranks",
            .columns = {{"for"}, {fmt::format("{} a step", unit()), true}, {"ranks that wait", true}, {"the longest"}}};
        constexpr std::size_t most_rows = 12;
        waited others;
        std::size_t folded = 0;
        for (const waited& of : all) {
            const std::string whom = of.rank == no_rank ? "not known: within the error of the clocks" : name(of.rank);
            if (list.size() == most_rows) {
                others.sum_ns += of.sum_ns;
                ++folded;
                continue;
            }
            list.push_back({{"rank", of.rank == no_rank ? page_json() : page_json(of.rank)},
                            {"name", whom},
                            {"mean_ns", whole(of.sum_ns / count)},
                            {"ranks", of.ranks},
                            {"most", of.most},
                            {"most_ns", whole(of.most_ns)}});
            table.rows.push_back({whom, time(of.sum_ns / count), std::to_string(of.ranks),
                                  fmt::format("{}, {}", name(of.most), time(of.most_ns))});
        }
        if (folded != 0) {
            list.push_back({{"rank", page_json()},
                            {"name", fmt::format("others ({})", folded)},
                            {"mean_ns", whole(others.sum_ns / count)}});
            table.rows.push_back({fmt::format("others ({})", folded), time(others.sum_ns / count), "", ""});
        }
        if (!table.rows.empty()) out.blocks.emplace_back(std::move(table));
        if (job_.ranks.size() > most_in_matrix) return;
        page_json& matrix = out.data["waits_ns"] = page_json::array();
        for (std::uint32_t r = 0; r < job_.ranks.size(); ++r) {
            std::vector<std::int64_t> row;
            for (std::uint32_t whom = 0; whom < job_.ranks.size(); ++whom) {
                const auto found = found_.waits[r].find(whom);
                row.push_back(found == found_.waits[r].end() ? 0 : whole(found->second / steps_));
            }
            matrix.push_back(std::move(row));
        }
    }

    void collectives(page_view& out) const {
        page_json& list = out.data["collectives"] = page_json::array();
        page_table table{.caption = "Collectives of the job",
                         .columns = {{"collective"},
                                     {"a step", true},
                                     {fmt::format("transfer in {}", unit()), true},
                                     {"first to last arrival", true},
                                     {"exposed a step", true},
                                     {"hidden a step", true},
                                     {"last most often"}}};
        for (const collective_figures& each : answer_.collectives) {
            if (list.size() == most_listed) break;
            const std::string communicator =
                page_label(page_name(job_.communicator_name(each.communicator_rank, each.communicator)));
            const bool has_last = each.last_rank != no_rank;
            list.push_back({{"communicator", communicator},
                            {"function", to_string(each.function)},
                            {"bytes", each.bytes},
                            {"ranks", each.ranks},
                            {"a_step", each.a_step},
                            {"transfer_ns", whole(each.transfer_ns)},
                            {"arrival_ns", whole(each.arrival_skew_ns)},
                            {"launch_ns", whole(each.launch_skew_ns)},
                            {"clock_error_ns", whole(each.clock_error_ns)},
                            {"exposed_ns", whole(each.exposed_ns)},
                            {"hidden_ns", whole(each.hidden_ns)},
                            {"rate", each.bus_bytes_per_ns},
                            {"last", has_last ? page_json(each.last_rank) : page_json()},
                            {"last_share", each.last_share}});
            constexpr std::size_t most_rows = 12;
            if (table.rows.size() >= most_rows) continue;
            table.rows.push_back(
                {fmt::format("{} of {} B, {} ranks", to_string(each.function), with_thousands(each.bytes), each.ranks),
                 fmt::format("{:.1f}", each.a_step), time(each.transfer_ns), time(each.arrival_skew_ns),
                 time(each.exposed_ns), time(each.hidden_ns),
                 has_last ? fmt::format("{}, {}", name(each.last_rank), sentence_share(each.last_share)) : ""});
        }
        out.data["collective_count"] = answer_.collectives.size();
        if (!table.rows.empty()) out.blocks.emplace_back(std::move(table));
    }

    const page_input& input_;
    const page_step& step_;
    const job_ranks& job_;
    const job_answer& answer_;
    double steps_;
    waits_of_job found_;
    std::uint32_t reference_ = 0;  // the first rank that has the job's steps
};

}  // namespace

std::string job_verdict(const page_input& input) {
    const job_knowledge::answered_job* const of = input.ranks();
    return of == nullptr ? std::string() : capitalized(with_page_units(verdict_of(of->ranks, of->answer)));
}

page_view make_ranks_view(const page_input& input) {
    const job_knowledge::answered_job* const of = input.ranks();
    if (of == nullptr) return {};
    return ranks_view(input, *of).run();
}

}  // namespace prof
