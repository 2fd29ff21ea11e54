// SPDX-License-Identifier: Apache-2.0
// Makes every kind of range, call to CUDA and resource that libprof observes, on several threads, and prints which
// functions of other libraries libprof calls meanwhile (outward_calls.hpp). For hook_calls_test.cpp.
//
// Not watched is what each thread, and each capture, does once: a thread's first record claims a ring and allocates;
// the first record of a capture starts the drain thread.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <prof/prof.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <prof/range.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "fakes/cuda/fake_cuda.h"
#include "fakes/fake_gpu.h"
#include "fakes/torch/fake_c10.h"
#include "hooks/module_image.hpp"
#include "hooks/nvtx_event.hpp"
#include "session/outward_calls.hpp"
#include "session/scenes.hpp"
#include "session/task_thread.hpp"

namespace {

using prof::test::event_of;
using prof::test::expect;
using prof::test::task_thread;

int round_number = 0;  // each round has names that no thread has seen

std::string fresh(const char* stem) { return std::string(stem) + "_" + std::to_string(round_number); }

void launch(const std::string& name, cudaStream_t stream = nullptr) {
    expect(fake_cuda_launch(name.c_str(), 1'000, stream) == 0, "a launch");
}

void make_ranges() {
    static nvtxDomainHandle_t const domain = nvtxDomainCreateA("app");
    static nvtxStringHandle_t const registered = nvtxDomainRegisterStringA(domain, "registered");
    const std::string name = fresh("range");
    const std::wstring wide(name.begin(), name.end());
    for (int i = 0; i < 2; ++i) {
        nvtxRangePushA(name.c_str());
        nvtxRangePushW(wide.c_str());
        nvtxRangePushA("op, seq = 7, op_id = 3, sizes = [[1, 2]]");
        prof::test::push_numbered(name.c_str(), 3);
        nvtxEventAttributes_t event = event_of(name.c_str());
        event.category = 3;
        event.colorType = NVTX_COLOR_ARGB;
        event.color = 0xFF00FF00;
        nvtxDomainRangePushEx(domain, &event);
        event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
        event.message.registered = registered;
        nvtxDomainRangePushEx(domain, &event);
        nvtxDomainMarkEx(domain, &event);
        const nvtxRangeId_t crossing = nvtxDomainRangeStartEx(domain, &event);
        nvtxDomainRangeEnd(domain, crossing);
        nvtxDomainRangePop(domain);
        nvtxDomainRangePop(domain);
        nvtxMarkA(name.c_str());
        nvtxMarkW(wide.c_str());
        nvtxRangeEnd(nvtxRangeStartA(name.c_str()));
        nvtxRangeEnd(nvtxRangeStartW(wide.c_str()));
        for (int k = 0; k < 4; ++k) nvtxRangePop();
        PROF_RANGE("of the header");
    }
}

void make_payloads() {
    static nvtxDomainHandle_t const domain = nvtxDomainCreateA("payloads");
    const std::uint64_t number = 7;
    const nvtxPayloadData_t data{NVTX_PAYLOAD_ENTRY_TYPE_UINT64, sizeof number, &number};
    nvtxRangePushPayload(domain, &data, 1);
    nvtxMarkPayload(domain, &data, 1);
    nvtxRangePopPayload(domain, &data, 1);
    nvtxRangeEndPayload(domain, nvtxRangeStartPayload(domain, &data, 1), &data, 1);
}

void give_names(cudaStream_t stream) {
    const std::string name = fresh("name");
    const std::wstring wide(name.begin(), name.end());
    nvtxNameOsThreadA(static_cast<std::uint32_t>(syscall(SYS_gettid)), name.c_str());
    nvtxNameCategoryA(3, name.c_str());
    nvtxNameCategoryW(4, wide.c_str());
    nvtxNameCudaStreamA(stream, name.c_str());
    nvtxDomainHandle_t const domain = nvtxDomainCreateA(name.c_str());
    nvtxDomainNameCategoryA(domain, 5, name.c_str());
    (void)nvtxDomainRegisterStringA(domain, name.c_str());
    (void)nvtxDomainRegisterStringW(domain, wide.c_str());
}

void launch_kernels(cudaStream_t stream) {
    for (int i = 0; i < 3; ++i) {
        launch("known", stream);
        launch(fresh("kernel"), stream);
    }
    CUfunction function = nullptr;
    (void)cuModuleGetFunction(&function, nullptr, "known");
    (void)cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr);
}

void order_streams(const std::vector<cudaStream_t>& streams, cudaEvent_t event) {
    for (int i = 0; i < 2; ++i) {
        for (const cudaStream_t stream : streams) {
            (void)cudaEventRecord(event, stream);
            (void)cudaStreamWaitEvent(stream, event, 0);
            (void)cudaStreamSynchronize(stream);
        }
        (void)cudaEventRecord(event, nullptr);
        (void)cudaEventSynchronize(event);
        (void)cudaStreamQuery(nullptr);
        (void)cudaDeviceSynchronize();
    }
}

void make_streams() {
    cudaStream_t stream = nullptr;
    (void)cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    launch("known", stream);
    (void)cudaStreamSynchronize(stream);
    (void)cudaStreamDestroy(stream);
}

void use_memory(cudaStream_t stream) {
    void* device = nullptr;
    void* managed = nullptr;
    void* pinned = nullptr;
    void* ordered = nullptr;
    std::array<char, 256> host{};
    (void)cudaMalloc(&device, 256);
    (void)cudaMallocManaged(&managed, 256, cudaMemAttachGlobal);
    (void)cudaHostAlloc(&pinned, 256, 0);
    (void)cudaMallocAsync(&ordered, 256, stream);
    (void)cudaMemcpy(device, host.data(), 128, cudaMemcpyHostToDevice);
    (void)cudaMemcpyAsync(device, pinned, 128, cudaMemcpyHostToDevice, stream);
    (void)cudaMemcpyAsync(device, ordered, 100, cudaMemcpyDeviceToDevice, stream);
    (void)cudaMemset(device, 0, 70);
    (void)cudaMemsetAsync(device, 0, 70, stream);
    (void)cudaStreamSynchronize(stream);
    (void)cudaFreeAsync(ordered, stream);
    (void)cudaFreeHost(pinned);
    (void)cudaFree(managed);
    (void)cudaFree(device);
}

void use_allocator() {
    std::array<std::uint64_t, 8> blocks{};
    for (std::uint64_t& block : blocks) block = fake_c10_allocate(5'000'000, 0);
    for (const std::uint64_t block : blocks) fake_c10_free(block, 0);
    fake_c10_free(fake_c10_allocate(std::size_t{3} << 40, 1), 1);
    (void)fake_c10_allocate(std::size_t{1} << 62, 1);
}

void use_graphs(cudaStream_t stream) {
    cudaGraph_t inner = nullptr;
    cudaGraph_t outer = nullptr;
    cudaGraphExec_t exec = nullptr;
    (void)cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    launch("known", stream);
    launch(fresh("captured"), stream);
    (void)cudaStreamEndCapture(stream, &inner);
    (void)cudaGraphCreate(&outer, 0);
    cudaGraphNode_t child = nullptr;
    (void)cudaGraphAddChildGraphNode(&child, outer, nullptr, 0, inner);
    (void)cudaGraphInstantiate(&exec, outer, 0);
    for (int i = 0; i < 3; ++i) (void)cudaGraphLaunch(exec, stream);
    cudaGraphExecUpdateResultInfo result{};
    (void)cudaGraphExecUpdate(exec, outer, &result);
    (void)cudaStreamSynchronize(stream);
    (void)cudaGraphExecDestroy(exec);
    (void)cudaGraphDestroy(outer);
    (void)cudaGraphDestroy(inner);
}

void load_module() {
    const std::vector<char> image = prof::test::module_with(prof::test::symbols_with_launches);
    CUmodule module = nullptr;
    (void)cuModuleLoadData(&module, image.data());
    (void)cuModuleUnload(module);
    launch("known");
}

// More than two of CUPTI's buffers hold.
void fill_buffers(cudaStream_t stream) {
    for (int i = 0; i < 12'000; ++i) launch("known", stream);
    (void)cudaStreamSynchronize(stream);
    fake_gpu_settle();
}

class program {
public:
    program() {
        for (cudaStream_t& stream : streams_) {
            expect(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess, "a stream");
        }
        expect(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming) == cudaSuccess, "an event");
    }

    // On this thread and on another, with fresh names. `watched`: what libprof calls is noted.
    void run(bool watched) {
        ++round_number;
        for (const bool on_other : {false, true}) {
            const auto part = [&](const char* name, auto&& what) {
                if (watched) prof::test::begin_watch(name);
                on_other ? other_(what) : what();
                prof::test::end_watch();
            };
            part("ranges", [] { make_ranges(); });
            part("payloads", [] { make_payloads(); });
            part("names", [&] { give_names(streams_.front()); });
            part("kernels", [&] { launch_kernels(streams_.front()); });
            part("streams and events", [&] { order_streams(streams_, event_); });
            part("new streams", [] { make_streams(); });
            part("memory", [&] { use_memory(streams_.front()); });
            part("allocator", [] { use_allocator(); });
            part("graphs", [&] { use_graphs(streams_.front()); });
            part("modules", [] { load_module(); });
            part("buffers", [&] { fill_buffers(streams_.front()); });
        }
    }

private:
    std::vector<cudaStream_t> streams_ = std::vector<cudaStream_t>(40);
    cudaEvent_t event_ = nullptr;
    task_thread other_{"other"};
};

}  // namespace

int main() {
    Dl_info library{};
    if (dladdr(reinterpret_cast<void*>(&prof_start), &library) == 0) return 1;
    fake_c10_set_limit(std::size_t{1} << 60, 1);
    program all;
    all.run(false);  // each thread's first records
    expect(prof_sync() == PROF_OK, "the capture is made");
    const int watched = prof::test::watch_outward_calls(library.dli_fname);
    if (watched < 50) {
        std::printf("only %d functions are watched\n", watched);
        return 2;
    }
    prof::test::begin_watch("prof_sync");
    expect(prof_sync() == PROF_OK, "a sync");
    prof::test::end_watch();
    all.run(true);
    expect(prof_pause() == PROF_OK, "a pause");
    all.run(true);
    expect(prof_resume() == PROF_OK, "a new window");
    all.run(true);
    for (const std::string& line : prof::test::noted_calls()) std::puts(line.c_str());
    std::puts("done");
    return 0;
}
