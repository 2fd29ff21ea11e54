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
    void add_busy(const step_rows::found_row& row, op_id op, step_column use, std::int64_t ns);
    // The host is in the row, with `range` as the innermost. visit(from_ns, to_ns) returns how much of it it waits.
    template <typename TWaiting>
    void add_host(const step_rows::found_row& row, thread_id thread, range_id range, std::int64_t from_ns,
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
    void count_call(const step_rows::found_row& row, range_id range);

    // Largest first. Nothing is left of the row's afterwards.
    std::vector<step_table_row> take(step_row_id row);

private:
    struct child;
    using child_id = row_index<child>;
    struct child {
        std::string name;
        step_row_kind kind = step_row_kind::own;
        std::uint32_t depth = 0;
        std::vector<child_id> inside{};
        step_table_row own{};  // its times without those of what is inside
    };
    // Of a row: what has its ranges inside, and what has its modules.
    struct pair_of_roots {
        child_id ranges = npos;
        child_id modules = npos;
    };

    row_tree::node_id tree_node_of(range_id range) const;
    child_id range_child(const step_rows::found_row& row, row_tree::node_id node);
    child_id module_child(step_row_id row, const maker_of_node& made);
    child_id module_child_at(step_row_id row, module_node_id module);
    child_id scope_child(child_id inside, module_node_id scope);
    module_node_id module_of_name(name_id name);
    const pair_of_roots& roots_of(step_row_id row);
    child_id below(child_id above, std::string_view name, step_row_kind kind);
    void add_host_time(child_id at, std::int64_t cpu_ns, std::int64_t wait_ns);
    step_table_row made(child_id at);

    const timeline& data_;
    const attribution& att_;
    const row_tree& tree_;
    module_finder finder_;
    module_tree modules_;
    module_tree scopes_;
    row_table<child> children_;
    row_table<pair_of_roots, step_row_id> roots_;
    std::unordered_map<std::string, child_id> by_name_;              // below()
    std::unordered_map<std::uint64_t, child_id> by_node_;            // by row and node of the tree
    std::unordered_map<std::uint64_t, child_id> by_module_;          // by row and node of modules_
    std::unordered_map<std::uint64_t, child_id> by_scope_;           // by child and node of scopes_
    std::unordered_map<name_id, module_node_id> module_names_;       // name of a range → node of modules_
    std::unordered_map<std::uint32_t, module_node_id> scope_paths_;  // of the finder → node of scopes_
    text_budget texts_;
};

}  // namespace prof
