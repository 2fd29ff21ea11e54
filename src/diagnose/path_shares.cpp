// SPDX-License-Identifier: Apache-2.0
#include "diagnose/path_shares.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "analysis/projection/op_class.hpp"
#include "analysis/projection/segment.hpp"
#include "analysis/projection/transfer_name.hpp"
#include "analysis/reports/kernel_names.hpp"
#include "analysis/reports/module_texts.hpp"
#include "analysis/steps/step_parts.hpp"
#include "base/display_text.hpp"
#include "diagnose/replay/critical_path.hpp"

namespace prof {
namespace {

class path_sharer {
public:
    path_sharer(examined_steps& of, const attribution& att)
        : graph_(of.graph),
          data_(graph_.data()),
          att_(att),
          host_(of.host),
          where_(of.where),
          modules_(data_, att),
          part_of_(data_, att, of.steps),
          class_of_(data_) {}

    std::vector<named_piece> pieces() {
        std::vector<named_piece> out;
        for (const path_piece& piece : critical_path(graph_)) {
            for_each_place(piece, [&](named_piece named) {
                if (piece.kind == path_kind::operation) {
                    named.where = path_below(named.where, name_of(data_.ops[piece.op]));
                }
                out.push_back(std::move(named));
            });
        }
        return out;
    }

    void run(diagnosis& out) {
        std::map<std::tuple<std::string, std::string, std::string>, std::int64_t> shares;
        for (const path_piece& piece : critical_path(graph_)) {
            for_each_place(piece, [&](named_piece named) {
                const std::int64_t ns = named.end_ns - named.start_ns;
                shares[{std::move(named.kind), std::move(named.where), std::move(named.module)}] += ns;
                out.path_ns += ns;
            });
        }
        out.path_has_modules = modules_.is_recorded();
        for (const auto& [key, ns] : shares) {
            out.path.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), ns});
        }
        std::stable_sort(out.path.begin(), out.path.end(),
                         [](const path_share& a, const path_share& b) { return a.total_ns > b.total_ns; });
        name_bound(out);
    }

private:
    // By the kind with most of the path. What is not explained bounds nothing that one could name.
    static void name_bound(diagnosis& out) {
        constexpr std::size_t longest_place = 60;
        std::map<std::string, std::map<std::string, std::int64_t>> kinds;  // kind → place → time
        for (const path_share& share : out.path) {
            if (share.kind == to_string(path_kind::not_explained)) {
                out.unexplained_ns += share.total_ns;
            } else {
                kinds[share.kind][share.where] += share.total_ns;
            }
        }
        std::string kind;
        std::string where;
        std::int64_t most_ns = 0;
        for (const auto& [name, places] : kinds) {
            std::int64_t total_ns = 0;
            for (const auto& [place, ns] : places) total_ns += ns;
            if (total_ns <= most_ns) continue;
            most_ns = total_ns;
            kind = name;
            where = std::max_element(places.begin(), places.end(), [](const auto& a, const auto& b) {
                        return a.second < b.second;
                    })->first;
        }
        if (most_ns == 0) return;
        out.bound_by = fmt::format("{} ({:.0f} % of the critical path)", as_bound(kind),
                                   100 * static_cast<double>(most_ns) / static_cast<double>(out.path_ns));
        if (!where.empty()) out.bound_by += ", most of all in " + shortened(where, longest_place);
    }

    // A kind, as what the steps are bound by.
    static std::string as_bound(const std::string& kind) {
        if (kind == to_string(path_kind::call)) return "calls of CUDA";
        if (kind == to_string(path_kind::hand_over)) return "hand-overs between threads";
        if (kind == to_string(path_kind::next_operation)) return "the time from kernel to kernel";
        if (kind == to_string(path_kind::other_stream)) return "waiting for another stream";
        if (kind == to_string(path_kind::wait_return)) return "the host's late return from waits for the GPU";
        return kind;
    }

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

    // Calls visit(named_piece) for each part of the piece that is in one place and module.
    template <typename TVisit>
    void for_each_place(const path_piece& piece, TVisit&& visit) {
        named_piece named{piece.start_ns, piece.end_ns, kind_of(piece)};
        switch (piece.kind) {
            case path_kind::operation:
            case path_kind::next_operation:
                named.where = place_of_op(piece.op);
                named.module = modules_.of_op(piece.op);
                break;
            case path_kind::host_code:
            case path_kind::hand_over:
                divide(graph_.events()[piece.event].thread, named, visit);
                return;
            case path_kind::call:
            case path_kind::launch_latency:
            case path_kind::wait_return: {
                const host_event& event = graph_.events()[piece.event];
                named.where = place_at(event.thread, event.start_ns);
                named.module = module_at(event.thread, event.start_ns);
                break;
            }
            case path_kind::other_stream:
            case path_kind::not_explained:
                break;
        }
        visit(std::move(named));
    }

    // By the ranges and modules of the thread; where it is in none, by those of the thread for which it works.
    template <typename TVisit>
    void divide(std::uint32_t thread, const named_piece& piece, TVisit&& visit) {
        const std::uint32_t home = graph_.home_of(thread);
        const auto add_place = [&](std::int64_t start_ns, std::int64_t end_ns, std::uint32_t range) {
            const std::string where = range == npos ? std::string() : where_.path(where_.of(range));
            const auto add = [&](std::int64_t from_ns, std::int64_t to_ns, std::string module) {
                visit(named_piece{from_ns, to_ns, piece.kind, where, std::move(module)});
            };
            modules_.for_each(thread, start_ns, end_ns,
                              [&](std::int64_t from_ns, std::int64_t to_ns, std::string module) {
                                  if (!module.empty() || home == thread) {
                                      add(from_ns, to_ns, std::move(module));
                                  } else {
                                      modules_.for_each(home, from_ns, to_ns, add);
                                  }
                              });
        };
        host_.for_each_range(thread, home, piece.start_ns, piece.end_ns, add_place);
    }

    std::string name_of(const gpu_op& op) const {
        if (op.kind == op_kind::kernel) return kernel_name(data_.kernel_symbol(op), kernel_name_style::full);
        return op.kind == op_kind::graph ? "CUDA graph" : transfer_name(data_.transfers[op.detail]);
    }

    // Its phase, as in the breakdown: of a replay, that of the capture. Without one, the outermost of its ranges.
    std::string place_of_op(std::uint32_t op) {
        if (const std::uint32_t part = part_of_.of(op); part != 0) return part_of_.name(part);
        const std::uint32_t owner = att_.owner[op];
        return is_range(owner) ? where_.path(where_.outermost(where_.of(owner))) : std::string();
    }

    std::string place_at(std::uint32_t thread, std::int64_t ns) {
        const std::uint32_t range = host_.range_at(thread, graph_.home_of(thread), ns);
        return range == npos ? std::string() : where_.path(where_.of(range));
    }

    std::string module_at(std::uint32_t thread, std::int64_t ns) {
        std::string out = modules_.at(thread, ns);
        return out.empty() ? modules_.at(graph_.home_of(thread), ns) : out;
    }

    const dependency_graph& graph_;
    const timeline& data_;
    const attribution& att_;
    const host_activity& host_;
    code_places& where_;
    module_texts modules_;
    step_parts part_of_;
    op_classifier class_of_;
};

}  // namespace

void share_path(examined_steps& steps, const attribution& att, diagnosis& out) { path_sharer(steps, att).run(out); }

std::vector<named_piece> named_critical_path(const timeline& data, const attribution& att,
                                             std::string_view step_function, const whole_steps* steps) {
    if (data.ops.empty() || data.api_calls.empty()) return {};
    examined_steps examined(data, att, step_function, steps);
    return path_sharer(examined, att).pieces();
}

}  // namespace prof
