// SPDX-License-Identifier: Apache-2.0
#include "analysis/projection/xla_phases.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/projection/xla_names.hpp"
#include "base/text.hpp"
#include "record/label.hpp"

namespace prof {
namespace {

constexpr std::string_view unnamed_text = "unnamed operations";
// Most functions that may be compiled at one time, each on its own thread.
constexpr std::size_t most_compiling = 64;

std::uint32_t find_domain(const timeline& data, std::string_view name) {
    for (std::uint32_t i = 1; i < data.domains.size(); ++i) {
        if (data.domains[i].name == name) return i;
    }
    return npos;
}

struct module_entry;
using module_id = row_index<module_entry>;

// The meaning of one XLA text in one program, determined once.
struct meaning {
    xla_range_kind kind = xla_range_kind::other;
    bool compiles_function = false;  // the range of a thread that waits for a function to be compiled
    bool is_container = false;       // contains the operations of a command buffer
    module_id module = npos;         // of a module
    std::string phase;               // of a thunk: the name of its row; "" if neither name nor parts give one
    bool is_named = false;           // of a thunk
    bool is_of_unknown_mix = false;  // of a fusion: its parts have no scope in common, and are not known
    xla_phase kind_of_phase = xla_phase::none;
    xla_phase_set phases;  // of a thunk's parts
    std::string path;      // of a thunk: its scopes
};

struct module_entry {
    std::string name;  // "jit_train_step"
    bool has_phases = false;
    bool is_differentiated = false;  // it has operations of forward, backward or recompute
    bool has_backward = false;
    std::int64_t gpu_ns = 0;
};

class xla_reader {
public:
    explicit xla_reader(timeline& data, std::uint32_t domain) : data_(data), domain_(domain) {}

    std::string run() {
        read_kept_names();
        place_ranges();
        weigh_modules();
        const module_id steps = step_module();
        std::string step_function = steps == npos ? std::string{} : jitted_function(modules_[steps].name);
        find_compiling();
        choose_rows(steps);
        hide_records_of_replays();
        change_ranges(steps);
        change_lists();
        let_workers_work_for_compilations();
        return step_function;
    }

    xla_operations operations() {
        read_kept_names();
        place_ranges();
        xla_operations out;
        out.ops.resize(data_.ops.size());
        std::unordered_map<std::string, std::uint32_t> paths;
        for (const op_id i : data_.ops.ids()) {
            const range_id thunk = thunk_of(data_.ops[i]);
            if (thunk == npos) continue;
            const meaning& text = meaning_of(thunk);
            const module_entry& module = module_at(places_[thunk].module);
            std::string path = jitted_function(module.name);
            if (!text.path.empty()) path += '/' + text.path;
            const auto [known, is_new] = paths.try_emplace(path, static_cast<std::uint32_t>(out.paths.size()));
            if (is_new) out.paths.push_back(path);
            out.ops[i] = {known->second, text.kind_of_phase, module.has_backward};
        }
        return out;
    }

private:
    // The innermost thunk with a name, within the execution of a program. For a node of a command buffer, as of the
    // node's creation.
    range_id thunk_of(const gpu_op& op) {
        open_node_id node = op.launch == npos ? npos : data_.api_calls[op.launch].open;
        if (op.graph_node < data_.graph_nodes.size()) node = data_.graph_nodes[op.graph_node].open;
        for (; node != npos; node = data_.open_nodes[node].below) {
            const range_id range = data_.open_nodes[node].range;
            const place& here = places_[range];
            if (here.in_compilation || here.module == npos || here.module == range) return npos;
            if (!is_xla(data_.ranges[range])) continue;
            const meaning& text = meaning_of(range);
            if (text.kind == xla_range_kind::thunk && !text.is_container && text.is_named) return range;
        }
        return npos;
    }

    struct place {
        range_id module = npos;  // the range of the enclosing execution of a program, or the range itself
        bool in_compilation = false;
        bool in_container = false;
    };
    enum class fate : std::uint8_t { kept, hidden, row };
    using shown_lists = row_values<open_node_id, open_node_id>;

    // The names of operations that XLA leaves out, and the phases of the parts of fusions.
    void read_kept_names() {
        for_each_kept("text.xla_operations",
                      [&](const operation_key& key, std::string_view name) { kept_names_.try_emplace(key, name); });
        for_each_kept("text.xla_fusions", [&](const operation_key& key, std::string_view phases) {
            for (const std::string_view phase : prof::split(phases, ',')) kept_phases_[key].add(xla_phase_of(phase));
        });
    }
    // Reads lines of module, operation and what is said of it, separated by tabs.
    using operation_key = std::pair<std::string_view, std::string_view>;
    template <typename TTake>
    void for_each_kept(const std::string& property, TTake&& take) {
        std::string_view text = data_.property(property);
        while (!text.empty()) {
            const std::string_view line = text.substr(0, text.find('\n'));
            text.remove_prefix(std::min(text.size(), line.size() + 1));
            const std::size_t first = line.find('\t');
            const std::size_t second = line.find('\t', first + 1);
            if (first == std::string_view::npos || second == std::string_view::npos) continue;
            take({line.substr(0, first), line.substr(first + 1, second - first - 1)}, line.substr(second + 1));
        }
    }

    bool is_xla(const timeline_range& range) const noexcept {
        return range.domain == domain_ && range.style != range_style::start_end && range.takes_part();
    }
    const meaning& meaning_of(range_id range) {
        const range_id module = places_[range].module;
        const name_id module_name = module == npos || module == range ? name_id() : data_.ranges[module].name;
        const name_id name = data_.ranges[range].name;
        const auto [found, is_new] = meanings_.try_emplace(pair_key(module_name, name));
        if (is_new) found->second = read(data_.name(name), data_.name(module_name));
        return found->second;
    }

    meaning read(std::string_view text, std::string_view program) {
        meaning out;
        const xla_range range = read_xla_range(text);
        const xla_range of = read_xla_range(program);
        out.kind = text.empty() ? xla_range_kind::thunk : range.kind;  // its name was lost: it counts where it is
        out.compiles_function = text.starts_with("XlaCompile:");
        if (range.kind == xla_range_kind::module) {
            const auto [known, is_new] = module_numbers_.try_emplace(std::string{range.module}, modules_.end_id());
            if (is_new) modules_.push_back({.name = known->first});
            out.module = known->second;
        }
        if (range.kind == xla_range_kind::thunk) {
            out.is_container = range.hlo_op.starts_with("command_buffer");
            const auto kept = range.has_name ? kept_names_.end() : kept_names_.find({of.module, range.hlo_op});
            out.is_named = range.has_name || kept != kept_names_.end();
            const xla_operation operation = read_xla_operation(
                kept == kept_names_.end() ? with_prefix(of.prefix, range.name) : std::string{kept->second});
            out.kind_of_phase = operation.phase;
            out.path = operation.path;
            out.phases.add(operation.phase);
            const auto parts = kept_phases_.find({of.module, range.hlo_op});
            if (operation.is_bare() && parts != kept_phases_.end()) {
                out.phases = parts->second;
                out.is_named = true;
                out.kind_of_phase = out.phases.only();
            } else {
                out.is_of_unknown_mix = out.is_named && operation.is_bare() && !operation.function.empty() &&
                                        range.hlo_op.find("fusion") != std::string_view::npos;
            }
            out.phase = out.kind_of_phase == xla_phase::none ? operation.scope() : to_string(out.kind_of_phase);
            if (out.phases.is_of_several()) out.phase = out.phases.text(xla_other_text);
        }
        return out;
    }

    // Parents precede their children.
    void place_ranges() {
        places_.resize(data_.ranges.size());
        for (const range_id i : data_.ranges.ids()) {
            const timeline_range& range = data_.ranges[i];
            place& here = places_[i];
            if (range.parent != npos && range.parent < i) here = places_[range.parent];
            if (!is_xla(range)) continue;
            const meaning& text = meaning_of(i);
            if (text.kind == xla_range_kind::compilation) here.in_compilation = true;
            if (here.in_compilation) continue;
            if (text.kind == xla_range_kind::module) here = {.module = i};
            if (text.is_container) here.in_container = true;
            if (text.kind != xla_range_kind::thunk || here.module == npos) continue;
            module_entry& module = module_at(here.module);
            module.has_phases = module.has_phases || !text.phase.empty();
            module.is_differentiated =
                module.is_differentiated || text.kind_of_phase != xla_phase::none || text.phases.is_of_several();
            module.has_backward = module.has_backward || text.phases.has(xla_phase::backward);
        }
    }
    module_entry& module_at(range_id range) { return modules_[meaning_of(range).module]; }

    void weigh_modules() {
        for (const gpu_op& op : data_.ops) {
            if (op.launch == npos) continue;
            const open_node_id open = data_.api_calls[op.launch].open;
            const range_id module = open == npos ? npos : places_[data_.open_nodes[open].range].module;
            if (module != npos) module_at(module).gpu_ns += op.end_ns - op.start_ns;
        }
    }

    // The module whose executions are the steps: of the functions that compute gradients, the one with the most GPU
    // time. None if steps are marked in a better way.
    module_id step_module() const {
        if (!data_.property("step_range").empty() || data_.number("steps").value_or(0) > 0) return npos;
        const std::uint32_t phases = find_domain(data_, phase_domain);
        const auto is_step = [&](const timeline_range& range) {
            return range.domain == phases && data_.name(range.name) == "step";
        };
        if (std::any_of(data_.ranges.begin(), data_.ranges.end(), is_step)) return npos;
        module_id best = npos;
        for (const module_id i : modules_.ids()) {
            if (!modules_[i].has_backward) continue;
            if (best == npos || modules_[i].gpu_ns > modules_[best].gpu_ns) best = i;
        }
        return best;
    }

    void find_compiling() {
        has_own_.assign(data_.threads.size(), 0);
        for (const range_id i : data_.ranges.ids()) {
            const timeline_range& range = data_.ranges[i];
            if (range.style != range_style::push_pop || !range.takes_part()) continue;
            if (!places_[i].in_compilation) has_own_[range.thread] = 1;
            if (is_xla(range) && meaning_of(i).compiles_function && !in_compilation(range.parent)) {
                compilations_.push_back(i);
                has_own_[range.thread] = 1;
            }
        }
        works_with_xla_.assign(data_.threads.size(), 0);
        for (const range_id i : data_.ranges.ids()) {
            const thread_id thread = data_.ranges[i].thread;
            if (places_[i].in_compilation && has_own_[thread] == 0) works_with_xla_[thread] = 1;
        }
    }
    bool in_compilation(range_id range) const { return range != npos && places_[range].in_compilation; }

    // Finds the compilation in progress at a time; the times must be passed in ascending order.
    class compiling {
    public:
        compiling(const timeline& data, const std::vector<range_id>& compilations) : data_(data), all_(compilations) {}
        range_id at(std::int64_t time_ns) {
            std::erase_if(open_, [&](range_id range) { return data_.ranges[range].end_ns <= time_ns; });
            for (; next_ < all_.size() && data_.ranges[all_[next_]].start_ns <= time_ns; ++next_) {
                if (data_.ranges[all_[next_]].end_ns <= time_ns) continue;
                if (open_.size() == most_compiling) open_.erase(open_.begin());
                open_.push_back(all_[next_]);
            }
            return open_.empty() ? npos : open_.back();
        }

    private:
        const timeline& data_;
        const std::vector<range_id>& all_;  // by start
        std::vector<range_id> open_;
        std::size_t next_ = 0;
    };

    void choose_rows(module_id steps) {
        fates_.assign(data_.ranges.size(), fate::kept);
        stands_for_.assign(data_.ranges.size(), npos);
        row_names_.assign(data_.ranges.size(), name_id());
        added_host_ns_.assign(data_.ranges.size(), 0);
        compiling under_way{data_, compilations_};
        for (const range_id i : data_.ranges.ids()) {
            const timeline_range& range = data_.ranges[i];
            const place& here = places_[i];
            const range_id compilation = under_way.at(range.start_ns);
            if (!is_xla(range)) continue;
            if (here.in_compilation) {
                const bool is_part =
                    in_compilation(range.parent) || (works_with_xla_[range.thread] != 0 && compilation != npos);
                is_part ? hide(i) : make_row(i, xla_compilation_text);
            } else if (here.module == i) {
                const module_id module = meaning_of(i).module;
                make_row(i, module == steps ? "step" : jitted_function(modules_[module].name));
            } else if (here.module != npos && meaning_of(i).kind == xla_range_kind::thunk) {
                choose_thunk(i);
            }
        }
    }
    void hide(range_id range) { fates_[range] = fate::hidden; }
    void make_row(range_id range, std::string_view name) {
        fates_[range] = fate::row;
        stands_for_[range] = range;
        row_names_[range] = id_of_name(name);
    }

    // A phase is one range in each execution. It begins with its first operation and is as long as all its operations
    // together.
    void choose_thunk(range_id i) {
        const timeline_range& range = data_.ranges[i];
        const place& here = places_[i];
        const meaning& text = meaning_of(i);
        hide(i);
        if (text.is_container || !module_at(here.module).has_phases) return;
        const range_id around = range.parent == here.module ? npos : thunk_phase(range.parent);
        std::string_view phase = text.phase;
        if (phase.empty())
            phase = !text.is_named ? unnamed_text : text.is_of_unknown_mix ? xla_other_fusions_text : xla_other_text;
        const name_id name = !text.is_named && around != npos ? row_names_[around] : id_of_name(phase);
        const auto [found, is_new] = first_of_phase_.try_emplace({here.module, here.in_container, name}, i);
        if (is_new) make_row(i, data_.name(name));
        stands_for_[i] = found->second;
        if (around != found->second) added_host_ns_[found->second] += range.end_ns - range.start_ns;
    }
    range_id thunk_phase(range_id range) const { return range == npos ? npos : stands_for_[range]; }

    // Ranges that were pushed while a command buffer was made or updated for other addresses, and that launched
    // nothing, are needed for the buffer's nodes only.
    void hide_records_of_replays() {
        row_values<range_id, std::uint8_t> has_nodes(data_.ranges.size(), 0);
        row_values<range_id, std::uint8_t> has_work(data_.ranges.size(), 0);
        for (const timeline_graph_node& node : data_.graph_nodes) mark(has_nodes, node.open);
        for (const timeline_api_call& call : data_.api_calls) {
            if (call.op_count != 0) mark(has_work, call.open);
        }
        only_for_nodes_.assign(data_.ranges.size(), 0);
        for (const range_id i : data_.ranges.ids()) {
            const bool is_phase = fates_[i] == fate::row && places_[i].module != npos && places_[i].module != i;
            const bool is_made = has_nodes[i] != 0 || places_[i].in_container;
            only_for_nodes_[i] = is_phase && is_made && has_work[i] == 0 ? 1 : 0;
        }
    }
    void mark(row_values<range_id, std::uint8_t>& marks, open_node_id open) const {
        if (open == npos) return;
        const range_id stands = stands_for_[data_.open_nodes[open].range];
        if (stands != npos) marks[stands] = 1;
    }

    void change_ranges(module_id steps) {
        std::uint32_t phases = find_domain(data_, phase_domain);
        if (phases == npos) {
            phases = static_cast<std::uint32_t>(data_.domains.size());
            data_.domains.push_back({.name = std::string{phase_domain}});
        }
        for (const range_id i : data_.ranges.ids()) {
            timeline_range& range = data_.ranges[i];
            range.parent = shown_parent(i);
            range.depth = range.parent == npos ? 0 : data_.ranges[range.parent].depth + 1;
            if (fates_[i] == fate::hidden || only_for_nodes_[i] != 0) range.style = range_style::graph_context;
            if (fates_[i] != fate::row) continue;
            const bool is_phase = places_[i].module != npos && places_[i].module != i;
            if (is_phase) range.end_ns = range.start_ns + added_host_ns_[i];
            if (places_[i].module == i) {
                const module_id module = meaning_of(i).module;
                range.is_execution = module != steps;
                range.has_phases = range.is_execution && modules_[module].is_differentiated;
            }
            range.name = row_names_[i];
            range.domain = static_cast<std::uint16_t>(phases);
            range.is_replayed_alike = is_phase;
        }
    }
    // The parent without hidden ranges. The parent of a phase is outside all phases. Parents of earlier ranges are
    // already final.
    range_id shown_parent(range_id range) const {
        const bool is_phase = fates_[range] != fate::kept && places_[range].module != npos &&
                              places_[range].module != range && !places_[range].in_compilation;
        range_id parent = data_.ranges[range].parent;
        while (parent != npos) {
            const bool is_part = fates_[parent] == fate::hidden;
            if (is_part && !is_phase && stands_for_[parent] != npos) return stands_for_[parent];
            if (!is_part && !(is_phase && is_thunk_row(parent))) break;
            parent = data_.ranges[parent].parent;
        }
        return parent;
    }
    bool is_thunk_row(range_id range) const {
        return fates_[range] == fate::row && places_[range].module != npos && places_[range].module != range;
    }

    name_id id_of_name(std::string_view text) {
        const auto [found, is_new] = new_names_.try_emplace(std::string{text});
        if (is_new) {
            while (data_.name_table.contains(name_id(next_name_))) --next_name_;
            found->second = name_id(next_name_);
            data_.name_table.emplace(name_id(next_name_--), found->first);
        }
        return found->second;
    }

    // Removes hidden ranges from each list; of nested operations only the innermost stays.
    void change_lists() {
        const std::size_t count = data_.open_nodes.size();
        shown_.assign(count, npos);
        shown_on_thread_.assign(count, npos);
        for (const open_node_id i : data_.open_nodes.ids()) {
            open_node& node = data_.open_nodes[i];
            const open_node_id below = node.below < i ? node.below : npos;
            const open_node_id aside = below == npos && node.aside < i ? node.aside : npos;
            const open_node_id on_thread = below == npos ? aside : below;
            const range_id stands = stands_for_[node.range];
            if (fates_[node.range] == fate::hidden && stands == npos) {
                shown_[i] = below == npos ? npos : shown_[below];
                shown_on_thread_[i] = on_thread == npos ? npos : shown_on_thread_[on_thread];
                continue;
            }
            const bool is_phase = stands != npos && is_thunk_row(stands);
            node.below = below == npos ? npos : shown_[below];
            if (is_phase && node.below != npos && is_phase_node(node.below)) {
                node.below = data_.open_nodes[node.below].below;
            }
            node.aside = node.below == npos && on_thread != npos ? shown_on_thread_[on_thread] : npos;
            if (stands != npos) node.range = stands;
            shown_[i] = shown_on_thread_[i] = i;
        }
        for (timeline_api_call& call : data_.api_calls) {
            call.open = changed(call.open, shown_);
            call.open_on_thread = changed(call.open_on_thread, shown_on_thread_);
        }
        for (work_parent& parent : data_.work_parents) parent.open = changed(parent.open, shown_);
        for (timeline_graph_node& node : data_.graph_nodes) node.open = inside_program(changed(node.open, shown_));
    }
    bool is_phase_node(open_node_id node) const { return is_thunk_row(data_.open_nodes[node].range); }
    static open_node_id changed(open_node_id node, const shown_lists& to) { return node == npos ? npos : to[node]; }

    // A command buffer is made in one execution and replayed in others. So for its nodes only the ranges inside the
    // program count.
    open_node_id inside_program(open_node_id head) {
        if (head == npos) return npos;
        const range_id range = data_.open_nodes[head].range;
        if (places_[range].module == range) return npos;
        if (!is_thunk_row(range)) return head;
        const auto [found, is_new] = alone_.try_emplace(range, data_.open_nodes.end_id());
        if (is_new) data_.open_nodes.push_back({.range = range});
        return found->second;
    }

    // Threads of the compiler launch its candidates; this work belongs to the thread that waits for the function.
    void let_workers_work_for_compilations() {
        std::unordered_map<range_id, open_node_id> nodes;  // range → its node, alone in its list
        for (const open_node_id i : data_.open_nodes.ids()) {
            const range_id range = data_.open_nodes[i].range;
            if (fates_[range] == fate::row && places_[range].in_compilation) nodes.try_emplace(range, i);
        }
        std::unordered_map<range_id, work_parent_id> parents;  // range → work_parent
        compiling under_way{data_, compilations_};
        for (timeline_api_call& call : data_.api_calls) {
            const range_id compilation = under_way.at(call.start_ns);
            if (compilation == npos || works_with_xla_[call.thread] == 0 || call.works_for != npos) continue;
            const auto [found, is_new] = parents.try_emplace(compilation, data_.work_parents.end_id());
            if (is_new) {
                const timeline_range& range = data_.ranges[compilation];
                const auto node = nodes.find(compilation);
                const open_node_id open = node == nodes.end() ? npos : node->second;
                data_.work_parents.push_back({.time_ns = range.start_ns, .thread = range.thread, .open = open});
            }
            call.works_for = found->second;
        }
    }

    timeline& data_;
    std::uint32_t domain_;
    std::unordered_map<std::uint64_t, meaning> meanings_;  // by the name of the execution's range, and name
    // Names of operations that XLA's ranges lack: module, operation → name. Views into a property.
    std::map<operation_key, std::string_view> kept_names_;
    std::map<operation_key, xla_phase_set> kept_phases_;  // likewise, of fusions' parts
    std::map<std::string, module_id> module_numbers_;
    row_table<module_entry> modules_;
    // The next six are by range.
    row_values<range_id, place> places_;
    row_values<range_id, fate> fates_;
    row_values<range_id, range_id> stands_for_;  // the range with the row it belongs to; npos: no XLA row
    row_values<range_id, name_id> row_names_;
    row_values<range_id, std::int64_t> added_host_ns_;
    row_values<range_id, std::uint8_t> only_for_nodes_;
    // Execution, whether in a command buffer, name of the row → first range
    std::map<std::tuple<range_id, bool, name_id>, range_id> first_of_phase_;
    std::vector<range_id> compilations_;                  // compilations that a thread waits for, by start
    row_values<thread_id, std::uint8_t> has_own_;         // by thread: it has ranges other than the compiler's
    row_values<thread_id, std::uint8_t> works_with_xla_;  // by thread: it has no other ranges
    std::unordered_map<std::string, name_id> new_names_;
    std::uint32_t next_name_ = UINT32_MAX;
    shown_lists shown_;  // by open node: the list as it is shown
    shown_lists shown_on_thread_;
    std::unordered_map<range_id, open_node_id> alone_;
};

}  // namespace

bool has_xla_ranges(const timeline& data) { return find_domain(data, xla_domain) != npos; }

std::string show_xla_phases(timeline& data) {
    const std::uint32_t domain = find_domain(data, xla_domain);
    return domain == npos ? std::string{} : xla_reader{data, domain}.run();
}

xla_operations find_xla_operations(const timeline& data) {
    const std::uint32_t domain = find_domain(data, xla_domain);
    if (domain == npos) return {};
    timeline copy = data;  // xla_reader changes its timeline
    return xla_reader{copy, domain}.operations();
}

shown_timeline::shown_timeline(const timeline& data, const projection_options& options) : original_(data) {
    const bool is_wanted = options.fold.mode != fold_mode::none && options.attribution.domains.keeps(xla_domain);
    if (!is_wanted || !has_xla_ranges(data)) return;
    changed_ = data;
    step_function_ = show_xla_phases(*changed_);
}

}  // namespace prof
