/* SPDX-License-Identifier: Apache-2.0 */
/* libprof's C interface: reads what was recorded, from the running recording and from capture files. For results see
 * prof.h.
 *
 * Three objects are read here. A prof_summary has the GPU projection and the estimates of a step. A prof_capture is a
 * capture file in memory. A prof_report is one report of a capture, the same that `prof report` prints: tables of typed
 * cells, and texts rendered from them.
 *
 * Threads: any thread may call any function. An object never changes. So several threads may read the same one at once,
 * without a lock, until one of them closes it. No function may be called from a signal handler, except those that say
 * so, nor from a callback of CUPTI or NVTX. All but prof_summary_open are *readers*: callbacks and the log sink of the
 * program may call them, too (prof.h).
 *
 * Null: a null object, a null output and an index that does not exist are errors and no crash. A function that returns
 * int then returns PROF_INVALID_ARGUMENT, one that returns a pointer NULL, one that returns a count or a time 0.
 * prof_last_error has the reason after the first two. A null object may be closed. An object must not be used after it
 * was closed.
 *
 * Texts that a function returns belong to the object and live as long as it does, unless a comment says otherwise.
 * Names are bytes as the process gave them: almost always UTF-8, which is not checked. A name that contains a zero byte
 * ends there, except where a size is given with it.
 *
 * Structs: pass the size of the struct as compiled into the caller. The function fills so many bytes. Later versions
 * add fields only at the end. So an older caller gets the fields that it has, and a newer caller gets 0 in the fields
 * that the library lacks. PROF_INVALID_ARGUMENT for a size below that of the first version, or above 4096.
 *
 * Cost: opening an object reads or computes, as its comment says. Every other function takes less than a microsecond,
 * and no memory, unless its comment says otherwise. */
#ifndef PROF_READ_H
#define PROF_READ_H

#include <stddef.h>
#include <stdint.h>

#include <prof/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Captures ----------------------------------------------------------------------------------------------------- */

/* A capture file, read into memory. */
typedef struct prof_capture prof_capture;

/* Reads a capture file. It may be that of a process that died, or that still records: then it has what is in the file
 * now. The environment and the recording of the calling process have no influence, and no recording is needed. Free the
 * result with prof_capture_close.
 *
 * A trace of torch.profiler, or of `prof export`, is read likewise.
 *
 * NULL with prof_last_error if the file cannot be read or is no capture, or if there is no memory; errno is then that
 * of the system call that refused the file, else 0. Damage inside the file is skipped, and is a note of the capture.
 * Time: about a second for two million records. Memory: about 2.2 times the size of the file, 20 times if the capture
 * is compressed. No file is too large for this function: a caller that is short of memory checks the size first. */
PROF_NODISCARD prof_capture* prof_capture_open(const char* path);
void prof_capture_close(prof_capture* capture);

/* "train.py, rank 0, pid 4711 on node7: 12.3 s recorded, 1 GPU (NVIDIA H200)" */
const char* prof_capture_title(const prof_capture* capture);
/* "recorded 6 of 120 steps, in 2 windows: steps 12 to 14, 22 to 24"; "" if all from start to stop was recorded. */
const char* prof_capture_windows(const prof_capture* capture);

/* The properties of the capture (docs/reference/capture-format.md), such as "command", "hostname", "pid", "rank".
 * prof_capture_property returns the value, or NULL without an error if the capture has no such property. The keys are
 * in the order of their bytes. */
const char* prof_capture_property(const prof_capture* capture, const char* key);
size_t prof_capture_property_count(const prof_capture* capture);
const char* prof_capture_property_key(const prof_capture* capture, size_t index);

/* What a reader should know before trusting the numbers, one line each (docs/guide/notes.md). */
size_t prof_capture_note_count(const prof_capture* capture);
const char* prof_capture_note(const prof_capture* capture, size_t index);

/* Records that could not be kept, of one cause. The texts live as long as the program, except `cause`. */
typedef struct prof_drop {
    const char* cause;  /* "ring_full": a stable name (docs/guide/notes.md); lives as long as the object */
    uint64_t count;     /* at least 1 */
    const char* what;   /* was dropped, and why: "records: the drain thread came too late" */
    const char* remedy; /* what to do: "more memory, fewer ranges, a free core" */
} prof_drop;

/* By cause, in the order of the names. */
size_t prof_capture_drop_count(const prof_capture* capture);
int prof_capture_get_drop(const prof_capture* capture, size_t index, prof_drop* drop, size_t drop_size);

/* Writes the capture as a Chrome trace, as `prof export` does: compressed if `path` ends in ".gz". The file appears
 * whole or not at all. `settings` is as for prof_report_open, of which adopt and those of a part matter here.
 *
 * PROF_FAILED if the file cannot be written; errno is then that of the system call, else 0. PROF_INVALID_ARGUMENT for a
 * bad setting, or for a part of which the capture has nothing. Time and memory: up to those of prof_capture_open. */
int prof_capture_export(const prof_capture* capture, const char* path, const char* const* settings);

/* --- Summary ------------------------------------------------------------------------------------------------------ */

/* The GPU projection of a recording or of a capture (docs/reference/attribution.md defines every number). */
typedef struct prof_summary prof_summary;

/* What a row of a summary stands for. A capture's GPU time is in exactly one row each as gpu_self_ns. */
enum prof_row_kind {
    PROF_ROW_RANGE = 1, /* ranges of the program */
    PROF_ROW_PHASE = 2, /* phases of the program that libprof observed, such as "step" and "backward" */
    PROF_ROW_NO_RANGE = 3,
    PROF_ROW_AMBIGUOUS = 4, /* GPU work that could be that of several threads; the row may have ranges below it */
    PROF_ROW_UNMATCHED = 5  /* GPU work whose launch was not seen */
};

#define PROF_NO_ROW UINT32_MAX

typedef struct prof_summary_row {
    /* The names from the outermost range to this one, joined by "/": "iteration #/forward". After a "\" the next
     * character is part of the name: the range "a/b" has the path "a\/b". A range that is called like one of the three
     * special rows begins with such a "\". */
    const char* path;
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
    /* From here on since 0.2. */
    uint32_t kind;    /* enum prof_row_kind; 0 from an older library */
    uint32_t parent;  /* index of the row above; PROF_NO_ROW for a root. A parent comes before its children */
    const char* name; /* the last name of the path, without escapes: "forward" */
} prof_summary_row;

/* Brings all work that the GPU has completed into the capture, and reads the capture back. If nothing was recorded yet,
 * the summary has the three special rows, all 0. Free the result with prof_summary_close.
 *
 * NULL with prof_last_error on failure. A large capture is refused: one above 256 MB (a tenth of that if it is
 * compressed), or one that would need more than a quarter of the memory that is left. Blocks like prof_sync. Time and
 * memory grow with the recording: about a second for two million records. */
PROF_NODISCARD prof_summary* prof_summary_open(void);
/* The summary of a capture file of any size: prof_capture_open, prof_capture_summary without settings, and
 * prof_capture_close. Free the result with prof_summary_close.
 *
 * NULL with prof_last_error as from prof_capture_open, whose time and memory this takes. */
PROF_NODISCARD prof_summary* prof_summary_open_file(const char* path);
/* The summary of an open capture, which may be closed before the summary. `settings` is as for prof_report_open, of
 * which fold, adopt and nvtx_domain_ matter here. Free the result with prof_summary_close.
 *
 * NULL with prof_last_error for a bad setting, or if there is no memory. Time: about that of prof_capture_open. */
PROF_NODISCARD prof_summary* prof_capture_summary(const prof_capture* capture, const char* const* settings);
void prof_summary_close(prof_summary* summary);

/* Durations of all GPU operations, added: the sum of gpu_self_ns over all rows. */
int64_t prof_summary_total_gpu_ns(const prof_summary* summary);
size_t prof_summary_row_count(const prof_summary* summary);
/* Rows are in preorder: parents before children, siblings by first start. (no range), (ambiguous) with the ranges below
 * it, and (unmatched) come last, and are always there. Tell them by their kind: a range may have any name. */
int prof_summary_get_row(const prof_summary* summary, size_t index, prof_summary_row* row, size_t row_size);
/* The number of records that could not be kept, over all causes; and by cause, in the order of the names. */
uint64_t prof_summary_dropped(const prof_summary* summary);
size_t prof_summary_drop_count(const prof_summary* summary);
int prof_summary_get_drop(const prof_summary* summary, size_t index, prof_drop* drop, size_t drop_size);

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
    const char* path; /* as in prof_summary_row */
    uint32_t depth;
    uint32_t captured; /* as in prof_summary_row */
    double gpu_ns;     /* like gpu_sum_ns, per step */
    double gpu_half_width_ns;
    double instances; /* begun per step; a captured one counts once per launch of its graph */
    double instances_half_width;
    /* From here on since 0.2. */
    uint32_t kind;    /* enum prof_row_kind; 0 from an older library */
    uint32_t parent;  /* index of the step row of the nearest range above that has one; else PROF_NO_ROW */
    const char* name; /* as in prof_summary_row */
} prof_summary_step_row;

int prof_summary_get_steps(const prof_summary* summary, prof_summary_steps* steps, size_t steps_size);
/* The rows are those of ranges that had an instance or GPU work in captured steps. (no range), (ambiguous) and
 * (unmatched) come last, if they have any work. */
size_t prof_summary_step_row_count(const prof_summary* summary);
int prof_summary_get_step_row(const prof_summary* summary, size_t index, prof_summary_step_row* row, size_t row_size);

/* --- Reports ------------------------------------------------------------------------------------------------------ */

/* The reports there are (docs/reference/reports.md), by name and in a line; and the formats in which they can be
 * rendered: "table", "csv", "json", "markdown", "html". The first of each is the default of the command. The texts live
 * as long as the program. Signal-safe, but for prof_last_error of an index that does not exist. */
size_t prof_report_count(void);
const char* prof_report_name(size_t index);
const char* prof_report_purpose(size_t index);
size_t prof_format_count(void);
const char* prof_format_name(size_t index);

/* One report of a capture. */
typedef struct prof_report prof_report;

/* Makes the report of that name ("kernels"). The capture may be closed before the report, but its memory is freed only
 * with the last of its reports. Free the result with prof_report_close.
 *
 * `settings` is a null-terminated array of "name=value", and may be NULL. They are the options of `prof report`:
 *
 *     fold=0                    ranges whose names differ in digits only have rows of their own
 *     adopt=PATTERN             threads that work for others: auto, off, or a shell pattern
 *     communication=LIST        kernels that are communication beside those that are known
 *     nvtx_domain_include=LIST  ranges of these NVTX domains only
 *     nvtx_domain_exclude=LIST  no ranges of these NVTX domains
 *     kernel_names=STYLE        full, short, or mangled
 *     range=PATTERN             of a part only, as docs/guide/selection.md has it: what counts for these ranges (may be
 *                               given several times)
 *     steps=A:B, skip_first=N, from=TIME, to=TIME, step_range=NAME    likewise, steps and times
 *     sort=COLUMN, limit=N      of lists: their order, and the first N rows
 *     rows=N, depth=N           of tables for people only: N rows at most, or all; none deeper than N
 *     whole_run=1               of formats for people: tables of all that was recorded, not of one step
 *     width=N                   of the format "table" only: cells in a line (default: 150)
 *
 * NULL with prof_last_error for a name or setting that does not exist, for a part of which the capture has nothing, or
 * if there is no memory. Time: up to about that
 * of prof_capture_open. Memory: that of the tables. */
PROF_NODISCARD prof_report* prof_report_open(const prof_capture* capture, const char* name,
                                             const char* const* settings);
void prof_report_close(prof_report* report);

/* What a reader should know before trusting the numbers, one line each: the notes of the capture, then those of the
 * report's tables. */
size_t prof_report_note_count(const prof_report* report);
const char* prof_report_note(const prof_report* report, size_t index);

/* The report's tables. The first is its own. gpu-projection has further tables: the start/end ranges
 * ("process_ranges"), what a step takes ("step", one row, or none if the capture has no whole step), the phases of
 * a step ("step_parts"), and the figures of the lines above its table: "answer" (one row, or none if the capture has no
 * GPU work), the parts of its busy and idle time ("answer_parts") and its longest steps ("answer_slowest"), and the
 * changes that would gain most ("gains"; not of a part). */
typedef struct prof_report_table {
    const char* key;     /* "rows": the name of its rows in JSON; unique in the report */
    const char* heading; /* "GPU time by kernel" */
    uint64_t rows;
    uint64_t columns;
    uint64_t totals; /* numbers about the table as a whole */
} prof_report_table;

size_t prof_report_table_count(const prof_report* report);
int prof_report_get_table(const prof_report* report, size_t table, prof_report_table* out, size_t out_size);

enum prof_cell_type {
    PROF_CELL_ABSENT = 0,   /* no value: as null in JSON, and as nothing in CSV */
    PROF_CELL_INTEGER = 1,  /* in `integer` */
    PROF_CELL_UNSIGNED = 2, /* above INT64_MAX: `integer` has its bits, cast it to uint64_t */
    PROF_CELL_REAL = 3,     /* in `real` */
    PROF_CELL_BOOLEAN = 4,  /* in `integer`: 0 or 1 */
    PROF_CELL_TEXT = 5      /* in `text` */
};

enum prof_unit {
    PROF_UNIT_NONE = 0,       /* texts, booleans, and numbers without a unit */
    PROF_UNIT_COUNT = 1,      /* how many */
    PROF_UNIT_IDENTITY = 2,   /* a number that names something: pid, device */
    PROF_UNIT_NS = 3,         /* a duration in nanoseconds */
    PROF_UNIT_NS_OF_TIME = 4, /* a moment, in nanoseconds of the capture's clock */
    PROF_UNIT_BYTES = 5,
    PROF_UNIT_SHARE = 6,  /* 0 to 1 */
    PROF_UNIT_PERCENT = 7 /* 0 to 100 */
};

typedef struct prof_report_column {
    const char* key;   /* "gpu_sum_ns": as in JSON and CSV; unique in the table */
    const char* title; /* as in tables for people: "GPU"; "" if those do not show the column */
    /* enum prof_cell_type, of all values that there are in the column. PROF_CELL_UNSIGNED: integers of which one is
     * above INT64_MAX. Integers and reals together are PROF_CELL_REAL, booleans and numbers together numbers. Of a
     * column without values, what its unit suggests. */
    uint32_t type;
    uint32_t unit; /* enum prof_unit */
} prof_report_column;

int prof_report_get_column(const prof_report* report, size_t table, size_t column, prof_report_column* out,
                           size_t out_size);

typedef struct prof_report_cell {
    uint32_t type; /* enum prof_cell_type */
    uint32_t reserved;
    int64_t integer;
    double real;      /* of numbers and booleans of any type: the value, rounded if it must be */
    const char* text; /* null-terminated; NULL if the cell is no text */
    size_t text_size; /* bytes, without the terminating zero: a name may contain zero bytes */
} prof_report_cell;

int prof_report_get_cell(const prof_report* report, size_t table, size_t row, size_t column, prof_report_cell* cell,
                         size_t cell_size);

/* The totals of a table: "total_gpu_ns". */
const char* prof_report_total_key(const prof_report* report, size_t table, size_t index);
int prof_report_get_total(const prof_report* report, size_t table, size_t index, prof_report_cell* cell,
                          size_t cell_size);

/* A column at once, for data frames: writes the values of `count` rows from row `first` on. The arrays have `count`
 * elements each. `present` may be NULL; else it gets 1 for a value and 0 for an absent one.
 *
 * An absent value is 0 among integers, NaN among reals, and NULL among texts, with a size of 0. Integers are those of a
 * column of the type PROF_CELL_INTEGER, _UNSIGNED (as bits) or _BOOLEAN; reals those of any of these and
 * PROF_CELL_REAL; texts those of PROF_CELL_TEXT. `sizes` may be NULL: see prof_report_cell.
 *
 * PROF_INVALID_ARGUMENT for a column of another type, or if there are not so many rows; nothing is written. Cost: some
 * nanoseconds for a value. */
int prof_report_read_integers(const prof_report* report, size_t table, size_t column, size_t first, size_t count,
                              int64_t* values, uint8_t* present);
int prof_report_read_reals(const prof_report* report, size_t table, size_t column, size_t first, size_t count,
                           double* values, uint8_t* present);
int prof_report_read_texts(const prof_report* report, size_t table, size_t column, size_t first, size_t count,
                           const char** values, size_t* sizes);

/* The report in one of the formats, byte for byte as `prof report` writes it for this capture and report alone. Sets
 * *size, unless it is NULL, to the bytes without the terminating zero: CSV keeps zero bytes of names. The text belongs
 * to the caller, who frees it with prof_free_text.
 *
 * NULL with prof_last_error for a format that does not exist, or if there is no memory. Formats for people ("table",
 * "markdown", "html") show a selection of the rows. */
PROF_NODISCARD char* prof_report_render(const prof_report* report, const char* format, size_t* size);
/* Frees a text of prof_report_render. NULL is allowed. */
void prof_free_text(char* text);

#ifdef __cplusplus
}
#endif

#endif
