/* libprof's C interface: reads what was recorded, from the running recording and from capture files. For results and
 * threads see prof.h. */
#ifndef PROF_READ_H
#define PROF_READ_H

#include <stddef.h>
#include <stdint.h>

#include <prof/version.h>

#ifdef __cplusplus
extern "C" {
#endif

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
