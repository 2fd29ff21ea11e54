// SPDX-License-Identifier: Apache-2.0
#include "base/signal_handler.hpp"

#include <unwind.h>

namespace prof {
namespace {

struct frame_search {
    int calls_left = 64;
    bool is_found = false;
};

_Unwind_Reason_Code visit_frame(_Unwind_Context* context, void* argument) {
    auto& state = *static_cast<frame_search*>(argument);
    int is_signal_frame = 0;
    (void)_Unwind_GetIPInfo(context, &is_signal_frame);
    state.is_found = is_signal_frame != 0;
    return state.is_found || --state.calls_left == 0 ? _URC_NORMAL_STOP : _URC_NO_REASON;
}

}  // namespace

bool is_in_signal_handler() noexcept {
    frame_search state;
    (void)_Unwind_Backtrace(visit_frame, &state);
    return state.is_found;
}

}  // namespace prof
