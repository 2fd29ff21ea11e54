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

// The interpreter's functions; prof_watch.py has the same layout.
struct prof_python_interpreter {
    void* none;
    void (*keep)(void*);                                               // Py_IncRef
    void (*release)(void*);                                            // Py_DecRef
    void* (*make_tuple)(std::ptrdiff_t);                               // PyTuple_New
    std::ptrdiff_t (*size)(void* tuple);                               // PyTuple_Size
    int (*fill_tuple)(void* tuple, std::ptrdiff_t, void*);             // PyTuple_SetItem, which takes the reference
    void* (*frame)();                                                  // PyEval_GetFrame
    void* (*code_of)(void* frame);                                     // PyFrame_GetCode
    void (*fetch_error)(void** type, void** value, void** traceback);  // PyErr_Fetch
    void (*restore_error)(void* type, void* value, void* traceback);   // PyErr_Restore
    void (*chain_error)(void* type, void* value, void* traceback);     // _PyErr_ChainExceptions
    void (*clear_error)();                                             // PyErr_Clear
    void* (*attribute)(void* object, const char* name);                // PyObject_GetAttrString
    const char* (*text)(void*);                                        // PyUnicode_AsUTF8
    void* (*thread)();                                                 // PyThreadState_Get
    // PyThreadState_EnterTracing and PyThreadState_LeaveTracing. Python 3.10 has none; the offsets are of the fields
    // `tracing` and `cframe` of its PyThreadState. 0: not known.
    void (*enter_tracing)(void* thread);
    void (*leave_tracing)(void* thread);
    std::size_t tracing_offset;
    std::size_t cframe_offset;
    std::size_t call_offset;  // of a function's field with the C function that calls it
};

enum prof_python_watch : std::uint32_t {
    watch_call = 1,    // the call of the function begins a call of its code, and ends it
    watch_event = 2,   // the call of the function begins a call of its code, whose end is not told
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
    void (*set)(int is_on);
    // METH_FASTCALL, for the callback that is told the beginning of a call: the tuple (values, names of the last
    // values), or (values, dict of others), with None for neither. None: the call is that of the Python function
    // around.
    void* (*arguments)(void*, void* const*, std::ptrdiff_t);
};

namespace prof {

// `start`, `end` and `unwind`: those of prof_python_functions (python_calls.hpp).
struct python_call_functions {
    void* (*start)(void*, void* const*, std::ptrdiff_t);
    void* (*end)(void*, void* const*, std::ptrdiff_t);
    void* (*unwind)(void*, void* const*, std::ptrdiff_t);
};
// In `start`, they stand for PyEval_GetFrame and for PyFrame_GetVar with the name self.
void* watched_frame() noexcept;
void* watched_self(void* frame, void* name) noexcept;
const prof_python_watch_functions* python_watch(const prof_python_interpreter& interpreter,
                                                const python_call_functions& calls) noexcept;

}  // namespace prof
