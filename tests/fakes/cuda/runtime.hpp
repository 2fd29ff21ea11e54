// SPDX-License-Identifier: Apache-2.0
// What every function of the simulated CUDA runtime does around its driver calls.
#pragma once

#include <cuda_runtime_api.h>
#include <cupti.h>

#include "fakes/gpu/api_call.hpp"
#include "fakes/gpu/driver.hpp"

namespace fake {

// The thread's last error, as cudaGetLastError() answers it. Returns its argument.
cudaError_t remember(cudaError_t result);

// The runtime's error codes are the driver's, for every one that the fakes return.
inline cudaError_t to_runtime(CUresult result) { return static_cast<cudaError_t>(result); }

// Runs `body`, which returns CUresult, inside the API call that tools see.
template <class TBody>
cudaError_t runtime_call(const api_function& function, const void* params, TBody body, const char* symbol = nullptr) {
    if (const CUresult failure = ensure_initialized(); failure != CUDA_SUCCESS) {
        return remember(to_runtime(failure));
    }
    api_call call{function, params, symbol};
    return remember(call.finish(to_runtime(body())));
}

inline CUdeviceptr device_pointer(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

}  // namespace fake
