// SPDX-License-Identifier: Apache-2.0
// Looks for kernels in further streams that run while the device's first stream computes nothing, although they could
// run beside it: work in the legacy default stream stops all others, and events may order more than they need to.
#include "diagnose/rules/rule.hpp"

namespace prof {
namespace {

constexpr double least_overlap = 0.1;  // of the stream's time: above it, the streams are not serial

std::vector<suspect> find_serial_streams(const rule_input& input) {
    return gpu_suspects(input, [&](const gpu_group& group) {
        return group.use == gpu_use::side_stream && group.overlap() < least_overlap && group.waited >= input.steps;
    });
}

constexpr advice_line serial_streams_advice[] = {
    {written_with::torch,
     "PyTorch: wait for one stream's event (wait_event), not for all of it; nothing in the default stream in between",
     "wait for one stream's event (wait_event), not for all"},
    {written_with::any,
     "CUDA: cudaStreamNonBlocking, or --default-stream per-thread: the legacy default stream waits for all others, and "
     "they for it",
     "cudaStreamNonBlocking streams"},
};

}  // namespace

const rule serial_streams_rule{
    .name = "serial_streams",
    .purpose = "kernels of several streams that never run beside each other",
    .needs = activity::kernels,
    .trust = confidence::low,
    .suspects = find_serial_streams,
    .title = "streams run one after another",
    .noun = "streams one after another",
    .is_one_cause = false,
    .explains_any_step = false,
    .bound =
        "as if neither the stream nor the device's first one waited for the other, and kernels did not slow each other "
        "down",
    .advice = serial_streams_advice,
};

}  // namespace prof
