// SPDX-License-Identifier: Apache-2.0
#include "report/tables/hta_tables.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "analysis/projection/operation_name.hpp"

namespace prof {

hta_input hta_input_of(const report_input& input) {
    const timeline& data = input.data;
    // What operations have in common has one name, and a symbol is read once.
    const auto names = std::make_shared<std::unordered_map<std::uint64_t, std::string>>();
    const auto name_of = [&data, names](const gpu_op& op) {
        const auto [known, is_new] =
            names->try_emplace(std::uint64_t{op.detail} << 2 | static_cast<std::uint64_t>(op.kind));
        if (is_new) known->second = operation_name(data, op, kernel_name_style::full);
        return known->second;
    };
    return {.data = data,
            .op_name = name_of,
            .call_name = input.call_name,
            .hidden = input.hidden,
            .attributed = input.projected.attribution,
            .att = input.att};
}

}  // namespace prof
