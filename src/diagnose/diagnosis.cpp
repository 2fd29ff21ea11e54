// SPDX-License-Identifier: Apache-2.0
#include "diagnose/diagnosis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "analysis/modules/module_finder.hpp"
#include "analysis/modules/module_texts.hpp"
#include "analysis/projection/code_line_text.hpp"
#include "analysis/projection/used_frameworks.hpp"
#include "analysis/quality/capture_notes.hpp"
#include "analysis/steps/lost_work.hpp"
#include "base/display_text.hpp"
#include "base/run_both.hpp"
#include "base/statistics.hpp"
#include "diagnose/examined_steps.hpp"
#include "diagnose/finding_modules.hpp"
#include "diagnose/finding_sets.hpp"
#include "diagnose/gain_limit.hpp"
#include "diagnose/host_parts.hpp"
#include "diagnose/path_shares.hpp"
#include "diagnose/recording_cost.hpp"
#include "diagnose/replay/replay.hpp"
#include "diagnose/rules/rule.hpp"
#include "diagnose/step_gains.hpp"
#include "diagnose/uneven_steps.hpp"

namespace prof {
namespace {

constexpr std::size_t most_places = 6;    // of one rule that are replayed one by one
constexpr std::size_t most_parts = 5;     // of a finding
constexpr std::size_t longest_name = 60;  // in a title, in cells
constexpr double least_recording = 0.02;  // of a step: recording that makes it so much longer is worth a remark
// The places of a rule are findings of their own if their prices add up to this share of the price of all of them:
// else each alone would gain little, since another holds the steps up then.
constexpr double least_separate = 0.7;

std::string why_no_modules(const timeline& data, const frameworks& used, bool has_scopes) {
    if (used.has_torch) return fmt::format("modules were not recorded: {}", what_records_modules(data));
    if (!used.has_jax) return {};
    if (!has_scopes) return std::string(no_scopes_text);
    return "the path has no modules: JAX names those of GPU operations, not those of host code (--report modules)";
}

std::string why_no_lines(const timeline& data) {
    const std::string& notice = data.property("lines_notice");
    if (!notice.empty()) return notice;
    if (data.property("lines") == "off") return "lines of the program were not recorded (option lines)";
    if (data.property("lines").empty()) return "lines of the program were not recorded";
    if (data.call_stacks.empty()) {
        return data.api_calls.empty()
                   ? "no line of the program is known: lines are recorded at CUDA calls, and it made none"
                   : "no line of the program was recorded";
    }
    return {};
}

// How long the GPU was behind the host at the edges of the steps, which is no time of theirs.
std::int64_t behind_at_edges(const dependency_graph& graph) {
    std::int64_t out = 0;
    for (const step_run& run : graph.runs()) {
        std::int64_t until_ns = run.end_ns;
        if (run.last_op != npos) until_ns = std::max(until_ns, graph.data().ops[run.last_op].end_ns);
        const std::int64_t before_ns = std::max(run.busy_before_ns, run.start_ns) - run.start_ns;
        out += std::max({before_ns, until_ns - run.end_ns, std::int64_t{0}});
    }
    return out;
}

// A part of the steps, as long as it is looked at. Its groups are found by their numbers among those of all steps.
struct examined_part {
    explicit examined_part(dependency_graph of) : graph(std::move(of)) {}

    dependency_graph graph;
    std::vector<host_group> host{};
    std::vector<gpu_group> gpu{};
    std::vector<std::uint32_t> host_numbers{};  // number → index into host, or npos
    std::vector<std::uint32_t> gpu_numbers{};
};

// The groups of all steps: each has a number, by which parts of the steps name it.
template <typename TGroup, typename TKey>
class numbered_groups {
public:
    std::uint32_t number_of(const TKey& key) const {
        const auto found = numbers_.find(key);
        return found == numbers_.end() ? npos : found->second;
    }
    void add(TGroup&& group, TKey key) {
        group.changes = {};
        const auto [found, is_new] = numbers_.try_emplace(std::move(key), static_cast<std::uint32_t>(groups_.size()));
        if (is_new) {
            groups_.push_back(std::move(group));
        } else {
            groups_[found->second].add(group);
        }
    }
    const std::vector<TGroup>& groups() const noexcept { return groups_; }

private:
    std::vector<TGroup> groups_;
    std::map<TKey, std::uint32_t> numbers_;
};

// It goes through the parts of the steps three times: for the groups of time and the length of the steps, for the
// prices of all that may matter, and for what all findings have together. A part's graph and groups are made anew each
// time, unless there is one part alone. With a second thread the next part's graph is made there meanwhile.
class diagnostician {
public:
    diagnostician(examined_steps& examined, const timeline& data, const attribution& att,
                  const diagnosis_options& options, diagnosis& out)
        : examined_(examined),
          data_(data),
          traits_(data, examined.steps.steps),
          input_{.data = data,
                 .where = examined.where,
                 .launching = examined.launching,
                 .host = host_.groups(),
                 .gpu = gpu_.groups(),
                 .pinned_rate = pinned_rate(data, copy_direction::to_device),
                 .used = frameworks_of(data, !options.step_function.empty()),
                 .call_name = options.call_name},
          att_(att),
          original_(options.original != nullptr ? *options.original : data),
          makes_ahead_(options.may_use_threads && examined.parts() > 1),
          wants_sets_(options.wants_sets),
          out_(out) {
        if (!out.has_gpu_work) {
            parts_.emplace(data, att, examined.host, examined.where, examined.steps);
            input_.parts = &*parts_;
            input_.used = frameworks_without_gpu(data, examined.steps);
        }
        input_.is_found = [this](std::string_view rule) {
            return std::any_of(found_.begin(), found_.end(), [&](const priced& each) { return each.of.rule == rule; });
        };
    }

    const frameworks& used() const noexcept { return input_.used; }
    host_parts* parts() noexcept { return parts_ ? &*parts_ : nullptr; }
    // REQUIRES: add_all_together(). Whether operations of XLA's have scopes.
    bool has_scopes() const noexcept { return has_scopes_; }

    // What the replay says of the steps as they are. False: they have no length.
    bool look() {
        bool has_length = false;
        with_parts([&](examined_part& of, std::size_t) {
            has_length |= add(of);
            return task_list{};
        });
        input_.steps = out_.steps;
        out_.step_ns = input_.step_ns = out_.per_step(out_.wall_ns);
        return has_length;
    }

    // REQUIRES: look().
    void run() {
        const double usual_ns = lengths_ns_.size() < least_uneven_steps ? out_.step_ns : median(lengths_ns_);
        out_.least_ns = out_.least_share * std::min(out_.step_ns, usual_ns);
        ask(false);
        ask(true);
        if (parts_) note_what_needs_a_gpu();
        // In the rules' order, as far as nothing else orders them.
        for (const rule& each : all_rules()) {
            if (std::find(looked_.begin(), looked_.end(), each.name) != looked_.end()) {
                out_.looked.emplace_back(each.name);
            }
        }
        std::stable_sort(found_.begin(), found_.end(), [](const priced& a, const priced& b) {
            return std::pair(-a.of.gain_ns, a.asked) < std::pair(-b.of.gain_ns, b.asked);
        });
    }

    // REQUIRES: run(). Sets what the findings have together, their modules, the path and, if it is wanted, what
    // recording costs.
    void add_all_together(bool wants_recording_cost) {
        module_texts modules(data_, att_, original_);
        has_scopes_ = modules.has_scopes();
        path_shares path(examined_, att_, modules);
        std::vector<finding_modules> of_findings(found_.size());
        gain_request all;
        std::vector<priced_line> of_lines = lines_to_price();
        choose_sets();
        with_parts([&](examined_part& of, std::size_t part) {
            if (examined_.parts() > 1) {
                const auto [from_ns, to_ns] = times_of(of.graph);
                modules.look_at(from_ns, to_ns);
            }
            auto together = std::make_shared<replay_changes>();
            auto by_finding = std::make_shared<std::vector<replay_changes>>();
            for (std::size_t i = 0; i < found_.size(); ++i) {
                const replay_changes changes = changes_of(*found_[i].asked, found_[i].suspects, of);
                if (!sets_.empty()) by_finding->push_back(changes);
                // Without calls of CUDA a change is known to lie in a step, and no nearer.
                if (!parts_) {
                    of_findings[i].add(changes, of.graph, modules,
                                       std::max(most_sampled / examined_.parts(), least_sampled));
                }
                together->add(changes);
            }
            task_list tasks{[&path, &of] { path.add(of.graph); },
                            [this, &of, part, &of_lines] {
                                for (priced_line& each : of_lines) {
                                    replay(of, part, changes_of(each, of), each.request);
                                }
                            },
                            [this, &of, part, &all, together, wants_recording_cost] {
                                together->normalize();
                                replay(of, part, *together, all);
                                if (!wants_recording_cost) return;
                                cost_.add(cost_of_recording(of.graph, of_parts_[part].replayed_ns));
                            }};
            for (priced_set& each : sets_) {
                tasks.emplace_back([this, &of, part, &each, by_finding] {
                    replay_changes changes;
                    for (std::size_t i = 0; i < by_finding->size(); ++i) {
                        if ((each.findings >> i & 1) != 0) changes.add((*by_finding)[i]);
                    }
                    changes.normalize();
                    replay(of, part, changes, each.asked);
                });
            }
            return tasks;
        });
        add_line_costs(of_lines);
        finish_sets();
        for (std::size_t i = 0; i < found_.size(); ++i) {
            found_[i].of.modules = of_findings[i].largest();
            found_[i].of.bit = set_bit_of(i);
            out_.findings.push_back(std::move(found_[i].of));
        }
        if (!out_.findings.empty()) out_.together_ns = gain_of(all).total_ns;
        changed_lengths_ns_ = changed_lengths(all);
        path.finish(out_);
    }

    // REQUIRES: add_all_together(). The sets again with a finding that no replay prices: what it gains beside the
    // others of a set is what `beside` says of the lengths that steps have without those.
    template <typename TBeside>
    void add_sets_with(std::uint32_t bit, std::int64_t alone_ns, TBeside&& beside) {
        if (!wants_sets_ || bit == 0) return;
        out_.sets.push_back({bit, alone_ns});
        for (const priced_set& each : sets_) {
            const std::int64_t gain_ns = each.gain_ns + beside(changed_lengths(each.asked));
            out_.sets.push_back({each.findings | bit, std::min(gain_ns, out_.wall_ns)});
        }
    }

    // After look(): the lengths of the steps; after add_all_together() the same without all that was found.
    const std::vector<std::int64_t>& lengths_ns() const noexcept { return lengths_ns_; }
    const std::vector<std::int64_t>& changed_lengths_ns() const noexcept { return changed_lengths_ns_; }
    const recording_cost& cost() const noexcept { return cost_; }
    std::int64_t behind_ns() const noexcept { return behind_ns_; }  // behind_at_edges() of the first and last step

private:
    static constexpr std::size_t most_sampled = 20'000;  // changes of a finding, for their modules
    static constexpr std::size_t least_sampled = 1'000;  // of a part

    // What replays part by part of one set of changes add up to.
    struct gain_request {
        std::int64_t replayed_ns = 0;
        std::vector<std::int64_t> steps_ns{};
        time_beside beside{};
        std::int64_t changes_ns = 0;  // gain_limit::changes_ns
    };
    struct gain {
        std::int64_t total_ns = 0;
        std::int64_t usual_ns = 0;  // if a few steps that gain far more than the others gained as much as these
        std::uint64_t steps = 0;    // gain at least a tenth of what they gain in the mean; 0: not known
        bool recurs = true;         // it matters beside the steps around the one that gains most, too
    };
    struct priced {
        finding of;
        const rule* asked;
        std::vector<suspect> suspects;
    };
    // Some of found_, as bits by index, at once.
    struct priced_set {
        std::uint32_t findings = 0;
        gain_request asked{};
        std::int64_t gain_ns = 0;
    };
    // A rule's places, and what is to be replayed: all of them; and if they may be findings of their own the first ones
    // one by one, those together, and the others.
    struct asked_rule {
        const rule* of;
        std::vector<suspect> suspects;
        gain_request all{};
        std::vector<gain_request> alone{};
        gain_request first{};
        gain_request others{};
    };
    // A line of a finding that has several: what it alone would gain.
    using line_key = std::pair<idle_cause, std::uint64_t>;
    struct priced_line {
        std::size_t found = 0;  // index into found_
        line_key key{};
        step_tally tally{};
        gain_request request{};
    };
    struct part_figures {
        std::size_t first_step = 0;
        std::int64_t replayed_ns = 0;
    };

    // How long the steps are with the change.
    std::vector<std::int64_t> changed_lengths(const gain_request& with) const {
        std::vector<std::int64_t> out = lengths_ns_;
        const std::size_t steps = steps_ns_.size();
        if (out.size() != steps || with.steps_ns.size() != steps) return out;
        for (std::size_t i = 0; i < steps; ++i) {
            out[i] = std::max<std::int64_t>(out[i] - (steps_ns_[i] - with.steps_ns[i]), 0);
        }
        return out;
    }

    void choose_sets() {
        sets_.clear();
        if (!wants_sets_) return;
        std::vector<finding> all;
        all.reserve(found_.size());
        for (const priced& each : found_) all.push_back(each.of);
        for (const std::uint32_t findings : sets_to_price(all, out_)) sets_.push_back({.findings = findings});
    }

    void finish_sets() {
        for (priced_set& each : sets_) {
            each.gain_ns = std::max<std::int64_t>(gain_of(each.asked).total_ns, 0);
            for (std::size_t i = 0; i < found_.size(); ++i) {
                // As the finding itself says it.
                if (each.findings == set_bit_of(i)) each.gain_ns = found_[i].of.gain_ns;
            }
            out_.sets.push_back({each.findings, each.gain_ns});
        }
    }

    // Reads nothing that changes, so that another thread may make a part.
    examined_part part_at(std::size_t index) const {
        examined_part out(examined_.graph_of(index));
        out.gpu = group_gpu_time(out.graph, traits_);
        return out;
    }

    using task_list = std::vector<std::function<void()>>;

    // Calls visit(part, index) for each part, in their order, and then the tasks that it returns, which may have
    // another order and thread.
    template <typename TVisit>
    void with_parts(TVisit&& visit) {
        if (only_part_) {
            for (const auto& task : visit(*only_part_, std::size_t{0})) task();
            return;
        }
        std::optional<examined_part> next;
        for (std::size_t i = 0; i < examined_.parts(); ++i) {
            examined_part part = next ? std::move(*next) : part_at(i);
            next.reset();
            shared_tasks tasks;
            const auto visit_part = [&] {
                shared_tasks::maker maker(tasks);
                part.host = parts_ ? group_host_parts(part.graph, *parts_)
                                   : group_host_time(part.graph, examined_.host, examined_.where, examined_.captured);
                number(part);
                maker.add_all(visit(part, i));
                tasks.work();
            };
            const auto help = [&] {
                if (makes_ahead_ && i + 1 < examined_.parts()) next.emplace(part_at(i + 1));
                tasks.work();
            };
            run_both(makes_ahead_, visit_part, help);
            if (examined_.parts() == 1) only_part_.emplace(std::move(part));
        }
    }

    void number(examined_part& part) const {
        part.host_numbers.assign(host_.groups().size(), npos);
        part.gpu_numbers.assign(gpu_.groups().size(), npos);
        for (std::uint32_t i = 0; i < part.host.size(); ++i) {
            const std::uint32_t at = host_.number_of(part.host[i].key_in(data_));
            if (at != npos) part.host_numbers[at] = i;
        }
        for (std::uint32_t i = 0; i < part.gpu.size(); ++i) {
            const std::uint32_t at = gpu_.number_of(part.gpu[i].own_key());
            if (at != npos) part.gpu_numbers[at] = i;
        }
    }

    static void append(std::vector<std::int64_t>& to, const std::vector<std::int64_t>& what) {
        to.insert(to.end(), what.begin(), what.end());
    }

    static std::pair<std::int64_t, std::int64_t> times_of(const dependency_graph& graph) {
        const row_table<host_event>& events = graph.events();
        return {std::min(graph.steps().front().start_ns, events.empty() ? INT64_MAX : events.front().start_ns),
                std::max(graph.steps().back().end_ns, events.empty() ? INT64_MIN : events.back().end_ns)};
    }

    bool add(examined_part& part) {
        const dependency_graph& graph = part.graph;
        out_.steps += graph.step_count();
        if (graph.has_steps()) {
            out_.wall_ns += total_length(graph.steps());
        } else {
            for (const step_run& run : graph.runs()) out_.wall_ns += run.end_ns - run.start_ns;
        }
        const bool has_length = std::any_of(graph.steps().begin(), graph.steps().end(),
                                            [](const whole_step& each) { return each.end_ns > each.start_ns; });
        for (const host_group& group : part.host) {
            if (group.changes.is_empty()) continue;
            host_group of = group.without_changes();
            host_.add(std::move(of), group.key_in(data_));
        }
        for (const gpu_group& group : part.gpu) {
            if (group.changes.is_empty()) continue;
            gpu_group of = group.without_changes();
            gpu_.add(std::move(of), group.own_key());
        }
        number(part);
        std::vector<std::int64_t> steps_ns;
        const std::int64_t ns = replayed_ns(graph, {}, &steps_ns);
        of_parts_.push_back({steps_ns_.size(), ns});
        out_.replayed_ns += ns;
        append(lengths_ns_, lengths_of(graph.steps()));
        append(steps_ns_, steps_ns);
        if (!knows_waits(data_)) limit_.add(graph);
        behind_ns_ = std::max(behind_ns_, behind_at_edges(graph));
        return has_length;
    }

    // The rules that ask for others' findings, or those that do not.
    void ask(bool that_ask_others) {
        std::vector<asked_rule> asked;
        for (const rule& each : all_rules()) {
            if (each.asks_others != that_ask_others || (parts_ && !each.asks_without_gpu)) continue;
            if (const std::string why = why_not(each); !why.empty()) {
                out_.not_looked.push_back(fmt::format("{}: {}", each.name, why));
                continue;
            }
            std::vector<suspect> suspects = each.suspects(input_);
            std::stable_sort(suspects.begin(), suspects.end(),
                             [](const suspect& a, const suspect& b) { return a.tally.total_ns > b.tally.total_ns; });
            merge_alike(suspects);
            if (suspects.empty() || !may_matter(suspects)) {
                note_nothing_found(each);
                continue;
            }
            asked_rule of{.of = &each, .suspects = std::move(suspects)};
            if (of.suspects.size() > 1 && !each.is_one_cause)
                of.alone.resize(std::min(of.suspects.size(), most_places));
            asked.push_back(std::move(of));
        }
        if (asked.empty()) return;
        with_parts([&](examined_part& of, std::size_t part) {
            task_list tasks;
            for (asked_rule& each : asked) {
                tasks.emplace_back([this, &of, part, &each] { replay_each(of, part, each); });
            }
            return tasks;
        });
        for (asked_rule& each : asked) {
            const std::size_t before = found_.size();
            price(each);
            if (found_.size() == before) note_nothing_found(*each.of);
        }
    }

    void note_nothing_found(const rule& by) {
        const bool is_hidden =
            by.goes_by_kernels &&
            std::any_of(data_.ops.begin(), data_.ops.end(), [](const gpu_op& op) { return op.kind == op_kind::graph; });
        if (!is_hidden) return looked_.push_back(by.name);
        out_.not_looked.push_back(fmt::format(
            "{}: the kernels in CUDA graphs were not recorded, each graph as one operation (cuda_graphs=graphs)",
            by.name));
    }

    // Of one text: one place.
    static void merge_alike(std::vector<suspect>& suspects) {
        std::vector<suspect> out;
        std::map<std::string, std::size_t> places;  // text → index into out
        for (suspect& each : suspects) {
            const auto [same, is_new] = places.try_emplace(each.what, out.size());
            if (is_new) {
                out.push_back(std::move(each));
                continue;
            }
            suspect& into = out[same->second];
            into.tally.add(each.tally);
            into.groups.insert(into.groups.end(), each.groups.begin(), each.groups.end());
        }
        suspects = std::move(out);
    }

    std::string why_not(const rule& asked) const {
        std::string missing;
        for (std::size_t i = 0; i < activity_names.size(); ++i) {
            const auto each = static_cast<activity>(i);
            const bool is_call = each == activity::copies || each == activity::waits || each == activity::allocations;
            const bool is_needed = each == asked.needs || (asked.needs_all_calls && is_call);
            if (!is_needed || input_.data.activities.has(each)) continue;
            missing += missing.empty() ? "" : ", ";
            missing += activity_names[i];
        }
        if (!missing.empty()) return missing + " were not recorded (option activities)";
        return parts_ && asked.why_not_without_gpu != nullptr ? asked.why_not_without_gpu(input_) : std::string();
    }

    void note_what_needs_a_gpu() {
        std::vector<std::string_view> names;
        for (const rule& each : all_rules()) {
            if (!each.asks_without_gpu) names.push_back(each.name);
        }
        out_.not_looked.push_back(fmt::format("{}: there was no GPU work", fmt::join(names, ", ")));
    }

    // Of what there is in many steps, only uneven_steps can say what a few of them have more.
    std::int64_t price_of(const rule& asked, const gain& of, std::uint64_t steps) const noexcept {
        const bool is_rare = steps >= 2 && steps <= few_of(out_.steps) && of.recurs;
        return is_rare || asked.explains_any_step ? of.total_ns : of.usual_ns;
    }

    void price(const asked_rule& asked) {
        const gain of_all = gain_of(asked.all);
        if (!matters(of_all.total_ns)) return;
        if (!asked.alone.empty() && add_each(asked, of_all)) return;
        add(*asked.of, asked.suspects, of_all);
    }

    // The places as findings of their own, if each gains something without the others; those beyond most_places as one.
    bool add_each(const asked_rule& asked, const gain& of_all) {
        const std::span<const suspect> first = std::span(asked.suspects).first(asked.alone.size());
        const std::span<const suspect> others = std::span(asked.suspects).subspan(asked.alone.size());
        const gain of_first = others.empty() ? of_all : gain_of(asked.first);
        std::vector<gain> alone;
        std::int64_t sum_ns = 0;
        for (std::size_t i = 0; i < first.size(); ++i) {
            alone.push_back(gain_of(asked.alone[i]));
            sum_ns += price_of(*asked.of, alone.back(), first[i].tally.steps);
        }
        const std::int64_t price_ns = price_of(*asked.of, of_first, tally_of(first).steps);
        if (static_cast<double>(sum_ns) < least_separate * static_cast<double>(price_ns)) return false;
        bool is_any = false;
        for (std::size_t i = 0; i < first.size(); ++i) is_any |= add(*asked.of, first.subspan(i, 1), alone[i]);
        if (is_any && !others.empty()) add(*asked.of, others, gain_of(asked.others));
        return is_any;
    }

    // What would change in a part without these places of a rule.
    replay_changes changes_of(const rule& asked, std::span<const suspect> suspects, const examined_part& part) const {
        replay_changes out;
        for (const suspect& each : suspects) out.add(changes_of(asked, each, part));
        if (suspects.size() > 1) out.normalize();
        return out;
    }
    replay_changes changes_of(const rule& asked, const suspect& of, const examined_part& part) const {
        replay_changes out;
        std::size_t groups = 0;
        for (const std::uint32_t number : of.groups) {
            const std::uint32_t at = of.is_of_gpu ? part.gpu_numbers[number] : part.host_numbers[number];
            if (at == npos) continue;
            out.add(of.is_of_gpu ? part.gpu[at].changes : part.host[at].changes);
            ++groups;
        }
        if (groups > 1) out.normalize();
        if (groups > 0 && asked.complete != nullptr) asked.complete(input_, part.graph, out);
        return out;
    }

    void replay_each(const examined_part& part, std::size_t index, asked_rule& asked) const {
        if (asked.alone.empty()) {
            replay(part, index, changes_of(*asked.of, asked.suspects, part), asked.all);
            return;
        }
        replay_changes first;
        for (std::size_t i = 0; i < asked.alone.size(); ++i) {
            const replay_changes changes = changes_of(*asked.of, asked.suspects[i], part);
            replay(part, index, changes, asked.alone[i]);
            first.add(changes);
        }
        first.normalize();
        const std::span<const suspect> others = std::span(asked.suspects).subspan(asked.alone.size());
        if (others.empty()) {
            replay(part, index, first, asked.all);
            return;
        }
        const replay_changes rest = changes_of(*asked.of, others, part);
        replay(part, index, first, asked.first);
        replay(part, index, rest, asked.others);
        first.add(rest);
        first.normalize();
        replay(part, index, first, asked.all);
    }

    void replay(const examined_part& part, std::size_t index, const replay_changes& changes, gain_request& to) const {
        if (changes.is_empty()) {
            const std::size_t end = index + 1 < of_parts_.size() ? of_parts_[index + 1].first_step : steps_ns_.size();
            to.replayed_ns += of_parts_[index].replayed_ns;
            to.steps_ns.insert(to.steps_ns.end(),
                               steps_ns_.begin() + static_cast<std::ptrdiff_t>(of_parts_[index].first_step),
                               steps_ns_.begin() + static_cast<std::ptrdiff_t>(end));
            return;
        }
        std::vector<std::int64_t> steps_ns;
        to.replayed_ns += replayed_ns(part.graph, changes, &steps_ns);
        append(to.steps_ns, steps_ns);
        to.beside.add(data_, changes);
        to.changes_ns += gain_limit::changes_ns(data_, changes);
    }

    static step_tally tally_of(std::span<const suspect> suspects) {
        step_tally out;
        for (const suspect& each : suspects) out.add(each.tally);
        return out;
    }

    // Less time than that cannot gain enough.
    bool may_matter(const std::vector<suspect>& suspects) const {
        std::int64_t total_ns = 0;
        for (const suspect& each : suspects) total_ns += each.tally.total_ns;
        return out_.per_step(2 * total_ns) >= out_.least_ns;
    }
    bool matters(std::int64_t gain_ns) const noexcept { return gain_ns > 0 && out_.per_step(gain_ns) >= out_.least_ns; }

    gain gain_of(const gain_request& of) const {
        gain out;
        out.total_ns = out_.replayed_ns - of.replayed_ns;
        out.usual_ns = out.total_ns;
        if (of.steps_ns.size() >= least_uneven_steps && of.steps_ns.size() == steps_ns_.size()) {
            std::vector<std::int64_t> gains_ns(steps_ns_.size());
            for (std::size_t i = 0; i < gains_ns.size(); ++i) gains_ns[i] = steps_ns_[i] - of.steps_ns[i];
            const std::int64_t least_ns = out.total_ns / static_cast<std::int64_t>(10 * gains_ns.size());
            out.steps = static_cast<std::uint64_t>(std::count_if(
                gains_ns.begin(), gains_ns.end(), [&](std::int64_t ns) { return ns > 0 && ns >= least_ns; }));
            const rare_gains rare = find_rare_gains(std::move(gains_ns));
            out.usual_ns -= rare.excess_ns;
            const std::int64_t others_ns = out.total_ns - rare.largest_ns;
            out.recurs = 4 * others_ns >= rare.largest_ns && out_.per_step(2 * others_ns) >= out_.least_ns;
        }
        // No more than the steps take, of which it is a share.
        std::int64_t most_ns =
            std::max<std::int64_t>(std::min(out_.replayed_ns, out_.wall_ns) - of.beside.longest_ns(), 0);
        if (!knows_waits(data_)) {
            most_ns = std::min(most_ns, limit_.not_computing_ns(out_.replayed_ns) + of.changes_ns);
        }
        out.total_ns = std::min(out.total_ns, most_ns);
        out.usual_ns = std::min(out.usual_ns, most_ns);
        return out;
    }

    // If it matters.
    bool add(const rule& asked, std::span<const suspect> suspects, const gain& gained) {
        finding of;
        const step_tally tally = tally_of(suspects);
        of.gain_ns = price_of(asked, gained, tally.steps);
        if (!matters(of.gain_ns)) return false;
        of.rule = asked.name;
        of.trust = asked.trust;
        if (parts_) of.trust = std::min(of.trust, asked.trust_without_gpu);
        of.bound = parts_ && !asked.bound_without_gpu.empty() ? asked.bound_without_gpu : asked.bound;
        of.noun = asked.noun;
        of.changes_results = asked.changes_results;
        of.is_of_gpu = suspects.front().is_of_gpu;
        thread_states states;
        for (const suspect& each : suspects) states.add(states_of(each));
        of.did = shares_of(states, data_);
        chosen_advice advice = advice_of(asked, input_, suspects.front().place);
        of.advice = std::move(advice.all);
        of.brief_advice = std::move(advice.brief);
        if (of.did.is_known() && asked.advice_for != nullptr) {
            const std::vector<std::string> first = asked.advice_for(of.did);
            of.advice.insert(of.advice.begin(), first.begin(), first.end());
        }
        of.parts = parts_of(suspects);
        of.places = of.parts.size();
        if (!of.parts.empty()) of.title = title_of(asked, of.parts.front(), of.places);
        of.parts.resize(std::min(of.parts.size(), most_parts));
        of.cost_ns = tally.total_ns;
        of.steps = std::min(tally.steps, out_.steps);
        // Between phases there is always some time.
        if (parts_ && gained.steps != 0) of.steps = std::min(of.steps, gained.steps);
        if (!matters(gained.usual_ns)) of.steps = std::min<std::uint64_t>(of.steps, few_of(out_.steps));
        found_.push_back({std::move(of), &asked, {suspects.begin(), suspects.end()}});
        return true;
    }

    // The dearest lines of findings that have several. A line alone has its finding's price.
    std::vector<priced_line> lines_to_price() const {
        constexpr std::size_t most_priced = 8;
        std::vector<priced_line> out;
        for (std::size_t i = 0; i < found_.size(); ++i) {
            std::map<line_key, step_tally> lines;
            for (const suspect& each : found_[i].suspects) {
                if (each.is_of_gpu) continue;
                for (const std::uint32_t number : each.groups) {
                    const host_group& group = input_.host[number];
                    for (const auto& [line, of] : group.lines) {
                        if (line != 0) lines[{group.cause, line}].add(of.tally);
                    }
                }
            }
            if (lines.size() < 2) continue;
            for (auto& [key, tally] : lines) {
                if (2 * out_.per_step(tally.total_ns) >= out_.least_ns) out.push_back({i, key, std::move(tally), {}});
            }
        }
        std::stable_sort(out.begin(), out.end(), [](const priced_line& a, const priced_line& b) {
            return a.tally.total_ns > b.tally.total_ns;
        });
        out.resize(std::min(out.size(), most_priced));
        return out;
    }

    replay_changes changes_of(const priced_line& line, const examined_part& part) const {
        replay_changes out;
        for (const suspect& each : found_[line.found].suspects) {
            if (each.is_of_gpu) continue;
            for (const std::uint32_t number : each.groups) {
                const std::uint32_t at = part.host_numbers[number];
                if (at != npos && part.host[at].cause == line.key.first) {
                    out.add(part.host[at].changes_at(line.key.second));
                }
            }
        }
        out.normalize();
        const rule& asked = *found_[line.found].asked;
        if (!out.is_empty() && asked.complete != nullptr) asked.complete(input_, part.graph, out);
        return out;
    }

    // Of all of the host's time in the steps, by cause and line. A finding's price is that of a line if nearly all of
    // its time is that line's.
    void add_line_costs(const std::vector<priced_line>& of_lines) {
        constexpr double nearly_all = 0.9;
        std::map<line_key, line_tally> lines;
        for (const host_group& group : input_.host) {
            for (const auto& [line, of] : lines_of(group)) {
                const auto [known, is_new] = lines.try_emplace(line_key{group.cause, line}, of);
                if (!is_new) known->second.tally.add(of.tally);
            }
        }
        std::map<line_key, std::int64_t> gains;
        for (const priced& each : found_) {
            for (const suspect& of : each.suspects) {
                if (of.is_of_gpu) continue;
                for (const std::uint32_t number : of.groups) {
                    const host_group& group = input_.host[number];
                    for (const auto& [line, tally] : group.lines) {
                        if (line != 0 && static_cast<double>(tally.tally.total_ns) >=
                                             nearly_all * static_cast<double>(each.of.cost_ns)) {
                            gains[line_key{group.cause, line}] += each.of.gain_ns;
                        }
                    }
                }
            }
        }
        for (const priced_line& each : of_lines) {
            if (gains.contains(each.key)) continue;
            const std::int64_t gain_ns = price_of(*found_[each.found].asked, gain_of(each.request), each.tally.steps);
            gains[each.key] = std::max<std::int64_t>(gain_ns, 0);
        }
        bool is_any = false;
        for (const auto& [of, each] : lines) {
            line_cost& cost = out_.lines.emplace_back();
            cost.cause = to_string(of.first);
            cost.cost_ns = each.tally.total_ns;
            cost.count = each.tally.count;
            cost.steps = each.tally.steps;
            cost.longest_ns = each.tally.longest_ns;
            cost.longest_at_ns = each.tally.longest_at_ns;
            if (of.second == 0) continue;
            is_any = true;
            cost.line = line_text(data_, each.line);
            cost.code = code_text(data_, each.stack, each.line);
            cost.stack = stack_text(data_, each.stack);
            if (const auto found = gains.find(of); found != gains.end()) cost.gain_ns = found->second;
        }
        std::stable_sort(out_.lines.begin(), out_.lines.end(),
                         [](const line_cost& a, const line_cost& b) { return a.cost_ns > b.cost_ns; });
        out_.stacks_left_out = data_.quality.stacks_left_out;
        if (!is_any) out_.no_lines = why_no_lines(data_);
    }

    thread_states states_of(const suspect& of) const {
        thread_states out;
        if (of.is_of_gpu) return out;
        for (const std::uint32_t group : of.groups) out.add(input_.host[group].did);
        return out;
    }

    // The places, each divided by the lines of the program as far as those are known. The dearest first.
    std::vector<finding_part> parts_of(std::span<const suspect> suspects) const {
        std::vector<finding_part> out;
        for (const suspect& each : suspects) {
            for (const auto& [key, of] : lines_of_suspect(each)) {
                out.push_back(part_of(each, of.tally));
                if (key == 0) continue;
                out.back().line = line_text(data_, of.line);
                out.back().code = code_text(data_, of.stack, of.line);
            }
        }
        std::stable_sort(out.begin(), out.end(),
                         [](const finding_part& a, const finding_part& b) { return a.cost_ns > b.cost_ns; });
        return out;
    }

    finding_part part_of(const suspect& of, const step_tally& tally) const {
        return {of.what,
                tally.total_ns,
                tally.count,
                tally.longest_ns,
                tally.longest_at_ns,
                of.place,
                {},
                {},
                shares_of(states_of(of), data_)};
    }

    static line_tallies lines_of(const host_group& group) {
        return group.lines.empty() ? line_tallies{{0, {.tally = group.tally}}} : group.lines;
    }

    // No line is known if its time is not that of its groups.
    line_tallies lines_of_suspect(const suspect& of) const {
        line_tallies out;
        std::int64_t total_ns = 0;
        bool is_any = false;
        for (const std::uint32_t group : of.is_of_gpu ? std::span<const std::uint32_t>() : std::span(of.groups)) {
            add_lines(out, lines_of(input_.host[group]));
            is_any |= !input_.host[group].lines.empty();
            total_ns += input_.host[group].tally.total_ns;
        }
        if (!is_any || total_ns != of.tally.total_ns) return {{0, {.tally = of.tally}}};
        return out;
    }

    // "the host runs other code, in forward", "the host waits for the GPU: cudaStreamSynchronize, in forward and 2
    // more", with the line.
    static std::string title_of(const rule& asked, const finding_part& first, std::uint64_t places) {
        const std::string what = shortened(first.what, longest_name);
        const bool is_place = what.starts_with("in ") || what.starts_with("outside ");
        std::string out = fmt::format("{}{} {}", asked.title, is_place ? "," : ":", what);
        if (!first.line.empty()) out += ", " + first.line;
        if (places > 1) out += fmt::format(" and {} more", places - 1);
        return out;
    }

    examined_steps& examined_;
    const timeline& data_;
    gpu_traits traits_;
    numbered_groups<host_group, host_group::key> host_;
    numbered_groups<gpu_group, gpu_group::key> gpu_;
    std::optional<host_parts> parts_;  // where there is no GPU work
    rule_input input_;
    const attribution& att_;
    const timeline& original_;
    bool makes_ahead_;
    bool wants_sets_;
    bool has_scopes_ = false;
    diagnosis& out_;
    std::optional<examined_part> only_part_;
    std::vector<part_figures> of_parts_;
    std::vector<priced> found_;
    std::vector<priced_set> sets_;
    std::vector<std::string_view> looked_;  // rules that found nothing
    std::vector<std::int64_t> steps_ns_;    // by the replay, without changes
    std::vector<std::int64_t> lengths_ns_;
    std::vector<std::int64_t> changed_lengths_ns_;
    gain_limit limit_;
    recording_cost cost_;
    std::int64_t behind_ns_ = 0;
};

// What steps that are longer than the others still exceed the median by when all that was found is gone.
std::int64_t excess_of_uneven(const std::vector<std::int64_t>& lengths_ns,
                              const std::vector<std::int64_t>& changed_ns) {
    if (lengths_ns.empty() || changed_ns.size() != lengths_ns.size()) return 0;
    const double longest = longest_usual(lengths_ns, uneven_factor);
    const auto middle_ns = static_cast<std::int64_t>(std::min(median(changed_ns), 1e18));
    std::int64_t out = 0;
    for (std::size_t i = 0; i < lengths_ns.size(); ++i) {
        if (static_cast<double>(lengths_ns[i]) > longest) out += std::max<std::int64_t>(changed_ns[i] - middle_ns, 0);
    }
    return out;
}

// `excess_ns`: what it gains beside all other findings.
void add_uneven(std::optional<finding> uneven, std::int64_t excess_ns, diagnosis& out) {
    if (!uneven || out.per_step(uneven->gain_ns) < out.least_ns) {
        out.looked.emplace_back(uneven_steps_name);
        return;
    }
    constexpr std::uint32_t last_bit = 1U << 30;  // no finding of a replay has it
    uneven->bit = last_bit;
    out.findings.push_back(std::move(*uneven));
    out.together_ns = std::min(out.together_ns + excess_ns, out.wall_ns);
}

// By the steps that were not recorded, if there are such and they are shorter; else by the replay.
void add_remark_on_recording(const timeline& data, const whole_steps& steps, const recording_cost& cost,
                             diagnosis& out) {
    constexpr std::string_view consequence = "without recording, the gains are smaller by that much";
    const double recorded_ns = out.per_step(out.wall_ns);
    const double unrecorded_ns = steps.source == step_source::counted ? unrecorded_step_ns(data) : 0;
    if (out.has_steps && unrecorded_ns > 0 && recorded_ns - unrecorded_ns > least_recording * recorded_ns) {
        out.remarks.push_back(
            fmt::format("recording makes these steps {:.2g} ms ({:.2g} %) longer, or more: those between the windows "
                        "take {:.3g} ms; {}",
                        (recorded_ns - unrecorded_ns) / 1e6, 100 * (1 - unrecorded_ns / recorded_ns),
                        unrecorded_ns / 1e6, consequence));
        return;
    }
    const double share = out.share_of(cost.longer_ns);
    if (share < least_recording) return;
    out.remarks.push_back(fmt::format(
        "recording makes these steps {:.2g} ms ({:.2g} %) longer, or more: it adds at least {:.1f} us to a launch, of "
        "which a step has {:.0f}; {}",
        out.per_step(cost.longer_ns) / 1e6, 100 * share, static_cast<double>(recorded_launch_ns) / 1e3,
        out.per_step(static_cast<std::int64_t>(cost.launches)), consequence));
}

// What limits the trust in the prices, such as warm-up that may be mistaken for work. `are_chosen`: the steps are those
// that somebody asked for.
void add_remarks(const whole_steps& steps, bool are_chosen, diagnosis& out) {
    const bool has_first = out.has_steps && steps.steps.front().is_first;
    if (are_chosen && has_first) {
        out.remarks.emplace_back("the program's first step is among them: it includes warm-up");
    } else if (has_first && steps.steps.size() == 1) {
        out.remarks.emplace_back(
            "the program's first step alone is whole: it includes warm-up (loading, compiling, allocating); record "
            "more");
    } else if (are_chosen) {
        if (out.steps < 5) {
            out.remarks.emplace_back(
                "prices of waits are too low in so few steps: after the last one nothing could begin sooner");
        }
    } else if (out.has_steps && out.steps < 5) {
        out.remarks.push_back(
            fmt::format("{} few: warm-up may be among them, and what differs between steps is not seen; record ten or "
                        "more",
                        out.steps == 1 ? "1 step is" : fmt::format("{} steps are", out.steps)));
    } else if (out.warm_up > out.steps) {
        out.remarks.push_back(fmt::format(
            "{} warm-up steps were left out, and only {} are examined: record a longer run", out.warm_up, out.steps));
    }
}

}  // namespace

std::vector<rule_description> diagnosis_rules() {
    std::vector<rule_description> out;
    for (const rule& each : all_rules()) out.push_back({each.name, each.purpose});
    out.push_back({uneven_steps_name, "steps that are longer than the others, for no reason found above"});
    return out;
}

namespace {

diagnosis without_length(const diagnosis_options& options) {
    diagnosis out;
    out.least_share = options.least_share;
    out.not_looked.emplace_back(
        "nothing could be examined: the steps have no length (do they all begin and end at one time?)");
    return out;
}

}  // namespace

diagnosis diagnose(const timeline& data, const attribution& att, const diagnosis_options& options) {
    diagnosis out;
    out.least_share = options.least_share;
    out.has_gpu_work = !uses_no_gpu(data);
    if (out.has_gpu_work && data.ops.empty()) {
        const std::string& missing = data.property("missing");
        const std::string_view why = !data.activities.has_gpu_work() ? "GPU work was not recorded (option activities)"
                                     : missing.empty()               ? "no GPU operation was recorded"
                                                                     : std::string_view(missing);
        out.not_looked.push_back(fmt::format("nothing could be examined: {}", why));
        return out;
    }
    if (out.has_gpu_work && (data.api_calls.empty() || !data.activities.has(activity::launches))) {
        out.not_looked.emplace_back(
            "nothing could be examined: the calls that launch were not recorded (option activities, without "
            "no_launches)");
        return out;
    }
    examined_steps examined(data, att, options.step_function, options.steps);
    out.has_steps = !examined.steps.steps.empty();
    out.warm_up = examined.steps.warm_up;
    if (!out.has_steps && !out.has_gpu_work) {
        out.not_looked.emplace_back(
            "nothing could be examined: there was no GPU work, and no steps were found (docs/guide/phases.md, option "
            "step_range)");
        return out;
    }
    if (!out.has_steps) {
        out.not_looked.emplace_back(
            "steps: none were found, so that prices are of all that was recorded (docs/guide/phases.md, option "
            "step_range)");
    }
    if (const std::uint64_t lost = launches_of_lost_work(data, examined.steps.steps); out.has_gpu_work && lost != 0) {
        out.not_looked.push_back(
            fmt::format("nothing could be examined: none of the {} launch{} in the steps has a GPU record",
                        with_thousands(lost), lost == 1 ? "" : "es"));
        return out;
    }
    diagnostician of(examined, data, att, options, out);
    if (!of.look()) return without_length(options);
    of.run();
    of.add_all_together(!options.is_sample);
    if (!options.is_sample) {
        const std::int64_t excess_ns = excess_of_uneven(of.lengths_ns(), of.changed_lengths_ns());
        const std::size_t before = out.findings.size();
        add_uneven(of.parts() != nullptr ? find_uneven_steps(*of.parts(), examined.steps, out.findings)
                                         : find_uneven_steps(data, att, examined.steps, out.findings),
                   excess_ns, out);
        if (out.findings.size() > before) {
            of.add_sets_with(
                out.findings.back().bit, out.findings.back().gain_ns,
                [&](const std::vector<std::int64_t>& with_ns) { return excess_of_uneven(of.lengths_ns(), with_ns); });
        }
    }
    const bool are_chosen = options.steps != nullptr && !options.is_sample;
    add_remarks(examined.steps, are_chosen, out);
    if (!options.is_sample) add_remark_on_recording(data, examined.steps, of.cost(), out);
    const bool depends_on_edges = are_chosen && 10 * of.behind_ns() > out.wall_ns;
    if (depends_on_edges) {
        out.remarks.emplace_back(
            "the host was so far ahead of the GPU at the edges of these steps that prices depend on it; choose more");
    }
    if (depends_on_edges || is_clock_off(data)) {
        for (finding& each : out.findings) each.trust = confidence::low;
    }
    // Scopes of JAX are those of GPU operations.
    const bool may_have_modules = out.has_gpu_work || of.used().has_torch;
    if (!out.path_has_modules && may_have_modules) out.no_modules = why_no_modules(data, of.used(), of.has_scopes());
    if (!out.has_steps) out.wall_ns = out.path_ns;
    sort_findings(out);
    return out;
}

void extend_to_all(diagnosis& of, const std::vector<whole_step>& all, bool wants_sets) {
    if (of.steps == 0) return;
    const double factor = static_cast<double>(all.size()) / static_cast<double>(of.steps);
    const auto extend = [factor](auto& value) {
        const double extended = std::round(std::min(static_cast<double>(value) * factor, 9e18));
        value = static_cast<std::remove_reference_t<decltype(value)>>(extended);
    };
    for (std::int64_t* const each : {&of.replayed_ns, &of.together_ns, &of.path_ns, &of.unexplained_ns}) extend(*each);
    for (finding_set& each : of.sets) extend(each.gain_ns);
    for (finding& each : of.findings) {
        extend(each.cost_ns);
        extend(each.gain_ns);
        extend(each.steps);
        for (finding_part& part : each.parts) {
            extend(part.cost_ns);
            extend(part.count);
        }
    }
    for (line_cost& each : of.lines) {
        extend(each.cost_ns);
        extend(each.count);
        extend(each.steps);
        extend(each.gain_ns);
    }
    for (path_share& each : of.path) extend(each.total_ns);
    of.steps = all.size();
    of.wall_ns = total_length(all);
    of.step_ns = of.per_step(of.wall_ns);
    std::optional<finding> uneven = price_uneven_steps(lengths_of(all), of.findings);
    const std::int64_t gain_ns = uneven ? uneven->gain_ns : 0;
    of.replayed_ns += gain_ns;  // the sample is without these steps
    const std::size_t before = of.findings.size();
    add_uneven(std::move(uneven), gain_ns, of);
    if (of.findings.size() > before && wants_sets) {
        const std::uint32_t bit = of.findings.back().bit;
        const std::size_t sets = of.sets.size();
        for (std::size_t i = 0; i < sets; ++i) {
            of.sets.push_back({of.sets[i].findings | bit, std::min(of.sets[i].gain_ns + gain_ns, of.wall_ns)});
        }
        of.sets.push_back({bit, gain_ns});
    }
    sort_findings(of);
}

}  // namespace prof
