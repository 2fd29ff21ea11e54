// libcupti, opened at run time: never linked, so that a machine without it can load libprof all the same.
#pragma once

#include <cupti.h>
#include <dlfcn.h>

#include <cstdint>
#include <string>
#include <vector>

namespace prof {

struct cupti_library {
    std::string path;           // of the file that is loaded
    std::uint32_t version = 0;  // cuptiGetVersion: 18 … 28 (12.x), then 13xxyy

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
    decltype(&cuptiGetGraphNodeId) graph_node_id = nullptr;
    decltype(&cuptiGetGraphId) graph_id = nullptr;                        // null in versions without it
    CUptiResult (*graph_exec_id)(CUgraphExec, std::uint32_t*) = nullptr;  // the same; since 12.4
    decltype(&cuptiFinalize) finalize = nullptr;
};

// The function of that name in a library that dlopen opened; false if it has none.
template <typename TFunction>
bool find(void* library, const char* name, TFunction& out) noexcept {
    out = reinterpret_cast<TFunction>(dlsym(library, name));
    return out != nullptr;
}

// `chosen` (PROF_CUPTI_LIBRARY), if not empty, is the first and only place looked at. Else the copy that the process
// already has, else the usual places, among them `toolkits` (folders). Returns "" or one line: what is missing and why.
// Loads libraries: not for the hot path. Any thread, but one at a time.
std::string open_cupti(const std::string& chosen, const std::vector<std::string>& toolkits, cupti_library& out);

// The driver that the process has, for find(): a program may be linked to one of another name, as the tests are.
void* loaded_driver() noexcept;

// True once somebody has initialised the CUDA driver in this process. Initialises nothing itself.
bool cuda_is_initialised() noexcept;

}  // namespace prof
