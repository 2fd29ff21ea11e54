// SPDX-License-Identifier: Apache-2.0
#include "sections.hpp"

#include <cstdio>
#include <cstdlib>
#include <future>
#include <thread>

#include "cupti_functions.hpp"
#include "kernels.hpp"
#include "observer.hpp"

namespace {

constexpr int elements = 256;
constexpr std::size_t data_bytes = elements * sizeof(float);
constexpr unsigned long long long_spin_ns = 400'000'000;

observer& seen() { return observer::instance(); }

void check(cudaError_t result, const char* what) {
    if (result != cudaSuccess) {
        std::printf("%s: CUDA error %d\n", what, static_cast<int>(result));
        std::exit(1);
    }
}
#define CHECK(call) check(call, #call)

// What every section that launches works on. The constructor creates the context and loads both kernels, so that
// nothing of that is left for the section itself.
struct workbench {
    workbench() {
        CHECK(cudaMalloc(reinterpret_cast<void**>(&data), data_bytes));
        CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
        CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
        touch(nullptr);
        spin(nullptr, 1000);
        launch_with_chevrons(nullptr, data, elements);
        CHECK(cudaDeviceSynchronize());
    }

    void touch(cudaStream_t stream) {
        int n = elements;
        void* args[] = {&data, &n};
        CHECK(cudaLaunchKernel(touch_kernel(), dim3(4), dim3(64), args, 0, stream));
    }

    void spin(cudaStream_t stream, unsigned long long ns) {
        void* args[] = {&ns};
        announce_spin(ns);
        CHECK(cudaLaunchKernel(spin_kernel(), dim3(1), dim3(1), args, 0, stream));
    }

    float* data = nullptr;
    cudaStream_t a = nullptr;
    cudaStream_t b = nullptr;
};

// Starts to observe, warms up, and forgets all of that.
workbench start() {
    seen().start();
    workbench bench;
    seen().name_stream("default", nullptr);
    seen().name_stream("a", bench.a);
    seen().name_stream("b", bench.b);
    seen().flush(0);
    seen().forget();
    return bench;
}

void report() {
    seen().report_callbacks();
    seen().report_records();
}

void errors() {
    const cupti_functions& c = cupti();
    const auto print = [](const char* name, CUptiResult result) { seen().print_result(name, result); };
    CUpti_Activity* record = nullptr;
    const char* name = nullptr;
    std::size_t size = 1;
    std::uint8_t value = 0;
    print("version to null", c.cuptiGetVersion(nullptr));
    print("timestamp to null", c.cuptiGetTimestamp(nullptr));
    print("flush before callbacks are registered", c.cuptiActivityFlushAll(0));
    print("register null callbacks", c.cuptiActivityRegisterCallbacks(nullptr, nullptr));
    print("enable kind 0", c.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_INVALID));
    print("enable kind 9999", c.cuptiActivityEnable(static_cast<CUpti_ActivityKind>(9999)));
    print("disable kind 10, never enabled", c.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    print("next record of a null buffer", c.cuptiActivityGetNextRecord(nullptr, 0, &record));
    print("dropped to null", c.cuptiActivityGetNumDroppedRecords(nullptr, 0, nullptr));
    print("set attribute from null",
          c.cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, nullptr, nullptr));
    print("set attribute, too small",
          c.cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &size, &value));
    print("name of result 39", c.cuptiGetResultString(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, &name));
    seen().print(name == nullptr ? "none" : name);
    for (const std::uint32_t cbid : {0U, 211U, 100'000U}) {
        name = nullptr;
        print("name of a runtime function", c.cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, cbid, &name));
        seen().print(name == nullptr ? "none" : name);
    }
    name = nullptr;
    print("name of a driver function", c.cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, 307, &name));
    seen().print(name == nullptr ? "none" : name);
    std::uint64_t id = 0;
    print("pop an external id that is not there",
          c.cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &id));
}

void ignore(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

void subscription() {
    const cupti_functions& c = cupti();
    const auto print = [](const char* name, CUptiResult result) { seen().print_result(name, result); };
    CUpti_SubscriberHandle first = nullptr;
    CUpti_SubscriberHandle second = nullptr;
    print("subscribe to null", c.cuptiSubscribe(nullptr, ignore, nullptr));
    print("subscribe", c.cuptiSubscribe(&first, ignore, nullptr));
    print("subscribe again", c.cuptiSubscribe(&second, ignore, nullptr));
    print("enable", c.cuptiEnableCallback(1, first, CUPTI_CB_DOMAIN_RUNTIME_API, 211));
    std::uint32_t is_on = 9;
    print("state", c.cuptiGetCallbackState(&is_on, first, CUPTI_CB_DOMAIN_RUNTIME_API, 211));
    seen().print("on: " + std::to_string(is_on));
    print("enable callback 100000", c.cuptiEnableCallback(1, first, CUPTI_CB_DOMAIN_RUNTIME_API, 100'000));
    print("enable in domain 99", c.cuptiEnableCallback(1, first, static_cast<CUpti_CallbackDomain>(99), 1));
    print("enable for nobody", c.cuptiEnableCallback(1, nullptr, CUPTI_CB_DOMAIN_RUNTIME_API, 211));
    print("unsubscribe", c.cuptiUnsubscribe(first));
    print("subscribe after that", c.cuptiSubscribe(&second, ignore, nullptr));
    print("unsubscribe", c.cuptiUnsubscribe(second));
}

void launches() {
    workbench bench = start();
    bench.touch(nullptr);
    bench.touch(bench.a);
    bench.touch(bench.b);
    bench.touch(bench.a);
    launch_with_chevrons(bench.b, bench.data, elements);
    CHECK(cudaDeviceSynchronize());
    seen().flush(0);
    report();
    seen().stop();
}

void copies() {
    workbench bench = start();
    float* other = nullptr;
    float* pinned = nullptr;
    CHECK(cudaMalloc(reinterpret_cast<void**>(&other), data_bytes));
    CHECK(cudaMallocHost(reinterpret_cast<void**>(&pinned), data_bytes));
    std::vector<float> pageable(elements);
    seen().forget();
    CHECK(cudaMemcpy(bench.data, pageable.data(), data_bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(bench.data, pinned, data_bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpyAsync(bench.data, pageable.data(), data_bytes, cudaMemcpyHostToDevice, bench.a));
    CHECK(cudaMemcpyAsync(bench.data, pinned, data_bytes, cudaMemcpyHostToDevice, bench.a));
    CHECK(cudaMemcpy(other, bench.data, data_bytes, cudaMemcpyDeviceToDevice));
    CHECK(cudaMemcpyAsync(other, bench.data, data_bytes, cudaMemcpyDeviceToDevice, bench.b));
    CHECK(cudaMemcpy(pageable.data(), bench.data, data_bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpyAsync(pinned, bench.data, data_bytes, cudaMemcpyDeviceToHost, bench.b));
    CHECK(cudaMemcpyAsync(pinned, bench.data, data_bytes, cudaMemcpyDefault, bench.b));
    CHECK(cudaMemset(bench.data, 7, data_bytes));
    CHECK(cudaMemsetAsync(bench.data, 8, data_bytes, bench.a));
    CHECK(cudaMemcpy(bench.data, pinned, 0, cudaMemcpyHostToDevice));
    CHECK(cudaDeviceSynchronize());
    seen().flush(0);
    report();
    seen().stop();
}

void flush_waits_for_completion() {
    workbench bench = start();
    bench.touch(bench.b);
    CHECK(cudaStreamSynchronize(bench.b));
    bench.spin(bench.a, long_spin_ns);
    seen().flush(0);
    seen().print("while the second kernel runs");
    report();
    CHECK(cudaDeviceSynchronize());
    seen().flush(0);
    seen().print("after it has ended");
    seen().report_records();
    seen().report_buffers();
    seen().stop();
}

void forced_flush() {
    workbench bench = start();
    bench.spin(bench.a, long_spin_ns);
    seen().flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    seen().print("while the kernel runs");
    seen().report_records();
    seen().report_buffers();
    CHECK(cudaDeviceSynchronize());
    seen().flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    seen().print("after it has ended");
    seen().report_records();
    seen().report_buffers();
    seen().stop();
}

void full_buffers() {
    seen().buffer_bytes = 4096;
    workbench bench = start();
    for (int i = 0; i < 64; ++i) {
        bench.touch(bench.a);
    }
    CHECK(cudaDeviceSynchronize());
    seen().flush(0);
    seen().print("records: " + std::to_string(seen().records_seen()));
    seen().stop();
    seen().print("buffers not returned: " + std::to_string(seen().buffers_outstanding()));
}

void threads() {
    workbench bench = start();
    bench.touch(bench.a);
    std::promise<void> launched;
    std::promise<void> flushed;
    std::thread other{[&] {
        bench.touch(bench.b);
        bench.touch(bench.b);
        launched.set_value();
        flushed.get_future().wait();  // what becomes of a buffer when its thread ends is not the question here
    }};
    launched.get_future().wait();
    CHECK(cudaDeviceSynchronize());
    seen().flush(0);
    flushed.set_value();
    other.join();
    report();
    seen().report_buffers();
    seen().stop();
}

void graphs() {
    workbench bench = start();
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    CHECK(cudaStreamBeginCapture(bench.a, cudaStreamCaptureModeThreadLocal));
    bench.touch(bench.a);
    CHECK(cudaMemsetAsync(bench.data, 0, data_bytes, bench.a));
    bench.touch(bench.a);
    CHECK(cudaStreamEndCapture(bench.a, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, bench.a));
    CHECK(cudaGraphLaunch(exec, bench.b));
    CHECK(cudaDeviceSynchronize());
    seen().flush(0);
    report();
    seen().stop();
}

void disable_and_enable() {
    workbench bench = start();
    seen().print_result("disable", cupti().cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    bench.touch(bench.a);
    CHECK(cudaMemsetAsync(bench.data, 0, data_bytes, bench.a));
    CHECK(cudaDeviceSynchronize());
    seen().print_result("enable", cupti().cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    bench.touch(bench.a);
    CHECK(cudaDeviceSynchronize());
    seen().flush(0);
    report();
    seen().stop();
}

void restart() {
    workbench bench = start();
    bench.touch(bench.a);
    CHECK(cudaDeviceSynchronize());
    seen().stop();
    seen().print("records: " + std::to_string(seen().records_seen()));
    seen().forget();
    bench.touch(bench.a);
    CHECK(cudaDeviceSynchronize());
    seen().print("buffers not returned: " + std::to_string(seen().buffers_outstanding()));
    seen().start();
    bench.touch(bench.a);
    CHECK(cudaDeviceSynchronize());
    seen().flush(0);
    report();
    seen().stop();
}

void dropped_records() {
    workbench bench = start();
    seen().stop();  // the buffer in use goes with it
    seen().gives_buffers = false;
    seen().start();
    for (int i = 0; i < 3; ++i) {
        bench.touch(bench.a);
    }
    CHECK(cudaDeviceSynchronize());
    seen().flush(0);
    std::size_t dropped = 0;
    seen().print_result("dropped", cupti().cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped));
    seen().print("dropped: " + std::to_string(dropped));
    seen().print_result("dropped", cupti().cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped));
    seen().print("dropped since: " + std::to_string(dropped));
    seen().gives_buffers = true;
    bench.touch(bench.a);
    CHECK(cudaDeviceSynchronize());
    seen().forget();
    seen().flush(0);
    seen().report_records();
    seen().stop();
}

void selected_api_records() {
    workbench bench = start();
    seen().print_result("select", cupti().cuptiActivityEnableRuntimeApi(211, 1));
    bench.touch(bench.a);
    CHECK(cudaDeviceSynchronize());
    seen().flush(0);
    seen().report_records();
    seen().stop();
}

void external_correlation() {
    workbench bench = start();
    seen().print_result("enable", cupti().cuptiActivityEnable(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION));
    seen().print_result("select", cupti().cuptiActivityEnableRuntimeApi(211, 1));
    seen().print_result("push",
                        cupti().cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 42));
    bench.touch(bench.a);
    std::uint64_t last = 0;
    seen().print_result("pop",
                        cupti().cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last));
    seen().print("popped " + std::to_string(last));
    bench.touch(bench.a);
    CHECK(cudaDeviceSynchronize());
    seen().flush(0);
    seen().report_records();
    seen().stop();
}

}  // namespace

const std::vector<std::pair<std::string, section>>& sections() {
    static const std::vector<std::pair<std::string, section>> all{
        {"errors", errors},
        {"subscription", subscription},
        {"launches", launches},
        {"copies", copies},
        {"flush_waits_for_completion", flush_waits_for_completion},
        {"forced_flush", forced_flush},
        {"full_buffers", full_buffers},
        {"threads", threads},
        {"graphs", graphs},
        {"disable_and_enable", disable_and_enable},
        {"restart", restart},
        {"dropped_records", dropped_records},
        {"selected_api_records", selected_api_records},
        {"external_correlation", external_correlation},
    };
    return all;
}
