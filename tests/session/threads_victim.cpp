// SPDX-License-Identifier: Apache-2.0
// Threads, domains and calls on the simulated GPU, one scene a run, for threads_test.cpp. A kernel's name is the path
// of the row that is to own it.
//
//   threads_victim parents | trainers | two_streams | backward | calls | outcomes | drops | nccl LIBRARY
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <pthread.h>
#include <signal.h>
#include <prof/range.hpp>
#include <prof/session.hpp>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

#include "fakes/cuda/fake_cuda.h"
#include "fakes/fake_gpu.h"
#include "hooks/nvtx_event.hpp"
#include "session/scenes.hpp"
#include "session/task_thread.hpp"

namespace {

using prof::test::event_of;
using prof::test::expect;
using prof::test::task_thread;

cudaStream_t new_stream() {
    cudaStream_t stream = nullptr;
    (void)cudaStreamCreate(&stream);
    return stream;
}

// Each kernel takes longer than the one before it, so that no two sums are alike by chance.
void launch(const char* path, cudaStream_t stream = nullptr) {
    static std::uint64_t duration_ns = 1'000;
    duration_ns += 7;
    expect(fake_cuda_launch(path, duration_ns, stream) == 0, "a launch");
}

void push(const char* name) { nvtxRangePushA(name); }
void pop() { nvtxRangePop(); }

void push_in(nvtxDomainHandle_t domain, const char* name) {
    const nvtxEventAttributes_t event = event_of(name);
    nvtxDomainRangePushEx(domain, &event);
}

void parents() {
    task_thread worker("worker");
    worker([] {
        push("worker loop");
        launch("worker loop");
    });
    {
        PROF_RANGE("step");
        PROF_RANGE("forward");
        const prof::work_place place = prof::work_place::here();
        expect(place.number() != 0, "a place has a number while recording");
        worker([&] {
            expect(prof_adopt_pop() == PROF_WRONG_STATE, "no pop without a push");
            const prof::working_for forward(place);
            launch("step/forward");
            PROF_RANGE("task");
            launch("step/forward/task");
        });
        worker([] { launch("worker loop"); });
        launch("step/forward");
    }
    worker([] { pop(); });
    expect(prof_adopt_push(0) == PROF_OK && prof_adopt_pop() == PROF_OK, "an unknown place may be pushed");
    expect(prof_stop() == PROF_OK, "stop");
    expect(prof_parent_here() == 0, "no place while nothing is recorded");
    expect(prof_adopt_push(1) == PROF_WRONG_STATE, "no push while nothing is recorded");
    expect(prof_adopt_pop() == PROF_WRONG_STATE, "no pop while nothing is recorded");
}

void trainers() {
    const cudaStream_t stream = new_stream();
    task_thread first("trainer a");
    task_thread second("trainer b");
    task_thread autograd("pt_autograd_0");
    first([&] {
        push("step");
        launch("step", stream);
    });
    second([&] {
        push("evaluate");
        launch("evaluate", stream);
    });
    autograd([&] {
        launch("(ambiguous)", stream);
        push("hook");
        launch("(ambiguous)/hook", stream);
        pop();
    });
    second([] { pop(); });
    autograd([&] { launch("(ambiguous)", stream); });  // b is between two of its ranges
    second([&] {
        push("evaluate");
        pop();
    });
    autograd([&] { launch("step", stream); });  // b has none any more
    first([] { pop(); });
}

void two_streams() {
    const cudaStream_t one = new_stream();
    const cudaStream_t other = new_stream();
    task_thread first("trainer a");
    task_thread second("trainer b");
    task_thread autograd("pt_autograd_0");
    first([&] {
        push("step");
        launch("step", one);
    });
    second([&] {
        push("evaluate");
        launch("evaluate", other);
    });
    autograd([&] {
        launch("evaluate", other);
        launch("step", one);
        push("hook");
        launch("step/hook", one);
        pop();
    });
    first([] { pop(); });
    second([] { pop(); });
}

// Checkpointing runs forward once more on autograd's thread; there DDP reduces, in NCCL's domain, on a stream of its
// own.
void backward() {
    const cudaStream_t stream = new_stream();
    const cudaStream_t reductions = new_stream();
    const nvtxDomainHandle_t nccl = nvtxDomainCreateA("NCCL");
    task_thread trainer("python");
    task_thread autograd("pt_autograd_0");
    trainer([&] {
        push("iteration 1");
        push("forward");
        launch("iteration #/forward", stream);
        pop();
        push("backward");
    });
    autograd([&] {
        launch("iteration #/backward", stream);
        push("forward");
        launch("iteration #/backward/forward", stream);
        push_in(nccl, "ncclReduce");
        launch("iteration #/backward/forward/NCCL:ncclReduce", reductions);
        pop();  // forward, inside which NCCL's was opened
        launch("iteration #/backward/forward/NCCL:ncclReduce", reductions);
        nvtxDomainRangePop(nccl);
        push_in(nccl, "ncclAllReduce");
        launch("iteration #/backward/NCCL:ncclAllReduce", reductions);
        nvtxDomainRangePop(nccl);
    });
    trainer([] {
        pop();
        pop();
    });
}

void calls() {
    cudaStream_t stream = new_stream();
    void* device = nullptr;
    void* other = nullptr;
    void* managed = nullptr;
    void* pinned = nullptr;
    void* ordered = nullptr;
    char host[256] = {};
    cudaEvent_t event = nullptr;
    PROF_RANGE("calls");
    (void)cudaMalloc(&device, 256);
    (void)cudaMallocManaged(&managed, 256);
    (void)cudaHostAlloc(&pinned, 256, 0);
    (void)cudaMallocAsync(&ordered, 256, stream);
    (void)cudaSetDevice(1);
    (void)cudaMalloc(&other, 256);
    (void)cudaSetDevice(0);
    launch("calls", stream);
    CUfunction function = nullptr;
    (void)cuModuleGetFunction(&function, nullptr, "calls");
    (void)cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr);
    CUlaunchConfig config{};
    config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimX = config.blockDimY = config.blockDimZ = 1;
    config.hStream = stream;
    (void)cuLaunchKernelEx(&config, function, nullptr, nullptr);
    (void)cuLaunchCooperativeKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, nullptr);
    fake_gpu_register_kernel(&stream, "calls", 1'000);
    (void)cudaLaunchCooperativeKernel(&stream, dim3(1), dim3(32), nullptr, 0, stream);
    (void)cudaMemcpy(device, host, 128, cudaMemcpyHostToDevice);
    (void)cudaMemcpyAsync(device, ordered, 100, cudaMemcpyDeviceToDevice, stream);
    (void)cudaMemcpyAsync(managed, host, 90, cudaMemcpyDefault, stream);
    (void)cudaMemcpyPeerAsync(other, 1, device, 0, 80, stream);
    (void)cudaMemsetAsync(device, 0, 70, stream);
    (void)cudaEventCreate(&event);
    (void)cudaEventRecord(event, stream);
    (void)cudaStreamWaitEvent(stream, event, 0);
    (void)cudaStreamQuery(stream);
    (void)cudaEventSynchronize(event);
    {
        PROF_RANGE("wait");
        fake_cuda_launch("calls/wait", 40'000'000, stream);
        (void)cudaStreamSynchronize(stream);
    }
    {
        PROF_RANGE("no wait");
        launch("calls/no wait", stream);
    }
    (void)cudaFreeAsync(ordered, stream);
    (void)cudaDeviceSynchronize();
    (void)cuCtxSynchronize();
    (void)cudaFree(device);
}

void outcomes() {
    task_thread worker("worker");
    push("before the recording");
    const nvtxRangeId_t early = nvtxRangeStartA("started before");
    expect(prof_start(nullptr) == PROF_OK, "start");
    launch("(no range)");
    pop();                // 1 pop without a push
    nvtxRangeEnd(early);  // 1 end without a start
    nvtxMarkA("a mark");
    push("left open");
    worker([] { pop(); });  // 2: of another thread
    launch("left open");
    const nvtxRangeId_t crosses = nvtxRangeStartA("crosses");
    const nvtxRangeId_t overlaps = nvtxRangeStartA("overlaps");
    worker([&] {
        launch("(no range)");
        nvtxRangeEnd(crosses);
        launch("(no range)");
    });
    nvtxRangeEnd(overlaps);
    (void)nvtxRangeStartA("never ended");
    launch("left open");
    expect(prof_stop() == PROF_OK, "stop");
    pop();
    push("after the recording");
    pop();
}

void drops() {
    expect(prof_start(nullptr) == PROF_OK, "start");
    push("one");
    for (int i = 0; i < 4; ++i) pop();
    expect(prof_stop() == PROF_OK, "stop");
    expect(prof_start(nullptr) == PROF_OK, "start again");
    push("two");
    for (int i = 0; i < 2; ++i) pop();
    raise(SIGKILL);
}

// NCCL without a GPU: the call fails, after it has opened its range and told its size.
void nccl(const char* path) {
    using all_reduce = int (*)(const void*, void*, std::size_t, int, int, void*, void*);
    void* library = dlopen(path, RTLD_NOW);
    expect(library != nullptr, "the library opens");
    const auto call = reinterpret_cast<all_reduce>(dlsym(library, "ncclAllReduce"));
    PROF_RANGE("sync");
    for (const std::size_t count : {1024U, 1000U}) {
        constexpr int float32 = 7;
        expect(call(nullptr, nullptr, count, float32, 0, nullptr, nullptr) != 0, "there is no communicator");
    }
}

// Payloads as clients of NVTX may send them. The size that must come out stands in the range's name.
void payloads() {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("payloads");
    struct sent {
        std::int32_t root;
        float factor;
        std::uint16_t tag;
        std::uint64_t bytes;
    };
    // Offsets are left out, as C compilers would lay the struct out.
    const nvtxPayloadSchemaEntry_t by_rule[] = {
        {0, NVTX_PAYLOAD_ENTRY_TYPE_INT, "root", nullptr, 0, 0, nullptr, nullptr},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_FLOAT, "factor", nullptr, 0, 0, nullptr, nullptr},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT16, "tag", nullptr, 0, 0, nullptr, nullptr},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "Bytes sent", nullptr, 0, 0, nullptr, nullptr}};
    const nvtxPayloadSchemaEntry_t no_bytes[] = {
        {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "count", nullptr, 0, 0, nullptr, nullptr}};
    const nvtxPayloadSchemaEntry_t negative[] = {
        {0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "bytes", nullptr, 0, 0, nullptr, nullptr}};
    const auto register_schema = [&](const nvtxPayloadSchemaEntry_t* entries, std::size_t count, std::uint64_t id) {
        nvtxPayloadSchemaAttr_t schema{};
        schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                           NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                           (id == 0 ? 0U : unsigned{NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID});
        schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
        schema.entries = entries;
        schema.numEntries = count;
        schema.schemaId = id;
        return nvtxPayloadSchemaRegister(domain, &schema);
    };
    const std::uint64_t fixed = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 3;
    expect(register_schema(by_rule, 4, fixed) == fixed, "a schema keeps its own id");
    const std::uint64_t made = register_schema(by_rule, 4, 0);
    expect(made >= NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START, "a schema without one gets an id");
    const std::uint64_t without = register_schema(no_bytes, 1, 0);
    const std::uint64_t below_zero = register_schema(negative, 1, 0);

    const auto push = [](nvtxDomainHandle_t in, const char* name, const nvtxPayloadData_t* payload) {
        nvtxEventAttributes_t event = event_of(name);
        if (payload != nullptr) {
            event.payloadType = NVTX_PAYLOAD_TYPE_EXT;
            event.reserved0 = 1;
            event.payload.ullValue = reinterpret_cast<std::uintptr_t>(payload);
        }
        nvtxDomainRangePushEx(in, &event);
    };
    const auto range = [&](nvtxDomainHandle_t in, const char* name, std::uint64_t schema, std::size_t size,
                           const void* data) {
        const nvtxPayloadData_t payload{schema, size, data};
        push(in, name, &payload);
        nvtxDomainRangePop(in);
    };
    const sent data{5, 0.5F, 6, 7'000'000'000};
    const std::int32_t minus_one = -1;
    range(domain, "7000000000", fixed, sizeof data, &data);
    range(domain, "7000000000 too", made, sizeof data, &data);
    range(domain, "7000000000 of unknown size", made, SIZE_MAX, &data);
    range(domain, "none: cut short", fixed, sizeof data - 1, &data);
    range(domain, "none: no data", fixed, sizeof data, nullptr);
    range(domain, "none: unknown schema", fixed + 1, sizeof data, &data);
    range(domain, "none: no field", without, sizeof data, &data);
    range(domain, "none: below zero", below_zero, sizeof minus_one, &minus_one);
    range(nvtxDomainCreateA("another"), "none: another domain's schema", fixed, sizeof data, &data);

    // Payloads at the end, and nothing but payloads.
    const nvtxPayloadData_t payload{fixed, sizeof data, &data};
    push(domain, "7000000000 told at the end", nullptr);
    expect(nvtxRangePushPayload(domain, &payload, 1) == 1, "a range of payloads alone is on the second level");
    expect(nvtxRangePopPayload(domain, nullptr, 0) == 1, "and ends there");
    expect(nvtxRangePopPayload(domain, &payload, 1) == 0, "an end with a payload is an end");
    const nvtxRangeId_t id = nvtxRangeStartPayload(domain, &payload, 1);
    nvtxRangeEndPayload(domain, id, &payload, 1);
    nvtxMarkPayload(domain, &payload, 1);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string scene = argc > 1 ? argv[1] : "";
    if (scene == "parents") {
        parents();
    } else if (scene == "trainers") {
        trainers();
    } else if (scene == "two_streams") {
        two_streams();
    } else if (scene == "backward") {
        backward();
    } else if (scene == "calls") {
        calls();
    } else if (scene == "outcomes") {
        outcomes();
    } else if (scene == "drops") {
        drops();
    } else if (scene == "payloads") {
        payloads();
    } else if (scene == "nccl" && argc > 2) {
        nccl(argv[2]);
    } else {
        return 2;
    }
    if (scene != "nccl" && scene != "payloads") (void)cudaDeviceSynchronize();
    return 0;
}
