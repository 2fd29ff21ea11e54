// SPDX-License-Identifier: Apache-2.0
#include "report/tables/no_range_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analysis/projection/operation_name.hpp"
#include "base/display_text.hpp"
#include "base/json_text.hpp"
#include "report/makers.hpp"
#include "report/tables/kernels.hpp"
#include "report/tables/nsight_columns.hpp"

namespace prof {
namespace {

struct work_key {
    std::uint32_t name = 0;
    std::uint32_t thread = npos;
    std::uint32_t call = npos;
    auto operator<=>(const work_key&) const = default;
};
struct hash_of_key {
    std::size_t operator()(const work_key& key) const noexcept {
        constexpr std::uint64_t odd = 0x9E37'79B9'7F4A'7C15;
        return ((std::uint64_t{key.name} << 32 | key.thread) * odd ^ key.call) * odd >> 16;
    }
};
struct work_sum {
    std::int64_t gpu_ns = 0;
    std::uint64_t ops = 0;
};

std::string name_of(const timeline& data, const gpu_op& op, kernel_name_style style) {
    switch (op.kind) {
        case op_kind::kernel:
            return kernel_name(data.kernel_symbol(op), style);
        case op_kind::graph:
            return graph_name(data.graphs[op.detail]);
        case op_kind::memcpy:
        case op_kind::memset:
            break;
    }
    return transfer_name(data.transfers[op.detail]);
}

}  // namespace

std::vector<no_range_work> largest_without_range(const timeline& data, const attribution& att,
                                                 const report_input& input, std::size_t most) {
    text_ids texts;
    text_ids calls;
    std::unordered_map<work_key, work_sum, hash_of_key> sums;
    for (const op_id i : data.ops.ids()) {
        const gpu_op& op = data.ops[i];
        if (att.owner[i] != owner_no_range || att.captured[i] != npos || op.launch == npos) continue;
        const timeline_api_call& call = data.api_calls[op.launch];
        const std::uint64_t detail = std::uint64_t{op.detail} << 2 | static_cast<std::uint64_t>(op.kind);
        const auto name_of_call = [&] { return input.call_name ? input.call_name(call) : std::string(); };
        work_sum& sum = sums[{texts.of(detail, [&] { return name_of(data, op, input.names); }), call.thread,
                              calls.of(call_name_key(call), name_of_call)}];
        sum.gpu_ns += op.end_ns - op.start_ns;
        ++sum.ops;
    }
    std::vector<std::pair<work_key, work_sum>> all(sums.begin(), sums.end());
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
        return std::tie(b.second.gpu_ns, a.first) < std::tie(a.second.gpu_ns, b.first);
    });
    std::vector<no_range_work> out;
    for (std::size_t i = 0; i < std::min(most, all.size()); ++i) {
        const auto& [key, sum] = all[i];
        out.push_back({.name = texts.text(key.name),
                       .thread = key.thread < data.threads.size() ? data.threads[key.thread].name : std::string(),
                       .call = calls.text(key.call),
                       .gpu_ns = sum.gpu_ns,
                       .ops = sum.ops});
    }
    return out;
}

std::string no_range_note(const std::vector<no_range_work>& largest) {
    constexpr std::size_t longest_name = 60;
    std::string out;
    for (const no_range_work& work : largest) {
        out += out.empty() ? "largest in (no range): " : "; ";
        out += fmt::format("{:.3f} ms {}", static_cast<double>(work.gpu_ns) * 1e-6,
                           shortened(terminal_safe(work.name), longest_name));
        if (!work.call.empty()) out += " by " + work.call;
        if (!work.thread.empty()) out += " on " + shortened(terminal_safe(work.thread), longest_name);
        out += fmt::format(" ({} operation{})", with_thousands(work.ops), work.ops == 1 ? "" : "s");
    }
    return out;
}

}  // namespace prof
