/* SPDX-License-Identifier: Apache-2.0 */
/* libprof's C interface: annotations. Ranges, marks, counters and phases of programs in C and in languages that call C
 * functions, and work that one thread does for another. C++ programs use range.hpp instead, which needs no link to
 * libprof. For results and threads see prof.h. */
#ifndef PROF_ANNOTATE_H
#define PROF_ANNOTATE_H

#include <stddef.h>
#include <stdint.h>

#include <prof/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Ranges, marks, counters ---------------------------------------------------------------------------------------
 */

/* Ranges and marks of NVTX's default domain, as nvtxRangePush makes them: they nest with those of the NVTX of the
 * thread. Each call costs what an NVTX range costs: a clock read and a record, and one hash of the name, which is
 * copied.
 *
 * Any thread. No lock and no heap; the first record of a thread maps some memory. They never set prof_last_error. The
 * first call of a process may begin its recording, as its first range does.
 *
 * Signal-safe, a thread's first call included. In a handler nothing is recorded if the handler interrupts its thread in
 * the middle of a record, or if the call would be the first of its recording; the next call outside of a handler begins
 * that.
 *
 * PROF_OK; PROF_WRONG_STATE while nothing is recorded; PROF_INVALID_ARGUMENT if a name is NULL, or if `attributes` has
 * another size or type than this version knows. */

enum prof_payload_type { PROF_PAYLOAD_NONE = 0, PROF_PAYLOAD_U64 = 1, PROF_PAYLOAD_I64 = 2, PROF_PAYLOAD_F64 = 3 };

/* What a range or a mark may have besides its name. Set `size` to sizeof(prof_attributes), and all else to 0 first. */
typedef struct prof_attributes {
    size_t size;
    uint32_t color;        /* 0xAARRGGBB; 0: none */
    uint32_t category;     /* named by prof_name_category; 0: none */
    uint32_t payload_type; /* enum prof_payload_type */
    uint32_t reserved;
    union {
        uint64_t u64;
        int64_t i64;
        double f64;
    } payload; /* a number of the program's: bytes, tokens, an index */
} prof_attributes;

/* A range of the calling thread, from the push to the pop. */
int prof_range_push(const char* name);
int prof_range_push_with(const char* name, const prof_attributes* attributes); /* may be NULL */
int prof_range_pop(void);

/* A range of the process. It may overlap others, and may end on another thread. The number for prof_range_end; 0 if it
 * is not recorded. prof_range_end(0) does nothing. */
uint64_t prof_range_start(const char* name, const prof_attributes* attributes);
int prof_range_end(uint64_t number);

/* An instant. */
int prof_mark(const char* name, const prof_attributes* attributes);

/* The value of a counter from now on: a track in traces, a row of `prof report --report counters`. */
int prof_counter(const char* name, double value);

/* Gives a category its name, also while nothing is recorded. */
int prof_name_category(uint32_t category, const char* name);

/* --- Work for another thread ------------------------------------------------------------------------------------ */

/* Attributes the launches of a worker thread to the thread that ordered the work. The ordering thread gets a number for
 * its present place, and passes it on with the task. The worker encloses the task in a push and a pop:
 *
 *     uint64_t here = prof_parent_here();     thread A, inside its range "forward"
 *     prof_adopt_push(here);                  thread B: its launches from here on count for "forward"
 *     …
 *     prof_adopt_pop();
 *
 * Between push and pop the ranges that B opens are children of the innermost range that was open at the place and still
 * is. Ranges that B had open before are set aside. Pushes nest; each pop ends the latest push of its thread. Any number
 * of threads may work for a place, any number of times, until the recording ends.
 *
 * These three cost a clock read and a record, like a range, so they are cheap enough for every task. They take no lock,
 * and never set prof_last_error. Signal-safe, as ranges are. */

/* A number for what is open on this thread here; 0 while nothing is recorded. */
uint64_t prof_parent_here(void);

/* PROF_OK, or PROF_WRONG_STATE while nothing is recorded. A place that this recording does not have (0, or one from an
 * earlier recording) changes nothing: the work stays the thread's own, and the reports count it as unknown_parent. */
int prof_adopt_push(uint64_t place);

/* PROF_OK, or PROF_WRONG_STATE if there was no push in this recording. */
int prof_adopt_pop(void);

/* --- Phases ------------------------------------------------------------------------------------------------------- */

/* For code that observes a program from outside and marks its phases (docs/guide/phases.md), as `prof run` does for
 * PyTorch and <prof/torch.hpp> for LibTorch. A phase is a push/pop range of the calling thread in libprof's domain
 * "prof.phases". Tables show it without a prefix, and mark it as observed. A program marks its own ranges and phases
 * by prof_range_push, <prof/range.hpp> (PROF_RANGE, PROF_PHASE) or NVTX instead.
 *
 * Any thread. Each call costs what a range costs: a clock read and a record. They never set prof_last_error. The first
 * call of a process may begin its recording, as its first range does. Signal-safe, as ranges are. */

/* Begins a phase. `name` is copied. `category` is stored with the range, like NVTX's; for a phase "step" it is one of
 * enum prof_step_witness.
 *
 * PROF_OK, or PROF_WRONG_STATE while nothing is recorded; then there is nothing to pop. The phase "step" also gets
 * PROF_WRONG_STATE once the program counts its steps by prof_step. PROF_INVALID_ARGUMENT if `name` is NULL. */
int prof_phase_push(const char* name, uint32_t category);

/* Ends the latest open phase of this thread. PROF_OK, or PROF_WRONG_STATE while nothing is recorded. */
int prof_phase_pop(void);

/* The event by which a step was found to end. */
enum prof_step_witness {
    PROF_STEP_UNKNOWN = 0,    /* the first step, which began before any such event */
    PROF_STEP_OPTIMIZER = 1,  /* the steps of the optimizers */
    PROF_STEP_CALL = 2,       /* the calls of the outermost module */
    PROF_STEP_ANNOTATION = 3, /* an annotation or a phase of the program's that is a step */
    PROF_STEP_PROFILER = 4    /* torch.profiler's step, or a range ProfilerStep#N */
};

/* Private to the Python files that come with this libprof.so; not for other callers. */
struct prof_python_runtime;
struct prof_python_functions;
const struct prof_python_functions* prof_python_calls(const struct prof_python_runtime* runtime);
struct prof_torch_runtime;
struct prof_torch_functions;
const struct prof_torch_functions* prof_python_torch(const struct prof_torch_runtime* runtime);
struct prof_annotation_runtime;
struct prof_annotation_methods;
const struct prof_annotation_methods* prof_python_annotations(const struct prof_annotation_runtime* runtime);

#ifdef __cplusplus
}
#endif

#endif
