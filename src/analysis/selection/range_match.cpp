// SPDX-License-Identifier: Apache-2.0
#include "analysis/selection/range_match.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "analysis/projection/segment.hpp"
#include "base/json_text.hpp"
#include "base/suggestion.hpp"

namespace prof {
namespace {

// A segment of a pattern, with the answers that it has given.
class segment_pattern {
public:
    explicit segment_pattern(std::string text) : text_(std::move(text)) {}

    bool accepts(std::string_view text) const {
        return text == text_ || fnmatch(text_.c_str(), std::string(text).c_str(), 0) == 0;
    }
    template <typename TTexts>
    bool accepts_any(std::uint64_t key, TTexts&& texts) {
        const auto [known, is_new] = known_.try_emplace(key, false);
        if (is_new) {
            const std::vector<std::string> candidates = texts();
            known->second = std::any_of(candidates.begin(), candidates.end(),
                                        [&](const std::string& text) { return accepts(text); });
        }
        return known->second;
    }

private:
    std::string text_;
    std::unordered_map<std::uint64_t, bool> known_;
};

using path_pattern = std::vector<segment_pattern>;  // outermost first

path_pattern segments_of(std::string_view pattern) {
    path_pattern out;
    std::string segment;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] == '/') {
            out.emplace_back(std::exchange(segment, {}));
            continue;
        }
        if (pattern[i] == '\\' && i + 1 < pattern.size()) segment += pattern[i++];
        segment += pattern[i];
    }
    out.emplace_back(std::move(segment));
    return out;
}

// A range, or a captured one under a launch; or with owner_ambiguous for a range the row of that name.
struct place {
    range_id range = npos;
    replayed_id replayed = npos;

    bool is_replayed() const noexcept { return replayed != npos; }
    bool is_none() const noexcept { return range == npos && replayed == npos; }
};

class range_matcher {
public:
    range_matcher(const timeline& data, const attribution& att, const row_tree& tree, const fold_rule& rule)
        : data_(data), att_(att), tree_(tree), rule_(rule) {
        out_.matches.assign(data.ranges.size(), 0);
        out_.replayed_matches.assign(att.replayed.size(), 0);
    }

    matched_ranges run(const std::vector<std::string>& patterns) {
        for (const std::string& pattern : patterns) add(pattern);
        keep_start_end();
        keep_inside();
        keep_replayed();
        out_.count =
            static_cast<std::uint64_t>(std::count(out_.matches.begin(), out_.matches.end(), 1) +
                                       std::count(out_.replayed_matches.begin(), out_.replayed_matches.end(), 1));
        return std::move(out_);
    }

private:
    void add(const std::string& pattern) {
        bool found = false;
        if (pattern.starts_with('(')) {
            const segment_pattern fixed(pattern);
            const auto check = [&](bool& wanted, std::string_view text) {
                if (!fixed.accepts(text)) return;
                wanted = found = true;
            };
            check(out_.no_range, no_range_text);
            check(out_.ambiguous, ambiguous_text);
            check(out_.unmatched, unmatched_text);
        }
        // A name with slashes may be given as tables show it.
        std::vector<path_pattern> readings = {segments_of(pattern)};
        if (readings.front().size() > 1) readings.push_back({segment_pattern(pattern)});
        for (path_pattern& reading : readings) {
            for (const range_id i : data_.ranges.ids()) {
                if (!may_match(i) || !accepts(reading, {.range = i})) continue;
                out_.matches[i] = 1;
                found = true;
            }
            for (const replayed_id i : att_.replayed.ids()) {
                if (!accepts(reading, {.replayed = i})) continue;
                out_.replayed_matches[i] = 1;
                found = true;
            }
        }
        if (!found) out_.in_vain.push_back(complaint(pattern));
    }

    bool may_match(range_id range) const {
        const timeline_range& of = data_.ranges[range];
        if (of.style == range_style::start_end) return !att_.hidden.contains(of);
        return tree_.node_of(range) != npos || tree_.is_in_stage(range);
    }

    bool accepts(path_pattern& pattern, place at) {
        for (auto segment = pattern.rbegin(); segment != pattern.rend(); ++segment) {
            if (at.is_none() || !accepts(*segment, at)) return false;
            at = at.range == owner_ambiguous ? place{} : above(at);
        }
        return true;
    }

    bool accepts(segment_pattern& segment, const place& at) {
        if (at.range == owner_ambiguous) return segment.accepts(ambiguous_text);
        const timeline_range& range = range_at(at);
        const row_tree::node_id node = at.is_replayed()                        ? tree_.node_of_replayed(at.replayed)
                                       : range.style == range_style::start_end ? row_tree::node_id()
                                                                               : tree_.node_of(at.range);
        // By the row that has it; else by its own name.
        constexpr std::uint64_t of_row = std::uint64_t{1} << 63;
        if (node != npos && segment.accepts_any(of_row | node, [&] { return texts_of_row(node); })) return true;
        return segment.accepts_any(range.name_key(), [&] { return texts_of_range(range); });
    }

    std::vector<std::string> texts_of_row(row_tree::node_id node) const {
        const row_tree::node& of = tree_.nodes()[node];
        std::vector<std::string> out = {std::string(of.text)};
        if (of.is_captured) out.push_back(with_captured(out.front(), true));
        return out;
    }
    // Start/end ranges are in no tree.
    std::vector<std::string> texts_of_range(const timeline_range& range) const {
        std::vector<std::string> out = {segment_text(data_, range, false), std::string(data_.name(range.name))};
        if (range.style == range_style::start_end && folds(rule_, data_, range)) {
            out.push_back(segment_text(data_, range, true));
        }
        return out;
    }

    const timeline_range& range_at(const place& at) const {
        return data_.ranges[at.is_replayed() ? att_.replayed[at.replayed].range : at.range];
    }

    // Where self time of the launch goes; an owner_ constant if to no range.
    range_id owner_of_launch(replayed_id replayed) const {
        const timeline_api_call& call = data_.api_calls[att_.replayed[replayed].launch];
        return att_.owner[data_.ops_by_launch[call.first_op]];
    }

    place above(const place& at) const {
        if (!at.is_replayed()) {
            return {.range = range_or_ambiguous(att_.parent[at.range])};
        }
        if (const replayed_id parent = att_.replayed[at.replayed].parent; parent != npos) return {.replayed = parent};
        return {.range = range_or_ambiguous(owner_of_launch(at.replayed))};
    }
    static range_id range_or_ambiguous(range_id owner) noexcept {
        return is_range(owner) || owner == owner_ambiguous ? owner : npos;
    }

    void keep_start_end() {
        std::vector<std::vector<time_span>> spans;  // by process
        for (const range_id i : data_.ranges.ids()) {
            const timeline_range& range = data_.ranges[i];
            if (out_.matches[i] == 0 || range.style != range_style::start_end) continue;
            const std::uint32_t process = data_.threads[range.thread].process;
            if (process >= spans.size()) spans.resize(process + 1);
            spans[process].push_back({range.start_ns, range.end_ns});
        }
        for (std::vector<time_span>& of : spans) out_.start_end.emplace_back(std::move(of));
    }

    void keep_inside() {
        constexpr std::uint8_t unknown = 2;
        out_.kept.assign(data_.ranges.size(), unknown);
        std::vector<range_id> waiting;
        for (const range_id i : data_.ranges.ids()) {
            range_id at = i;
            for (; is_range(at) && out_.kept[at] == unknown; at = att_.parent[at]) waiting.push_back(at);
            bool is_inside = is_range(at) && out_.kept[at] == 1;
            if (at == owner_ambiguous) is_inside = out_.ambiguous;
            // What is in no range: PyTorch's operators, since no other range is meant by it.
            bool is_outside = at == npos;
            for (; !waiting.empty(); waiting.pop_back()) {
                const timeline_range& range = data_.ranges[waiting.back()];
                is_outside = is_outside && !range.takes_part();
                is_inside = is_inside || (is_outside && out_.no_range && range.style == range_style::push_pop) ||
                            out_.matches[waiting.back()] == 1 || begins_in_start_end(range);
                out_.kept[waiting.back()] = is_inside && is_shown(range) ? 1 : 0;
            }
        }
    }
    bool begins_in_start_end(const timeline_range& range) const {
        return range.style == range_style::push_pop && out_.in_start_end(data_, range.thread, range.start_ns);
    }
    bool is_shown(const timeline_range& range) const {
        return range.style != range_style::graph_context && !(range.takes_part() && att_.hidden.contains(range));
    }

    // Parents come before their children.
    void keep_replayed() {
        out_.replayed_kept.assign(att_.replayed.size(), 0);
        for (const replayed_id i : att_.replayed.ids()) {
            const replayed_range& of = att_.replayed[i];
            bool is_inside = out_.replayed_matches[i] == 1;
            if (of.parent != npos) {
                is_inside = is_inside || out_.replayed_kept[of.parent] == 1;
            } else {
                const range_id owner = owner_of_launch(i);
                is_inside =
                    is_inside || (is_range(owner) ? out_.kept[owner] == 1 : owner == owner_ambiguous && out_.ambiguous);
            }
            const timeline_api_call& launch = data_.api_calls[of.launch];
            if (out_.in_start_end(data_, launch.thread, launch.start_ns)) is_inside = true;
            out_.replayed_kept[i] = is_inside ? 1 : 0;
        }
    }

    std::string complaint(const std::string& pattern) const {
        constexpr std::size_t most_names = 8;
        std::vector<std::string> names;
        std::unordered_set<std::string_view> seen;
        for (const row_tree::node_id node : tree_.preorder()) {
            const std::string_view text = tree_.nodes()[node].text;
            if (row_tree::kind_of(node) == row_kind::range && seen.insert(text).second) names.emplace_back(text);
        }
        std::string out = "no range matches " + in_quotes(pattern);
        const std::string_view last = std::string_view(pattern).substr(pattern.rfind('/') + 1);
        const std::string near = nearest_name(last, names);
        if (names.empty()) return out + ": the capture has no range";
        if (!near.empty()) return out + "; did you mean " + terminal_safe(near) + "?";
        out += "; there are ";
        for (std::size_t i = 0; i < std::min(names.size(), most_names); ++i) {
            out.append(i == 0 ? "" : ", ").append(terminal_safe(names[i]));
        }
        return names.size() > most_names ? out + ", …" : out;
    }

    const timeline& data_;
    const attribution& att_;
    const row_tree& tree_;
    const fold_rule& rule_;
    matched_ranges out_;
};

}  // namespace

matched_ranges match_ranges(const timeline& data, const attribution& att, const row_tree& tree, const fold_rule& rule,
                            const std::vector<std::string>& patterns) {
    return range_matcher(data, att, tree, rule).run(patterns);
}

}  // namespace prof
