// SPDX-License-Identifier: Apache-2.0
#include "diagnose/path_shares.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "analysis/projection/op_class.hpp"
#include "analysis/projection/segment.hpp"
#include "analysis/projection/transfer_name.hpp"
#include "analysis/reports/kernel_names.hpp"
#include "analysis/steps/whole_steps.hpp"
#include "diagnose/replay/critical_path.hpp"

namespace prof {
namespace {

class path_sharer {
public:
    path_sharer(const dependency_graph& graph, const attribution& att, const host_activity& host, code_places& where)
        : graph_(graph), data_(graph.data()), att_(att), host_(host), where_(where), class_of_(data_) {}

    std::vector<named_piece> pieces() {
        std::vector<named_piece> out;
        for (const path_piece& piece : critical_path(graph_)) {
            named_piece named{piece.start_ns, piece.end_ns, kind_of(piece), where_of(piece)};
            if (piece.kind == path_kind::operation) {
                named.where = path_below(named.where, name_of(data_.ops[piece.op]));
            }
            out.push_back(std::move(named));
        }
        return out;
    }

    void run(diagnosis& out) {
        std::map<std::pair<std::string, std::string>, std::int64_t> shares;
        for (const path_piece& piece : critical_path(graph_)) {
            shares[{kind_of(piece), where_of(piece)}] += piece.end_ns - piece.start_ns;
            out.path_ns += piece.end_ns - piece.start_ns;
        }
        std::map<std::string, std::int64_t> kinds;
        for (const auto& [key, ns] : shares) {
            out.path.push_back({key.first, key.second, ns});
            kinds[key.first] += ns;
        }
        std::stable_sort(out.path.begin(), out.path.end(),
                         [](const path_share& a, const path_share& b) { return a.total_ns > b.total_ns; });
        const auto most = std::max_element(kinds.begin(), kinds.end(),
                                           [](const auto& a, const auto& b) { return a.second < b.second; });
        if (most == kinds.end()) return;
        const auto dearest = std::find_if(out.path.begin(), out.path.end(),
                                          [&](const path_share& share) { return share.kind == most->first; });
        out.bound_by = fmt::format("{} ({:.0f} % of the critical path)", most->first,
                                   100 * static_cast<double>(most->second) / static_cast<double>(out.path_ns));
        if (!dearest->where.empty()) {
            out.bound_by += ", most of all in " + dearest->where;
        }
    }

private:
    std::string kind_of(const path_piece& piece) const {
        if (piece.kind != path_kind::operation) return std::string(to_string(piece.kind));
        const gpu_op& op = data_.ops[piece.op];
        if (op.kind == op_kind::graph) return "kernels";
        switch (class_of_(op)) {
            case op_class::compute:
                return "kernels";
            case op_class::communication:
                return "communication";
            case op_class::memory:
                break;
        }
        return "copies";
    }

    std::string where_of(const path_piece& piece) {
        switch (piece.kind) {
            case path_kind::operation:
            case path_kind::next_operation:
                return place_of_op(piece.op);
            case path_kind::call:
            case path_kind::host_code:
            case path_kind::hand_over:
            case path_kind::launch_latency:
            case path_kind::wait_return:
                return place_of(piece.event);
            case path_kind::other_stream:
            case path_kind::not_explained:
                break;
        }
        return {};
    }

    std::string name_of(const gpu_op& op) const {
        if (op.kind == op_kind::kernel) return kernel_name(data_.kernel_symbol(op), kernel_name_style::full);
        return op.kind == op_kind::graph ? "CUDA graph" : transfer_name(data_.transfers[op.detail]);
    }

    std::string place_of_op(std::uint32_t op) {
        const std::uint32_t owner = att_.owner[op];
        return is_range(owner) ? where_.path(where_.outermost(where_.of(owner))) : std::string();
    }

    std::string place_of(std::uint32_t index) {
        const host_event& event = graph_.events()[index];
        std::uint32_t range = host_.range_at(event.thread, event.start_ns);
        if (range == npos) range = host_.range_at(graph_.home_of(event.thread), event.start_ns);
        return range == npos ? std::string() : where_.path(where_.of(range));
    }

    const dependency_graph& graph_;
    const timeline& data_;
    const attribution& att_;
    const host_activity& host_;
    code_places& where_;
    op_classifier class_of_;
};

}  // namespace

void share_path(const dependency_graph& graph, const attribution& att, const host_activity& host, code_places& where,
                diagnosis& out) {
    path_sharer(graph, att, host, where).run(out);
}

std::vector<named_piece> named_critical_path(const timeline& data, const attribution& att,
                                             std::string_view step_function) {
    if (data.ops.empty() || data.api_calls.empty()) return {};
    whole_steps steps = find_whole_steps(data, att, !step_function.empty());
    leave_out_warm_up(steps);
    const host_activity host(data, att);
    code_places where(data, att, steps);
    return path_sharer(dependency_graph(data, att, steps), att, host, where).pieces();
}

}  // namespace prof
