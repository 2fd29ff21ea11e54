/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for NCCL: it loads a profiler plugin as NCCL does, and calls it in NCCL's order around launches on the
 * simulated GPU. Nothing is communicated. What it hands to the plugin is laid out by offsets written down by hand from
 * NCCL's headers, and not by libprof's structs.
 *
 * FAKE_NCCL_VERSION is the newest version of the plugin's interface that it knows: 4, 5 or 6 (the default).
 */
#ifndef FAKE_NCCL_H
#define FAKE_NCCL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FAKE_NCCL_EXPORT __attribute__((visibility("default")))

typedef struct fake_nccl_comm fake_nccl_comm;

/* The first communicator loads the plugin; after the last one it is closed. */
FAKE_NCCL_EXPORT fake_nccl_comm* fake_nccl_init(uint64_t id, const char* name, int nodes, int ranks, int rank);
FAKE_NCCL_EXPORT void fake_nccl_destroy(fake_nccl_comm* comm);

/* The operations of a group have one kernel a communicator. Outside of a group each call has its own. */
FAKE_NCCL_EXPORT void fake_nccl_group_start(void);
FAKE_NCCL_EXPORT void fake_nccl_group_end(void);

/* `function` and `type` are NCCL's words ("AllReduce", "ncclFloat32"). `root`: the peer of "Send" and "Recv". */
FAKE_NCCL_EXPORT void fake_nccl_call(fake_nccl_comm* comm, const char* function, size_t count, const char* type,
                                     int root, void* stream);
/* While a stream is captured: its calls become nodes of a graph. */
FAKE_NCCL_EXPORT void fake_nccl_capturing(int yes);
/* By the copy engines (version 6): `copies` copies instead of a kernel. */
FAKE_NCCL_EXPORT void fake_nccl_copy_call(fake_nccl_comm* comm, const char* function, size_t count, const char* type,
                                          int copies, void* stream);
/* What operations were enqueued is told on another thread, as where NCCL has the driver call it. */
FAKE_NCCL_EXPORT void fake_nccl_tell_elsewhere(int yes);
/* "Broadcast" is told when it is called, and not when it is enqueued, nor its launch. */
FAKE_NCCL_EXPORT void fake_nccl_coalesce_broadcasts(int yes);

/* The plugin: its version (0: none), its name, the mask, its table, a communicator's context. */
FAKE_NCCL_EXPORT int fake_nccl_plugin_version(void);
FAKE_NCCL_EXPORT const char* fake_nccl_plugin_name(void);
FAKE_NCCL_EXPORT int fake_nccl_mask(void);
FAKE_NCCL_EXPORT const void* fake_nccl_plugin(void);
FAKE_NCCL_EXPORT void* fake_nccl_context(const fake_nccl_comm* comm);
/* Calls of the plugin: starts of events since the last question. */
FAKE_NCCL_EXPORT int fake_nccl_events(void);

#ifdef __cplusplus
}
#endif

#endif
