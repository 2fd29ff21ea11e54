// What libprof's Python files (hooks/torch/python) give to libprof.so and get from it, by ctypes: functions that Python
// calls without ctypes, for each is called thousands of times a step. No header of Python's is needed: objects are
// addresses, and the functions of the interpreter come from there.
//
// All functions need the interpreter's lock. Python 3.12 and newer: None, True and False are never freed, so that they
// are returned without counting.
#pragma once

#include <cstddef>
#include <cstdint>

// The layout is prof_phases.py's, too.
struct prof_python_runtime {
    void* none;
    void* yes;
    void* no;
    void* module_call;         // the code object of nn.Module's call
    const void* const* codes;  // others that are watched, whose end counts
    std::size_t code_count;
    const void* const* names;         // of phases: str objects …
    const char* const* texts;         // … their texts …
    const std::uint32_t* categories;  // … and their ranges' categories
    std::size_t name_count;
    // Python's callables: what is to be done at the beginning of a call and at its end. Each gets the number of calls
    // around it, so that what one leaves undone (an exception of a signal handler) is done by the next.
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
    // Python's callable, which names a module that is called: (module, None or the address of the module whose call is
    // the outermost around it).
    void* on_module;
    std::uint64_t (*next_sequence)();  // at::sequence_number::peek; null: not known
};

// METH_FASTCALL functions for sys.monitoring, and two for phases.
struct prof_python_functions {
    // PY_START, PY_RETURN and PY_UNWIND. A module's call within a module's call is counted, and no Python is called.
    void* (*start)(void*, void* const*, std::ptrdiff_t);
    void* (*end)(void*, void* const*, std::ptrdiff_t);
    void* (*unwind)(void*, void* const*, std::ptrdiff_t);
    // Begins the phase whose name is the function's `self`: True if it is recorded, and is to be ended.
    void* (*push)(void* name, void* const*, std::ptrdiff_t);
    void* (*pop)(void*, void* const*, std::ptrdiff_t);
    void (*forget_calls)();  // in a forked child: of what the thread had under way
    // Gives a module its name, which must live for ever; "": its calls are no ranges; null: no tree of modules is known
    // that it is in, and its calls are ranges only if it is called by itself. `reference`: a weak reference to it,
    // whose callback is the next function.
    void (*name_module)(void* module, const char* name, void* reference, std::uint32_t what);
    void* (*forget_module)(void*, void* const* reference, std::ptrdiff_t);
};
enum prof_python_module : std::uint32_t {
    module_is_root = 1,     // of a tree: where another module calls it, that one's tree may have it by now
    module_is_wrapped = 2,  // it is what a module of the same name wraps
};
