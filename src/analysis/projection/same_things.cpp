// SPDX-License-Identifier: Apache-2.0
#include "analysis/projection/same_things.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

#include "analysis/projection/row_tree.hpp"

namespace prof {
namespace {

// Of the host time of the outer ranges, in the inner ones.
constexpr double share_of_step = 0.9;
constexpr double share_of_phase = 0.8;

// Parts of names that people give what is a phase, in small letters. The phase's own name is one, too.
struct word_for_phase {
    std::string_view phase, word;
};
constexpr auto known_words = std::to_array<word_for_phase>({
    {"forward", "fwd"},
    {"backward", "bwd"},
    {"backward", "backprop"},
    {"optimizer", "optim"},
    {"optimizer", "opt_step"},
    {"optimizer", "update"},
    {"data", "batch"},
    {"data", "load"},
    {"data", "fetch"},
    {"evaluation", "eval"},
    {"evaluation", "valid"},
    {"evaluation", "test"},
    {"zero_grad", "zero"},
    {"clip_grad", "clip"},
});

bool is_name_for(std::string name, std::string_view phase) {
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    return name.find(phase) != std::string::npos ||
           std::any_of(known_words.begin(), known_words.end(), [&](const word_for_phase& known) {
               return known.phase == phase && name.find(known.word) != std::string::npos;
           });
}

class comparison {
public:
    comparison(const timeline& data, const attribution& att, const row_tree& tree)
        : tree_(tree), totals_(tree.nodes().size()) {
        for (const range_id i : data.ranges.ids()) {
            const row_tree::node_id node = tree.node_of(i);
            if (node == npos) continue;
            totals_[node].host_ns += data.ranges[i].inside_until_ns() - data.ranges[i].start_ns;
            ++totals_[node].count;
            totals_[node].is_elsewhere |= att.parent[i] != data.ranges[i].parent;
        }
        for (const row_tree::node& node : tree.nodes()) {
            if (node.parent != npos && node.is_observed) ++totals_[node.parent].phases;
        }
    }

    row_values<row_tree::node_id, row_tree::node_id> run() const {
        row_values<row_tree::node_id, row_tree::node_id> outer_of(totals_.size(), npos);
        row_values<row_tree::node_id, std::uint8_t> is_outer(totals_.size(), 0);
        bool any = false;
        for (row_tree::node_id inner(row_tree::unmatched + 1); inner < totals_.size(); ++inner) {
            const row_tree::node_id outer = tree_.nodes()[inner].parent;
            if (outer == npos || outer <= row_tree::unmatched || outer_of[outer] != npos || is_outer[outer] != 0)
                continue;
            if (!are_same(outer, inner)) continue;
            outer_of[inner] = outer;
            is_outer[outer] = 1;
            any = true;
        }
        if (!any) outer_of.clear();
        return outer_of;
    }

private:
    struct total {
        std::int64_t host_ns = 0;
        std::uint64_t count = 0;
        std::uint32_t phases = 0;   // directly inside
        bool is_elsewhere = false;  // on another thread than what is around it
    };

    bool are_same(row_tree::node_id outer, row_tree::node_id inner) const {
        const row_tree::node& around = tree_.nodes()[outer];
        const row_tree::node& inside = tree_.nodes()[inner];
        if (around.is_observed == inside.is_observed || around.is_captured || inside.is_captured) return false;
        const std::string_view phase = around.is_observed ? around.text : inside.text;
        const std::string_view own = around.is_observed ? inside.text : around.text;
        if (is_of_pytorch(own)) return false;
        const bool is_step = phase == "step";
        const total& all = totals_[outer];
        const total& part = totals_[inner];
        if (part.is_elsewhere || part.count == 0 || all.count - part.count > (is_step && all.count > 2 ? 1U : 0U)) {
            return false;
        }
        const double share = is_step ? share_of_step : share_of_phase;
        if (static_cast<double>(part.host_ns) < share * static_cast<double>(all.host_ns)) return false;
        if (!is_step) return is_name_for(std::string(own), phase);
        return all.count > 1 && all.phases == (inside.is_observed ? 1U : 0U);
    }

    const row_tree& tree_;
    row_values<row_tree::node_id, total> totals_;
};

}  // namespace

bool is_of_pytorch(std::string_view name) {
    constexpr std::array<std::string_view, 6> prefixes = {"Optimizer.step#",
                                                          "Optimizer.zero_grad#",
                                                          "enumerate(DataLoader)#",
                                                          "ProfilerStep#",
                                                          "DistributedDataParallel.forward",
                                                          "FullyShardedDataParallel.forward"};
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](std::string_view prefix) { return name.starts_with(prefix); });
}

row_values<row_tree::node_id, row_tree::node_id> same_things(const timeline& data, const attribution& att,
                                                             const row_tree& tree) {
    const bool has_phases = std::any_of(tree.nodes().begin(), tree.nodes().end(),
                                        [](const row_tree::node& node) { return node.is_observed; });
    if (!has_phases) return {};
    return comparison(data, att, tree).run();
}

}  // namespace prof
