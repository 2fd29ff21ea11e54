/* libprof's C interface: starts, stops and reads a recording from inside the process. For C, C++ (see session.hpp),
 * ctypes, and for programs that libprof was injected into (dlsym).
 *
 * Results: no function throws. A function that returns int returns PROF_OK (0) if it did what its comment says, else
 * one of the codes below. prof_last_error() then returns one line: what failed, where, and what to do.
 *
 * Threads: any thread may call any function, but not from a callback of CUPTI or NVTX. Unless a comment says otherwise,
 * a function takes locks and allocates memory. So a signal handler must not call it, and it may wait for another such
 * call that is under way.
 *
 * Times are in nanoseconds. Strings are UTF-8 as the process gave them (names are not checked). */
#ifndef PROF_PROF_H
#define PROF_PROF_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum prof_result {
    PROF_OK = 0,
    PROF_INVALID_ARGUMENT = 1, /* no such setting, value, row or size */
    PROF_WRONG_STATE = 2,      /* recording already, or not recording */
    PROF_FAILED = 3            /* the system or CUPTI refused */
};

/* The version, as "0.1.0". */
const char* prof_version(void);

/* The last failure on this thread, in one line; "" if there was none. Valid until the next prof_ call on this thread.
 */
const char* prof_last_error(void);

/* Starts a recording. From here on ranges are recorded, and GPU work where CUDA is used or comes to be used. Each
 * recording has a capture file of its own. `settings` is a null-terminated array of "name=value", and may be NULL. It
 * overrides the environment. The names are those of the environment variables, without PROF_ and in lower case
 * (docs/reference/options.md).
 *
 * PROF_INVALID_ARGUMENT for a bad setting; nothing is started. PROF_FAILED if the directory cannot be made or written;
 * nothing is started. PROF_WRONG_STATE if a recording is running. Cost: a few milliseconds. */
int prof_start(const char* const* settings);

/* Ends the recording. When it returns, the capture is complete and exported, CUPTI is free for other clients, and
 * launches cost what they cost before.
 *
 * CUPTI stays in the process in these cases: beside another client of its records, after cuda_graphs=graphs, with
 * api_calls=runtime, or if a thread of the program does not leave it in time (docs/internals/reliability.md). With
 * api_calls=runtime launches keep the cost of what CUPTI leaves in them. With idle_graph_nodes=1 ranges and nodes of
 * CUDA graphs are still observed, and CUPTI stays subscribed, after this and while paused.
 *
 * PROF_WRONG_STATE if no recording is running. PROF_FAILED if the capture or an export could not be written, also when
 * it waits for a disk that does not answer; the recording has ended then. Blocks until the GPU has finished (all
 * contexts are synchronised), for at most a second until no thread can be in CUPTI, and until the exports are written.
 */
int prof_stop(void);

/* prof_pause ends the window in which everything is recorded, prof_resume opens another. The new window goes into the
 * same capture. With export_each=window it gets one of its own, and the capture before is closed and exported. Between
 * the two nothing is recorded, and the state is that after prof_stop: ranges and launches cost what they cost before,
 * and CUPTI is free for other clients. Ranges that are open at the end of a window end there.
 *
 * PROF_WRONG_STATE if there is nothing to pause or to resume, and if options decide when to record
 * (docs/guide/schedule.md). PROF_FAILED from prof_resume while the capture's disk does not answer, so that the window
 * before cannot be read.
 *
 * prof_pause returns at once: a thread of libprof's reads the GPU's last records of the window. prof_resume and
 * prof_stop wait for that thread. prof_resume attaches to CUPTI again, which takes some milliseconds. */
int prof_pause(void);
int prof_resume(void);

/* Brings everything that was recorded until now into the capture, the window that prof_pause ended included. After
 * prof_pause and prof_sync CUPTI is free for another profiler.
 *
 * PROF_WRONG_STATE if nothing was recorded yet. PROF_FAILED while the capture's disk is full, once it has not answered
 * for five seconds, or if there can be no capture. Blocks until the data is in the capture, and if a window was ended
 * until the GPU has finished. */
int prof_sync(void);

/* Does what prof_sync does, for a program that is about to end and still intact, as in an interpreter's exit handlers.
 * Recording goes on, and what follows is recorded, too; but the end of the process has little left to do. `prof run`
 * makes Python programs call it (docs/internals/reliability.md).
 *
 * Returns what prof_sync returns, and PROF_FAILED if another call is under way that takes too long. Blocks like
 * prof_sync, but gives up on anything that stands still for five seconds.
 */
int prof_before_exit(void);

/* Stores a text with the capture of the current recording, as its property "text." followed by `key`. A later text of
 * that key replaces it. It is for what describes the recording as a whole: it is no record. The text may have 1 MiB at
 * most.
 *
 * PROF_INVALID_ARGUMENT if an argument is NULL or too long; this does not set prof_last_error. PROF_WRONG_STATE if
 * nothing is recorded. Any thread. */
int prof_keep_text(const char* key, const char* text);

/* Writes what the recording has as a capture of its own, while recording goes on; with the option `keep`, what that has
 * kept. All that was recorded before the call is in it. The file is `path`, which must end in ".prof" and must not
 * exist yet. If `path` is NULL the file lies beside the capture, as <capture>.dump-1.prof, -2, and so on.
 *
 * PROF_WRONG_STATE if nothing was recorded yet. PROF_FAILED if there can be no such file.
 *
 * Does not wait for the copy: a thread of libprof's copies the file and makes its exports. If that fails, one line
 * appears on standard error. prof_stop waits for that thread, but not for a disk that does not answer for five seconds.
 */
int prof_dump(const char* path);

/* Marks the beginning of the next step: a mark "step" with its number (1, 2, …) in the domain "prof". With a schedule
 * (docs/guide/schedule.md) it also opens and ends the windows of the recording. With step_range it does nothing.
 *
 * PROF_WRONG_STATE if no recording is running. Cost: about 50 ns. A call that opens a window without a warm-up attaches
 * to CUPTI (some milliseconds). If one window follows another at once, the call blocks until the first has been read:
 * until the GPU has finished, and no thread can be in CUPTI. */
int prof_step(void);

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
 * and allocate memory only at the first record of a thread. They never set prof_last_error. In a signal handler that
 * interrupts its thread in the middle of a record they record nothing. */

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
 * with <prof/range.hpp> (PROF_RANGE, PROF_PHASE) or NVTX instead.
 *
 * Any thread. Each call costs what a range costs: a clock read and a record. They never set prof_last_error. The first
 * call of a process may begin its recording, as its first range does. In a signal handler that interrupts its thread in
 * the middle of a record they record nothing. */

/* Begins a phase. `name` is copied. `category` is stored with the range, like NVTX's; for a phase "step" it is one of
 * enum prof_step_witness.
 *
 * PROF_OK, or PROF_WRONG_STATE while nothing is recorded; then there is nothing to pop. The phase "step" also gets
 * PROF_WRONG_STATE once the program counts its steps by prof_step. PROF_INVALID_ARGUMENT if `name` is NULL. */
int prof_phase_push(const char* name, uint32_t category);

/* Ends the latest open phase of this thread. PROF_OK, or PROF_WRONG_STATE while nothing is recorded. */
int prof_phase_pop(void);

/* The same for ranges that the program does not make through NVTX, such as JAX's annotations: push/pop ranges of NVTX's
 * default domain. */
int prof_range_push(const char* name);
int prof_range_pop(void);

/* Private to the Python files that come with this libprof.so; not for other callers. */
struct prof_python_runtime;
struct prof_python_functions;
const struct prof_python_functions* prof_python_calls(const struct prof_python_runtime* runtime);

/* The event by which a step was found to end. */
enum prof_step_witness {
    PROF_STEP_UNKNOWN = 0,    /* the first step, which began before any such event */
    PROF_STEP_OPTIMIZER = 1,  /* the steps of the optimizers */
    PROF_STEP_CALL = 2,       /* the calls of the outermost module */
    PROF_STEP_ANNOTATION = 3, /* an annotation or a phase of the program's that is a step */
    PROF_STEP_PROFILER = 4    /* torch.profiler's step, or a range ProfilerStep#N */
};

/* 1 between prof_start and prof_stop, also while paused; else 0. Never sets prof_last_error. */
int prof_is_recording(void);

/* Copies the path of the current capture, or of the last one. Writes at most `size` bytes, including the terminating
 * zero. Returns the length without that zero; 0 while there is no capture. (No file is created before the first range
 * or launch.) */
size_t prof_capture_path(char* buffer, size_t size);

/* --- Summary ------------------------------------------------------------------------------------------------------ */

/* The GPU projection of what was recorded until now (docs/reference/attribution.md defines every number). */
typedef struct prof_summary prof_summary;

typedef struct prof_summary_row {
    const char* path;  /* "iteration #/forward"; lives as long as the summary */
    uint32_t depth;    /* 0 for a root */
    uint32_t captured; /* 1: ranges that were open during a graph capture; else 0 */
    uint64_t instances;
    int64_t host_ns;
    int64_t gpu_sum_ns; /* durations added; self + child */
    int64_t gpu_self_ns;
    int64_t gpu_child_ns;
    int64_t gpu_busy_ns; /* length of the union */
    int64_t gpu_span_ns; /* first start to last end, per instance, added */
    uint64_t ops;        /* operations in gpu_sum_ns */
    uint64_t self_ops;   /* in gpu_self_ns */
    uint64_t adopted_ops;
    int64_t adopted_ns;       /* of gpu_sum_ns */
    int64_t communication_ns; /* of gpu_sum_ns: NCCL's kernels */
    int64_t wait_ns;          /* of host_ns: in calls that wait, or may wait, for the GPU */
    uint64_t payload_bytes;   /* bytes moved, as given by the ranges' payloads */
} prof_summary_row;

/* Brings all work that the GPU has completed into the capture, and reads the capture back. Free the result with
 * prof_summary_close.
 *
 * NULL on failure (prof_last_error). A large capture is refused: one above 256 MB (a tenth of that if it is
 * compressed), or one that would need more than a quarter of the memory that is left. Blocks like prof_sync. Time and
 * memory grow with the recording: about a second for two million records. */
prof_summary* prof_summary_open(void);
void prof_summary_close(prof_summary* summary);

int64_t prof_summary_total_gpu_ns(const prof_summary* summary);
size_t prof_summary_row_count(const prof_summary* summary);
/* Fills the first `row_size` bytes of *row. Pass sizeof(prof_summary_row) as compiled into the caller. Later versions
 * add fields only at the end. So an older caller gets the fields that it has, and a newer caller gets 0 in the fields
 * that the library lacks. The last three rows are (no range), (ambiguous), (unmatched).
 *
 * PROF_INVALID_ARGUMENT if there is no such row, or if `row_size` is smaller than that of the first version (128 bytes
 * on a 64-bit system). */
int prof_summary_get_row(const prof_summary* summary, size_t index, prof_summary_row* row, size_t row_size);
/* The number of records that could not be kept, over all causes. */
uint64_t prof_summary_dropped(const prof_summary* summary);

/* What a step costs on the GPU. It is an estimate for all steps of the run, made from the steps that were captured as a
 * whole: with a budget or a schedule, or while a program that calls prof_step pauses (docs/guide/budget.md has the
 * method). The numbers are those of `prof report --report steps`. */

typedef struct prof_summary_steps {
    uint64_t captured_steps;  /* captured from beginning to end; 0: there is no estimate */
    uint64_t windows;         /* that contain such steps */
    uint64_t steps;           /* of the run until now */
    uint64_t stood_for;       /* steps from which the windows were drawn at random; 0: not at random */
    double gpu_ns;            /* durations of all GPU work launched in a step: the mean over all steps */
    double gpu_half_width_ns; /* half the 95 % confidence interval of gpu_ns; NaN where there is none */
    uint32_t has_interval;    /* 0 for a single window, which gives no spread: half widths are NaN; else 1 */
    uint32_t reserved;
} prof_summary_steps;

typedef struct prof_summary_step_row {
    const char* path; /* as in prof_summary_row; lives as long as the summary */
    uint32_t depth;
    uint32_t captured; /* as in prof_summary_row */
    double gpu_ns;     /* like gpu_sum_ns, per step */
    double gpu_half_width_ns;
    double instances; /* begun per step; a captured one counts once per launch of its graph */
    double instances_half_width;
} prof_summary_step_row;

/* Pass the sizes of the structs as compiled into the caller, as with prof_summary_get_row. The rows are those of ranges
 * that had an instance or GPU work in captured steps. (no range), (ambiguous) and (unmatched) come last, if they have
 * any.
 *
 * PROF_INVALID_ARGUMENT as from prof_summary_get_row. */
int prof_summary_get_steps(const prof_summary* summary, prof_summary_steps* steps, size_t steps_size);
size_t prof_summary_step_row_count(const prof_summary* summary);
int prof_summary_get_step_row(const prof_summary* summary, size_t index, prof_summary_step_row* row, size_t row_size);

#ifdef __cplusplus
}
#endif

#endif
