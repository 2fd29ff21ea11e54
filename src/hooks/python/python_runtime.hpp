// SPDX-License-Identifier: Apache-2.0
// The functions and objects of the Python interpreter that libprof uses. No header of Python's is needed: objects are
// addresses, and hooks/torch/python/prof_native.py provides the functions, by ctypes.
//
// All require the interpreter's lock. None of them runs Python code, except those that are said to. So no signal
// handler runs in them and no asynchronous exception is raised, and nothing of an object of the program's is called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace prof {

using python_object = void*;

// prof_native.py has the same order. Null: this Python lacks the function.
struct python_functions {
    void (*retain)(python_object);        // Py_IncRef
    void (*release)(python_object);       // Py_DecRef
    void (*clear_error)();                // PyErr_Clear
    int (*error_is)(python_object type);  // PyErr_ExceptionMatches
    // PyObject_CallFunctionObjArgs. Runs Python code if the callable does.
    python_object (*call)(python_object callable, ...);
    python_object (*number)(std::ptrdiff_t);                        // PyLong_FromSsize_t
    python_object (*address)(void*);                                // PyLong_FromVoidPtr
    long long (*value)(python_object number);                       // PyLong_AsLongLong
    python_object (*type)(python_object);                           // PyObject_Type
    int (*is_subtype)(python_object type, python_object base);      // PyType_IsSubtype
    python_object (*qualified_name)(python_object type);            // PyType_GetQualName
    python_object (*attribute)(python_object, const char*);         // PyObject_GetAttrString: of builtin types only
    python_object (*own_attributes)(python_object, void*);          // PyObject_GenericGetDict
    python_object (*item)(python_object dict, const char*);         // PyDict_GetItemString: borrowed
    const char* (*text)(python_object, std::ptrdiff_t*);            // PyUnicode_AsUTF8AndSize
    const char* (*bytes)(python_object);                            // PyBytes_AsString
    std::ptrdiff_t (*size)(python_object bytes);                    // PyBytes_Size
    std::ptrdiff_t (*count)(python_object tuple);                   // PyTuple_Size
    python_object (*element)(python_object tuple, std::ptrdiff_t);  // PyTuple_GetItem: borrowed
    std::ptrdiff_t (*length_hint)(python_object, std::ptrdiff_t otherwise);  // PyObject_LengthHint
    python_object (*weak_reference)(python_object, python_object call);      // PyWeakref_NewRef
    python_object (*method_function)(python_object);                         // PyMethod_Function: borrowed
    python_object (*method_self)(python_object);                             // PyMethod_Self: borrowed
    python_object (*function_code)(python_object);                           // PyFunction_GetCode: borrowed
    python_object (*frame)();                                                // PyEval_GetFrame: borrowed
    python_object (*frame_back)(python_object);                              // PyFrame_GetBack
    python_object (*frame_code)(python_object);                              // PyFrame_GetCode
    int (*frame_offset)(python_object);                                      // PyFrame_GetLasti
    python_object (*variable)(python_object frame, python_object name);      // PyFrame_GetVar
    python_object (*code_bytes)(python_object);                              // PyCode_GetCode
    python_object (*new_text)(const char*);                                  // PyUnicode_InternFromString
    python_object (*save_thread)();  // PyEval_SaveThread. Other threads run until the next
    void (*restore_thread)(python_object);
    // For Pythons without sys.monitoring.
    python_object (*make_tuple)(std::ptrdiff_t);                            // PyTuple_New
    int (*fill_tuple)(python_object tuple, std::ptrdiff_t, python_object);  // PyTuple_SetItem: takes it
    void (*fetch_error)(python_object* type, python_object* value, python_object* traceback);      // PyErr_Fetch
    void (*restore_error)(python_object type, python_object value, python_object traceback);       // PyErr_Restore
    void (*normalize_error)(python_object* type, python_object* value, python_object* traceback);  // PyErr_Normalize…
    void (*chain_error)(python_object type, python_object value, python_object traceback);  // _PyErr_ChainExceptions
    python_object (*thread)();                                                              // PyThreadState_Get
    void (*enter_tracing)(python_object thread);  // PyThreadState_EnterTracing
    void (*leave_tracing)(python_object thread);  // PyThreadState_LeaveTracing
    python_object (*index)(python_object);        // PyNumber_Index. Runs __index__ of what is no int
};

struct python_objects {
    python_object none, no, yes;
    python_object disable;                                                 // sys.monitoring.DISABLE
    python_object method, function;                                        // types
    python_object number, list, generator, list_iterator, range_iterator;  // types
    python_object end_of_iteration;                                        // the type StopIteration
    python_object no_room;                                                 // the type RecursionError
    python_object optimizer;                                               // the type torch.optim.Optimizer
    python_object thread_of_compiler;  // torch._guards' thread-local object; null: there is none
};

// Of the interpreter's instructions.
struct python_instructions {
    std::int32_t jump_backward, jump_caches, for_iter, extended_arg, push_exc_info, load_attribute;
};

// A reference that is released at the end.
class python_reference {
public:
    python_reference(const python_functions& python, python_object owned) noexcept : python_(python), object_(owned) {
        if (object_ == nullptr) python_.clear_error();
    }
    python_reference(const python_reference&) = delete;
    python_reference& operator=(const python_reference&) = delete;
    ~python_reference() {
        if (object_ != nullptr) python_.release(object_);
    }
    python_object get() const noexcept { return object_; }
    explicit operator bool() const noexcept { return object_ != nullptr; }

private:
    const python_functions& python_;
    python_object object_;
};

// The text of a str; empty if there is none.
inline std::string_view text_of(const python_functions& python, python_object object) noexcept {
    if (object == nullptr) return {};
    std::ptrdiff_t size = 0;
    const char* const text = python.text(object, &size);
    if (text == nullptr) {
        python.clear_error();
        return {};
    }
    return {text, static_cast<std::size_t>(size)};
}

}  // namespace prof
