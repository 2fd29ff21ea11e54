// SPDX-License-Identifier: Apache-2.0
#include "analysis/kernels/kernel_uses.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <unordered_map>

#include "analysis/breakdown/code_places.hpp"
#include "analysis/modules/module_texts.hpp"
#include "analysis/projection/operation_name.hpp"
#include "analysis/projection/row_tree.hpp"
#include "analysis/step_table/step_rows.hpp"
#include "symbols/kernel_names.hpp"

namespace prof {
namespace {

constexpr std::size_t most_launchers = 3;  // of a kind

struct tally {
    std::int64_t ns = 0;
    std::uint64_t launches = 0;
    void add(std::int64_t more_ns) noexcept {
        ns += more_ns;
        ++launches;
    }
};
template <typename TKey>
using tallies = std::unordered_map<TKey, tally>;

struct collected {
    std::uint32_t detail = 0;  // of one of its operations
    op_kind kind = op_kind::kernel;
    std::vector<std::int64_t> durations_ns{};
    std::int64_t total_ns = 0;
    tallies<step_row_id> phases{};
    tallies<code_place_id> places{};
    tallies<std::string_view> modules{};  // by text, which stays where it is
    tallies<name_id> operators{};
};

// Largest first, at most so many.
template <typename TKey, typename TText>
void add_largest(std::vector<kernel_launcher>& to, launcher_kind kind, const tallies<TKey>& from, TText&& text_of) {
    std::vector<kernel_launcher> all;
    for (const auto& [key, of] : from) all.push_back({kind, text_of(key), of.ns, of.launches});
    std::sort(all.begin(), all.end(), [](const kernel_launcher& a, const kernel_launcher& b) {
        return a.ns != b.ns ? a.ns > b.ns : a.text < b.text;
    });
    all.resize(std::min(all.size(), most_launchers));
    std::move(all.begin(), all.end(), std::back_inserter(to));
}

// "vectorized_elementwise_kernel · AUnaryFunctor": PyTorch's kernels of this kind differ in what they apply.
std::string with_functor(std::string base, std::string_view full) {
    if (base.find("elementwise") == std::string::npos && base.find("reduce_kernel") == std::string::npos &&
        base.find("multi_tensor") == std::string::npos) {
        return base;
    }
    constexpr std::string_view ends[] = {"Functor", "Op<", "_kernel_cuda", "_kernel_impl"};
    // The last of such words that is not the kernel itself.
    std::string_view best;
    std::size_t from = full.find('<');
    while (from < full.size()) {
        const std::size_t begin = full.find_first_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_", from);
        if (begin == std::string_view::npos) break;
        std::size_t end = begin;
        while (end < full.size() && (full[end] == '_' || (full[end] >= '0' && full[end] <= '9') ||
                                     (full[end] >= 'a' && full[end] <= 'z') || (full[end] >= 'A' && full[end] <= 'Z')))
            ++end;
        const std::string_view word = full.substr(begin, end - begin);
        const bool is_what = word.find(ends[0]) != std::string_view::npos || word.ends_with(ends[2]) ||
                             word.ends_with(ends[3]) || (word.ends_with("Op") || word.ends_with("Ops"));
        if (is_what && best.empty()) best = word;
        from = std::max(end, begin + 1);
    }
    if (best.empty()) return base;
    return base.append(" · ").append(best);
}

class finder {
public:
    finder(const timeline& data, const attribution& att, const whole_steps& of)
        : data_(data),
          att_(att),
          class_of_(data),
          where_(data, att, of),
          tree_(data, att, {}),
          rows_(data, att, of, where_, tree_),
          modules_(data, att, data) {}

    kernel_uses run(std::size_t most) {
        for (const op_id i : data_.ops.ids()) {
            if (!is_transfer(data_.ops[i].kind)) take(i);
        }
        kernel_uses out;
        std::vector<std::pair<std::string, collected*>> all;
        std::unordered_map<std::string, std::size_t> places;  // in `all`
        for (auto& [key, each] : by_detail_) {
            std::string name = name_of(each);
            const auto [known, is_new] = places.try_emplace(name, all.size());
            if (is_new) {
                all.emplace_back(std::move(name), &each);
            } else {
                merge(*all[known->second].second, each);
            }
        }
        std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
            return a.second->total_ns != b.second->total_ns ? a.second->total_ns > b.second->total_ns
                                                            : a.first < b.first;
        });
        out.count = all.size();
        for (const auto& [name, each] : all) {
            const kernel_purpose purpose = purpose_of_kernel(*each);
            kernel_uses::sums& sums = out.by_purpose[static_cast<std::size_t>(purpose)];
            sums.ns += each->total_ns;
            sums.launches += each->durations_ns.size();
            out.total_ns += each->total_ns;
            out.launches += each->durations_ns.size();
            if (out.rows.size() < most) out.rows.push_back(row_of(name, *each, purpose));
        }
        return out;
    }

private:
    void take(op_id index) {
        const gpu_op& op = data_.ops[index];
        const std::uint32_t name =
            op.kind == op_kind::kernel ? data_.kernels[op.detail].name : data_.graphs[op.detail].graph_id;
        collected& to = by_detail_[std::uint64_t{static_cast<std::uint32_t>(op.kind)} << 32 | name];
        to.detail = op.detail;
        to.kind = op.kind;
        const std::int64_t ns = op.end_ns - op.start_ns;
        to.durations_ns.push_back(ns);
        to.total_ns += ns;
        to.phases[rows_.of_op(index).row].add(ns);
        const range_id owner = att_.owner[index];
        to.places[is_range(owner) ? where_.of(owner) : code_place_id()].add(ns);
        if (op.launch == npos) return;
        if (modules_.is_recorded()) to.modules[modules_.of_op(index)].add(ns);
        const torch_node_id node = data_.api_calls[op.launch].torch_open;
        if (node != npos) to.operators[data_.ranges[data_.torch_nodes[node].range].name].add(ns);
    }

    static void merge(collected& to, const collected& from) {
        to.durations_ns.insert(to.durations_ns.end(), from.durations_ns.begin(), from.durations_ns.end());
        to.total_ns += from.total_ns;
        const auto add = [](auto& into, const auto& more) {
            for (const auto& [key, of] : more) {
                into[key].ns += of.ns;
                into[key].launches += of.launches;
            }
        };
        add(to.phases, from.phases);
        add(to.places, from.places);
        add(to.modules, from.modules);
        add(to.operators, from.operators);
    }

    gpu_op one_of(const collected& of) const {
        gpu_op out;
        out.kind = of.kind;
        out.set_detail(of.detail);
        return out;
    }
    std::string name_of(const collected& of) const {
        return operation_name(data_, one_of(of), kernel_name_style::full);
    }
    kernel_purpose purpose_of_kernel(const collected& of) const {
        if (of.kind != op_kind::kernel) return kernel_purpose::other;
        const gpu_op op = one_of(of);
        return purpose_of(data_.kernel_symbol(op), class_of_(op));
    }

    kernel_use row_of(const std::string& name, collected& from, kernel_purpose purpose) {
        kernel_use out{.name = name, .purpose = purpose};
        out.shorter = with_functor(operation_name(data_, one_of(from), kernel_name_style::short_form), name);
        std::vector<std::int64_t>& ns = from.durations_ns;
        std::sort(ns.begin(), ns.end());
        out.launches = ns.size();
        out.total_ns = from.total_ns;
        out.min_ns = ns.front();
        out.max_ns = ns.back();
        out.median_ns = ns[(ns.size() - 1) / 2];
        out.first_bin = duration_bin(out.min_ns);
        out.bins.resize(duration_bin(out.max_ns) - out.first_bin + 1);
        for (const std::int64_t each : ns) ++out.bins[duration_bin(each) - out.first_bin];
        for (const auto& [row, of] : from.phases) out.phases.emplace_back(rows_.name(row), of.ns);
        std::sort(out.phases.begin(), out.phases.end(), [](const auto& a, const auto& b) {
            return a.second != b.second ? a.second > b.second : a.first < b.first;
        });
        add_largest(out.launchers, launcher_kind::range, from.places,
                    [&](code_place_id place) { return where_.path(place); });
        add_largest(out.launchers, launcher_kind::module, from.modules,
                    [](std::string_view text) { return std::string(text); });
        add_largest(out.launchers, launcher_kind::operator_, from.operators,
                    [&](name_id id) { return std::string(data_.name(id)); });
        std::erase_if(out.launchers, [](const kernel_launcher& each) {
            return each.kind != launcher_kind::range && each.text.empty();
        });
        return out;
    }

    const timeline& data_;
    const attribution& att_;
    op_classifier class_of_;
    code_places where_;
    row_tree tree_;
    step_rows rows_;
    module_texts modules_;
    std::unordered_map<std::uint64_t, collected> by_detail_;  // kind << 32 | name, or graph
};

}  // namespace

std::string_view to_string(launcher_kind kind) noexcept {
    switch (kind) {
        case launcher_kind::range:
            return "range";
        case launcher_kind::module:
            return "module";
        case launcher_kind::operator_:
            break;
    }
    return "operator";
}

std::uint32_t duration_bin(std::int64_t ns) noexcept {
    if (ns <= 1) return 0;
    return static_cast<std::uint32_t>(std::floor(2 * std::log2(static_cast<double>(ns)) + 1e-9));
}

kernel_uses find_kernel_uses(const timeline& data, const attribution& att, const whole_steps& of, std::size_t most) {
    return finder(data, att, of).run(most);
}

}  // namespace prof
