// SPDX-License-Identifier: Apache-2.0
// Watches calls of a few functions in Pythons without sys.monitoring (3.10, 3.11), for
// hooks/torch/python/prof_watch.py.
//
// A Python function has a field with the C function that calls it, and a builtin has a definition with its C function.
// These are replaced. The objects that the program, its debuggers and compilers see stay as they are, and there is no
// Python frame more. Python 3.11 itself calls a Python function without that field where the call is written in Python
// code, but not where it has *arguments or is made by the interpreter (a `with`, a `for`, a class with __call__).
//
// All functions require the interpreter's lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hooks/python/python_runtime.hpp"

// Where the interpreter's structs have their fields; prof_watch.py has the same layout.
struct prof_python_fields {
    std::size_t call;  // of a function: the C function that calls it
    // Python 3.10 has no functions for this: `tracing` and `cframe` of its PyThreadState. 0: not known.
    std::size_t tracing, cframe;
};

enum prof_python_watch : std::uint32_t {
    watch_call = 1,    // the call of the function begins a call of its code, and ends it
    watch_event = 2,   // the call of the function begins a call of its code, whose end does not matter
    watch_caller = 4,  // the call of the function begins a call of its caller's code, if that is awaited
    watch_end = 8,     // the call of the function ends what watch_caller has begun with the same first argument
};

struct prof_python_watch_functions {
    // Both watch from the next set() on. False: there is no more room, or the function cannot be watched.
    int (*watch_function)(void* function, void* code, std::uint32_t how);
    // `definition`: the field of the builtin with the address of its definition (PyMethodDef).
    int (*watch_builtin)(void** definition, void* code, std::uint32_t how);
    // Watches a code object by a function with watch_caller, which it calls. `has_end`: by one with watch_end.
    int (*await_code)(void* code, int has_end);
    int (*set)(int is_on);
};

namespace prof {

// What happens at the beginning and at the end of a call (python_calls.cpp). Null, with an exception set in Python:
// what runs Python code there has raised it. Else a reference.
struct python_call_functions {
    void* (*start)(void*, void* const* code, std::ptrdiff_t);
    void* (*end)(void*, void* const* code, std::ptrdiff_t);
    void* (*unwind)(void*, void* const* code_offset_error, std::ptrdiff_t);
    python_object end_of_iteration;
    python_object none;
};

const prof_python_watch_functions* python_watch(const python_functions& python, const prof_python_fields& fields,
                                                const python_call_functions& calls) noexcept;

// In `start`: whether the call that begins has no frame yet, and one of its arguments, by a name that is interned: a
// new reference, or null.
bool is_watched_call() noexcept;
python_object watched_argument(python_object name) noexcept;

}  // namespace prof
