/* libprof's C interface: start, stop and look at a recording from inside the process. For C, C++ (see session.hpp),
 * ctypes, and dlsym from programs that libprof was injected into.
 *
 * Every function may be called from any thread, and from none of CUPTI's or NVTX's callbacks; none throws. Functions
 * that return int return 0 (PROF_OK) when they did what they say, else one of the codes below, and prof_last_error()
 * then has one line that says what, where, and what to do.
 *
 * Times are in nanoseconds. Strings are UTF-8 as the process gave them (names are not checked).
 */
#ifndef PROF_PROF_H
#define PROF_PROF_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum prof_result {
    PROF_OK = 0,
    PROF_INVALID_ARGUMENT = 1, /* a setting has no such name or value */
    PROF_WRONG_STATE = 2,      /* recording already, or not recording */
    PROF_FAILED = 3            /* the system or CUPTI refused */
};

/* "0.1.0" */
const char* prof_version(void);

/* The last failure on this thread, one line; "" if there was none. Valid until the next prof_ call on this thread. */
const char* prof_last_error(void);

/* Starts a recording. `settings` is a null-terminated array of "name=value" (docs/options.md; the same names as the
 * environment variables, without PROF_ and in lower case), which stand above the environment's; it may be NULL. A bad
 * setting starts nothing, nor does a directory that cannot be made or written (PROF_FAILED). Ranges and, where CUDA is
 * or comes to be used, GPU work are recorded from here on. Each recording has a capture file of its own. A few
 * milliseconds. */
int prof_start(const char* const* settings);

/* Ends the recording: the capture is complete and exported when this returns, CUPTI is free for others, and launches
 * cost what they cost before, unless CUPTI has to stay: beside another client of its records, after
 * cuda_graphs=graphs, or where a thread of the program does not come out of it in time (docs/reliability.md). Waits for
 * the GPU (all contexts are synchronised), and until no thread can be in CUPTI, a second at most. With
 * idle_graph_nodes=1 ranges and the nodes of CUDA graphs are heard on, and CUPTI stays subscribed, here and while
 * paused; with api_calls=runtime launches still cost what CUPTI leaves in them. */
int prof_stop(void);

/* Ends the window in which everything is recorded, and opens another one: in the same capture, or with
 * export_each=window in one of its own, the first being closed and exported. In between nothing is recorded, and it is
 * as after prof_stop: ranges and launches cost what they cost before, and CUPTI is free for others. Ranges that are
 * open at the end of a window end there. prof_pause comes back at once: the GPU's last records of the window are taken
 * in by a thread of libprof's, for which prof_resume and prof_stop wait. prof_resume takes hold of CUPTI again (some
 * milliseconds). PROF_WRONG_STATE where there is nothing to pause or to resume, and where options say when to record
 * (docs/schedule.md). PROF_FAILED from prof_resume while the capture's disk does not answer, so that the window before
 * cannot be taken in. */
int prof_pause(void);
int prof_resume(void);

/* Comes back when all that was recorded until now is in the capture, and the window that prof_pause ended has been
 * taken in: after the two CUPTI is free for another profiler. Waits for the GPU if a window was ended. PROF_WRONG_STATE
 * where nothing was recorded yet, PROF_FAILED while the capture's disk is full, once it has not answered for five
 * seconds, or where there can be no capture. */
int prof_sync(void);

/* For a program that is about to end and still whole, as in an interpreter's exit handlers: does what prof_sync does,
 * but waits for nothing that stands still for five seconds. Recording goes on, and what comes later is recorded, too;
 * but the end of the process has little left to do. `prof run` has Python programs call it
 * (docs/reliability.md). Results as prof_sync's. */
int prof_before_exit(void);

/* Keeps a text with the capture of the recording under way, as its property "text." and `key`; a later one of that key
 * replaces it. Of at most 1 MiB, and of what describes the recording as a whole: it is no record. Any thread. PROF_OK;
 * PROF_INVALID_ARGUMENT where one is NULL or too long; PROF_WRONG_STATE where nothing is recorded. */
int prof_keep_text(const char* key, const char* text);

/* Writes what the recording has, or what the option keep has kept of it, as a capture of its own while recording goes
 * on: at `path`, which must end in ".prof" and be no file yet, or if that is NULL beside the capture, as
 * <capture>.dump-1.prof, -2, and so on. All that was recorded before the call is in it. Comes back at once: a thread of
 * libprof's copies the file and makes its exports, for which prof_stop waits, but for no disk that does not answer for
 * five seconds; if that fails there is one line on standard error. PROF_WRONG_STATE where nothing was recorded yet,
 * PROF_FAILED where there can be no such file. */
int prof_dump(const char* path);

/* Marks the beginning of the next step: a mark "step" with its number (1, 2, …) in the domain "prof". About 50 ns. With
 * a schedule (docs/schedule.md) it opens and ends the windows of the recording: takes hold of CUPTI where there was no
 * warm-up (some milliseconds), and where one window follows another at once it waits until that has been taken in: for
 * the GPU, and until no thread can be in CUPTI. With step_range it does nothing. */
int prof_step(void);

/* --- Work for another thread ------------------------------------------------------------------------------------ */

/* What a worker launches belongs to the thread that asked for it. That thread takes a number for the place where it is
 * now, and hands it on with the task; the worker says so around the task:
 *
 *     uint64_t here = prof_parent_here();     thread A, inside its range "forward"
 *     prof_adopt_push(here);                  thread B: what it launches from here on counts for "forward"
 *     …
 *     prof_adopt_pop();
 *
 * Between push and pop the ranges that B opens hang under the innermost range that was open at the place and still is;
 * those that B had open before are set aside. Pushes nest; each pop ends the latest push of its thread. A place may be
 * worked for by any number of threads, as often as they like, until the recording ends.
 *
 * These three are cheap enough for every task (a clock read and a record, as for a range), and never set
 * prof_last_error. */

/* Stands for what is open on this thread here; 0 while nothing is recorded. */
uint64_t prof_parent_here(void);

/* PROF_OK, or PROF_WRONG_STATE while nothing is recorded. A place that this recording does not know (0, or one from an
 * earlier recording) changes nothing: the work is the thread's own, and the reports count it as unknown_parent. */
int prof_adopt_push(uint64_t place);

/* PROF_WRONG_STATE where there was no push in this recording. */
int prof_adopt_pop(void);

/* --- Phases ------------------------------------------------------------------------------------------------------- */

/* For what observes a program from outside and says its phases (docs/phases.md), as `prof run` does for PyTorch and
 * <prof/torch.hpp> for LibTorch. A phase is a push/pop range of the calling thread in libprof's domain "prof.phases":
 * tables show it without a prefix, and mark it as observed. A program's own ranges and phases are made with
 * <prof/range.hpp> (PROF_RANGE, PROF_PHASE) or NVTX instead.
 *
 * Any thread. They cost what a range costs (a clock read and a record), and never set prof_last_error. The first call
 * of a process may begin its recording, as its first range does. */

/* `name` is copied. `category` is kept with the range as NVTX's: with a phase "step" one of enum prof_step_witness.
 * PROF_OK; PROF_WRONG_STATE, and there is nothing to pop, while nothing is recorded, and for the phase "step" once the
 * program counts its steps by prof_step. PROF_INVALID_ARGUMENT where `name` is NULL. */
int prof_phase_push(const char* name, uint32_t category);

/* Ends the latest phase of this thread that is open. PROF_WRONG_STATE while nothing is recorded. */
int prof_phase_pop(void);

/* The same for ranges that the program has by other means than NVTX, as JAX's annotations: push/pop ranges of NVTX's
 * default domain. */
int prof_range_push(const char* name);
int prof_range_pop(void);

/* Private to the Python files that come with this libprof.so; of no use to others. */
struct prof_python_runtime;
struct prof_python_functions;
const struct prof_python_functions* prof_python_calls(const struct prof_python_runtime* runtime);

/* What told where a step ends. */
enum prof_step_witness {
    PROF_STEP_UNKNOWN = 0,    /* the first step, which has begun before anything told */
    PROF_STEP_OPTIMIZER = 1,  /* the steps of the optimizers */
    PROF_STEP_CALL = 2,       /* the calls of the outermost module */
    PROF_STEP_ANNOTATION = 3, /* the program, by an annotation or a phase of its own that is a step */
    PROF_STEP_PROFILER = 4    /* the program, by torch.profiler's step or a range ProfilerStep#N */
};

/* 1 between prof_start and prof_stop, also while paused; else 0. */
int prof_is_recording(void);

/* The path of the current capture, or of the last one. Copies at most `size` bytes with the terminating zero, returns
 * the length without it; 0 while there is none (no file is made before the first range or launch). */
size_t prof_capture_path(char* buffer, size_t size);

/* --- Summary ------------------------------------------------------------------------------------------------------ */

/* The GPU projection of what was recorded so far (docs/attribution.md defines every number). */
typedef struct prof_summary prof_summary;

typedef struct prof_summary_row {
    const char* path;  /* "iteration #/forward"; lives as long as the summary */
    uint32_t depth;    /* 0 for a root */
    uint32_t captured; /* 1: ranges that were open when a CUDA graph was captured, else 0 */
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
    uint64_t payload_bytes;   /* what the ranges themselves say that they move */
} prof_summary_row;

/* Brings everything that has completed on the GPU into the capture and reads it back: the time it takes grows with the
 * recording (about a second for two million records), and so does the memory: a capture above 256 MB (a tenth of that
 * if it is compressed), or for which more than a quarter of the memory that is left would be needed, is refused. NULL
 * on failure (prof_last_error). Free with close. */
prof_summary* prof_summary_open(void);
void prof_summary_close(prof_summary* summary);

int64_t prof_summary_total_gpu_ns(const prof_summary* summary);
size_t prof_summary_row_count(const prof_summary* summary);
/* Fills the first `row_size` bytes of *row; `row_size` is sizeof(prof_summary_row) where the caller was compiled. Later
 * versions add fields at the end only: an older caller gets those it knows, a newer one 0 in those that the library
 * does not know. PROF_INVALID_ARGUMENT if there is no such row, or if `row_size` is less than the first version's (128
 * bytes on a 64-bit system). The last three rows are (no range), (ambiguous), (unmatched). */
int prof_summary_get_row(const prof_summary* summary, size_t index, prof_summary_row* row, size_t row_size);
/* Records that could not be kept, over all causes. */
uint64_t prof_summary_dropped(const prof_summary* summary);

/* What a step costs on the GPU, estimated for all steps of the run from those that were captured as a whole: with a
 * budget or a schedule, or while a program that calls prof_step pauses (docs/budget.md has the method). The same
 * numbers as those of `prof report --report steps`. */

typedef struct prof_summary_steps {
    uint64_t captured_steps;  /* as a whole, from beginning to end; 0: nothing is estimated */
    uint64_t windows;         /* that have any of them */
    uint64_t steps;           /* of the run until now */
    uint64_t stood_for;       /* from which the windows were chosen at random; 0: they were not */
    double gpu_ns;            /* all GPU work launched in a step, durations added: the mean over all steps */
    double gpu_half_width_ns; /* half the 95 % confidence interval of gpu_ns; NaN where there is none */
    uint32_t has_interval;    /* 1, or 0 if a single window tells nothing of the others: then half widths are NaN */
    uint32_t reserved;
} prof_summary_steps;

typedef struct prof_summary_step_row {
    const char* path; /* as in prof_summary_row; lives as long as the summary */
    uint32_t depth;
    uint32_t captured; /* as in prof_summary_row */
    double gpu_ns;     /* as gpu_sum_ns, a step */
    double gpu_half_width_ns;
    double instances; /* that began, a step; captured ones once in each launch of their graph */
    double instances_half_width;
} prof_summary_step_row;

/* The sizes are sizeof the structs where the caller was compiled, as with prof_summary_get_row. Rows are those of
 * ranges that had an instance or GPU work in captured steps; (no range), (ambiguous) and (unmatched) come last, if they
 * have any. */
int prof_summary_get_steps(const prof_summary* summary, prof_summary_steps* steps, size_t steps_size);
size_t prof_summary_step_row_count(const prof_summary* summary);
int prof_summary_get_step_row(const prof_summary* summary, size_t index, prof_summary_step_row* row, size_t row_size);

#ifdef __cplusplus
}
#endif

#endif
