// SPDX-License-Identifier: Apache-2.0
#include "export/parquet/capture_tables.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/projection/op_class.hpp"
#include "analysis/projection/operation_name.hpp"
#include "analysis/projection/projection.hpp"
#include "analysis/projection/row_tree.hpp"
#include "analysis/projection/segment.hpp"
#include "analysis/projection/transfer_name.hpp"
#include "analysis/steps/step_parts.hpp"
#include "analysis/steps/step_search.hpp"
#include "analysis/steps/whole_steps.hpp"

namespace prof {
namespace {

constexpr std::string_view start_end_type = "start_end";

std::string_view kind_of(op_kind kind) noexcept {
    switch (kind) {
        case op_kind::kernel:
            return "kernel";
        case op_kind::memcpy:
            return "copy";
        case op_kind::memset:
            return "set";
        case op_kind::graph:
            break;
    }
    return "graph";
}

// Numbers of a file's texts, by the number of what they are of.
class text_numbers {
public:
    explicit text_numbers(parquet_file& out, std::size_t count) : out_(out), ids_(count) {}
    template <typename TMake>
    std::uint32_t operator()(std::size_t index, TMake&& make) {
        if (index >= ids_.size()) ids_.resize(index + 1);
        if (!ids_[index]) ids_[index] = out_.text_id(make());
        return *ids_[index];
    }

private:
    parquet_file& out_;
    std::vector<std::optional<std::uint32_t>> ids_;
};

// What operations add up to in an instance of a row.
struct instance_sums {
    std::int64_t gpu_ns = 0;
    std::int64_t self_ns = 0;
    std::int64_t communication_ns = 0;
    std::uint64_t ops = 0;
    std::uint64_t adopted_ops = 0;
};

}  // namespace

struct capture_tables::shared_facts {
    shared_facts(const timeline& data_of_capture, const attribution& att_of_capture, bool has_step_function,
                 const exported_capture& place_of_capture)
        : data(data_of_capture),
          att(att_of_capture),
          place(place_of_capture),
          tree(data, att, projection_options{}.fold),
          class_of(data),
          all_steps(find_whole_steps(data, att, has_step_function)),
          counted_steps(all_steps) {
        leave_out_warm_up(counted_steps);
        text_budget budget;
        paths.resize(tree.nodes().size());
        for (const row_tree::node_id node : tree.preorder()) {
            const row_tree::node& one = tree.nodes()[node];
            paths[node] =
                budget.of(path_below(one.parent == npos ? std::string_view() : paths[one.parent], one.segment));
        }
    }

    // The instance with the operation's self time; npos: none.
    std::uint32_t instance_with_self(op_id op) const {
        if (att.captured[op] != npos) return instance_of(att.captured[op]);
        const range_id range = tree.range_with_row(att.owner[op]);
        return is_range(range) ? range : npos;
    }
    // Ranges of a graph's capture have their numbers after all others.
    std::uint32_t instance_of(replayed_id replayed) const {
        return static_cast<std::uint32_t>(data.ranges.size()) + replayed;
    }

    const timeline& data;
    const attribution& att;
    const exported_capture& place;
    row_tree tree;
    op_classifier class_of;
    whole_steps all_steps;
    whole_steps counted_steps;
    std::vector<std::string> paths;  // by node of the tree
};

capture_tables::capture_tables(const timeline& data, const attribution& att, bool has_step_function,
                               const exported_capture& place)
    : facts_(std::make_unique<shared_facts>(data, att, has_step_function, place)) {}
capture_tables::~capture_tables() = default;

void capture_tables::write_gpu_operations(parquet_file& out) {
    const shared_facts& facts = *facts_;
    const timeline& data = facts.data;
    const std::uint32_t capture = out.text_id(facts.place.id);
    text_numbers kernel_names(out, data.kernels.size()), symbols(out, data.kernels.size());
    text_numbers transfer_names(out, data.transfers.size()), graph_names(out, data.graphs.size());
    text_numbers paths(out, facts.paths.size()), phases(out, 0), kinds(out, 4), classes(out, 3);
    step_search step_of(facts.all_steps.steps);
    step_parts part_of(data, facts.att, facts.counted_steps, facts.counted_steps.source != step_source::recurring);
    auto collective = facts.place.collectives.begin();
    for (const op_id i : data.ops.ids()) {
        const gpu_op& op = data.ops[i];
        const bool is_kernel = op.kind == op_kind::kernel;
        // A graph that was recorded as one operation computes.
        const op_class purpose = op.kind == op_kind::graph ? op_class::compute : facts.class_of(op);
        const auto name = [&] { return operation_name(data, op, kernel_name_style::full); };
        out.text(capture);
        out.text(kinds(static_cast<std::size_t>(op.kind), [&] { return kind_of(op.kind); }));
        out.text(classes(static_cast<std::size_t>(purpose), [&] { return to_string(purpose); }));
        out.text(is_kernel                   ? kernel_names(op.detail, name)
                 : op.kind == op_kind::graph ? graph_names(op.detail, name)
                                             : transfer_names(op.detail, name));
        is_kernel ? out.text(symbols(op.detail, [&] { return data.kernel_symbol(op); })) : out.none();
        const std::int64_t start_ns = facts.place.aligned(op.start_ns);
        out.integer(start_ns);
        out.integer(facts.place.aligned(op.end_ns));
        out.integer(op.end_ns - op.start_ns);
        out.integer(op.start_ns - start_ns);
        if (op.launch == npos) {
            out.none();
            out.none();
            out.none();
        } else {
            const timeline_api_call& call = data.api_calls[op.launch];
            out.integer(facts.place.aligned(call.start_ns));
            call.thread < data.threads.size() ? out.integer(std::int64_t{data.threads[call.thread].tid}) : out.none();
            const std::uint32_t step = step_of.at(call.start_ns);
            step == npos ? out.none() : out.integer_of(facts.all_steps.steps[step].number);
        }
        const std::uint32_t part = part_of.of(i);
        part == 0 ? out.none() : out.text(phases(part, [&] { return part_of.name(part); }));
        const row_tree::node_id node = facts.tree.self_of(i);
        out.text(paths(node, [&] { return facts.paths[node]; }));
        const std::uint32_t instance = facts.instance_with_self(i);
        instance == npos ? out.none() : out.integer(std::int64_t{instance});
        out.flag(facts.att.adopted[i] != 0);
        const gpu_place& ran_on = data.place_of(op);
        out.integer(std::int64_t{ran_on.device});
        out.integer(std::int64_t{ran_on.context});
        out.integer(std::int64_t{ran_on.stream});
        is_transfer(op.kind) ? out.integer_of(data.transfers[op.detail].bytes) : out.none();
        is_kernel ? out.integer(std::int64_t{data.kernels[op.detail].registers_per_thread}) : out.none();
        const std::uint32_t graph = is_kernel                   ? data.kernels[op.detail].graph_id
                                    : op.kind == op_kind::graph ? data.graphs[op.detail].graph_id
                                                                : data.transfers[op.detail].graph_id;
        graph == 0 ? out.none() : out.integer(std::int64_t{graph});
        while (collective != facts.place.collectives.end() && collective->op < i) ++collective;
        // A capture that is still written may have more operations than when it was surveyed.
        const bool is_collective =
            collective != facts.place.collectives.end() && collective->op == i && collective->begin_ns == op.start_ns;
        is_collective ? out.integer(static_cast<std::int64_t>(collective->key)) : out.none();
        out.end_row();
    }
}

void capture_tables::write_ranges(parquet_file& out) {
    const shared_facts& facts = *facts_;
    const timeline& data = facts.data;
    const attribution& att = facts.att;
    std::vector<instance_sums> sums(data.ranges.size() + att.replayed.size());
    for (const op_id i : data.ops.ids()) {
        const gpu_op& op = data.ops[i];
        const std::int64_t duration_ns = op.end_ns - op.start_ns;
        const bool is_adopted = att.adopted[i] != 0;
        const bool communicates = facts.class_of(op) == op_class::communication;
        const auto add = [&](std::uint32_t instance) {
            instance_sums& sum = sums[instance];
            sum.gpu_ns += duration_ns;
            sum.communication_ns += communicates ? duration_ns : 0;
            sum.ops += 1;
            sum.adopted_ops += is_adopted ? 1 : 0;
        };
        // Ranges that share a row come one after another, the innermost first, and count once.
        range_id latest = npos;
        for_each_open_range(data, att, i, [&](range_id range) {
            const range_id instance = facts.tree.range_with_row(range);
            if (is_range(instance) && instance != latest) add(instance);
            latest = instance;
        });
        for_each_replayed_range(att, i, [&](replayed_id replayed) { add(facts.instance_of(replayed)); });
        if (const std::uint32_t self = facts.instance_with_self(i); self != npos) sums[self].self_ns += duration_ns;
    }

    const row_values<range_id, std::int64_t> inside_ns = facts.tree.host_time_inside();
    const std::uint32_t capture = out.text_id(facts.place.id);
    text_numbers paths(out, facts.paths.size()), domains(out, data.domains.size());
    text_numbers threads(out, data.threads.size());
    std::unordered_map<name_id, std::uint32_t> names;
    step_search step_of(facts.all_steps.steps);
    enum class instance_kind : std::uint8_t { on_host, replayed, start_end };
    const auto add_row = [&](std::uint32_t id, std::uint32_t parent, instance_kind kind, row_tree::node_id node,
                             std::uint32_t depth, const timeline_range& range, std::int64_t start_ns) {
        const bool is_replayed = kind == instance_kind::replayed;
        const bool is_start_end = kind == instance_kind::start_end;
        const instance_sums& sum = sums[id];
        out.text(capture);
        out.integer(std::int64_t{id});
        parent == npos ? out.none() : out.integer(std::int64_t{parent});
        const std::string_view type = is_start_end ? start_end_type
                                                   : row_type(row_kind::range, facts.tree.nodes()[node].is_captured,
                                                              facts.tree.nodes()[node].is_observed);
        out.text(type);
        node == npos ? out.none() : out.text(paths(node, [&] { return facts.paths[node]; }));
        const auto [name, is_new] = names.try_emplace(range.name);
        if (is_new) name->second = out.text_id(data.name(range.name));
        out.text(name->second);
        const bool has_domain = range.domain != 0 && range.domain < data.domains.size();
        has_domain ? out.text(domains(range.domain, [&] { return data.domains[range.domain].name; })) : out.none();
        out.integer(std::int64_t{depth});
        if (range.thread < data.threads.size()) {
            const timeline_thread& thread = data.threads[range.thread];
            out.integer(std::int64_t{thread.tid});
            out.text(threads(range.thread, [&] { return thread.name; }));
        } else {
            out.none();
            out.none();
        }
        const std::int64_t aligned_ns = facts.place.aligned(start_ns);
        out.integer(aligned_ns);
        if (is_replayed) {
            out.none();
            out.none();
            out.none();
        } else {
            const std::int64_t end_ns = range.inside_until_ns();
            out.integer(facts.place.aligned(end_ns));
            out.integer(end_ns - range.start_ns);
            is_start_end ? out.none() : out.integer(end_ns - range.start_ns - inside_ns[range_id(id)]);
        }
        out.integer(start_ns - aligned_ns);
        const std::uint32_t step = step_of.at(start_ns);
        step == npos ? out.none() : out.integer_of(facts.all_steps.steps[step].number);
        if (is_start_end) {
            for (int i = 0; i < 5; ++i) out.none();
        } else {
            out.integer(sum.gpu_ns);
            out.integer(sum.self_ns);
            out.integer_of(sum.ops);
            out.integer_of(sum.adopted_ops);
            out.integer(sum.communication_ns);
        }
        out.flag(!is_replayed && range.open_at_end);
        out.flag(kind == instance_kind::on_host && continues_phase(data, range));
        out.end_row();
    };
    for (const range_id i : data.ranges.ids()) {
        const timeline_range& range = data.ranges[i];
        if (range.style == range_style::start_end && !att.hidden.contains(range)) {
            add_row(i, npos, instance_kind::start_end, npos, 0, range, range.start_ns);
        }
        const row_tree::node_id node = facts.tree.node_of(i);
        if (node == npos) continue;
        const range_id parent = facts.tree.range_with_row(att.parent[i]);
        add_row(i, is_range(parent) ? parent : npos, instance_kind::on_host, node, att.depth[i], range, range.start_ns);
    }
    for (const replayed_id i : att.replayed.ids()) {
        const replayed_range& replayed = att.replayed[i];
        add_row(facts.instance_of(i), replayed.parent == npos ? npos : facts.instance_of(replayed.parent),
                instance_kind::replayed, facts.tree.node_of_replayed(i), replayed.depth, data.ranges[replayed.range],
                data.api_calls[replayed.launch].start_ns);
    }
}

}  // namespace prof
