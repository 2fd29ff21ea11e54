// SPDX-License-Identifier: Apache-2.0
// The screen of a job of several processes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/apportioned.hpp"
#include "base/display_text.hpp"
#include "base/json_text.hpp"
#include "base/python_command.hpp"
#include "export/report/gain_words.hpp"
#include "export/report/screen/first_screen.hpp"
#include "export/report/screen/screen_numbers.hpp"

namespace prof {
namespace {

constexpr double alike_means = 0.02;     // of the step: all ranks' means lie within it
constexpr double alike_parts = 0.05;     // of the step: idle time and communication
constexpr std::size_t most_members = 8;  // each has a row of its own up to this number
constexpr std::size_t most_named = 3;    // of more, so many that wait least

constexpr std::array<std::string_view, 4> titles{"computing", "communication", "copies", "idle"};
constexpr std::size_t communication_part = 1;
constexpr std::size_t idle_part = 3;

// What a capture is called among others.
std::string label_of(const report_document& document, bool has_hosts, bool by_file) {
    const captured_process& process = document.capture.process;
    // Several programs, or copies of one capture, have the names of their files.
    if (by_file) return terminal_safe(file_name_of(document.capture.path));
    std::string out = process.rank  ? fmt::format("rank {}", *process.rank)
                      : process.pid ? fmt::format("pid {}", *process.pid)
                                    : terminal_safe(document.capture.path);
    if (has_hosts) out += ", host " + terminal_safe(process.host);
    return out;
}

struct member {
    const report_document* document = nullptr;
    const answer_block* answer = nullptr;
    double step_ns = 0;
    std::array<double, 4> parts{};  // of a step, by titles
    std::int64_t whole = 0;         // as it is printed, in quanta, and what it consists of
    std::vector<std::int64_t> cells{};

    void print_in(const screen_unit& unit, bool has_gpu) {
        whole = unit.quanta(step_ns);
        cells = apportioned(parts, has_gpu ? whole : 0);
    }

    std::string label(bool has_hosts, bool by_file) const { return label_of(*document, has_hosts, by_file); }
};

member member_of(const report_document& document) {
    member out{.document = &document, .answer = answer_in(document)};
    const step_table& of = *out.answer->where;
    const double count =
        static_cast<double>(std::max<std::uint64_t>(of.steps, 1)) * std::max<std::uint32_t>(of.devices, 1);
    for (const step_table_row& row : of.rows) {
        for (std::size_t i = 0; i < step_column_count; ++i) {
            const auto use = static_cast<step_column>(i);
            const std::size_t part = is_idle(use) ? idle_part : i;
            out.parts[part] += static_cast<double>(row.ns[i]) / count;
        }
    }
    out.step_ns = of.devices == 0 ? static_cast<double>(of.cpu_ns) / count : static_cast<double>(of.wall_ns) / count;
    return out;
}

constexpr std::size_t most_jobs = 4;  // of which the screen has a line each

class job {
public:
    job(const std::vector<const report_document*>& documents, const screen_layout& layout,
        const std::vector<std::string>& copies, const std::vector<std::string>& held_up = {},
        std::string verdict_capture = {})
        : all_(documents), layout_(layout), held_up_(held_up), verdict_capture_(std::move(verdict_capture)) {
        const auto is_copy = [&](const report_document* each) {
            return std::find(copies.begin(), copies.end(), each->capture.path) != copies.end();
        };
        // Captures of one process alone have a row each, by file.
        const bool leaves_copies_out = std::count_if(documents.begin(), documents.end(), [&](const auto* each) {
                                           return has_first_screen(*each) && !is_copy(each);
                                       }) > 1;
        for (const report_document* const each : documents) {
            if (leaves_copies_out && is_copy(each)) {
                copies_.push_back(each);
                continue;
            }
            if (!has_first_screen(*each)) continue;
            member one = member_of(*each);
            (one.answer->where->devices != 0 ? members_ : without_gpu_).push_back(one);
        }
        if (members_.empty() || is_one_beside_others()) {
            std::erase_if(without_gpu_, [](const member& each) { return !each.answer->where->has_steps; });
            members_.insert(members_.end(), without_gpu_.begin(), without_gpu_.end());
            without_gpu_.clear();
        }
        std::set<std::string> commands;
        std::set<std::string> hosts;
        for (const member& each : members_) {
            commands.insert(each.document->capture.process.program);
            hosts.insert(each.document->capture.process.host);
        }
        std::set<std::tuple<std::string, std::optional<std::int64_t>, std::optional<std::int64_t>>> processes;
        for (const member& each : members_) {
            const captured_process& process = each.document->capture.process;
            processes.emplace(process.host, process.rank, process.pid);
        }
        is_of_several_ = commands.size() > 1;
        // Two runs, or a restart, have a rank twice.
        std::set<std::int64_t> ranks;
        std::size_t with_rank = 0;
        for (const member& each : members_) {
            if (!each.document->capture.process.rank) continue;
            ranks.insert(*each.document->capture.process.rank);
            ++with_rank;
        }
        is_named_by_file_ = is_of_several_ || processes.size() < members_.size() || ranks.size() < with_rank;
        has_hosts_ = hosts.size() > 1;
        has_ranks_ = with_rank == members_.size();
        set_those_without_steps_apart();
        for (const member& each : members_) {
            mean_.step_ns += each.step_ns / static_cast<double>(members_.size());
            for (std::size_t i = 0; i < titles.size(); ++i) {
                mean_.parts[i] += each.parts[i] / static_cast<double>(members_.size());
            }
        }
        unit_ = screen_unit::for_step(mean_.step_ns);
        if (members_.empty()) return;
        for (member& each : members_) each.print_in(unit_, has_gpu());
        for (member& each : without_steps_) each.print_in(unit_, has_gpu());
        mean_.print_in(unit_, has_gpu());
        order();
    }

    bool has_members() const noexcept { return shown_count() > 1; }

    job_figures figures() const {
        job_figures out{.unit = std::string(unit_.name), .verdict = verdict(), .is_of_several = is_of_several_};
        const std::string step = without_word(step_line());
        const bool is_found = !step.starts_with("not found");
        out.sentences.push_back(is_found ? "A step takes " + step : "Steps were " + step);
        if (has_gpu() && !is_of_several_) {
            std::string gpus = without_word(gpu_line());
            if (gpus.starts_with("busy ")) gpus.insert(5, "for ");
            if (const std::size_t idle = gpus.find("; idle "); idle != std::string::npos) {
                gpus.replace(idle, 7, ", and idle for ");
            }
            out.sentences.push_back("The GPUs are " + gpus);
        }
        if (!without_steps_.empty()) {
            out.sentences.push_back(fmt::format("Without steps, and not in these means: {}", names(without_steps_)));
        }
        if (!copies_.empty()) out.sentences.push_back(copies_line());
        if (!is_of_several_) {
            const std::string all = has_ranks() ? "ranks" : "processes";
            const bool names_one = !is_alike() && communicating() > 1;
            out.sentences.push_back((names_one ? "Of the " + all + ", " : "The " + all + " ") + ranks());
        }
        std::vector<std::size_t> columns;
        for (std::size_t i = 0; i < titles.size(); ++i) {
            if (!has_gpu() || !(mean_.parts[i] > 0)) continue;
            columns.push_back(i);
            out.titles.emplace_back(titles[i]);
        }
        const auto row_of = [&](const member& of) {
            job_figures::row row{.time = unit_.text(of.whole)};
            if (of.document != nullptr) row.process = &of.document->capture.process;
            for (const std::size_t i : columns) row.parts.push_back(unit_.text(of.cells[i]));
            return row;
        };
        for (const member& each : members_) out.rows.push_back(row_of(each));
        out.mean = row_of(mean_);
        return out;
    }

    std::vector<std::string> lines() const {
        struct amount {
            std::size_t members;
            std::size_t gains;
            bool has_blanks;
        };
        const std::size_t all = layout_.lines == SIZE_MAX ? std::max<std::size_t>(most_members, 64) : most_members;
        // What goes first where there are few lines.
        const amount amounts[] = {{all, 3, true},         {all, 3, false}, {all, 1, false},
                                  {most_named, 1, false}, {1, 1, false},   {1, 0, false}};
        std::vector<std::string> out;
        for (const amount& shown : amounts) {
            out = lines(shown.members, shown.gains, shown.has_blanks);
            if (out.size() <= layout_.lines) return out;
        }
        // A very low terminal has the head and the end.
        out.erase(out.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(layout_.lines, 2) - 1),
                  out.end() - 1);
        return out;
    }

private:
    std::vector<std::string> lines(std::size_t members, std::size_t most_gains, bool has_blanks) const {
        std::vector<std::string> out{prof_line()};
        for (std::string& line : warning_lines()) out.push_back(std::move(line));
        if (!copies_.empty()) out.push_back(copies_line());
        out.push_back(step_line());
        if (has_gpu() && !is_of_several_) out.push_back(gpu_line());
        if (!is_of_several_) out.push_back(ranks_line());
        if (!is_of_several_ || held_up_.size() > 1) add_held_up(out);
        if (has_blanks) out.emplace_back();
        for (std::string& line : table_lines(members)) out.push_back(std::move(line));
        const std::vector<std::string> gains = most_gains == 0 ? std::vector<std::string>() : gain_lines(most_gains);
        if (!gains.empty() && has_blanks) out.emplace_back();
        out.insert(out.end(), gains.begin(), gains.end());
        if (const std::string line = next_line(); !line.empty()) out.push_back(line);
        fit_lines(out, layout_);
        return out;
    }

    // Of one program with GPU work and others without, which are no workers of it, each has a row.
    bool is_one_beside_others() const {
        return members_.size() == 1 && std::any_of(without_gpu_.begin(), without_gpu_.end(), [&](const member& each) {
                   return each.document->capture.process.program != members_.front().document->capture.process.program;
               });
    }
    // Only what all have can be compared.
    bool has_gpu() const noexcept {
        return std::all_of(members_.begin(), members_.end(),
                           [](const member& each) { return each.answer->where->devices != 0; });
    }
    bool communicates() const noexcept {
        return std::any_of(members_.begin(), members_.end(), [&](const member& each) {
            return each.parts[communication_part] >= alike_means * mean_.step_ns;
        });
    }

    // How many have collectives, by which they can be compared: they stand first.
    std::size_t communicating() const {
        if (!communicates()) return 0;
        return static_cast<std::size_t>(std::count_if(members_.begin(), members_.end(), has_communication));
    }
    static bool has_communication(const member& of) { return of.parts[communication_part] > 0; }

    // Those without steps have nothing that could be compared with a step of the others.
    void set_those_without_steps_apart() {
        const auto has_steps = [](const member& each) { return each.answer->where->has_steps; };
        if (std::none_of(members_.begin(), members_.end(), has_steps)) return;
        const auto apart = std::stable_partition(members_.begin(), members_.end(), has_steps);
        without_steps_.assign(std::make_move_iterator(apart), std::make_move_iterator(members_.end()));
        members_.erase(apart, members_.end());
    }
    std::size_t shown_count() const noexcept { return members_.size() + without_steps_.size(); }

    // "rank 0, rank 3 and 2 more".
    std::string names(const std::vector<member>& of) const {
        std::string out;
        for (std::size_t i = 0; i < of.size() && i < most_named; ++i) {
            out += (i == 0 ? "" : ", ") + of[i].label(has_hosts_, is_named_by_file_);
        }
        if (of.size() > most_named) out += fmt::format(" and {} more", of.size() - most_named);
        return out;
    }

    std::string copies_line() const {
        const std::string file = label_of(*copies_.front(), false, true);
        if (copies_.size() == 1) return fmt::format("left out: {}, a second capture of one process", file);
        return fmt::format("left out: {} and {} more, second captures of processes", file, copies_.size() - 1);
    }

    // The one for which the others wait communicates least; without communication by rank.
    void order() {
        const bool by_communication = communicates();
        std::stable_sort(members_.begin(), members_.end(), [&](const member& a, const member& b) {
            if (has_communication(a) != has_communication(b)) return has_communication(a);
            if (by_communication) return a.parts[communication_part] < b.parts[communication_part];
            return a.document->capture.process.rank < b.document->capture.process.rank;
        });
    }

    std::string prof_line() const {
        std::map<std::string, std::size_t> gpus;
        std::set<std::string> hosts;
        for (const std::vector<member>* const some : {&members_, &without_steps_}) {
            for (const member& each : *some) {
                hosts.insert(each.document->capture.process.host);
                if (each.answer->where->devices == 0) continue;
                const std::vector<std::string>& names = each.document->capture.process.used_gpus;
                gpus[names.empty() || names.front().empty() ? "GPU" : names.front()] += each.answer->where->devices;
            }
        }
        std::string right_text = fmt::format("{} {}", shown_count(),
                                             is_of_several_ ? "programs"
                                             : has_ranks()  ? "ranks"
                                                            : "processes");
        if (hosts.size() > 1) right_text += fmt::format(" on {} hosts", hosts.size());
        for (const auto& [name, count] : gpus) right_text += fmt::format(", {} x {}", count, terminal_safe(name));
        if (gpus.empty()) right_text += ", no GPU";
        std::string what = short_command(members_.front().document->capture);
        if (is_of_several_) what += " and others";
        const std::size_t workers = all_.size() - shown_count() - copies_.size();
        if (workers != 0) what += fmt::format(", and {} worker{}", workers, workers == 1 ? "" : "s");
        return head_line(std::move(what), right_text, layout_.width);
    }
    bool has_ranks() const noexcept { return has_ranks_; }
    std::string who(std::size_t count) const {
        if (has_ranks()) return count == 1 ? "rank" : "ranks";
        return count == 1 ? "process" : "processes";
    }

    std::vector<std::string> warning_lines() const {
        std::map<std::string, std::vector<const report_document*>> warned;
        for (const report_document* const each : all_) {
            for (const std::string& warning : each->capture.warnings) warned[warning].push_back(each);
        }
        std::vector<std::string> out;
        for (const auto& [warning, of] : warned) {
            if (out.size() == 2) {
                out.push_back(fmt::format("{} more warnings: prof report --full", warned.size() - 2));
                break;
            }
            const std::string who = of.size() > 1 ? fmt::format("{} processes", of.size())
                                                  : label_of(*of.front(), has_hosts_, is_named_by_file_);
            out.push_back(fmt::format("warning: {}: {}", who, terminal_safe(warning)));
        }
        return out;
    }

    std::string step_line() const {
        std::int64_t least_ns = INT64_MAX;
        std::int64_t longest_ns = 0;
        std::uint64_t fewest = UINT64_MAX;
        std::uint64_t most = 0;
        bool has_steps = true;
        for (const member& each : members_) {
            if (!each.answer->step) {
                has_steps = false;
                continue;
            }
            least_ns = std::min(least_ns, each.answer->step->min_ns);
            longest_ns = std::max(longest_ns, each.answer->step->max_ns);
            fewest = std::min(fewest, each.answer->step->steps);
            most = std::max(most, each.answer->step->steps);
        }
        if (!has_steps)
            return "Step  not found in all processes: --step-range NAME names one; the table is of all time";
        if (is_of_several_) {
            return fmt::format("Step  {} to {}: the means of {} programs", text(least_mean()),
                               text_with_unit(longest_mean()), members_.size());
        }
        const std::string count = fewest == most
                                      ? with_thousands(most)
                                      : fmt::format("{} to {}", with_thousands(fewest), with_thousands(most));
        constexpr std::size_t narrow = 72;
        if (layout_.width < narrow) {
            return fmt::format("Step  {}, mean of {} {} ({} to {})", text_with_unit(mean_.step_ns), count,
                               members_.size() == 1 ? "of one" : "each", text(static_cast<double>(least_ns)),
                               text(static_cast<double>(longest_ns)));
        }
        return fmt::format("Step  {}, mean of {} on each of {} {} ({} to {})", text_with_unit(mean_.step_ns), count,
                           members_.size(), who(members_.size()), text(static_cast<double>(least_ns)),
                           text(static_cast<double>(longest_ns)));
    }

    double least_mean() const { return std::min_element(members_.begin(), members_.end(), by_mean)->step_ns; }
    double longest_mean() const { return std::max_element(members_.begin(), members_.end(), by_mean)->step_ns; }
    static bool by_mean(const member& a, const member& b) noexcept { return a.step_ns < b.step_ns; }

    std::string gpu_line() const {
        const double busy_ns = mean_.parts[0] + mean_.parts[1] + mean_.parts[2];
        const std::int64_t whole = mean_.whole;
        const std::int64_t busy = whole - mean_.cells[idle_part];
        const auto tenths = static_cast<std::int64_t>(mean_.step_ns > 0 ? 1000 * busy_ns / mean_.step_ns + 0.5 : 0);
        std::string out = fmt::format("GPUs  busy {} ({})", unit_.with_unit(busy), percent_text(tenths, false));
        if (mean_.parts[communication_part] >= alike_means * mean_.step_ns) {
            out += fmt::format(", of it {} communication", unit_.text(mean_.cells[communication_part]));
        }
        return out + fmt::format("; idle {} ({})", unit_.with_unit(whole - busy),
                                 percent_text(1000 - (tenths + 5) / 10 * 10, false));
    }

    static std::string without_word(const std::string& line) {
        const std::size_t word = line.find(' ');
        const std::size_t rest = line.find_first_not_of(' ', word);
        return rest == std::string::npos ? line : line.substr(rest);
    }

    // "Ranks 0, 1 and 3 wait for rank 2": where it communicates clearly less than each of the others.
    std::string verdict() const {
        const std::size_t count = communicating();
        if (is_of_several_ || is_named_by_file_ || !has_ranks() || count < 2 || is_alike()) return {};
        const double more_ns = members_[1].parts[communication_part] - members_[0].parts[communication_part];
        if (more_ns < alike_means * mean_.step_ns) return {};
        const std::string first = fmt::format("rank {}", *members_.front().document->capture.process.rank);
        if (count == 2) {
            return fmt::format("Rank {} waits for {}", *members_[1].document->capture.process.rank, first);
        }
        if (count > most_members) return fmt::format("The other {} ranks wait for {}", count - 1, first);
        std::vector<std::int64_t> others;
        for (std::size_t i = 1; i < count; ++i) {
            others.push_back(*members_[i].document->capture.process.rank);
        }
        std::sort(others.begin(), others.end());
        std::string names;
        for (std::size_t i = 0; i < others.size(); ++i) {
            names += i == 0 ? "" : i + 1 == others.size() ? " and " : ", ";
            names += std::to_string(others[i]);
        }
        return fmt::format("Ranks {} wait for {}", names, first);
    }

    // Which rank holds the job up, by all ranks together; of several jobs each.
    void add_held_up(std::vector<std::string>& out) const {
        for (std::size_t i = 0; i < held_up_.size() && i < most_jobs; ++i) {
            std::string text = held_up_[i];
            if (i + 1 == most_jobs && held_up_.size() > most_jobs) {
                text = fmt::format("{} more jobs: prof report --report ranks", held_up_.size() - i);
            }
            std::string lines = wrapped((i == 0 ? "Job   " : "      ") + text, layout_.width, "      ");
            while (!lines.empty()) {
                const std::size_t end = lines.find('\n');
                out.push_back(lines.substr(0, end));
                lines.erase(0, end == std::string::npos ? end : end + 1);
            }
        }
    }

    std::string ranks_line() const { return std::string(has_ranks() ? "Ranks " : "All   ") + ranks(); }

    template <typename TValue>
    std::pair<double, double> extent(TValue&& value) const {
        double least = value(members_.front());
        double most = least;
        for (const member& each : members_) {
            least = std::min(least, value(each));
            most = std::max(most, value(each));
        }
        return {least, most};
    }
    std::pair<double, double> means() const {
        return extent([](const member& each) { return each.step_ns; });
    }
    bool is_alike() const {
        const auto idle = extent([](const member& each) { return each.parts[idle_part]; });
        const auto communication = extent([](const member& each) { return each.parts[communication_part]; });
        const auto [least, most] = means();
        return idle.second - idle.first <= alike_parts * mean_.step_ns &&
               communication.second - communication.first <= alike_parts * mean_.step_ns &&
               most - least <= alike_means * mean_.step_ns;
    }

    std::string ranks() const {
        const auto [least, most] = means();
        if (members_.size() == 1) return fmt::format("cannot be compared: only {} has steps", names(members_));
        const std::string range = text(least) == text(most)
                                      ? "means of " + text_with_unit(most)
                                      : fmt::format("means from {} to {}", text(least), text_with_unit(most));
        if (is_alike()) return "have steps that are alike: " + range;
        if (!communicates()) return "differ: " + range;
        const std::size_t count = communicating();
        if (count == 1) {
            return fmt::format("differ: {}; only {} communicates", range,
                               members_.front().label(has_hosts_, is_named_by_file_));
        }
        const std::string least_other = unit_.text(members_[1].cells[communication_part]);
        const std::string most_other = unit_.text(members_[count - 1].cells[communication_part]);
        std::string out = fmt::format(
            "{} waits least: {} of communication, the {} {}", members_.front().label(has_hosts_, is_named_by_file_),
            unit_.with_unit(members_.front().cells[communication_part]), count == 2 ? "other" : "others",
            least_other == most_other ? least_other : least_other + " to " + most_other);
        if (count < members_.size())
            out += "; without any: " + names({members_.begin() + static_cast<std::ptrdiff_t>(count), members_.end()});
        return out;
    }

    std::vector<std::string> table_lines(std::size_t most) const {
        std::vector<std::pair<std::string, member>> rows;
        // What unlike programs take has no mean.
        const std::size_t fewer = is_of_several_ ? most - std::min<std::size_t>(most, 1) : std::min(most, most_named);
        const std::size_t named = members_.size() <= most ? members_.size() : fewer;
        for (std::size_t i = 0; i < named; ++i) {
            rows.emplace_back(members_[i].label(has_hosts_, is_named_by_file_), members_[i]);
        }
        if (named < members_.size() && !is_of_several_) {
            member others;
            const auto count = static_cast<double>(members_.size() - named);
            for (std::size_t i = named; i < members_.size(); ++i) {
                others.step_ns += members_[i].step_ns / count;
                for (std::size_t part = 0; part < titles.size(); ++part) {
                    others.parts[part] += members_[i].parts[part] / count;
                }
            }
            others.print_in(unit_, has_gpu());
            rows.emplace_back(fmt::format("mean of {} others", members_.size() - named), others);
        }
        if (!is_of_several_)
            rows.emplace_back(fmt::format("mean of {} {}", members_.size(), who(members_.size())), mean_);
        const std::size_t with_steps = rows.size();
        const std::size_t most_apart =
            without_steps_.size() <= most ? without_steps_.size() : std::min(most, most_named);
        for (std::size_t i = 0; i < most_apart; ++i) {
            rows.emplace_back(without_steps_[i].label(has_hosts_, is_named_by_file_), without_steps_[i]);
        }

        std::vector<std::size_t> columns;
        for (std::size_t i = 0; i < titles.size(); ++i) {
            if (has_gpu() && mean_.parts[i] > 0) columns.push_back(i);
        }
        // Columns that have no room go, those that are easiest to do without first; digits never do.
        for (const std::size_t part : {std::size_t{2}, std::size_t{0}, communication_part}) {
            const std::size_t most_columns = layout_.width > 30 ? (layout_.width - 30) / 12 : 0;
            if (columns.size() > std::max<std::size_t>(most_columns, 1)) std::erase(columns, part);
        }
        std::size_t name_width = 12;
        for (const auto& [name, of] : rows) name_width = std::max(name_width, display_width(name));
        name_width = std::min(name_width, layout_.width > 62 ? layout_.width - 50 : 16);
        const std::size_t number = std::max<std::size_t>(display_width(text(mean_.step_ns)) + 1, 6) + 2;
        const auto padded = [&](std::string_view name) {
            std::string out = shortened(name, name_width);
            return out + std::string(name_width - std::min(name_width, display_width(out)), ' ');
        };
        std::vector<std::string> out;
        if (!columns.empty()) out.push_back(std::string(name_width + number, ' ') + "  GPU, what it does");
        std::string head = padded(fmt::format("{} a step", unit_.name)) + right_aligned("time", number);
        for (const std::size_t part : columns) {
            head += right_aligned(titles[part], std::max(number, titles[part].size() + 2));
        }
        out.push_back(std::move(head));
        const auto add = [&](const std::pair<std::string, member>& row) {
            const auto& [name, of] = row;
            std::string line = padded(name) + right_aligned(unit_.text(of.whole), number);
            for (const std::size_t part : columns) {
                line += right_aligned(unit_.text(of.cells[part]), std::max(number, titles[part].size() + 2));
            }
            out.push_back(std::move(line));
        };
        for (std::size_t i = 0; i < with_steps; ++i) add(rows[i]);
        if (is_of_several_ && named < members_.size()) {
            out.push_back(fmt::format("{} more: prof report --report processes", members_.size() - named));
        }
        if (with_steps < rows.size()) out.push_back(fmt::format("without steps, {} in all", unit_.name));
        for (std::size_t i = with_steps; i < rows.size(); ++i) add(rows[i]);
        if (most_apart < without_steps_.size()) {
            out.push_back(fmt::format("{} more without steps", without_steps_.size() - most_apart));
        }
        return out;
    }
    // The same change on several ranks is one line, with the largest gain.
    std::vector<std::string> gain_lines(std::size_t most) const {
        struct change {
            const priced_change* gain = nullptr;  // the largest
            std::string who{};
            std::size_t ranks = 0;
            double least_ns = 0;
        };
        std::vector<change> changes;
        std::map<std::string, std::size_t> places;
        for (const member& each : members_) {
            if (!each.answer->gains) continue;
            for (const priced_change& gain : each.answer->gains->dearest) {
                // How much of it is waiting, one rank does not show.
                if (gain.rule == "communication" || gain.is_rough || gain.changes_results) continue;
                const auto [known, is_new] = places.try_emplace(
                    gain.noun + "\n" + (gain.places.empty() ? "" : gain.places.front()), changes.size());
                if (is_new) changes.push_back({&gain, each.label(false, is_named_by_file_), 0, gain.gain_ns});
                change& of = changes[known->second];
                ++of.ranks;
                of.least_ns = std::min(of.least_ns, gain.gain_ns);
                if (gain.gain_ns <= of.gain->gain_ns) continue;
                of.gain = &gain;
                of.who = each.label(false, is_named_by_file_);
            }
        }
        if (changes.empty()) return {};
        std::stable_sort(changes.begin(), changes.end(),
                         [](const change& a, const change& b) { return a.gain->gain_ns > b.gain->gain_ns; });
        std::vector<std::string> out{"Possible gains a step, of one process each"};
        for (std::size_t i = 0; i < std::min(changes.size(), most); ++i) {
            const change& of = changes[i];
            const bool is_same = text(of.least_ns) == text(of.gain->gain_ns);
            const std::string who = of.ranks == 1 ? of.who
                                    : of.ranks == shown_count() && !is_of_several_
                                        ? is_same ? "all" : fmt::format("all, most {}", of.who)
                                        : fmt::format("{} and {} more", of.who, of.ranks - 1);
            out.push_back(fmt::format(
                "{:>9} {}  {:>2.0f} %  {}: {}", text(of.gain->gain_ns), unit_.name, 100 * of.gain->share, who,
                gain_text(*of.gain, layout_.width - std::min(layout_.width, 22 + display_width(who)))));
            if (i == 0 && !of.gain->brief_advice.empty()) {
                out.push_back(std::string(20, ' ') + "try " + of.gain->brief_advice);
            }
        }
        return out;
    }

    // Of a job the rank that the verdict names, of several programs the one that could gain most.
    std::string next_line() const {
        auto of = std::find_if(members_.begin(), members_.end(),
                               [&](const member& each) { return each.document->capture.path == verdict_capture_; });
        if (of == members_.end() && is_of_several_) {
            of = std::max_element(members_.begin(), members_.end(), [](const member& a, const member& b) {
                const auto gain = [](const member& each) {
                    return each.answer->gains ? each.answer->gains->together_ns : 0;
                };
                return gain(a) < gain(b);
            });
        }
        if (of == members_.end()) of = members_.begin();
        const answer_block& answer = *of->answer;
        if (!answer.place || answer.place->empty()) return {};
        if (is_named_by_file_) return "next: prof report" + *answer.place;
        return fmt::format("next: prof report{} ({})", *answer.place, of->label(false, is_named_by_file_));
    }

    std::string text(double ns) const { return unit_.text(unit_.quanta(ns)); }
    std::string text_with_unit(double ns) const { return unit_.with_unit(unit_.quanta(ns)); }

    const std::vector<const report_document*>& all_;
    const screen_layout& layout_;
    std::vector<std::string> held_up_;
    std::string verdict_capture_;  // of the rank that the verdict names; "": none
    std::vector<member> members_;
    std::vector<member> without_gpu_;
    std::vector<member> without_steps_;  // where others have some: they are in no mean
    std::vector<const report_document*> copies_;
    member mean_;
    screen_unit unit_{};
    bool is_of_several_ = false;     // programs
    bool is_named_by_file_ = false;  // several programs, or copies of one capture
    bool has_hosts_ = false;
    bool has_ranks_ = false;
};

}  // namespace

std::vector<std::string> job_screen(const std::vector<const report_document*>& documents, const screen_layout& layout,
                                    const std::vector<std::string>& verdicts, const std::string& verdict_capture,
                                    const std::vector<std::string>& copies) {
    const auto shown = std::count_if(documents.begin(), documents.end(),
                                     [](const report_document* each) { return has_first_screen(*each); });
    if (shown < 2) return {};
    const job made(documents, layout, copies, verdicts, verdict_capture);
    return made.has_members() ? made.lines() : std::vector<std::string>();
}

job_figures figures_of_job(const std::vector<const report_document*>& documents,
                           const std::vector<std::string>& copies) {
    const auto shown = std::count_if(documents.begin(), documents.end(),
                                     [](const report_document* each) { return has_first_screen(*each); });
    if (shown < 2) return {};
    const screen_layout layout{.width = 200};
    const job made(documents, layout, copies);
    return made.has_members() ? made.figures() : job_figures();
}

}  // namespace prof
