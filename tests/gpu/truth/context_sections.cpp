// SPDX-License-Identifier: Apache-2.0
#include "context_sections.hpp"

namespace truth {
namespace {

constexpr std::uint64_t us = 1000;

void need(cudaError_t result, const char* what) {
    if (result != cudaSuccess) throw unavailable{std::string(what) + ": " + cudaGetErrorString(result)};
}

}  // namespace

void contexts(stage& on) {
    side_context made[2];
    for (side_context& each : made) need(make_context(each), "cuCtxCreate");
    for (int i = 0; i < 2; ++i) {
        must(enter(made[i]), "cuCtxSetCurrent");
        on.prepare_context(first_context + i, made[i]);
    }
    open_ranges in;
    const open_range all(on, in, "contexts");
    for (int round = 0; round < 4; ++round) {
        for (int i = 0; i < 2; ++i) {
            const open_range own(on, in, i == 0 ? "first" : "second");
            must(enter(made[i]), "cuCtxSetCurrent");
            on.spin_on(in, first_context + i, 0, kernel::forward, 200 * us);
            on.spin_on(in, first_context + i, stage::legacy_stream, kernel::layer, 100 * us);
            // Before another context has its turn: it would interrupt the kernels.
            must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        }
        const open_range primary(on, in, "primary");
        must(cudaSetDevice(0), "cudaSetDevice");
        on.spin_on(in, 0, 0, kernel::side, 150 * us);
        must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }
}

void green_contexts(stage& on) {
    cudaStream_t streams[2] = {};
    need(make_green_streams(streams), "cuGreenCtxCreate");
    for (int i = 0; i < 2; ++i) on.prepare_green(first_green_context + i, streams[i]);
    open_ranges in;
    const open_range all(on, in, "green_contexts");
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 2; ++i) {
            const open_range own(on, in, i == 0 ? "first" : "second");
            on.spin_on(in, first_green_context + i, 0, kernel::forward, 1'500 * us);
        }
        for (const cudaStream_t stream : streams) must(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    }
}

}  // namespace truth
