// SPDX-License-Identifier: Apache-2.0
#include "session/preparation.hpp"

#include "hooks/cupti/cupti_library.hpp"
#include "ring/registry.hpp"
#include "session/parts/gpu_session.hpp"
#include "session/process/patience.hpp"

namespace prof {
namespace {

// This thread prepares the session, or begins a child's recording.
__thread bool prepares __attribute__((tls_model("initial-exec"))) = false;
__thread bool begins_in_child __attribute__((tls_model("initial-exec"))) = false;

}  // namespace

void preparation::hold_hooks() noexcept {
    if (is_prepared_) return;
    if (cuda_is_initialised()) gpu_session::note_cuda_starts();
    begin_preparation(await_);
}

void preparation::run(void (*prepare)()) {
    if (prepares) return;
    if (is_prepared_) return end_preparation();
    if (!mutex_.try_lock_for(longest_wait_for_preparation)) return;
    const session_lock lock(mutex_, std::adopt_lock);
    if (is_prepared_) return end_preparation();
    prepares = true;
    hold_hooks();
    try {
        prepare();
    } catch (...) {
        prepares = false;
        end_preparation();
        throw;
    }
    prepares = false;
    is_prepared_ = true;
    end_preparation();
}

void preparation::begin_in_child(void (*begin)() noexcept) noexcept {
    if (has_begun_in_child_ || begins_in_child) return;
    if (!mutex_.try_lock_for(longest_wait_for_preparation)) return;
    const session_lock lock(mutex_, std::adopt_lock);
    if (has_begun_in_child_) return;
    begins_in_child = true;
    begin();
    begins_in_child = false;
    has_begun_in_child_ = true;
}

}  // namespace prof
