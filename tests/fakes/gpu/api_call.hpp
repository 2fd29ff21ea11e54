// SPDX-License-Identifier: Apache-2.0
// One call of a runtime or driver function, as tools see it: entered on construction, exited by finish().
//
// Calls nest on a thread (a runtime function calls driver functions): the outermost draws the correlation id and the
// inner ones share it. On the virtual clock the outermost call takes the api cost.
#pragma once

#include "fakes/gpu/tools.hpp"

namespace fake {

struct api_function {
    CUpti_CallbackDomain domain;
    CUpti_CallbackId cbid;
    const char* name;
};

class api_call {
public:
    api_call(const api_function& function, const void* params, const char* symbol = nullptr);
    api_call(const api_call&) = delete;
    api_call& operator=(const api_call&) = delete;

    std::uint32_t correlation_id() const { return state_.correlation_id; }
    // Of the call that the calling thread is in.
    static std::uint32_t current_correlation_id();

    // REQUIRES: called once, as the last thing that the function does.
    template <class TResult>
    TResult finish(TResult result) {
        int value = static_cast<int>(result);
        exit(value);
        return result;
    }

private:
    void note_context();
    void exit(int& result);

    api_call_state state_;
    bool is_outermost_ = false;
};

}  // namespace fake

// An api_function by the suffix of its callback id's name.
#define FAKE_RUNTIME_FUNCTION(name, version) \
    ::fake::api_function { CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_##name##_##version, #name }
#define FAKE_DRIVER_FUNCTION(name) \
    ::fake::api_function { CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_##name, #name }
