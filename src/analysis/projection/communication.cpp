// SPDX-License-Identifier: Apache-2.0
#include "analysis/projection/communication.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "analysis/projection/name_parts.hpp"
#include "base/text.hpp"
#include "record/transfer_words.hpp"
#include "symbols/demangle.hpp"
#include "symbols/short_name.hpp"

namespace prof {
namespace {

// Libraries that do nothing but communicate: how their functions or namespaces begin.
constexpr std::string_view libraries[] = {
    "nccl",   "rccl",     "msccl", "nvshmem", "rocshmem", "ishmem",      "oneccl",      "hccl",         "deep_ep",
    "deepep", "dpsk::ep", "pplx",  "mori::",  "nixl_ep",  "quickreduce", "userbuffers", "kuserbuffers",
};

// Words of collective operations, beside one another. No local operation has such a name: a reduction of all elements
// is a reduce kernel.
constexpr std::string_view collective_operations[] = {
    "allreduce", "allgather",   "reducescatter", "alltoall",      "all2all",         "a2a",
    "sendrecv",  "crossdevice", "multimem",      "lamport",       "internode",       "intranode",
    "putsignal", "waitsignal",  "barrierall",    "barrierkernel", "multigpubarrier",
};

// Kernels that compute and communicate count as what takes them longer.
constexpr std::string_view computing[] = {"gemm", "matmul", "attention", "fmha"};

// Compilers that name a kernel after the operators whose pointwise part it computes.
constexpr std::string_view fused_starts[] = {"triton_poi_", "triton_red_", "triton_per_", "triton_for_",
                                             "triton_tem_", "triton_spl_", "input_",      "loop_"};

// "oneShotAllReduceKernel" and "one_shot_all_reduce_kernel" both become "oneshotallreducekernel". `begins` has the
// places where their words begin.
struct joined_words {
    std::string text;
    std::vector<std::size_t> begins;
};

joined_words words_of(std::string_view name) {
    joined_words out;
    char before = '_';
    for (const char c : name) {
        const auto code = static_cast<unsigned char>(c);
        if (std::isalnum(code) == 0) {
            before = c;
            continue;
        }
        const bool is_new = std::isalnum(static_cast<unsigned char>(before)) == 0 ||
                            (std::isupper(code) != 0 && std::isupper(static_cast<unsigned char>(before)) == 0);
        if (is_new) out.begins.push_back(out.text.size());
        out.text += static_cast<char>(std::tolower(code));
        before = c;
    }
    return out;
}

bool names_operation(std::string_view name) {
    const joined_words words = words_of(name);
    if (has_one_of(words.text, computing)) return false;
    return std::any_of(words.begins.begin(), words.begins.end(), [&](std::size_t begin) {
        const std::string_view rest = std::string_view(words.text).substr(begin);
        return begins_with_one_of(rest, collective_operations);
    });
}

// Without the return type, template arguments, parameters and "(anonymous namespace)::".
std::string qualified_name(std::string_view full) {
    std::string out;
    int depth = 0;
    for (std::size_t i = 0; i < full.size(); ++i) {
        constexpr std::string_view unnamed = "(anonymous namespace)";
        if (full.substr(i).starts_with(unnamed)) {
            i += unnamed.size() - 1;
            continue;
        }
        const char c = full[i];
        if (c == '<') ++depth;
        if (depth == 0 && c == '(') break;
        if (depth == 0 && c == ' ') {
            out.clear();
        } else if (depth == 0) {
            out += c;
        }
        if (c == '>' && depth > 0) --depth;
    }
    return out;
}

bool is_of_library(std::string_view qualified) {
    for (std::size_t at = 0; at != std::string_view::npos;) {
        const std::string_view rest = qualified.substr(at);
        if (begins_with_one_of(rest, libraries)) return true;
        const std::size_t next = rest.find("::");
        at = next == std::string_view::npos ? next : at + next + 2;
    }
    return false;
}

}  // namespace

void add_communication(timeline& data, const std::vector<std::string>& patterns) {
    if (patterns.empty()) return;
    std::string& lines = data.properties[std::string(communication_property)];
    for (const std::string& pattern : patterns) lines += (lines.empty() ? "" : "\n") + pattern;
}

bool is_communication_kernel(std::string_view symbol) {
    const std::optional<demangled_name> name = demangle(symbol);
    const std::string qualified = qualified_name(name ? std::string_view(name->full) : symbol);
    if (begins_with_one_of(qualified, fused_starts)) return false;
    return is_of_library(qualified) || names_operation(qualified) || has_part(symbol, "ncclKernel") ||
           has_part(symbol, "ncclDevKernel");
}

collective_calls::collective_calls(const timeline& data) : data_(&data) {
    constexpr std::string_view operators[] = {"record_param_comms", "nccl:", "rccl:", "c10d::"};
    constexpr std::array<std::string_view, 4> own_domains = {"NCCL", "RCCL", "NVSHMEM", "UCC"};
    for (const auto& [id, name] : data.name_table) {
        if (begins_with_one_of(std::string_view(name), operators)) names_.insert(id);
    }
    for (std::size_t i = 0; i < data.domains.size(); ++i) {
        if (std::find(own_domains.begin(), own_domains.end(), data.domains[i].name) != own_domains.end()) {
            domains_.insert(static_cast<std::uint16_t>(i));
        }
    }
}

// The innermost one counts: an operator that prepares the data for a collective stands in it.
template <typename TNode>
bool collective_calls::is_in(const row_table<TNode>& nodes, row_index<TNode> node) const {
    if (node == npos || nodes[node].range == npos) return false;
    const timeline_range& range = data_->ranges[nodes[node].range];
    return domains_.contains(range.domain) || (range.domain == 0 && names_.contains(range.name));
}

bool collective_calls::launched(const gpu_op& op) const {
    if ((names_.empty() && domains_.empty()) || op.launch == npos) return false;
    const timeline_api_call& call = data_->api_calls[op.launch];
    return is_in(data_->open_nodes, call.open) || is_in(data_->torch_nodes, call.torch_open);
}

bool is_between_gpus(const transfer_record& transfer) noexcept {
    if (transfer.kind == transfer_kind::memcpy_peer) return transfer.source_device != transfer.destination_device;
    return transfer.kind == transfer_kind::memcpy && transfer.copy_kind < copy_directions.size() &&
           copy_directions[transfer.copy_kind] == "PtoP";
}

communication_patterns::communication_patterns(std::string_view lines) {
    for (const std::string_view line : split(lines, '\n')) {
        if (!line.empty()) patterns_.emplace_back(line);
    }
}

bool communication_patterns::matches(std::string_view symbol) const {
    if (patterns_.empty()) return false;
    const std::optional<demangled_name> name = demangle(symbol);
    const std::string whole(symbol);
    const std::string full = name ? name->full : whole;
    const std::string base = name ? name->base : std::string(short_name(symbol));
    return std::any_of(patterns_.begin(), patterns_.end(), [&](const std::string& pattern) {
        const auto is_like = [&](const std::string& text) { return fnmatch(pattern.c_str(), text.c_str(), 0) == 0; };
        return is_like(whole) || is_like(full) || is_like(base);
    });
}

}  // namespace prof
