// SPDX-License-Identifier: Apache-2.0
#include "hooks/cupti/callback_state.hpp"

#include "record/label.hpp"

namespace prof {

callback_state callbacks;

bool cupti_stream_key(CUstream stream, std::uint64_t& key) noexcept {
    const auto context_of = callbacks.stream_context.load();
    CUcontext context = nullptr;
    if (context_of != nullptr && context_of(stream, &context) != CUDA_SUCCESS) context = nullptr;
    return cupti_stream_key_in(context, stream, key);
}

bool cupti_stream_key_in(CUcontext context, CUstream stream, std::uint64_t& key) noexcept {
    const auto stream_id = callbacks.stream_id.load();
    const auto context_id = callbacks.context_id.load();
    std::uint32_t context_number = 0;
    std::uint32_t stream_number = 0;
    if (stream_id == nullptr || context_id == nullptr) return false;
    if (context != nullptr && context_id(context, &context_number) != CUPTI_SUCCESS) return false;
    if (stream_id(context, stream, 0, &stream_number) != CUPTI_SUCCESS) return false;
    key = stream_key(context_number, stream_number);
    return true;
}

}  // namespace prof
