// SPDX-License-Identifier: Apache-2.0
// Where the steps of a PyTorch program begin (docs/guide/phases.md). Of one thread: the first that creates, calls or
// trains a module, or that which trains if it is another one.
//
// Optimizers, CUDA graphs and compiled functions are known by their addresses, and forgotten when they die.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "hooks/python/python_places.hpp"
#include "hooks/python/python_runtime.hpp"

namespace prof {

// Since the recording began. Times are of CLOCK_MONOTONIC.
struct observed_steps {
    std::uint64_t begun = 0;
    std::uint64_t first_ns = 0;  // begin of the first one
    std::uint64_t latest_ns = 0;
};

class python_steps {
public:
    // The thread that an event happens on; numbers are never used again.
    struct thread {
        std::uint64_t number = 0;
        bool is_main = false;
    };
    struct phases {
        bool (*push)(const char* name, std::uint32_t category) noexcept;
        void (*pop)() noexcept;
    };

    python_steps(const python_functions& python, python_places& places, phases functions) noexcept
        : python_(python), places_(places), phases_(functions) {}

    // The callable that is called at objects' deaths, with their weak references.
    void set_on_death(python_object callable) noexcept { on_death_ = callable; }
    const void* object_died(python_object reference) noexcept;  // which
    bool guard(python_object object);                           // whether its death will be noticed

    void set_programs(bool are_the_programs) noexcept { are_the_programs_ = are_the_programs; }
    bool are_the_programs() const noexcept { return are_the_programs_; }
    void leave(thread caller) noexcept;       // until the next step begins there is none
    void start_over(thread caller) noexcept;  // for the next recording
    void forget() noexcept;                   // for a forked child
    void end(thread caller) noexcept;         // of the process
    static void thread_ended(std::uint64_t number) noexcept;
    // Any thread. While a step begins, its time may be that of the one before.
    static observed_steps observed() noexcept;

    void prepare(thread caller) noexcept;  // the program creates or moves a module, or creates an optimizer
    void make(thread caller, python_object optimizer);
    bool has_optimizers() const noexcept { return !made_.empty() || is_optimizer_due_ || has_unknown_; }

    // Whether a step begins with the fetch of a batch that is about to begin: begin_fetched() is to be called then.
    bool is_begun_by_fetch(thread caller, bool has_gradients) noexcept;
    void begin_fetched() noexcept;
    void end_data(thread caller) noexcept;  // a DataLoader has no more
    void call(thread caller, bool evaluates) noexcept;
    void backward(thread caller) noexcept;
    void zero_grad(thread caller, python_object optimizer) noexcept;
    // An outermost step of an optimizer is about to begin: with it, a step whose forward is in the closure.
    void begin_optimizer(thread caller, python_object optimizer) noexcept;
    // `is_nested`: inside the step of another optimizer or of a GradScaler.
    void step(thread caller, python_object optimizer, bool is_nested);
    void mark(thread caller) noexcept;  // the program marks the beginning of a step
    void end_marking(thread caller) noexcept;
    void capture(thread caller, python_object graph);  // of a CUDA graph; null: it ends
    void replay(thread caller, python_object graph) noexcept;
    // A compiled function, in which the compiler has met these optimizers' steps: its calls are such steps.
    void meet_compiled(python_object function, python_object optimizer);
    bool begin_compiled(thread caller, python_object function) noexcept;  // whether it is such a function
    void end_compiled(thread caller, python_object function) noexcept;

private:
    enum class sign : std::uint8_t { fetch, forward, backward, zero_grad, optimizer };
    enum class range : std::uint8_t { none, startup, step };

    bool is_owner(thread caller, bool trains = false) noexcept;
    void close_startup(thread caller) noexcept;
    void replace(thread caller, range with, std::uint32_t witness = 0) noexcept;
    void clear() noexcept;
    void begin(thread caller, std::uint32_t witness) noexcept;
    void begin_next(thread caller) noexcept;
    bool is_missing() const noexcept;
    std::uint32_t most_stepped() const noexcept;
    bool is_complete(sign happening, python_object optimizer = nullptr) noexcept;
    bool is_complete_by_optimizers(sign happening) const noexcept;
    bool is_turn_complete(sign happening, const python_way& way, python_object optimizer) noexcept;
    bool is_another_call() noexcept;
    void train(thread caller, sign happening) noexcept;
    void count_steps(thread caller, const std::unordered_set<const void*>& optimizers) noexcept;

    const python_functions& python_;
    python_places& places_;
    phases phases_;
    python_object on_death_ = nullptr;
    bool are_the_programs_ = false;
    bool may_have_models_ = false;  // made before the recording, or before modules were observed

    range open_ = range::none;
    bool is_recorded_ = false;
    std::uint64_t recorded_on_ = 0;
    std::uint64_t startup_on_ = 0;  // the thread with the range `startup` that another thread's first step has ended
    bool has_begun_ = false;
    bool are_marked_ = false;        // the program marks its steps, so nothing else begins them
    bool is_optimizer_due_ = false;  // there were some before this recording, which may be of another training
    bool has_unknown_ = false;       // an optimizer whose death would not be noticed has stepped
    bool is_cycle_known_ = false;
    bool zero_grad_leads_ = false;
    thread fetching_;
    std::uint32_t fetch_witness_ = 0;

    std::unordered_map<const void*, python_object> references_;  // object -> weak reference
    std::unordered_set<const void*> made_, cycle_;               // optimizers: all; those of each step
    std::unordered_map<const void*, std::unordered_set<const void*>> graphs_, compiled_;  // -> optimizers
    const void* capturing_ = nullptr;

    // Of this step.
    std::vector<std::pair<const void*, std::uint32_t>> stepped_;  // optimizers; how often
    bool has_stepped_ = false, has_data_ = false, has_called_ = false, met_end_ = false;
    bool has_fetched_ = false;  // another batch after it has stepped, by which it is not known whether the next begins

    // Places: of the latest step of an optimizer, of the latest call without one, of the event under way.
    python_place last_step_, last_call_, here_;
    python_loop step_loop_;  // its turns are the steps
    std::uint32_t turns_ = 0;
};

}  // namespace prof
