// SPDX-License-Identifier: Apache-2.0
#include "session/process/heritage.hpp"

#include <unistd.h>

#include <atomic>
#include <utility>

namespace prof {
namespace {

std::atomic<const heritage*> latest_heritage{nullptr};

// In a forked child.
const heritage* left_by_parent = nullptr;
pid_t parent_pid = 0;

}  // namespace

void heritage_publisher::publish(std::unique_ptr<const heritage> now) noexcept {
    latest_heritage.store(now.get());
    before_ = std::move(latest_);
    latest_ = std::move(now);
}

const heritage* published_heritage() noexcept { return latest_heritage.load(); }

void inherit(const heritage* left) noexcept {
    left_by_parent = left;
    parent_pid = getppid();
}

const heritage* inherited() noexcept { return left_by_parent; }

pid_t parent_of_child() noexcept { return parent_pid; }

session_options options_of_child(const session_options& parents, bool may_use_gpu) {
    session_options out = parents;
    const session_options none;
    for (const option& row : option_table()) {
        if (!row.child_inherits) row.copy(out, none);
    }
    out.exports = {.trace = false, .summary = false};
    if (!may_use_gpu) out.activities = {"none"};
    return out;
}

}  // namespace prof
