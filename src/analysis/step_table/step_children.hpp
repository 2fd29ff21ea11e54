// SPDX-License-Identifier: Apache-2.0
// What is inside the rows of the table of a step: modules, scopes of JAX, or ranges, nested. Each time that is added
// counts for one of them, or for the row's own. One thread; memory linear in their names.
//
// A row in which modules work has these inside it, each by its own path; any other row has the ranges of the table of
// ranges (row_tree.hpp), and in them the scopes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "analysis/breakdown/host_activity.hpp"
#include "analysis/modules/module_finder.hpp"
#include "analysis/modules/module_tree.hpp"
#include "analysis/projection/row_tree.hpp"
#include "analysis/projection/segment.hpp"
#include "analysis/step_table/step_rows.hpp"
#include "analysis/step_table/step_table.hpp"
#include "timeline/timeline.hpp"

namespace prof {

class step_children {
public:
    // Deeper ones are part of what is around them, and more are one row in it.
    static constexpr std::uint32_t deepest = 16;
    static constexpr std::size_t most = 4'096;

    // The arguments must outlive it. `original`: as for module_finder.
    step_children(const timeline& data, const attribution& att, const timeline& original, const row_tree& tree);

    // A GPU is busy with this operation of the row.
    void add_busy(const step_rows::found_row& row, std::uint32_t op, step_column use, std::int64_t ns);
    // The host is in the row, with `range` as the innermost. visit(from_ns, to_ns) returns how much of it it waits.
    template <typename TWaiting>
    void add_host(const step_rows::found_row& row, std::uint32_t thread, std::uint32_t range, std::int64_t from_ns,
                  std::int64_t to_ns, TWaiting&& waiting) {
        const std::int64_t wait_ns = waiting(from_ns, to_ns);
        add_host_time(range_child(row, tree_node_of(range)), to_ns - from_ns, wait_ns);
        if (finder_.calls().empty()) return;
        while (from_ns < to_ns) {
            std::int64_t until_ns = std::min(to_ns, finder_.calls().next_change(thread, from_ns));
            if (until_ns <= from_ns) until_ns = to_ns;  // damaged times
            add_host_time(module_child(row.row, finder_.at(thread, from_ns)), until_ns - from_ns,
                          wait_ns == 0 ? 0 : waiting(from_ns, until_ns));
            from_ns = until_ns;
        }
    }
    // A range, or call of a module, began in the row.
    void count_call(const step_rows::found_row& row, std::uint32_t range);

    // Largest first. Nothing is left of the row's afterwards.
    std::vector<step_table_row> take(std::uint32_t row);

private:
    struct child {
        std::string name;
        step_row_kind kind = step_row_kind::own;
        std::uint32_t depth = 0;
        std::vector<std::uint32_t> inside{};
        step_table_row own{};  // its times without those of what is inside
    };
    // Of a row: what has its ranges inside, and what has its modules.
    struct pair_of_roots {
        std::uint32_t ranges = npos;
        std::uint32_t modules = npos;
    };

    std::uint32_t tree_node_of(std::uint32_t range) const;
    std::uint32_t range_child(const step_rows::found_row& row, std::uint32_t node);
    std::uint32_t module_child(std::uint32_t row, const maker_of_node& made);
    std::uint32_t module_child_at(std::uint32_t row, std::uint32_t module);
    std::uint32_t scope_child(std::uint32_t inside, std::uint32_t scope);
    std::uint32_t module_of_name(std::uint32_t name);
    const pair_of_roots& roots_of(std::uint32_t row);
    std::uint32_t below(std::uint32_t above, std::string_view name, step_row_kind kind);
    void add_host_time(std::uint32_t at, std::int64_t cpu_ns, std::int64_t wait_ns);
    step_table_row made(std::uint32_t at);

    const timeline& data_;
    const attribution& att_;
    const row_tree& tree_;
    module_finder finder_;
    module_tree modules_;
    module_tree scopes_;
    std::vector<child> children_;
    std::vector<pair_of_roots> roots_;                               // by row
    std::unordered_map<std::string, std::uint32_t> by_name_;         // below()
    std::unordered_map<std::uint64_t, std::uint32_t> by_node_;       // row << 32 | node of the tree
    std::unordered_map<std::uint64_t, std::uint32_t> by_module_;     // row << 32 | node of modules_
    std::unordered_map<std::uint64_t, std::uint32_t> by_scope_;      // child << 32 | node of scopes_
    std::unordered_map<std::uint32_t, std::uint32_t> module_names_;  // name of a range → node of modules_
    std::unordered_map<std::uint32_t, std::uint32_t> scope_paths_;   // of the finder → node of scopes_
    text_budget texts_;
};

}  // namespace prof
