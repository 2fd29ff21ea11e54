// SPDX-License-Identifier: Apache-2.0
#include "fakes/gpu/api_call.hpp"

#include "fakes/gpu/driver.hpp"
#include "fakes/gpu/simulated_gpu.hpp"

namespace fake {
namespace {

struct thread_calls {
    int depth = 0;
    std::uint32_t correlation_id = 0;
};
thread_local thread_calls calls;

}  // namespace

api_call::api_call(const api_function& function, const void* params, const char* symbol) {
    simulated_gpu& gpu = simulated_gpu::instance();
    is_outermost_ = calls.depth++ == 0;
    if (is_outermost_) {
        calls.correlation_id = gpu.next_correlation_id();
    }
    state_.domain = function.domain;
    state_.cbid = function.cbid;
    state_.function = function.name;
    state_.params = params;
    state_.symbol = symbol;
    if (function.domain == CUPTI_CB_DOMAIN_DRIVER_API) {
        adopt_context();  // the runtime does, in a thread's first call, after tools saw it entered
    }
    note_context();
    state_.correlation_id = calls.correlation_id;
    state_.enter_ns = gpu.clock.now_ns();
    if (tool* attached = gpu.attached_tool()) {
        attached->api_entered(state_);
    }
}

void api_call::note_context() {
    state_.context = thread_context();
    state_.context_id = state_.context == nullptr ? 0 : state_.context->id;
}

std::uint32_t api_call::current_correlation_id() { return calls.correlation_id; }

void api_call::exit(int& result) {
    simulated_gpu& gpu = simulated_gpu::instance();
    if (is_outermost_ && gpu.clock.is_virtual()) {
        gpu.clock.advance_ns(gpu.api_cost_ns);
    }
    state_.exit_ns = gpu.clock.now_ns();
    note_context();
    state_.result = &result;
    if (tool* attached = gpu.attached_tool()) {
        attached->api_exited(state_);
    }
    --calls.depth;
    gpu.settle();
}

}  // namespace fake
