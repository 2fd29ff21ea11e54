// SPDX-License-Identifier: Apache-2.0
// The interface between libprof.so and libprof's Python files (hooks/torch/python), which exchange these structs by
// ctypes. sys.monitoring calls the functions in them as builtins, without ctypes, since each is called thousands of
// times a step. What happens at an event is C++ and runs no Python code, so no signal handler runs in it, and an
// asynchronous exception is raised before or after it, in the program. The exception is naming modules
// (prof_modules.py): once for each module, and what is raised there goes on to the program.
//
// All functions require the interpreter's lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hooks/python/python_runtime.hpp"
#include "hooks/python/python_watch.hpp"

namespace prof {

// What is observed at a code object of PyTorch's. prof_native.py has the same order.
enum class python_event : std::uint32_t {
    module_call,
    fetch,  // of a batch
    backward,
    step,         // of an optimizer: `args[0]`
    scaled_step,  // of `optimizer`, by a GradScaler
    zero_grad,
    clip_grad,
    loss_scaling,
    compile,         // of the function with the code `code`
    compile_other,   // what `trigger` says
    compile_triton,  // `src`
    precompile,
    autotune,
    compiled,  // a call of the compiled function `fn`
    // The end of these does not matter.
    make_optimizer,
    make_module,
    move_module,
    ask_for_parameters,
    work_for_loader,  // in a DataLoader's worker process
    capture_graph,
    end_capture,
    replay_graph,
    enter_range,
    step_profiler,
    stop_profiler,
    compile_step,  // of an optimizer, in a function that is being compiled: `name`
    sampler,       // PyTorch's own: not observed, but known
    batch_sampler,
    none,
};

// Whether the steps and phases of a PyTorch program are observed in this process. Any thread.
bool observes_pytorch() noexcept;

// prof_native.py has the same layout.
struct prof_python_code {
    const void* code;
    std::uint32_t event;
};

}  // namespace prof

struct prof_python_runtime {
    prof::python_functions functions;
    prof::python_objects objects;
    prof::python_instructions instructions;
    std::uint32_t may_wait;               // windows may open at phases: other threads run while one waits for that
    const prof::prof_python_code* codes;  // that are observed; the next is the room for more
    std::size_t code_count;
    bool (*has_gradients)();  // at::GradMode::is_enabled; null: not known
    int (*graph_task)();      // torch::autograd::get_current_graph_task_id; null: not known
    // Of modules; null where they are not observed.
    // Python's callable that names a module which is called. Arguments: the module, and None or the address of the
    // module whose call is the outermost around it.
    prof::python_object on_module;
    prof::python_object on_meeting;    // called with a module that the program moves or asks for its parameters
    std::uint64_t (*next_sequence)();  // at::sequence_number::peek; null: not known
};

enum prof_python_module : std::uint32_t {
    module_is_root = 1,     // of a tree: where another module calls it, the tree of that module may contain it by now
    module_is_wrapped = 2,  // a module of the same name wraps it
};

// METH_FASTCALL functions, unless said otherwise.
struct prof_python_functions {
    using fastcall = void* (*)(void*, void* const*, std::ptrdiff_t);
    // For PY_START, PY_RETURN and PY_UNWIND.
    fastcall start, end, unwind;
    fastcall died;           // the callback of weak references, except modules'
    fastcall forget_module;  // the callback of modules' weak references
    // sys.monitoring's functions of these names, for programs: libprof's tool is not seen, and gives way.
    fastcall use_tool_id, free_tool_id, get_tool, register_callback, set_events_of_tool, set_local_events, get_events,
        get_local_events, all_events, clear_tool_id;
    // Plain functions.
    void (*set_on_death)(void* callable);
    void (*set_steps_of_program)(int are_the_programs);
    void (*attach)();
    void (*detach)();
    void (*forget)();  // for a forked child
    void (*end_all)();
    // A tool of sys.monitoring: its number, and sys.monitoring's ten functions in the order of those for programs; the
    // name; the three callbacks and their events. False, with a Python error: it failed.
    int (*use_tool)(int number, void* const* functions, void* name, void* const* callbacks, const int* events);
    int (*set_events)(int are_on);
    // Gives a module its name, which must live for ever. "": its calls are no ranges. Null: it is in no known tree of
    // modules, and its calls are ranges only where it is not called by another module. `reference`: a weak reference to
    // the module, whose callback is forget_module.
    void (*name_module)(void* module, const char* name, void* reference, std::uint32_t flags);
    void (*set_compiler)(void* thread_of_compiler);
    // For Pythons without sys.monitoring.
    const prof_python_watch_functions* (*watch)(const prof_python_fields*);
};
