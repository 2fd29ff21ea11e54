// SPDX-License-Identifier: Apache-2.0
#include "compare/matched_names.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "compare/numbers_in_names.hpp"
#include "symbols/short_name.hpp"

namespace prof {
namespace {

class matcher {
public:
    matcher(std::span<const named_cost> base, std::span<const named_cost> changed)
        : base_(base), changed_(changed), has_base_(base.size()), has_changed_(changed.size()) {}

    // Those not yet matched whose texts are equal, by their time.
    template <typename TText>
    void match(name_match how, TText&& text_of) {
        std::map<std::string, std::pair<std::vector<std::size_t>, std::vector<std::size_t>>> groups;
        for (std::size_t i = 0; i < base_.size(); ++i) {
            if (!has_base_[i]) groups[std::string(text_of(base_[i].name))].first.push_back(i);
        }
        for (std::size_t i = 0; i < changed_.size(); ++i) {
            if (!has_changed_[i]) groups[std::string(text_of(changed_[i].name))].second.push_back(i);
        }
        const auto sort = [](std::vector<std::size_t>& of, std::span<const named_cost> costs) {
            std::stable_sort(of.begin(), of.end(),
                             [&](std::size_t a, std::size_t b) { return costs[a].amount > costs[b].amount; });
        };
        for (auto& [text, group] : groups) {
            sort(group.first, base_);
            sort(group.second, changed_);
            for (std::size_t i = 0; i < std::min(group.first.size(), group.second.size()); ++i) {
                out_.push_back({group.first[i], group.second[i], how});
                has_base_[group.first[i]] = has_changed_[group.second[i]] = true;
            }
        }
    }

    std::vector<matched_name> finish() && {
        for (std::size_t i = 0; i < base_.size(); ++i) {
            if (!has_base_[i]) out_.push_back({.base = i});
        }
        for (std::size_t i = 0; i < changed_.size(); ++i) {
            if (!has_changed_[i]) out_.push_back({.changed = i});
        }
        return std::move(out_);
    }

private:
    std::span<const named_cost> base_;
    std::span<const named_cost> changed_;
    std::vector<bool> has_base_;
    std::vector<bool> has_changed_;
    std::vector<matched_name> out_;
};

}  // namespace

std::vector<matched_name> match_equal(std::span<const named_cost> base, std::span<const named_cost> changed) {
    matcher out(base, changed);
    out.match(name_match::exact, [](std::string_view name) { return name; });
    return std::move(out).finish();
}

std::vector<matched_name> match_kernels(std::span<const named_cost> base, std::span<const named_cost> changed) {
    matcher out(base, changed);
    out.match(name_match::exact, [](std::string_view name) { return name; });
    out.match(name_match::template_arguments, short_name);
    out.match(name_match::numbers, [](std::string_view name) { return without_numbers(short_name(name)); });
    return std::move(out).finish();
}

}  // namespace prof
