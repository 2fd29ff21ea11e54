// SPDX-License-Identifier: Apache-2.0
// Annotations of a Python framework as ranges, and its stages as phases: the methods that hooks/jax/python puts into
// the framework's classes. They are builtins of the interpreter, so that no function of libprof's written in Python
// runs in the program: none is in a traceback or a profile, and a signal handler's exception is raised where the
// program is. They call nothing of the program's: of its objects they read exact strings and integers only.
//
// The same interface as python_calls.hpp: addresses of objects, and the interpreter's functions. All of them require
// the interpreter's lock.
#pragma once

#include <cstddef>

// prof_jax.py has the same layout.
struct prof_annotation_runtime {
    void (*retain)(void*);                                                                  // Py_IncRef
    void (*release)(void*);                                                                 // Py_DecRef
    void* (*call)(void* callable, void* const* arguments, std::size_t count, void* names);  // PyObject_Vectorcall
    void* (*type_of)(void*);                                                                // PyObject_Type
    int (*is_subtype)(void* type, void* base);                                              // PyType_IsSubtype
    void (*clear_error)();                                                                  // PyErr_Clear
    int (*error_is)(void* types);                                                           // PyErr_ExceptionMatches
    void* (*no_memory)();                                                                   // PyErr_NoMemory
    void* (*frame)();                                                                       // PyEval_GetFrame
    void* (*attribute)(void*, const char* name);                                            // PyObject_GetAttrString
    int (*set_attribute)(void*, const char* name, void* value);                             // PyObject_SetAttrString
    void* (*mapped)(void*, const char* key);                                                // PyMapping_GetItemString
    void* (*module_of)(void* function);                                    // PyFunction_GetModule: borrowed
    void* (*dictionary_of)(void*, void* context);                          // PyObject_GenericGetDict
    void* (*item)(void* dictionary, const char* key);                      // PyDict_GetItemString: borrowed
    int (*set_item)(void* dictionary, const char* key, void* value);       // PyDict_SetItemString
    int (*delete_item)(void* dictionary, const char* key);                 // PyDict_DelItemString
    void* (*capsule)(void*, const char* name, void (*destructor)(void*));  // PyCapsule_New
    void* (*content)(void* capsule, const char* name);                     // PyCapsule_GetPointer
    void* (*encoded)(void*, const char* encoding, const char* errors);     // PyUnicode_AsEncodedString
    int (*compare)(void* text, const char* ascii);                         // PyUnicode_CompareWithASCIIString
    char* (*bytes)(void*);                                                 // PyBytes_AsString
    std::ptrdiff_t (*byte_count)(void*);                                   // PyBytes_Size
    void* (*digits)(void*);                                                // PyObject_Str
    std::ptrdiff_t (*tuple_size)(void*);                                   // PyTuple_Size
    void* (*tuple_item)(void*, std::ptrdiff_t);                            // PyTuple_GetItem: borrowed
    void* (*save_thread)();                                                // PyEval_SaveThread; null: the
    void (*restore_thread)(void*);                                         // interpreter's lock is kept
    void* none;
    void* str_type;
    void* bytes_type;
    void* int_type;
    void* function_type;
    void* method_type;
    void* no_room;  // the tuple (RecursionError, MemoryError)
    // Of the framework.
    void* step_type;           // annotations of this type have a number
    void* makes_steps;         // not null: and each of these is a step
    const char* own_module;    // whose functions make annotations for their callers
    const char* own_packages;  // "jax:jaxlib": annotations made there are none of the program's
    const char* compilation;   // the beginning of the name of a compilation's own annotation
    void* on_compiled;         // Python's callable after that. Raises what is the program's only
    void* init;                // the class's methods as they are
    void* enter;
    void* exit;
    void* stage;       // the function that makes the context manager around a stage; null: there is none
    void* stage_type;  // of what is used instead: with the attributes "of" and "state", and the methods below
};

// METH_FASTCALL | METH_KEYWORDS, but for the last, which is METH_FASTCALL.
struct prof_annotation_methods {
    using method = void* (*)(void* self, void* const* arguments, std::ptrdiff_t count, void* names);
    method init;
    method enter;
    method exit;
    method stage;
    method enter_stage;
    method exit_stage;
    // Calls its argument: None if that is a builtin and fails.
    void* (*attempt)(void*, void* const* arguments, std::ptrdiff_t count);
};
