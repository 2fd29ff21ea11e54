// SPDX-License-Identifier: Apache-2.0
// libcupti, opened at run time. It is never linked, so libprof also loads on a machine without it.
#pragma once

#include <cuda.h>
#include <cupti.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/outcome.hpp"

namespace prof {

// Functions of the driver. They are looked up once, because to look one up waits for the loader's lock, which another
// thread holds while it loads a library and runs its initialisers.
struct driver_functions {
    bool complete = false;  // all but stream_context are there
    decltype(&cuStreamGetCtx) stream_context = nullptr;
    decltype(&cuDeviceGetCount) device_count = nullptr;
    decltype(&cuDeviceGet) device = nullptr;
    decltype(&cuDevicePrimaryCtxGetState) primary_state = nullptr;
    decltype(&cuDevicePrimaryCtxRetain) primary_retain = nullptr;
    decltype(&cuDevicePrimaryCtxRelease) primary_release = nullptr;
    decltype(&cuCtxPushCurrent) push = nullptr;
    decltype(&cuCtxPopCurrent) pop = nullptr;
    decltype(&cuCtxGetCurrent) current = nullptr;
    decltype(&cuCtxSynchronize) synchronize = nullptr;
    decltype(&cuThreadExchangeStreamCaptureMode) exchange_mode = nullptr;
};
// In the driver that is loaded; all null if there is none.
driver_functions find_driver_functions() noexcept;

struct cupti_library {
    std::string path;           // of the loaded file
    std::uint32_t version = 0;  // cuptiGetVersion: 18 … 28 (12.x), then 13xxyy
    // Where the program has the CUDA runtime: the path of the loaded libcudart.so, or "program" if the runtime is in
    // the program itself. "none" if neither is found; a library that the program loads may have one of its own.
    std::string cuda_runtime;

    decltype(&cuptiSubscribe) subscribe = nullptr;
    decltype(&cuptiUnsubscribe) unsubscribe = nullptr;
    decltype(&cuptiEnableCallback) enable_callback = nullptr;
    decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
    decltype(&cuptiActivityEnable) enable = nullptr;
    decltype(&cuptiActivityEnableAndDump) enable_and_dump = nullptr;  // null in versions without it
    decltype(&cuptiActivityDisable) disable = nullptr;
    decltype(&cuptiActivityFlushAll) flush_all = nullptr;
    decltype(&cuptiActivityGetNextRecord) next_record = nullptr;
    decltype(&cuptiActivityGetNumDroppedRecords) dropped_records = nullptr;
    decltype(&cuptiActivitySetAttribute) set_attribute = nullptr;
    decltype(&cuptiGetTimestamp) timestamp = nullptr;
    decltype(&cuptiGetResultString) result_string = nullptr;
    decltype(&cuptiGetStreamIdEx) stream_id = nullptr;
    decltype(&cuptiGetContextId) context_id = nullptr;
    decltype(&cuptiGetDeviceId) device_id = nullptr;
    decltype(&cuptiGetGraphNodeId) graph_node_id = nullptr;
    decltype(&cuptiGetGraphId) graph_id = nullptr;                        // null in versions without it
    CUptiResult (*graph_exec_id)(CUgraphExec, std::uint32_t*) = nullptr;  // null in versions without it; since 12.4
    decltype(&cuptiFinalize) finalize = nullptr;
};

// Finds and loads libcupti. If `chosen` (PROF_CUPTI_LIBRARY) is not empty, only that file is tried. Otherwise the
// search order is: a copy that the process has loaded already, then the usual places, among them the folders
// `toolkits`. Between loading and the first call of a function of libcupti it asks `may_call`, if there is one; if that
// is false, none is called. A failure names what is missing and why. Loads libraries, so it is not for the hot path.
// Any thread, but only one at a time.
outcome open_cupti(const std::string& chosen, const std::vector<std::string>& toolkits, cupti_library& out,
                   const std::function<bool()>& may_call = {});

// Whether the CUDA driver was initialised in this process. Does not initialise it. Does not wait for the loader's lock.
bool cuda_is_initialised() noexcept;

}  // namespace prof
