// SPDX-License-Identifier: Apache-2.0
// The calls of torch.nn.Module in a trace made with with_stack, as libprof would have recorded them: a path for a name,
// and the numbers of autograd's nodes that were made in each (record/label.hpp). A trace has classes with a number
// ("nn.Module: Linear_3"), and at each operator the number of the next node. One thread; linear in the items.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "timeline/kineto/trace_items.hpp"
#include "timeline/row_ids.hpp"

namespace prof {

// "Linear_3" of a Python function's name; nothing if it is no call of a module.
std::optional<std::string_view> module_in_trace(std::string_view name) noexcept;

// "GPT_0.Block_1 (Block)" of the name of the call around, "" without one, and "Block_1".
std::string name_of_module(std::string_view around, std::string_view module);

// Names and numbers the calls among a thread's items, which are in order (put_in_order). `name_of`
// returns the id of the joined name, 0 if there is none or it is too long; `around` is 0 for an outermost call. Such
// calls, and those that are nested too deeply, are left out: what they do is the outer one's.
void complete_modules(std::vector<trace_item>& items,
                      const std::function<name_id(name_id around, name_id own)>& name_of);

}  // namespace prof
