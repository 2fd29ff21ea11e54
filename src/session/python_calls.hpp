// SPDX-License-Identifier: Apache-2.0
// The interface between libprof.so and libprof's Python files (hooks/torch/python), which exchange these structs by
// ctypes. The functions in them are called by Python without ctypes, since each is called thousands of times a step. No
// header of Python's is needed: objects are addresses, and the Python files provide the interpreter's functions.
//
// All functions require the interpreter's lock. Python 3.12 and newer: None, True and False are never freed, so they
// are returned without counting references.
#pragma once

#include <cstddef>
#include <cstdint>

// prof_phases.py has the same layout.
struct prof_python_runtime {
    void* none;
    void* yes;
    void* no;
    void* module_call;         // the code object of nn.Module's call
    const void* const* codes;  // other code objects that are watched, whose end counts
    std::size_t code_count;
    const void* const* names;         // of phases: str objects …
    const char* const* texts;         // … their texts …
    const std::uint32_t* categories;  // … and their ranges' categories
    std::size_t name_count;
    // Python's callables for the beginning of a call and for its end. Each gets the number of calls around it, so that
    // the next one completes what an exception of a signal handler has left undone.
    void* on_start;
    void* on_end;
    void* (*call)(void* callable, ...);  // PyObject_CallFunctionObjArgs
    void* (*number)(std::ptrdiff_t);     // PyLong_FromSsize_t
    int (*error_is)(void* types);        // PyErr_ExceptionMatches
    void* no_room;                       // the tuple (RecursionError, MemoryError)
    void (*release)(void*);              // Py_DecRef
    void (*clear_error)();               // PyErr_Clear
    void* (*save_thread)();              // PyEval_SaveThread; null: the interpreter's lock is kept
    void (*restore_thread)(void*);
    // Of modules; null where they are not observed.
    void* (*frame)();                            // PyEval_GetFrame
    void* (*variable)(void* frame, void* name);  // PyFrame_GetVar
    void* self;                                  // the str "self"
    void* (*address)(void*);                     // PyLong_FromVoidPtr
    // Python's callable that names a module which is called. Arguments: the module, and None or the address of the
    // module whose call is the outermost around it.
    void* on_module;
    std::uint64_t (*next_sequence)();  // at::sequence_number::peek; null: not known
};

// METH_FASTCALL functions for sys.monitoring, and two for phases.
struct prof_python_functions {
    // For PY_START, PY_RETURN and PY_UNWIND. A module's call within a module's call is counted without calling Python.
    void* (*start)(void*, void* const*, std::ptrdiff_t);
    void* (*end)(void*, void* const*, std::ptrdiff_t);
    void* (*unwind)(void*, void* const*, std::ptrdiff_t);
    // Begins the phase whose name is the function's `self`: True if it is recorded, and is to be ended.
    void* (*push)(void* name, void* const*, std::ptrdiff_t);
    void* (*pop)(void*, void* const*, std::ptrdiff_t);
    void (*forget_calls)();  // all threads forget the calls that they have under way
    // Gives a module its name, which must live for ever. "": its calls are no ranges. Null: it is in no known tree of
    // modules, and its calls are ranges only where it is not called by another module. `reference`: a weak reference to
    // the module, whose callback is the next function.
    void (*name_module)(void* module, const char* name, void* reference, std::uint32_t what);
    void* (*forget_module)(void*, void* const* reference, std::ptrdiff_t);
};
enum prof_python_module : std::uint32_t {
    module_is_root = 1,     // of a tree: where another module calls it, the tree of that module may contain it by now
    module_is_wrapped = 2,  // a module of the same name wraps it
};
