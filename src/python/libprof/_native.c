/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges for Python at the cost of a C call: the module libprof._native, in Python's stable interface (3.10 and later).
 * _library.py finds or loads libprof.so and passes the addresses of its functions to bind(), so this module links
 * nothing. _fallback.py has the same names in Python, for interpreters that cannot load this module.
 *
 * Threads: every function holds the interpreter's lock, and costs a few nanoseconds beside the function of libprof. */
/* NOLINTBEGIN(readability-identifier-naming): names of Python's */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
/* NOLINTEND(readability-identifier-naming) */
#include <Python.h>

#include <prof/annotate.h>

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <structmember.h>

/* Until bind() the functions do nothing. */
static int no_push(const char* name, const prof_attributes* attributes) {
    return name == NULL && attributes == NULL ? PROF_INVALID_ARGUMENT : PROF_WRONG_STATE;
}
static int no_pop(void) { return PROF_WRONG_STATE; }

static int (*range_push)(const char*, const prof_attributes*) = no_push;
static int (*range_pop)(void) = no_pop;

/* A range that may be entered any number of times, nested and by several threads: it has no state. */
typedef struct {
    PyObject_HEAD PyObject* name; /* a str */
    PyObject* bytes;              /* NULL, or the name as bytes, where the str has no UTF-8 */
    const char* text;             /* UTF-8; belongs to one of the two */
    int has_attributes;
    prof_attributes attributes;
} range_object;

/* The UTF-8 of a name; "?" for characters that have none (lone surrogates). NULL with an error of Python's, also for a
 * name with a NUL, which would end it. */
static const char* text_of(PyObject* name, PyObject** bytes) {
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(name, &size);
    if (text == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_UnicodeError)) return NULL;
        PyErr_Clear();
        *bytes = PyUnicode_AsEncodedString(name, "utf-8", "replace");
        if (*bytes == NULL) return NULL;
        text = PyBytes_AsString(*bytes);
        size = PyBytes_Size(*bytes);
    }
    if (strlen(text) == (size_t)size) return text;
    Py_CLEAR(*bytes);
    PyErr_SetString(PyExc_ValueError, "range: the name has a NUL character");
    return NULL;
}

/* Whether the methods of the object are those of NumPy, which have no effects. */
static int is_of_numpy(PyObject* given) {
    if (Py_TYPE(Py_TYPE(given)) != &PyType_Type) return 0; /* a metaclass may have methods of its own */
    PyObject* const module = PyObject_GetAttrString((PyObject*)Py_TYPE(given), "__module__");
    if (module == NULL) {
        PyErr_Clear();
        return 0;
    }
    const int is = PyUnicode_Check(module) && PyUnicode_CompareWithASCIIString(module, "numpy") == 0;
    Py_DECREF(module);
    return is;
}

/* 0, or -1 with an error of Python's. Of numbers, other types than Python's and NumPy's are left out: their methods may
 * do anything, as a tensor's wait for the GPU. */
static int read_payload(PyObject* given, prof_attributes* out) {
    if (PyFloat_Check(given)) {
        out->payload_type = PROF_PAYLOAD_F64;
        out->payload.f64 = PyFloat_AsDouble(given);
        return 0;
    }
    if (!PyLong_Check(given)) {
        if (!PyNumber_Check(given)) {
            PyErr_SetString(PyExc_TypeError, "payload: a number is expected, int or float");
            return -1;
        }
        if (!is_of_numpy(given)) return 0;
    }
    PyObject* const number = PyNumber_Index(given);
    if (number == NULL) { /* NumPy's reals, and arrays of several numbers, which have no payload */
        PyErr_Clear();
        const double real = PyFloat_AsDouble(given);
        if (PyErr_Occurred() != NULL) {
            PyErr_Clear();
            return 0;
        }
        out->payload_type = PROF_PAYLOAD_F64;
        out->payload.f64 = real;
        return 0;
    }
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow > 0) {
        out->payload_type = PROF_PAYLOAD_U64;
        out->payload.u64 = PyLong_AsUnsignedLongLong(number);
    } else {
        out->payload_type = PROF_PAYLOAD_I64;
        out->payload.i64 = value;
        if (overflow < 0) PyErr_SetString(PyExc_OverflowError, "payload: the integer needs more than 64 bits");
    }
    Py_DECREF(number);
    return PyErr_Occurred() == NULL ? 0 : -1;
}

static int read_number(PyObject* given, const char* what, uint32_t* out) {
    const unsigned long value = PyLong_Check(given) ? PyLong_AsUnsignedLong(given) : (unsigned long)-1;
    if (PyErr_Occurred() == NULL && PyLong_Check(given) && value <= UINT32_MAX) {
        *out = (uint32_t)value;
        return 0;
    }
    PyErr_Clear();
    PyErr_Format(PyExc_ValueError, "%s: an integer from 0 to 0xFFFFFFFF is expected", what);
    return -1;
}

static PyObject* range_new(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
    PyObject* name = NULL;
    PyObject* color = NULL;
    PyObject* category = NULL;
    PyObject* payload = NULL;
    static char* names[] = {"name", "color", "category", "payload", NULL};
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "U|$OOO:range", names, &name, &color, &category, &payload))
        return NULL;
    const allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    range_object* const self = (range_object*)allocate(type, 0);
    if (self == NULL) return NULL;
    Py_INCREF(name);
    self->name = name;
    self->text = text_of(name, &self->bytes);
    self->attributes.size = sizeof self->attributes;
    int failed = self->text == NULL;
    if (!failed && color != NULL && color != Py_None) failed = read_number(color, "color", &self->attributes.color);
    if (!failed && category != NULL && category != Py_None)
        failed = read_number(category, "category", &self->attributes.category);
    if (!failed && payload != NULL && payload != Py_None) failed = read_payload(payload, &self->attributes);
    if (failed) {
        Py_DECREF((PyObject*)self);
        return NULL;
    }
    self->has_attributes = self->attributes.color != 0 || self->attributes.category != 0 ||
                           self->attributes.payload_type != PROF_PAYLOAD_NONE;
    return (PyObject*)self;
}

static void range_dealloc(PyObject* object) {
    range_object* const self = (range_object*)object;
    PyTypeObject* const type = Py_TYPE(object);
    Py_XDECREF(self->name);
    Py_XDECREF(self->bytes);
    const freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF((PyObject*)type);
}

static PyObject* range_enter(PyObject* object, PyObject* unused) {
    (void)unused;
    const range_object* const self = (const range_object*)object;
    range_push(self->text, self->has_attributes ? &self->attributes : NULL);
    Py_INCREF(object);
    return object;
}

static PyObject* range_exit(PyObject* object, PyObject* const* arguments, Py_ssize_t count) {
    (void)object;
    (void)arguments;
    (void)count;
    range_pop();
    Py_INCREF(Py_None);
    return Py_None;
}

/* The bytes of its prof_attributes, or None: for prof_range_start, which is called by ctypes. */
static PyObject* range_attributes(PyObject* object, void* unused) {
    (void)unused;
    const range_object* const self = (const range_object*)object;
    if (self->has_attributes)
        return PyBytes_FromStringAndSize((const char*)&self->attributes, (Py_ssize_t)sizeof self->attributes);
    Py_INCREF(Py_None);
    return Py_None;
}

/* (name, color, category, payload), for copies and pickles. */
static PyObject* range_given(PyObject* object, PyObject* unused) {
    (void)unused;
    const range_object* const self = (const range_object*)object;
    const prof_attributes* const has = &self->attributes;
    PyObject* payload = NULL;
    switch (has->payload_type) {
        case PROF_PAYLOAD_U64:
            payload = PyLong_FromUnsignedLongLong(has->payload.u64);
            break;
        case PROF_PAYLOAD_I64:
            payload = PyLong_FromLongLong(has->payload.i64);
            break;
        case PROF_PAYLOAD_F64:
            payload = PyFloat_FromDouble(has->payload.f64);
            break;
        default:
            payload = Py_None;
            Py_INCREF(payload);
    }
    if (payload == NULL) return NULL;
    return Py_BuildValue("OIIN", self->name, (unsigned)has->color, (unsigned)has->category, payload);
}

static PyMethodDef range_methods[] = {
    {"__enter__", range_enter, METH_NOARGS, "Begins the range on the calling thread."},
    {"__exit__", (PyCFunction)(void (*)(void))range_exit, METH_FASTCALL, "Ends it."},
    {"_given", range_given, METH_NOARGS, "Its name, color, category and payload."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef range_members[] = {
    {"name", T_OBJECT_EX, offsetof(range_object, name), READONLY, "What the range is called."},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef range_getters[] = {
    {"_attributes", range_attributes, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot range_slots[] = {
    {Py_tp_new, (void*)range_new},  {Py_tp_dealloc, (void*)range_dealloc}, {Py_tp_methods, range_methods},
    {Py_tp_members, range_members}, {Py_tp_getset, range_getters},         {0, NULL},
};

static PyType_Spec range_spec = {
    "libprof._native.Range", (int)sizeof(range_object), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, range_slots,
};

static PyObject* range_type;

/* __enter__ as a function: one object for all ranges, which _dynamo.py knows. */
static PyObject* native_enter(PyObject* module, PyObject* object) {
    (void)module;
    if (range_type == NULL || !PyObject_TypeCheck(object, (PyTypeObject*)range_type)) {
        PyErr_SetString(PyExc_TypeError, "range_enter: a range is expected");
        return NULL;
    }
    const range_object* const self = (const range_object*)object;
    range_push(self->text, self->has_attributes ? &self->attributes : NULL);
    Py_INCREF(Py_None);
    return Py_None;
}

static PyObject* native_push(PyObject* module, PyObject* name) {
    (void)module;
    if (!PyUnicode_Check(name)) {
        PyErr_SetString(PyExc_TypeError, "range_push: a str is expected");
        return NULL;
    }
    PyObject* bytes = NULL;
    const char* const text = text_of(name, &bytes);
    if (text == NULL) return NULL;
    range_push(text, NULL);
    Py_XDECREF(bytes);
    Py_INCREF(Py_None);
    return Py_None;
}

static PyObject* native_pop(PyObject* module, PyObject* unused) {
    (void)module;
    (void)unused;
    range_pop();
    Py_INCREF(Py_None);
    return Py_None;
}

static PyObject* native_bind(PyObject* module, PyObject* arguments) {
    (void)module;
    unsigned long long push = 0, pop = 0;
    if (!PyArg_ParseTuple(arguments, "KK:bind", &push, &pop)) return NULL;
    range_push = (int (*)(const char*, const prof_attributes*))(uintptr_t)push;
    range_pop = (int (*)(void))(uintptr_t)pop;
    Py_INCREF(Py_None);
    return Py_None;
}

static PyMethodDef native_methods[] = {
    {"range_push", native_push, METH_O, "Begins a range on the calling thread."},
    {"range_enter", native_enter, METH_O, "Begins the range on the calling thread."},
    {"range_pop", native_pop, METH_NOARGS, "Ends the latest range of the calling thread."},
    {"bind", native_bind, METH_VARARGS, "Takes the addresses of prof_range_push_with and prof_range_pop."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef native_module = {
    PyModuleDef_HEAD_INIT, "libprof._native", NULL, -1, native_methods, NULL, NULL, NULL, NULL,
};

/* NOLINTNEXTLINE(readability-identifier-naming): the name that Python calls */
PyMODINIT_FUNC PyInit__native(void) {
    PyObject* const module = PyModule_Create(&native_module);
    if (module == NULL) return NULL;
    if (range_type == NULL) range_type = PyType_FromSpec(&range_spec); /* it lives as long as the process */
    Py_XINCREF(range_type);
    if (range_type == NULL || PyModule_AddObject(module, "Range", range_type) != 0) {
        Py_XDECREF(range_type);
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
