/* SPDX-License-Identifier: Apache-2.0 */
/* Control of libcupti_fake.so, for tests (C). See fake_gpu.h for the GPU behind it; fake_gpu_reset() resets both.
 * Any thread may call any function. */
#ifndef FAKE_CUPTI_H
#define FAKE_CUPTI_H

#include <stddef.h>
#include <stdint.h>

#include "fakes/fake_gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What cuptiGetVersion answers, and by it the size of each record, the callback ids and the faults of that version
 * (18: CUDA 12.0 … 28: 12.9, then 13xxyy). Default: 130001, or FAKE_CUPTI_VERSION. Set it before the first client. */
FAKE_GPU_EXPORT void fake_cupti_set_version(uint32_t version);

/* The next `times` calls of the named function (all, where times < 0) return `result` and do nothing.
 * FAKE_CUPTI_FAIL="cuptiSubscribe=39;cuptiActivityEnable=999*2" does the same from outside. */
FAKE_GPU_EXPORT void fake_cupti_fail(const char* function, int result, int times);

/* The next n records are dropped, and counted. */
FAKE_GPU_EXPORT void fake_cupti_drop_records(size_t n);

/* While held, no buffer comes back but by a forced flush. Releasing hands back what has gathered, in order or last
 * first, from CUPTI's worker thread, and returns when that is done. */
enum fake_cupti_order { FAKE_CUPTI_IN_ORDER = 0, FAKE_CUPTI_REVERSED = 1 };
FAKE_GPU_EXPORT void fake_cupti_hold_buffers(void);
FAKE_GPU_EXPORT void fake_cupti_release_buffers(enum fake_cupti_order order);

/* What the clients have done so far. */
FAKE_GPU_EXPORT size_t fake_cupti_calls(const char* function);
FAKE_GPU_EXPORT int fake_cupti_is_subscribed(void);
FAKE_GPU_EXPORT int fake_cupti_kind_is_enabled(int kind);
FAKE_GPU_EXPORT int fake_cupti_callback_is_enabled(int domain, uint32_t cbid);
/* Buffers that CUPTI holds: asked for and not handed back. */
FAKE_GPU_EXPORT size_t fake_cupti_buffers_held(void);

/* How often the real one would have touched memory that cuptiFinalize had freed: a thread was in the middle of calling
 * the client back, or of a call to the runtime that a hook of CUPTI's had counted, or a hook that cuptiFinalize did not
 * find was called. Nothing crashes here; if there were any, the last line on stderr says so at exit. */
FAKE_GPU_EXPORT size_t fake_cupti_freed_uses(void);

#ifdef __cplusplus
}
#endif

#endif
