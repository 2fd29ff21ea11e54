/* SPDX-License-Identifier: Apache-2.0 */
/* libfake_cuda.so exports a part of the CUDA runtime API under its real names and signatures (<cuda_runtime_api.h>),
 * and one function beside it, for callers that have no kernels and cannot pass a dim3 (ctypes). Any thread. */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* cudaLaunchKernel of one block of 32 threads of the kernel with this mangled name, which takes duration_ns (0: what it
 * took before, or the default) now and later. Returns the cudaError_t. */
int fake_cuda_launch(const char* kernel, uint64_t duration_ns, void* stream);

/* As in <cuda_profiler_api.h> and <cudaProfiler.h>, which not every package of headers has. They do nothing. */
cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);

#ifdef __cplusplus
}
#endif

#endif
