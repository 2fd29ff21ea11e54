// SPDX-License-Identifier: Apache-2.0
#include "timeline/kineto/trace_modules.hpp"

#include <cstddef>

#include "record/record.hpp"

namespace prof {
namespace {

// Deeper than modules lie in each other: paths of a recursion would grow with its depth.
constexpr std::size_t deepest_module = 64;

// The number of the next node is that of the next operator that has one.
class module_numbers {
public:
    explicit module_numbers(std::vector<trace_item>& items) : items_(items) {}

    void begins(std::size_t call) { begun_.push_back(call); }
    void ends(std::size_t call) { ended_.push_back(call); }
    void next_is(std::int64_t number) {
        for (const std::size_t call : begun_) {
            items_[call].value = static_cast<std::uint64_t>(number);
            items_[call].flags = static_cast<std::uint8_t>(payload_type::u64);
        }
        for (const std::size_t call : ended_) items_[call].sequence = number;
        begun_.clear();
        ended_.clear();
    }

private:
    std::vector<trace_item>& items_;
    std::vector<std::size_t> begun_;
    std::vector<std::size_t> ended_;
};

}  // namespace

std::optional<std::string_view> module_in_trace(std::string_view name) noexcept {
    constexpr std::string_view prefix = "nn.Module: ";
    if (!name.starts_with(prefix) || name.size() == prefix.size()) return std::nullopt;
    return name.substr(prefix.size());
}

std::string name_of_module(std::string_view around, std::string_view module) {
    std::string out(around.substr(0, around.rfind(" (")));
    if (!out.empty()) out += '.';
    const std::size_t end = module.find_last_not_of("0123456789");
    const bool is_numbered = end != std::string_view::npos && end > 0 && end + 1 < module.size() && module[end] == '_';
    return out.append(module).append(" (").append(is_numbered ? module.substr(0, end) : module).append(")");
}

void complete_modules(std::vector<trace_item>& items,
                      const std::function<name_id(name_id around, name_id own)>& name_of) {
    module_numbers numbers(items);
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < items.size(); ++i) {
        trace_item& item = items[i];
        while (!open.empty() && items[open.back()].end_ns <= item.start_ns) {
            numbers.ends(open.back());
            open.pop_back();
        }
        if (item.kind == trace_item_kind::module) {
            const name_id around = open.empty() ? name_id() : items[open.back()].name;
            item.name = open.size() < deepest_module ? name_of(around, item.name) : name_id();
            if (item.name == 0) {
                item.kind = trace_item_kind::left_out;
                continue;
            }
            open.push_back(i);
            numbers.begins(i);
        } else if (item.kind == trace_item_kind::torch_op && item.sequence >= 0 && !item.is_backward) {
            numbers.next_is(item.sequence);
        }
    }
}

}  // namespace prof
