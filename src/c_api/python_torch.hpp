// SPDX-License-Identifier: Apache-2.0
// The interface between libprof.so and prof_torch.py (hooks/torch/python), which exchange these structs by ctypes. No
// header of Python's or PyTorch's is needed: objects are addresses, and prof_torch.py provides the functions.
//
// Two things are observed. Record functions become ranges (hooks/torch/record_functions.hpp). And libprof pauses while
// a profiler of the program records CUDA, since CUPTI has one subscriber: the three functions of PyTorch by which its
// profilers begin and end are replaced by builtin functions, which call the originals. A builtin has no frame. So they
// are in no traceback, no warning and no profile, and no signal handler runs in them.
#pragma once

#include <cstddef>
#include <cstdint>

struct prof_torch_runtime {
    // libtorch_cpu.so's functions; null: it has none of that name.
    const void* add_global_callback;
    const void* remove_callback;
    const void* name;
    const void* profiler_type;
    // Python's functions, and objects that live for ever.
    void* (*call)(void* callable, void* arguments, void* options);  // PyObject_Call
    void* (*item)(void* tuple, std::ptrdiff_t);                     // PySequence_GetItem: a reference
    void* (*option)(void* dictionary, const char*);                 // PyDict_GetItemString: no reference
    void* (*type)(void*);                                           // PyObject_Type: a reference
    void* (*iterator)(void*);                                       // PyObject_GetIter
    void* (*next)(void* iterator);                                  // PyIter_Next
    int (*equals)(void*, void*, int);                               // PyObject_RichCompareBool
    void (*release)(void*);                                         // Py_DecRef
    void (*clear_error)();                                          // PyErr_Clear
    void* (*save_thread)();                                         // PyEval_SaveThread
    void (*restore_thread)(void*);                                  // PyEval_RestoreThread
    const void* const* containers;                                  // set, frozenset, list, tuple
    std::size_t container_count;
    void* cuda;           // torch._C._profiler.ProfilerActivity.CUDA; null: PyTorch has none
    void* activity_type;  // its type
    void* originals[3];   // _prepare_profiler, _enable_profiler, _disable_profiler; null: PyTorch has none
};

struct prof_torch_functions {
    // Bits are numbered as at::RecordScope. 0: done; else PyTorch has not what is needed.
    int (*observe)(std::uint64_t ranges, std::uint64_t functions);
    void (*leave)();
    // The record function that the caller makes between these two is not recorded; it shows where such a one keeps its
    // sequence number.
    void (*begin_trial)();
    void (*end_trial)();
    // METH_VARARGS | METH_KEYWORDS: instead of the three originals.
    void* (*profiler_calls[3])(void* self, void* arguments, void* options);
};
