// SPDX-License-Identifier: Apache-2.0
// The calls of modules in forward that autograd goes back through: of each, when its backward begins. A pure function
// of a timeline; linear in its ranges, and logarithmic for each question. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "analysis/modules/module_finder.hpp"
#include "analysis/modules/module_tree.hpp"
#include "timeline/timeline.hpp"

namespace prof {

struct forward_call {
    range_id range = npos;
    thread_id thread = npos;
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::uint32_t around = npos;  // the call that it is in; index into forward_calls::all()
    std::uint32_t module = 0;     // forward_calls::path(): modules of one list and class are one
    // The first node that it or a call within it made, when the engine ran that; npos: none was run.
    thread_id backward_thread = npos;
    std::int64_t backward_ns = INT64_MAX;

    bool has_backward() const noexcept { return backward_thread != npos; }
};

class forward_calls {
public:
    // The arguments must outlive it. `original`: as for module_finder.
    forward_calls(const timeline& data, const attribution& att, const timeline& original);

    const std::vector<forward_call>& all() const noexcept { return calls_; }  // by thread, then by start
    std::size_t modules() const noexcept { return paths_.size(); }
    const std::string& path(std::uint32_t module) const { return paths_[module]; }  // "GPT2.h.*"
    const std::string& class_name(std::uint32_t module) const { return classes_[module]; }

    // The innermost call that is open then; npos: none.
    std::uint32_t at(thread_id thread, std::int64_t ns) const;
    // The call that made the backward node that is open on a thread then, or that ended there last.
    std::uint32_t whose_node_at(thread_id thread, std::int64_t ns) const;
    // When the first backward node after that moment begins, on any thread; INT64_MAX: none.
    std::int64_t next_node_ns(std::int64_t ns) const;
    bool is_within(std::uint32_t call, std::uint32_t outer) const;
    // Whether a call of the same module is around it.
    bool is_repeated_within(std::uint32_t call) const;

private:
    void add_calls();
    void find_backward();
    std::uint32_t maker_of(range_id node) const;  // a call; npos: no module's, or not known

    const timeline& data_;
    module_finder finder_;
    std::vector<forward_call> calls_;
    std::unordered_map<range_id, std::uint32_t> by_range_;
    std::vector<std::int64_t> node_starts_;  // sorted
    std::vector<std::string> paths_;
    std::vector<std::string> classes_;
};

}  // namespace prof
