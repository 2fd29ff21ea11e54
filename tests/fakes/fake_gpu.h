/* SPDX-License-Identifier: Apache-2.0 */
/* Control of the simulated GPU behind libfake_cuda.so and libcupti_fake.so, for tests (C, so that ctypes can call it).
 *
 * The GPU is a set of streams on one clock. An operation launched at host time t starts when its stream is free, but
 * not before t + launch latency, and ends after its duration; operations of different streams overlap. Everything is
 * decided at launch, so the journal below is the truth that a profiler's output is compared with.
 *
 * Any thread may call any function. fake_gpu_reset() is the exception: no other thread may be inside a fake library,
 * and every stream, event, graph and pointer handed out before is dead after it.
 */
#ifndef FAKE_GPU_H
#define FAKE_GPU_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FAKE_GPU_EXPORT __attribute__((visibility("default")))

/* Everything as in a new process, the environment read again. CUPTI's state goes too. */
FAKE_GPU_EXPORT void fake_gpu_reset(void);

/* REALTIME: the clock is CLOCK_REALTIME and a synchronisation blocks until the operation's end.
 * VIRTUAL: the clock moves only by API calls (api cost), by synchronisations, which jump to the operation's end, and
 * by fake_gpu_advance_ns(). Nothing sleeps. It starts at CLOCK_REALTIME.
 * Default: REALTIME; the environment variable FAKE_GPU_CLOCK (realtime, virtual) sets it before the first use. */
enum fake_gpu_clock { FAKE_GPU_CLOCK_REALTIME = 0, FAKE_GPU_CLOCK_VIRTUAL = 1 };
FAKE_GPU_EXPORT void fake_gpu_set_clock(enum fake_gpu_clock clock);
FAKE_GPU_EXPORT uint64_t fake_gpu_now_ns(void);
FAKE_GPU_EXPORT void fake_gpu_set_now_ns(uint64_t now_ns); /* VIRTUAL only */
FAKE_GPU_EXPORT void fake_gpu_advance_ns(uint64_t ns);     /* VIRTUAL only */

/* Correlation ids go on from FAKE_GPU_CALLS_BEFORE, if it is set, and begin again at 1 after 2^32 - 1. */

/* Host time that an outermost API call takes on the virtual clock (1000), and the least time from a launch to its
 * operation's start (2000). */
FAKE_GPU_EXPORT void fake_gpu_set_api_cost_ns(uint64_t ns);
FAKE_GPU_EXPORT void fake_gpu_set_launch_latency_ns(uint64_t ns);

/* The next time that a thread is at this place, `handler` is called there, once, as a signal's handler would be. */
enum fake_gpu_place {
    FAKE_GPU_IN_LAUNCH = 0,         /* a kernel has been launched, the driver has not come back */
    FAKE_GPU_IN_SUBSCRIPTION = 1,   /* a client of CUPTI subscribes */
    FAKE_GPU_IN_RECORD = 2,         /* CUPTI makes the record of a launch: its buffers are locked */
    FAKE_GPU_GETTING_BUFFER = 3,    /* CUPTI has asked its client for a buffer */
    FAKE_GPU_RETURNING_BUFFER = 4,  /* CUPTI's own thread has just handed a buffer to its client */
    FAKE_GPU_REGISTERING = 5,       /* a client of CUPTI registers its buffers' callbacks */
    FAKE_GPU_FINALIZING = 6,        /* CUPTI finalizes: a call to it now ends the process */
    FAKE_GPU_IN_CALLBACK = 7,       /* CUPTI is about to call its client back, of a call or a resource */
    FAKE_GPU_DISABLING = 8,         /* a client of CUPTI switches a kind of records off */
    FAKE_GPU_ASKED_FOR_CONTEXT = 9, /* the driver is asked for a stream's context */
    FAKE_GPU_PLACES = 10
};
FAKE_GPU_EXPORT void fake_gpu_interrupt(enum fake_gpu_place place, void (*handler)(void));

/* How much memory of each device is in use, as cuMemGetInfo reports it (600 MiB). */
FAKE_GPU_EXPORT void fake_gpu_use_memory(size_t bytes);

/* Hands what has ended by now to CUPTI, and waits until CUPTI's worker has delivered every full buffer. */
FAKE_GPU_EXPORT void fake_gpu_settle(void);

/* --- devices ------------------------------------------------------------------------------------------------- */

struct fake_gpu_device {
    char name[64];
    uint64_t memory_bytes;
    int compute_major, compute_minor, multiprocessors;
};
/* One device by default (or FAKE_GPU_DEVICES of them); with 0 CUDA answers "no device" and CUPTI refuses. At most 16.
 */
FAKE_GPU_EXPORT void fake_gpu_set_device_count(int count);
FAKE_GPU_EXPORT void fake_gpu_set_device(int index, const struct fake_gpu_device* device);

/* --- operations ---------------------------------------------------------------------------------------------- */

/* What cudaLaunchKernel's function pointer means: its mangled name, and its duration (0: as it was; at first 10 us).
 * An unregistered function goes by its dynamic symbol's name, if it has one. */
FAKE_GPU_EXPORT void fake_gpu_register_kernel(const void* function, const char* name, uint64_t duration_ns);
/* Of the next operation that the calling thread launches (kernel, copy or set; each node of a graph at capture). */
FAKE_GPU_EXPORT void fake_gpu_next_duration_ns(uint64_t duration_ns);
FAKE_GPU_EXPORT void fake_gpu_next_kernel_duration_ns(uint64_t duration_ns);
/* The next operation of the calling thread hangs, and with it its stream: synchronising it returns
 * cudaErrorLaunchTimeout at once. */
FAKE_GPU_EXPORT void fake_gpu_next_never_completes(void);

/* The value of a conditional node's handle, for all launches until another is set; at first the handle's default. A
 * `while` body runs so many times, an `if` body if it is not 0, a `switch` the body of this number, if it has one. */
FAKE_GPU_EXPORT void fake_gpu_set_condition(uint64_t handle, uint32_t value);

/* --- journal: the truth --------------------------------------------------------------------------------------- */

enum fake_gpu_kind {
    FAKE_GPU_KERNEL = 1,
    FAKE_GPU_MEMCPY = 2,
    FAKE_GPU_MEMSET = 3,
    FAKE_GPU_MEMCPY_PEER = 4,
    FAKE_GPU_GRAPH = 5 /* a whole graph launch, beside its nodes */
};

/* What became of the operation's CUPTI record. */
enum fake_gpu_record_state {
    FAKE_GPU_RECORD_NONE = 0,       /* no client had the kind enabled */
    FAKE_GPU_RECORD_PENDING = 1,    /* reserved in a buffer that is not delivered yet */
    FAKE_GPU_RECORD_DELIVERED = 2,  /* complete, in a buffer that the client got */
    FAKE_GPU_RECORD_INCOMPLETE = 3, /* delivered by a forced flush before its end: times are 0 */
    FAKE_GPU_RECORD_DROPPED = 4     /* counted by cuptiActivityGetNumDroppedRecords */
};

#define FAKE_GPU_NEVER UINT64_MAX

struct fake_gpu_operation {
    uint64_t index;                          /* in the journal: order of launch */
    uint64_t submitted_ns, start_ns, end_ns; /* FAKE_GPU_NEVER: hangs, or waits for what hangs */
    uint64_t bytes;
    uint64_t graph_node_id; /* of the executable graph's node; 0 outside graphs */
    const char* name;       /* kernel's mangled name; valid until reset; else null */
    uint32_t kind;          /* enum fake_gpu_kind */
    uint32_t record;        /* enum fake_gpu_record_state */
    uint32_t correlation_id, thread_id /* gettid */, device, context, stream, graph_id;
    uint32_t grid[3], block[3];
    uint32_t dynamic_shared_bytes;
    uint32_t value;                                                                          /* memset */
    uint32_t source_device, destination_device;                                              /* peer copy */
    uint8_t copy_kind, source_kind, destination_kind /* set: the memory's kind */, is_async; /* CUPTI's numbers */
};

FAKE_GPU_EXPORT size_t fake_gpu_journal_size(void);
/* 1 and *operation, or 0 past the end. */
FAKE_GPU_EXPORT int fake_gpu_journal_entry(size_t index, struct fake_gpu_operation* operation);
/* One CSV line each, under a line of names; 1 on success. At exit too, into FAKE_GPU_JOURNAL if that is set. */
FAKE_GPU_EXPORT int fake_gpu_write_journal(const char* path);

#ifdef __cplusplus
}
#endif

#endif
