// SPDX-License-Identifier: Apache-2.0
#include "analysis/projection/compilation_stages.hpp"

#include <array>

#include "analysis/projection/segment.hpp"

namespace prof {
namespace {

struct verb {
    std::string_view text;
    compilation_work work;
};
constexpr std::array verbs = {verb{"tracing ", compilation_work::tracing},
                              verb{"lowering ", compilation_work::lowering},
                              verb{"compiling ", compilation_work::compiling}};

}  // namespace

std::optional<compilation_stage> read_compilation_stage(const timeline& data, const timeline_range& range) {
    if (range.parent == npos || !is_phase(data, range)) return {};
    const timeline_range& around = data.ranges[range.parent];
    if (!is_phase(data, around) || data.name(around.name) != compilation_phase) return {};
    const std::string_view name = data.name(range.name);
    for (const verb& each : verbs) {
        if (!name.starts_with(each.text)) continue;
        std::string_view function = name.substr(each.text.size());
        if (each.work != compilation_work::tracing && function.starts_with("jit(") && function.ends_with(')')) {
            function.remove_prefix(4);
            function.remove_suffix(1);
        }
        return compilation_stage{each.work, function};
    }
    return {};
}

row_values<range_id, range_id> compilation_stages(const timeline& data) {
    row_values<range_id, range_id> out;
    for (const range_id i : data.ranges.ids()) {
        const timeline_range& range = data.ranges[i];
        if (range.style != range_style::push_pop || !range.takes_part()) continue;
        range_id stage = npos;
        if (!out.empty() && range.parent < i) stage = out[range.parent];  // parents precede their children
        if (stage == npos && read_compilation_stage(data, range)) stage = i;
        if (stage == npos) continue;
        out.resize(data.ranges.size(), npos);
        out[i] = stage;
    }
    return out;
}

}  // namespace prof
