/* SPDX-License-Identifier: Apache-2.0 */
/* libprof's C interface: starts, stops and reads a recording from inside the process. For C, C++ (see session.hpp),
 * ctypes, and for programs that libprof was injected into (dlsym).
 *
 * Results: no function throws. A function that returns int returns PROF_OK (0) if it did what its comment says, else
 * one of the codes in version.h. prof_last_error() then returns one line: what failed, where, and what to do. A NULL
 * that a comment does not allow is PROF_INVALID_ARGUMENT, and no crash.
 *
 * Threads: any thread may call any function, but not from a callback of CUPTI or NVTX. Exit handlers, and destructors
 * of static, thread_local and thread-specific objects, may too. Unless a comment says otherwise, a function takes locks
 * and allocates memory, and it may wait for another such call that is under way.
 *
 * Signals: a signal handler may call only what a comment calls signal-safe. It must not call the others, prof_dump and
 * prof_stop included: the handler may have interrupted the very lock that they take. For a signal that stops or starts
 * a recording there is the option control_signal (docs/guide/control.md). For a dump on a signal, block the signal in
 * all threads and call prof_dump on one that waits in sigwait. (A handler of Python's is no such handler: the
 * interpreter calls it outside of the signal.)
 *
 * Cancellation: no function is a cancellation point (pthread_cancel). A request to cancel the thread stays pending
 * until the program's next one.
 *
 * Callbacks and the log sink of the program (prof_set_callback, prof_set_log) may call the functions that a comment
 * calls *readers*. All others return PROF_WRONG_STATE there.
 *
 * Times are in nanoseconds. Strings are UTF-8 as the process gave them (names are not checked).
 *
 * Structs: pass sizeof(the struct) as compiled into the caller. Later versions add fields only at the end. So an older
 * caller gets the fields that it has, and a newer caller gets 0 in the fields that the library lacks.
 *
 * Texts: a function with `buffer` and `size` copies at most `size` bytes, including a terminating zero. `buffer` may be
 * NULL, to get the length alone. */
#ifndef PROF_PROF_H
#define PROF_PROF_H

#include <stddef.h>
#include <stdint.h>

#include <prof/annotate.h>
#include <prof/read.h>
#include <prof/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Results ------------------------------------------------------------------------------------------------------ */

/* The last failure on this thread, in one line; "" if there was none. Never NULL. Valid until the next prof_ call on
 * this thread, also in destructors at its end. A reader; not signal-safe. Cost: a few nanoseconds. */
const char* prof_last_error(void);

/* A word for a value of enum prof_result: "ok", "invalid argument", "wrong state", "failed", and "unknown result" for
 * any other. Never NULL; lives as long as the library. A reader; signal-safe. */
const char* prof_result_text(int result);

/* --- A recording -------------------------------------------------------------------------------------------------- */

/* Starts a recording. From here on ranges are recorded, and GPU work where CUDA is used or comes to be used. Each
 * recording has a capture file of its own. `settings` is a null-terminated array of "name=value", and may be NULL. It
 * overrides the environment. The names are those of the environment variables, without PROF_ and in lower case
 * (docs/reference/options.md).
 *
 * PROF_INVALID_ARGUMENT for a bad setting; nothing is started. PROF_FAILED if the directory cannot be made or written;
 * nothing is started. PROF_WRONG_STATE if a recording is running that prof_start or `prof ctl` has started. A recording
 * that began by itself (prof_autostart) is completed first, as prof_stop does it, and keeps its capture. PROF_FAILED
 * while the capture of a recording that has ended waits for a disk that does not answer; nothing is started.
 *
 * Any thread; not signal-safe. Cost: a few milliseconds, and for a recording that began by itself those of prof_stop. A
 * disk that does not answer is waited for six seconds at most. */
int prof_start(const char* const* settings);

/* From here on a recording begins by itself, as the options decide, at the first range or use of CUDA in the process;
 * at once if that was before. A program that links the CMake target prof::prof, or what pkg-config says of prof, calls
 * this before main. It is so from the beginning where libprof is preloaded or injected. One that links prof::on_demand,
 * or opens libprof by dlopen, records nothing until prof_start. The environment's PROF_AUTOSTART decides before all.
 *
 * PROF_OK, also where PROF_AUTOSTART=0 prevents it. Cost: none until the first range. */
int prof_autostart(void);

/* Ends the recording. When it returns, the capture is complete and exported, CUPTI is free for other clients, and
 * launches cost what they cost before.
 *
 * CUPTI stays in the process in these cases: beside another client of its records, after cuda_graphs=graphs, with
 * api_calls=runtime, or if a thread of the program does not leave it in time (docs/internals/reliability.md). With
 * api_calls=runtime launches keep the cost of what CUPTI leaves in them. With idle_graph_nodes=1 ranges and nodes of
 * CUDA graphs are still observed, and CUPTI stays subscribed, after this and while paused.
 *
 * PROF_WRONG_STATE if no recording is running. PROF_FAILED if the capture or an export could not be written, also when
 * it waits for a disk that has not answered for five seconds; the recording has ended then. In that case libprof
 * completes the capture once the disk answers (PROF_EVENT_RECORDING_ENDED tells), and no recording can be started
 * before that. Any thread; not signal-safe. Blocks until the GPU has finished (all contexts are synchronised), for at
 * most a second until no thread can be in CUPTI, and until the exports are written. */
int prof_stop(void);

/* prof_pause ends the window in which everything is recorded, prof_resume opens another. The new window goes into the
 * same capture. With export_each=window it gets one of its own, and the capture before is closed and exported. Between
 * the two nothing is recorded, and the state is that after prof_stop: ranges and launches cost what they cost before,
 * and CUPTI is free for other clients. Ranges that are open at the end of a window end there.
 *
 * PROF_WRONG_STATE if there is nothing to pause or to resume, and if options decide when to record
 * (docs/guide/schedule.md). PROF_FAILED from prof_resume while the capture's disk does not answer, so that the window
 * before cannot be read. Any thread; not signal-safe.
 *
 * prof_pause returns at once: a thread of libprof's reads the GPU's last records of the window. prof_resume and
 * prof_stop wait for that thread. prof_resume attaches to CUPTI again, which takes some milliseconds. */
int prof_pause(void);
int prof_resume(void);

/* Brings everything that was recorded until now into the capture, the window that prof_pause ended included. After
 * prof_pause and prof_sync CUPTI is free for another profiler.
 *
 * PROF_WRONG_STATE if nothing was recorded yet. PROF_FAILED while the capture's disk is full, once it has not answered
 * for five seconds, or if there can be no capture. Any thread; not signal-safe. Blocks until the data is in the
 * capture, and if a window was ended until the GPU has finished. */
int prof_sync(void);

/* Does what prof_sync does, for a program that is about to end and still intact, as in an interpreter's exit handlers.
 * Recording goes on, and what follows is recorded, too; but the end of the process has little left to do. `prof run`
 * makes Python programs call it (docs/internals/reliability.md).
 *
 * Returns what prof_sync returns, and PROF_FAILED if another call is under way that takes too long. Any thread; not
 * signal-safe. Blocks like prof_sync, but gives up on anything that stands still for five seconds. */
int prof_before_exit(void);

/* Stores a text with the capture of the current recording, as its property "text." followed by `key`. A later text of
 * that key replaces it. It is for what describes the recording as a whole: it is no record. Key and text may have 1 MiB
 * each, and are kept whole. With the option `keep` they stay when what was recorded with them is trimmed; then all
 * texts together may have 16 MiB, and at most a quarter of the bytes that are kept.
 *
 * PROF_INVALID_ARGUMENT if an argument is NULL or too long. PROF_WRONG_STATE if nothing is recorded. PROF_FAILED if the
 * capture cannot take the text: it could not be written, 16 MiB of texts wait for its disk, or all texts together have
 * too many bytes. Any thread; not signal-safe. May wait for a window that opens or ends, for five seconds at most. */
int prof_keep_text(const char* key, const char* text);

/* Marks the beginning of the next step: a mark "step" with its number (1, 2, …) in the domain "prof". With a schedule
 * (docs/guide/schedule.md) it also opens and ends the windows of the recording. With step_range it does nothing.
 *
 * PROF_WRONG_STATE if no recording is running. Any thread; not signal-safe. Cost: about 50 ns. A call that opens a
 * window without a warm-up attaches to CUPTI (some milliseconds). If one window follows another at once, the call
 * blocks until the first has been read: until the GPU has finished, and no thread can be in CUPTI. */
int prof_step(void);

/* --- Dumps -------------------------------------------------------------------------------------------------------- */

/* Writes what the recording has as a capture of its own, while recording goes on; with the option `keep`, what that has
 * kept. All that was recorded before the call is in it. The file is `path`, which must end in ".prof" and must not
 * exist yet. If `path` is NULL the file lies beside the capture, as <capture>.dump-1.prof, -2, and so on.
 *
 * PROF_WRONG_STATE if nothing was recorded yet. PROF_FAILED if there can be no such file. Any thread; not signal-safe
 * (see above for what to use instead).
 *
 * Does not wait for the copy: a thread of libprof's copies the file and makes its exports. A callback gets
 * PROF_EVENT_DUMP_ENDED then. If the copy fails, one line appears in the log, too. prof_stop waits for that thread, but
 * not for a disk that does not answer for five seconds. */
int prof_dump(const char* path);

/* The same, and copies the absolute path that the dump is going to have; "" on failure. 4096 bytes are enough for every
 * path. */
int prof_dump_to(const char* path, char* buffer, size_t size);

/* --- State -------------------------------------------------------------------------------------------------------- */

/* 1 between prof_start and prof_stop, also while paused; else 0. Never sets prof_last_error. A reader; not signal-safe.
 * Takes no lock. */
int prof_is_recording(void);

/* Copies the path of the current capture, or of the last one. Returns its length; 0 while there is no capture. (No file
 * is created before the first range or launch.) A reader; not signal-safe. Takes a short lock. */
size_t prof_capture_path(char* buffer, size_t size);

enum prof_state {
    PROF_STATE_IDLE = 0,            /* no recording is running */
    PROF_STATE_WAITING = 1,         /* a window is open, and there was no range or launch yet */
    PROF_STATE_RECORDING = 2,       /* a window is open */
    PROF_STATE_PAUSED = 3,          /* by prof_pause */
    PROF_STATE_BETWEEN_WINDOWS = 4, /* of a schedule, budget or trigger */
    PROF_STATE_WARMING_UP = 5,      /* before a window of those */
    PROF_STATE_COMPLETING = 6       /* the recording was stopped; its capture and exports are being completed */
};

typedef struct prof_status {
    uint32_t state;       /* enum prof_state */
    uint32_t records_gpu; /* 1: GPU work is recorded; 0: it is not, or not yet. prof_status_json has the reason */
    uint64_t state_ns;    /* for how long in that state; 0 before the first use of NVTX, CUDA or prof_start */
    uint64_t steps;       /* begun in this recording, or in the latest */
    uint64_t windows;     /* opened in it */
    uint64_t records;     /* in its capture; with export_each=window in the latest one */
    uint64_t bytes;       /* of that capture */
    uint64_t dropped;     /* records that could not be kept, over all causes. prof_status_json has them by cause */
    uint64_t memory;      /* bytes, the option */
} prof_status;

/* Fills the first `size` bytes of *out.
 *
 * PROF_INVALID_ARGUMENT if `out` is NULL, or if `size` is smaller than that of the first version (64) or above 4096.
 * PROF_FAILED if a window was just being opened or ended for a second. A reader; not signal-safe. Costs some
 * microseconds, or 0.1 ms while the program has not loaded CUDA, and holds up no range or launch. */
int prof_get_status(prof_status* out, size_t size);

/* Copies the same as one JSON object, that of `prof ctl PID status --json`: with everything by name, the drops by
 * cause, and why GPU work is not recorded. Returns the length, which changes from call to call; 0 on failure
 * (prof_last_error). 16384 bytes are enough, unless the command line is long. A reader; not signal-safe. Costs 0.1
 * ms: it reads /proc. */
size_t prof_status_json(char* buffer, size_t size);

/* --- Options ------------------------------------------------------------------------------------------------------ */

/* Copies the value of an option, as text: that of the recording while one runs, else what a recording would get that is
 * started without settings. "": it is not set. *length, unless NULL, gets the whole length.
 *
 * PROF_INVALID_ARGUMENT if there is no such option; the line in prof_last_error names those that there are. A reader;
 * not signal-safe. Takes a short lock. */
int prof_get_option(const char* name, char* buffer, size_t size, size_t* length);

/* Sets options by the rules of `prof ctl PID set`: for the recordings to come and, while one runs, for that. Then only
 * options are accepted that are read at its end (PROF_OPTION_WHILE_RECORDING). `settings` is a null-terminated array of
 * "name=value"; all of them are set, or none. prof_set_option sets one.
 *
 * PROF_INVALID_ARGUMENT for a setting that is never accepted, and for settings that exclude each other; the line names
 * what is accepted. PROF_WRONG_STATE for one that this process cannot change now. Any thread; not signal-safe. Waits
 * for a window that opens or ends. */
int prof_set_options(const char* const* settings);
int prof_set_option(const char* name, const char* value);

/* Until when an option may be set in a running process. */
enum prof_option_change {
    PROF_OPTION_AT_PROGRAM_START = 0, /* by the environment alone: it is read when the program begins */
    PROF_OPTION_BEFORE_FIRST_USE = 1, /* until the program's first use of NVTX or CUDA */
    PROF_OPTION_BEFORE_CUPTI = 2,     /* until a libcupti is loaded */
    PROF_OPTION_NEXT_RECORDING = 3,   /* at any time, for the next recording */
    PROF_OPTION_WHILE_RECORDING = 4   /* at any time, also for the recording that runs */
};

/* Lives as long as the library. */
typedef struct prof_option {
    const char* name;          /* "output_dir" */
    const char* variable;      /* "PROF_OUTPUT_DIR" */
    const char* accepts;       /* what a value may be: "a directory; it is made if need be" */
    const char* help;          /* one line or two; may be "" */
    const char* default_value; /* "": not set */
    uint32_t change;           /* enum prof_option_change */
    uint32_t reserved;
} prof_option;

/* How many options there are, and the option number `index`, from 0, in the order of `prof run --help`.
 *
 * PROF_INVALID_ARGUMENT if there is no such option, `out` is NULL, or `size` is smaller than that of the first version
 * (48 on a 64-bit system) or above 4096. Readers; prof_option_count is signal-safe. */
size_t prof_option_count(void);
int prof_describe_option(size_t index, prof_option* out, size_t size);

/* --- Callbacks ---------------------------------------------------------------------------------------------------- */

/* What a callback is called for; bits, so that several can be asked for. */
enum prof_event_kind {
    PROF_EVENT_STEP = 1,             /* step `number` has begun */
    PROF_EVENT_WINDOW_BEGAN = 2,     /* window `number` of the recording, from 1, is open */
    PROF_EVENT_WINDOW_ENDED = 4,     /* it has ended, and its last records were read; `path`: its capture */
    PROF_EVENT_DUMP_ENDED = 8,       /* dump `number` of the process is complete, with its exports; `path`: its file */
    PROF_EVENT_EXPORT_ENDED = 16,    /* the exports of a capture lie beside it; `path`: the capture */
    PROF_EVENT_RECORDING_BEGAN = 32, /* also where `prof ctl`, a signal or the environment started it */
    PROF_EVENT_RECORDING_ENDED =
        64, /* its capture and exports are complete; `number`: of its steps; `path`: its capture */
    PROF_EVENT_ALL = 127
};

/* Its texts live until the callback returns. Later versions add fields at the end: compare `size` before reading one
 * that this version does not have. */
typedef struct prof_event {
    size_t size;         /* of this struct, as the library has it */
    uint32_t kind;       /* one of enum prof_event_kind */
    int32_t result;      /* of enum prof_result: how what ended has ended; else PROF_OK */
    uint64_t number;     /* 0 where the kind has none */
    uint64_t lost;       /* events before this one that were lost, since 1024 were waiting for the callback */
    const char* path;    /* absolute; "" if there is none. Never NULL */
    const char* message; /* one line, if `result` is a failure; else "". Never NULL */
} prof_event;

typedef void (*prof_callback)(const prof_event* event, void* user);

/* Has `callback` called for events of `kinds`, a sum of enum prof_event_kind. It replaces the callback before; NULL
 * takes that away, and `kinds` does not matter then. There is one callback in the process.
 *
 * Threads: callbacks, and the sink of prof_set_log, run on one thread of libprof's, "prof-events", one call at a time,
 * in the order of the events. libprof holds no lock meanwhile, and none of its functions waits for a callback, except
 * these two. So a callback may wait for the program's threads and take an interpreter's lock. The thread blocks
 * signals. A callback comes a moment after the event; prof_stop may return before its event was delivered. Events and
 * lines that come while a call takes long are queued.
 *
 * What a callback may call: readers (prof_get_status, prof_summary_open_file and so on), and ranges and marks. A
 * function that controls the recording returns PROF_WRONG_STATE there: have another thread call it. A callback must not
 * throw or longjmp; an exception ends the process.
 *
 * When it returns, all events from before have been delivered to the former callback, and that is not called any more:
 * its `user` may be freed. So it waits for a callback under way: do not hold a lock that this needs. (From Python, call
 * it by ctypes.CDLL, which releases the interpreter's lock, and take callbacks away in an atexit handler.) No callback
 * is called once the process runs its C exit handlers. A forked child has neither callback nor sink.
 *
 * PROF_INVALID_ARGUMENT if `kinds` has an unknown bit, or none with a callback. PROF_WRONG_STATE from a callback, and
 * at the process's end. PROF_FAILED if there can be no thread. Any thread; not signal-safe. Cost: a thread with the
 * first call; then about 200 ns an event. Without a callback a step costs what it did. */
int prof_set_callback(prof_callback callback, void* user, uint32_t kinds);

enum prof_log_severity {
    PROF_LOG_WARNING = 1, /* something is not recorded, not written or not as asked */
    PROF_LOG_ERROR = 2    /* nothing is recorded, or what was recorded is lost, or has no end */
};

/* `line` is UTF-8 without a newline and lives until the sink returns. */
typedef void (*prof_log_sink)(int severity, const char* line, void* user);

/* Has `sink` called with every line that libprof would write to standard error; without a sink it writes the first such
 * line only, and after a warning the first error, as "libprof: LINE". A line that is the same as the one before is
 * passed on once. NULL: standard error again.
 *
 * Call it before anything else, so that no line comes before it. Threads, what a sink may call, what the return means,
 * and errors: as prof_set_callback. Standard error gets the line nevertheless if 1024 are waiting, there is no memory,
 * or the process's end has begun; so that of a crash or of an exit in a signal handler is always there. */
int prof_set_log(prof_log_sink sink, void* user);

#ifdef __cplusplus
}
#endif

#endif
