// SPDX-License-Identifier: Apache-2.0
#include "export/chrome/collective_args.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/json_text.hpp"

namespace prof {
namespace {

template <std::size_t count, typename TEnum>
std::string_view word(const std::array<std::string_view, count>& words, TEnum value) {
    const auto index = static_cast<std::size_t>(value);
    return words[index < count ? index : 0];
}

// As torch.profiler names them.
std::string_view name_of(collective_function function) {
    constexpr std::array<std::string_view, 11> words = {"other",      "allreduce",      "broadcast", "reduce",
                                                        "allgather",  "reduce_scatter", "send",      "recv",
                                                        "all_to_all", "gather",         "scatter"};
    return word(words, function);
}

std::string_view name_of(collective_type type) {
    constexpr std::array<std::string_view, 13> words = {"",         "Char",          "Byte",       "Int",   "UInt32",
                                                        "Long",     "UInt64",        "Half",       "Float", "Double",
                                                        "BFloat16", "Float8_e4m3fn", "Float8_e5m2"};
    return word(words, type);
}

std::string_view name_of(collective_algorithm algorithm) {
    constexpr std::array<std::string_view, 8> words = {"",     "tree",      "ring", "collnet_direct", "collnet_chain",
                                                       "nvls", "nvls_tree", "pat"};
    return word(words, algorithm);
}

std::string_view name_of(collective_protocol protocol) {
    constexpr std::array<std::string_view, 4> words = {"", "LL", "LL128", "simple"};
    return word(words, protocol);
}

}  // namespace

collective_args::collective_args(const timeline& data) : data_(data) {
    std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> by_node;
    for (std::uint32_t i = 0; i < data.collectives.size(); ++i) {
        const collective_call& call = data.collectives[i];
        if (call.op == npos) continue;
        const std::uint32_t node = data.ops[call.op].graph_node;
        if (call.in_graph && node != npos && node != graph_capture_unseen) {
            by_node[node].push_back(i);
        } else {
            by_op_[call.op].push_back(i);
        }
    }
    for (std::uint32_t op = 0; !by_node.empty() && op < data.ops.size(); ++op) {
        if (const auto found = by_node.find(data.ops[op].graph_node); found != by_node.end()) {
            by_op_[op] = found->second;
        }
    }
}

void collective_args::write(trace_events& events, std::uint32_t op) const {
    const auto found = by_op_.find(op);
    if (found == by_op_.end()) return;
    const collective_call& first = data_.collectives[found->second.front()];
    events.arg_text("Collective name", json_string(name_of(first.function)));
    if (first.communicator < data_.communicators.size()) {
        const timeline_communicator& of = data_.communicators[first.communicator];
        if (!of.name.empty()) events.arg_text("Process Group Name", json_string(of.name));
        if (of.ranks != 0) events.arg("Group size", of.ranks);
        if (of.rank != UINT32_MAX) events.arg("Rank", of.rank);
        if (of.id != 0) events.arg_text("communicator", json_string(fmt::format("{:x}", of.id)));
    }
    if (first.sequence != no_sequence) events.exact_arg("Seq", first.sequence);
    // As PyTorch counts: a tensor's elements, of all ranks where the call has one rank's.
    const std::uint64_t ranks = first.communicator < data_.communicators.size()
                                    ? std::max(data_.communicators[first.communicator].ranks, 1U)
                                    : 1;
    const bool scatters = first.function == collective_function::reduce_scatter;
    events.exact_arg("In msg nelems", scatters ? first.count * ranks : first.count);
    events.exact_arg("Out msg nelems",
                     first.function == collective_function::all_gather ? first.count * ranks : first.count);
    if (first.type != collective_type::unknown) events.arg_text("dtype", json_string(name_of(first.type)));
    events.exact_arg("message bytes", first.bytes);
    if (first.root >= 0) events.arg("root", first.root);
    if (first.peer >= 0) {
        if (first.function == collective_function::recv) {
            events.arg("Src Rank", first.peer);
        } else {
            events.arg("Dst Rank", first.peer);
        }
    }
    if (first.algorithm != collective_algorithm::unknown) {
        events.arg_text("algorithm", json_string(name_of(first.algorithm)));
    }
    if (first.protocol != collective_protocol::unknown) {
        events.arg_text("protocol", json_string(name_of(first.protocol)));
    }
    if (first.channels != 0) events.arg("channels", static_cast<std::uint32_t>(first.channels));
    if (found->second.size() == 1) return;
    // The others of a group, in a line each.
    std::string others;
    for (std::size_t i = 1; i < found->second.size(); ++i) {
        const collective_call& each = data_.collectives[found->second[i]];
        others += i == 1 ? "" : "\n";
        others += name_of(each.function);
        if (each.sequence != no_sequence) others += fmt::format(", Seq {}", each.sequence);
        others += fmt::format(", {} bytes", each.bytes);
        if (each.peer >= 0) others += fmt::format(", peer {}", each.peer);
    }
    events.arg_text("grouped with", json_string(others));
}

}  // namespace prof
