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

#include <prof/annotate.h>
#include <prof/read.h>
#include <prof/version.h>

#ifdef __cplusplus
extern "C" {
#endif

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

/* Recording begins by itself, at the first range or use of CUDA, as the options decide. */
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

/* 1 between prof_start and prof_stop, also while paused; else 0. Never sets prof_last_error. */
int prof_is_recording(void);

/* Copies the path of the current capture, or of the last one. Writes at most `size` bytes, including the terminating
 * zero. Returns the length without that zero; 0 while there is no capture. (No file is created before the first range
 * or launch.) */
size_t prof_capture_path(char* buffer, size_t size);

#ifdef __cplusplus
}
#endif

#endif
