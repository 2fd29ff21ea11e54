// SPDX-License-Identifier: Apache-2.0
// The modules of a program (docs/guide/modules.md) as texts: of GPU operations, and of the host at each moment. "" is
// outside modules; those of one list and class are one, as in the report `modules`. One thread; memory linear in the
// ranges of modules and backward nodes that it looks at.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "analysis/attribution/attribution.hpp"
#include "analysis/modules/module_finder.hpp"
#include "analysis/modules/module_tree.hpp"
#include "timeline/timeline.hpp"

namespace prof {

class module_texts {
public:
    // As module_finder's.
    module_texts(const timeline& data, const attribution& att, const timeline& original);

    bool is_recorded() const noexcept { return finder_.is_recorded(); }
    bool is_of_xla() const noexcept { return finder_.is_of_xla(); }
    bool has_scopes() const noexcept { return finder_.has_scopes(); }
    // From now on only what is called from `from_ns` until before `to_ns` is known.
    void look_at(std::int64_t from_ns, std::int64_t to_ns);
    // Texts stay where they are; one module has one.
    const std::string& of_op(op_id op);
    const std::string& at(thread_id thread, std::int64_t time_ns);

    // Calls visit(start_ns, end_ns, module) for [from_ns, to_ns) of the thread, in order of time.
    template <typename TVisit>
    void for_each(thread_id thread, std::int64_t from_ns, std::int64_t to_ns, TVisit&& visit) {
        while (from_ns < to_ns) {
            std::int64_t until_ns = std::min(to_ns, finder_.calls().next_change(thread, from_ns));
            if (until_ns <= from_ns) until_ns = to_ns;  // damaged times
            visit(from_ns, until_ns, at(thread, from_ns));
            from_ns = until_ns;
        }
    }

private:
    const std::string& text_of(const maker_of_node& made);

    const timeline& data_;
    module_finder finder_;
    module_tree tree_;
    const std::string outside_;
    const std::string accumulation_{accumulation_text};
    const std::string unknown_{unknown_module_text};
    std::unordered_map<name_id, std::string> texts_;  // by the name of a call's range
};

}  // namespace prof
