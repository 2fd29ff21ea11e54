// SPDX-License-Identifier: Apache-2.0
// What the critical path of the steps consists of: its pieces in words, and its time by kind, place and module.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "analysis/modules/module_texts.hpp"
#include "analysis/steps/whole_steps.hpp"
#include "diagnose/examined_steps.hpp"
#include "diagnose/finding.hpp"
#include "timeline/timeline.hpp"

namespace prof {

class path_sharer;

// The shares of the critical path. Linear in the length of the path.
class path_shares {
public:
    // The arguments must outlive it.
    path_shares(examined_steps& steps, const attribution& att, module_texts& modules);
    ~path_shares();

    // A part of the steps, which `modules` looks at. In order of time.
    void add(const dependency_graph& graph);
    // Sets path, path_ns, unexplained_ns, path_has_modules and bound_by of `out`.
    void finish(diagnosis& out);

private:
    std::unique_ptr<path_sharer> sharer_;
};

// A piece of the path in words.
struct named_piece {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::string kind{};       // as path_share
    std::string where{};      // likewise; of a GPU operation its name, too
    std::string module{};     // likewise
    op_id op = npos;          // of a GPU operation
    thread_id thread = npos;  // of what the host does
};
// The critical path of the steps of a timeline; empty if it has no launches. The arguments are those of diagnose().
std::vector<named_piece> named_critical_path(const timeline& data, const attribution& att,
                                             std::string_view step_function = {}, const whole_steps* steps = nullptr,
                                             const timeline* original = nullptr);

}  // namespace prof
