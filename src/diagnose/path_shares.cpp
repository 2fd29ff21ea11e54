// SPDX-License-Identifier: Apache-2.0
#include "diagnose/path_shares.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analysis/modules/module_texts.hpp"
#include "analysis/projection/op_class.hpp"
#include "analysis/projection/segment.hpp"
#include "analysis/projection/transfer_name.hpp"
#include "analysis/steps/step_parts.hpp"
#include "base/display_text.hpp"
#include "diagnose/replay/critical_path.hpp"
#include "symbols/kernel_names.hpp"

namespace prof {
namespace {

// From one thread to another that waits for it, if neither has ranges that show it.
constexpr std::int64_t longest_between_threads_ns = 50'000;

constexpr std::string_view kernels_kind = "kernels";
constexpr std::string_view communication_kind = "communication";
constexpr std::string_view copies_kind = "copies";

}  // namespace

class path_sharer {
public:
    path_sharer(examined_steps& of, const attribution& att, module_texts& modules)
        : data_(of.host.data()),
          att_(att),
          host_(of.host),
          where_(of.where),
          modules_(modules),
          part_of_(data_, att, of.steps),
          class_of_(data_) {}

    void add_pieces(const dependency_graph& graph, std::vector<named_piece>& out) {
        graph_ = &graph;
        for (const path_piece& piece : critical_path(graph)) {
            for_each_place(piece, [&](const placed_piece& placed) {
                named_piece named{placed.start_ns, placed.end_ns, std::string(placed.kind), text_of(placed.where),
                                  *placed.module};
                if (piece.kind == path_kind::operation) {
                    named.where = path_below(named.where, name_of(data_.ops[piece.op]));
                }
                const bool is_on_gpu = piece.kind == path_kind::operation || piece.kind == path_kind::next_operation;
                if (is_on_gpu) named.op = piece.op;
                if (piece.event != npos) named.thread = graph.events()[piece.event].thread;
                out.push_back(std::move(named));
            });
        }
    }

    void add(const dependency_graph& graph) {
        graph_ = &graph;
        for (const path_piece& piece : critical_path(graph)) {
            for_each_place(piece, [&](const placed_piece& placed) {
                shares_[{placed.kind.data(), placed.where, placed.module}] += placed.end_ns - placed.start_ns;
            });
        }
    }

    void finish(diagnosis& out) const {
        std::map<std::tuple<std::string, std::string, std::string>, std::int64_t> shares;
        for (const auto& [key, ns] : shares_) {
            shares[{key.kind, text_of(key.where), *key.module}] += ns;
            out.path_ns += ns;
        }
        // Scopes of XLA's operations are known of the GPU alone, which the path need not go through.
        out.path_has_modules = modules_.is_recorded() && !modules_.is_of_xla();
        for (const auto& [key, ns] : shares) {
            out.path.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), ns});
            out.path_has_modules |= modules_.has_scopes() && !std::get<2>(key).empty();
        }
        std::stable_sort(out.path.begin(), out.path.end(),
                         [](const path_share& a, const path_share& b) { return a.total_ns > b.total_ns; });
        name_bound(out);
    }

private:
    // A place of the program, or the part of a step to which an operation belongs; 0: neither.
    struct path_place {
        code_place_id place{};
        std::uint32_t part = 0;

        bool operator==(const path_place&) const = default;
    };
    struct placed_piece {
        std::int64_t start_ns = 0;
        std::int64_t end_ns = 0;
        std::string_view kind{};  // of to_string(path_kind), or one of those above
        path_place where{};
        const std::string* module = nullptr;  // module_texts'
    };
    struct share_key {
        const char* kind = nullptr;
        path_place where{};
        const std::string* module = nullptr;

        bool operator==(const share_key&) const = default;
    };
    struct share_hash {
        std::size_t operator()(const share_key& of) const noexcept {
            std::uint64_t mixed =
                reinterpret_cast<std::uintptr_t>(of.module) * 31 + reinterpret_cast<std::uintptr_t>(of.kind);
            mixed = mixed * 1'000'003 + (std::uint64_t{of.where.part} << 32 | of.where.place);
            return static_cast<std::size_t>(mixed ^ mixed >> 29);
        }
    };

    std::string text_of(const path_place& of) const {
        if (of.part != 0) return part_of_.name(of.part);
        return of.place == 0 ? std::string() : where_.path(of.place);
    }

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
        if (kind == to_string(path_kind::next_operation)) return "the short gaps between kernels";
        if (kind == to_string(path_kind::other_stream)) return "waiting for another stream";
        if (kind == to_string(path_kind::wait_return)) return "the CPU's late return from waits for the GPU";
        return kind;
    }

    std::string_view kind_of(const path_piece& piece) const {
        if (piece.kind != path_kind::operation) return to_string(piece.kind);
        const gpu_op& op = data_.ops[piece.op];
        if (op.kind == op_kind::graph) return kernels_kind;
        switch (class_of_(op)) {
            case op_class::compute:
                return kernels_kind;
            case op_class::communication:
                return communication_kind;
            case op_class::memory:
                break;
        }
        return copies_kind;
    }

    // Calls visit(placed_piece) for each part of the piece that is in one place and module.
    template <typename TVisit>
    void for_each_place(const path_piece& piece, TVisit&& visit) {
        placed_piece placed{piece.start_ns, piece.end_ns, kind_of(piece), {}, &outside_};
        switch (piece.kind) {
            case path_kind::operation:
            case path_kind::next_operation:
                placed.where = place_of_op(piece.op);
                placed.module = &modules_.of_op(piece.op);
                break;
            case path_kind::host_code:
                divide(graph_->events()[piece.event].thread, placed, visit);
                return;
            case path_kind::hand_over:
                divide_hand_over(graph_->events()[piece.event], placed, visit);
                return;
            case path_kind::call:
            case path_kind::launch_latency:
            case path_kind::wait_return: {
                const host_event& event = graph_->events()[piece.event];
                placed.where = place_at(event.thread, event.start_ns);
                placed.module = &module_at(event.thread, event.start_ns);
                break;
            }
            case path_kind::other_stream:
            case path_kind::not_explained:
                break;
        }
        visit(placed);
    }

    // Of the time between the last call of one thread and the first call of the one that goes on, the hand-over is only
    // what lies between the ranges of the two: the first goes on until it opens or closes its last range before, and
    // the second is at work from its first range on. Without ranges it is the end, of the usual length. The rest is
    // code of the one and of the other.
    template <typename TVisit>
    void divide_hand_over(const host_event& event, const placed_piece& piece, TVisit&& visit) {
        const thread_id giver = graph_->events()[event.before].thread;
        const std::int64_t taken_ns = begin_of_work(event, piece.start_ns, piece.end_ns);
        const std::int64_t given_ns = host_.last_change(giver, piece.start_ns, taken_ns);
        const std::int64_t from_ns =
            std::max(given_ns, std::max(piece.start_ns, taken_ns - longest_between_threads_ns));
        const auto add = [&](thread_id thread, std::int64_t start_ns, std::int64_t end_ns, path_kind kind) {
            if (start_ns >= end_ns) return;
            divide(thread, placed_piece{start_ns, end_ns, to_string(kind), {}, &outside_}, visit);
        };
        add(giver, piece.start_ns, from_ns, path_kind::host_code);
        add(event.thread, from_ns, taken_ns, path_kind::hand_over);
        add(event.thread, taken_ns, piece.end_ns, path_kind::host_code);
    }

    // When the thread opened its first range or PyTorch's first operator before the event, after `from_ns`.
    std::int64_t begin_of_work(const host_event& event, std::int64_t from_ns, std::int64_t to_ns) const {
        std::int64_t out = host_.first_change(event.thread, from_ns, to_ns);
        torch_node_id node = event.call == npos ? npos : data_.api_calls[event.call].torch_open;
        for (; node != npos; node = data_.torch_nodes[node].below_on_thread()) {
            const std::int64_t start_ns = data_.ranges[data_.torch_nodes[node].range].start_ns;
            if (start_ns > from_ns) out = std::min(out, start_ns);
        }
        return out;
    }

    // By the ranges and modules of the thread; where it is in none, by those of the thread for which it works.
    template <typename TVisit>
    void divide(thread_id thread, const placed_piece& piece, TVisit&& visit) {
        const thread_id home = graph_->home_of(thread);
        const auto add_place = [&](std::int64_t start_ns, std::int64_t end_ns, range_id range) {
            const path_place where{.place = range == npos ? code_place_id() : where_.of(range)};
            const auto add = [&](std::int64_t from_ns, std::int64_t to_ns, const std::string& module) {
                visit(placed_piece{from_ns, to_ns, piece.kind, where, &module});
            };
            modules_.for_each(thread, start_ns, end_ns,
                              [&](std::int64_t from_ns, std::int64_t to_ns, const std::string& module) {
                                  if (!module.empty() || home == thread) {
                                      add(from_ns, to_ns, module);
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
    path_place place_of_op(op_id op) {
        if (const std::uint32_t part = part_of_.of(op); part != 0) return {.part = part};
        const range_id owner = att_.owner[op];
        return {.place = is_range(owner) ? where_.outermost(where_.of(owner)) : code_place_id()};
    }

    path_place place_at(thread_id thread, std::int64_t ns) {
        const range_id range = host_.range_at(thread, graph_->home_of(thread), ns);
        return {.place = range == npos ? code_place_id() : where_.of(range)};
    }

    const std::string& module_at(thread_id thread, std::int64_t ns) {
        const std::string& out = modules_.at(thread, ns);
        return out.empty() ? modules_.at(graph_->home_of(thread), ns) : out;
    }

    const dependency_graph* graph_ = nullptr;  // of the latest part
    const timeline& data_;
    const attribution& att_;
    const host_activity& host_;
    code_places& where_;
    module_texts& modules_;
    step_parts part_of_;
    op_classifier class_of_;
    const std::string outside_;
    std::unordered_map<share_key, std::int64_t, share_hash> shares_;
};

path_shares::path_shares(examined_steps& steps, const attribution& att, module_texts& modules)
    : sharer_(std::make_unique<path_sharer>(steps, att, modules)) {}
path_shares::~path_shares() = default;

void path_shares::add(const dependency_graph& graph) { sharer_->add(graph); }
void path_shares::finish(diagnosis& out) { sharer_->finish(out); }

std::vector<named_piece> named_critical_path(const timeline& data, const attribution& att,
                                             std::string_view step_function, const whole_steps* steps,
                                             const timeline* original) {
    if (data.ops.empty() || data.api_calls.empty()) return {};
    examined_steps examined(data, att, step_function, steps);
    module_texts modules(data, att, original != nullptr ? *original : data);
    path_sharer sharer(examined, att, modules);
    std::vector<named_piece> out;
    for (std::size_t part = 0; part < examined.parts(); ++part) {
        const dependency_graph graph = examined.graph_of(part);
        sharer.add_pieces(graph, out);
    }
    return out;
}

}  // namespace prof
