// SPDX-License-Identifier: Apache-2.0
// libprof: the phases of a LibTorch program that has no ranges (docs/guide/cpp.md). Header-only, C++17, over the C
// interface; link prof::prof and LibTorch. libprof itself does not depend on LibTorch: this header is compiled as part
// of the program.
//
//     #include <prof/torch.hpp>
//
//     prof::observed_optimizer<torch::optim::AdamW> optimizer(model->parameters());
//     prof::observe_torch_phases();
//     for (…) { … }                      // step/forward, step/backward, step/optimizer
//
// What is observed, and how:
//  - Backwards: the calls of autograd's engine. An engine of this header passes each call on to PyTorch's.
//  - Forwards: the first operator of a forward. A callback of at::RecordFunction detects it. The callback is enabled
//    from the end of a backward or of an optimizer's step until that operator.
//  - Optimizer steps: a class derived from the optimizer.
//
// Cost: a phase costs what a range does. Switching the callback on and off costs 0.1 us, and so does each operator
// while it is on.
#pragma once

#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/optim/optimizer.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include <prof/prof.h>

namespace prof {
inline namespace PROF_INLINE_NAMESPACE {
namespace detail {

// A phase that ends when something else is observed, not at the end of a block.
class torch_phase {
public:
    void begin(const char* name, std::uint32_t category = 0) noexcept {
        is_pushed_ = prof_phase_push(name, category) == PROF_OK;
    }
    void end() noexcept {
        if (is_pushed_) prof_phase_pop();
        is_pushed_ = false;
    }

private:
    bool is_pushed_ = false;
};

inline bool is_in_backward() { return ::torch::autograd::get_current_graph_task_id() != -1; }

inline std::atomic<bool> torch_is_observed{false};

// How many observed optimizers exist.
inline std::atomic<std::uint32_t> torch_optimizers{0};

// One observed optimizer.
struct torch_optimizer {
    torch_optimizer() noexcept { ++torch_optimizers; }
    ~torch_optimizer() { --torch_optimizers; }
    torch_optimizer(const torch_optimizer&) = delete;
    torch_optimizer& operator=(const torch_optimizer&) = delete;

    std::uint64_t latest_step = 0;  // the program's step in which this optimizer stepped last
};

// The inputs of an operator. RecordFunction::inputs() throws in a program that is compiled without NDEBUG, since
// PyTorch's libraries are compiled with it. So the private member is read: an explicit instantiation may name private
// members.
c10::ArrayRef<const c10::IValue> torch_inputs(const at::RecordFunction& called);
template <auto member>
struct torch_inputs_of {
    friend c10::ArrayRef<const c10::IValue> torch_inputs(const at::RecordFunction& called) { return called.*member; }
};
template struct torch_inputs_of<&at::RecordFunction::inputs_>;

class torch_thread {
public:
    static torch_thread& here() noexcept {
        thread_local torch_thread one;
        return one;
    }

    void own_steps() noexcept { has_steps_ = true; }

    void wait_for_forward() noexcept {
        // relaxed: a setting. Not in a backward, which calls modules again only to recompute a forward.
        if (!torch_is_observed.load(std::memory_order_relaxed) || is_in_backward()) return;
        try {
            if (callback_ == at::INVALID_CALLBACK_HANDLE) {
                callback_ = at::addThreadLocalCallback(
                    at::RecordFunctionCallback(&on_operator).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
            } else {
                at::reenableCallback(callback_);
            }
            is_waiting_ = true;
        } catch (...) {  // no memory: this forward is not observed
        }
    }

    // Call it when a backward or an optimizer's step begins.
    void leave_forward() {
        forward_.end();
        stop_waiting();
    }

    // Call it when a forward or a backward begins.
    void begin_step_if_due() noexcept {
        // relaxed: a plain number; no other data depends on it.
        const std::uint32_t awaited = torch_optimizers.load(std::memory_order_relaxed);
        if (!has_steps_ || awaited == 0 || (steps_ != 0 && stepped_ < awaited)) return;
        step_.end();
        step_.begin("step", steps_ == 0 ? PROF_STEP_UNKNOWN : PROF_STEP_OPTIMIZER);
        ++steps_;
        stepped_ = 0;
    }

    void count(torch_optimizer& that_stepped) noexcept {
        if (std::exchange(that_stepped.latest_step, steps_) != steps_) ++stepped_;
    }

private:
    static std::unique_ptr<at::ObserverContext> on_operator(const at::RecordFunction& called) {
        torch_thread& at = here();
        if (!at.is_waiting_) {
            at.stop_waiting();  // PyTorch has restored an earlier state of the thread
        } else if (at::GradMode::is_enabled() && takes_parameter(called)) {
            at.stop_waiting();
            at.begin_step_if_due();
            at.forward_.begin("forward");
        }
        return nullptr;
    }

    static bool takes_parameter(const at::RecordFunction& called) {
        const auto is_parameter = [](const at::Tensor& tensor) {
            return tensor.defined() && tensor.requires_grad() && tensor.is_leaf();
        };
        for (const c10::IValue& input : torch_inputs(called)) {
            if (input.isTensor() && is_parameter(input.toTensor())) return true;
            if (!input.isTensorList()) continue;
            for (const at::Tensor& tensor : input.toTensorVector()) {
                if (is_parameter(tensor)) return true;
            }
        }
        return false;
    }

    void stop_waiting() {
        is_waiting_ = false;
        if (callback_ != at::INVALID_CALLBACK_HANDLE) at::disableCallback(callback_);
    }

    torch_phase step_;
    torch_phase forward_;
    std::uint64_t steps_ = 0;
    std::uint32_t stepped_ = 0;  // how many optimizers have stepped in this step
    bool has_steps_ = false;
    bool is_waiting_ = false;
    at::CallbackHandle callback_ = at::INVALID_CALLBACK_HANDLE;
};

// A phase from construction to destruction, after which a forward may come.
class torch_call {
public:
    torch_call(const char* name, bool begins_step) : name_(name), begins_step_(begins_step) { begin(); }
    ~torch_call() { end(); }
    torch_call(const torch_call&) = delete;
    torch_call& operator=(const torch_call&) = delete;

    void begin() {
        torch_thread& at = torch_thread::here();
        at.leave_forward();
        if (begins_step_) at.begin_step_if_due();
        phase_.begin(name_);
    }
    void end() {
        phase_.end();
        torch_thread::here().wait_for_forward();
    }

private:
    const char* name_;
    const bool begins_step_;
    torch_phase phase_;
};

// Replaces PyTorch's engine, as PyTorch's Python bindings also do, and passes each call on to it.
class torch_engine final : public ::torch::autograd::Engine {
    using Engine = ::torch::autograd::Engine;

public:
    static Engine& the_only() {
        static torch_engine* const one = new torch_engine;  // never deleted: threads may use it until the process ends
        return *one;
    }

    ::torch::autograd::variable_list execute(const ::torch::autograd::edge_list& roots,
                                             const ::torch::autograd::variable_list& inputs, bool keep_graph,
                                             bool create_graph, bool accumulate_grad,
                                             const ::torch::autograd::edge_list& outputs) override {
        Engine& base = get_base_engine();
        if (is_in_backward())  // this call is a part of that backward
            return base.execute(roots, inputs, keep_graph, create_graph, accumulate_grad, outputs);
        const torch_call backward("backward", true);
        return base.execute(roots, inputs, keep_graph, create_graph, accumulate_grad, outputs);
    }

private:
    torch_engine() = default;
};

}  // namespace detail

// Starts to observe. Backwards are observed on all threads. Forwards are observed on the calling thread, and on threads
// that have run a backward or an observed optimizer's step. The calling thread's steps are the program's steps. Call it
// before the first step, while no other thread is in a backward; a second call does nothing. Returns false, and
// observes nothing, if PyTorch has another engine, as in a Python process.
inline bool observe_torch_phases() {
    using ::torch::autograd::Engine;
    Engine& present = Engine::get_default_engine();
    if (&present == &detail::torch_engine::the_only()) return true;
    if (&present != &Engine::get_base_engine()) return false;
    detail::torch_is_observed = true;
    ::torch::autograd::set_default_engine_stub(&detail::torch_engine::the_only);
    detail::torch_thread::here().own_steps();
    detail::torch_thread::here().wait_for_forward();
    return true;
}

// An optimizer whose step is a phase. If phases are observed, the program's step ends once all observed optimizers have
// stepped. The closure's work is not part of the phase. Threads and errors are those of the optimizer.
template <typename TOptimizer>
class observed_optimizer : public TOptimizer {
public:
    using TOptimizer::TOptimizer;

    at::Tensor step(::torch::optim::Optimizer::LossClosure closure = nullptr) override {
        detail::torch_call phase("optimizer", false);
        struct outside {
            explicit outside(detail::torch_call& around) : around_(around) { around_.end(); }
            ~outside() { around_.begin(); }
            detail::torch_call& around_;
        };
        const auto call = [&] {
            const outside here(phase);
            return closure();
        };
        at::Tensor loss = closure ? TOptimizer::step(call) : TOptimizer::step(nullptr);
        detail::torch_thread::here().count(observed_);
        return loss;
    }

private:
    detail::torch_optimizer observed_;
};

}  // namespace PROF_INLINE_NAMESPACE
}  // namespace prof
