// SPDX-License-Identifier: Apache-2.0
// Steps of a CUDA program with one flaw each, with and without it, unrecorded and recorded: the C++ counterpart of
// torch_cases.py, with the same results as rounds.py. Kernels run for known times.
//
//     cuda_cases OUT ROUNDS
//
// Build: nvcc -std=c++20 -O2 -arch=sm_90 -I include -o cuda_cases cuda_cases.cu -L LIB -lprof
#include <cuda_runtime.h>
#include <prof/prof.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;
using step_function = std::function<void()>;

constexpr int steps_before = 10;  // after which the host is as far ahead as it will be
constexpr int steps_measured = 20;
constexpr std::size_t megabyte = std::size_t{1} << 20;

void check(cudaError_t result, const char* what) {
    if (result == cudaSuccess) return;
    std::fprintf(stderr, "cuda_cases: %s: %s\n", what, cudaGetErrorString(result));
    std::exit(1);
}
#define CHECK(call) check(call, #call)

__global__ void spin(unsigned long long ns) {
    unsigned long long begun = 0;
    unsigned long long now = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begun));
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - begun < ns);
}

__global__ void increment(float* values) { values[threadIdx.x] += 1; }

double now_ns() { return std::chrono::duration<double, std::nano>(clock_type::now().time_since_epoch()).count(); }

void busy(double ms) {
    const double until_ns = now_ns() + ms * 1e6;
    while (now_ns() < until_ns) {
    }
}

void sleep(double ms) { std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms)); }

class range {
public:
    explicit range(const char* name) { prof_range_push(name); }
    ~range() { prof_range_pop(); }
    range(const range&) = delete;
    range& operator=(const range&) = delete;
};

struct memory {
    char* device = nullptr;
    char* pinned = nullptr;
    std::vector<char> pageable;

    explicit memory(std::size_t bytes) : pageable(bytes, 1) {
        CHECK(cudaMalloc(&device, bytes));
        CHECK(cudaMallocHost(&pinned, bytes));
        std::fill_n(pinned, bytes, 1);
    }
    ~memory() {
        cudaFree(device);
        cudaFreeHost(pinned);
    }
    memory(const memory&) = delete;
    memory& operator=(const memory&) = delete;
};

cudaStream_t stream_of_work = nullptr;

// 12 kernels of 0.2 ms.
void train(int kernels = 12) {
    for (int i = 0; i < kernels; ++i) spin<<<1, 32, 0, stream_of_work>>>(200'000);
}

cudaStream_t new_stream() {
    cudaStream_t out = nullptr;
    CHECK(cudaStreamCreateWithFlags(&out, cudaStreamNonBlocking));
    return out;
}
cudaEvent_t new_event() {
    cudaEvent_t out = nullptr;
    CHECK(cudaEventCreateWithFlags(&out, cudaEventDisableTiming));
    return out;
}

// Waits for the work of the step before the latest.
class limiter {
public:
    void operator()() {
        CHECK(cudaEventRecord(events_[number_ % 2], stream_of_work));
        ++number_;
        CHECK(cudaEventSynchronize(events_[number_ % 2]));
    }

private:
    cudaEvent_t events_[2] = {new_event(), new_event()};
    int number_ = 0;
};

struct flaw_case {
    std::string name{};
    std::string rule{};  // "": a decoy, or a clean program
    std::string place{};
    std::string forbidden{};
    std::string second{};
    step_function flawed{};
    step_function fixed{};
};

class rounds {
public:
    rounds(std::string out, int count) : out_(std::move(out)), count_(count) {}

    void run(const flaw_case& of) {
        struct program {
            const char* kind;
            const step_function* step;
            std::string bare;
            std::string recorded;
        };
        std::vector<program> programs{{"flawed", &of.flawed, "", ""}};
        if (of.fixed) programs.push_back({"fixed", &of.fixed, "", ""});
        for (program& each : programs) period_ns(*each.step, 3, false);
        for (int turn = 0; turn < count_; ++turn) {
            for (program& each : programs) {
                if (turn > 0) each.bare += ", ";
                each.bare += std::to_string(period_ns(*each.step, steps_measured, false));
            }
            for (program& each : programs) {
                if (turn > 0) each.recorded += ", ";
                each.recorded += recorded(*each.step, each.kind, turn);
            }
        }
        const auto list = [](const std::string& word) { return word.empty() ? "[]" : "[\"" + word + "\"]"; };
        std::string line = "{\"framework\": \"cuda\", \"case\": \"" + of.name + "\", \"rules\": " + list(of.rule) +
                           ", \"place\": \"" + of.place + "\", \"forbidden\": " + list(of.forbidden) +
                           ", \"second\": " + list(of.second);
        for (const program& each : programs) {
            line += std::string(", \"") + each.kind + "\": {\"bare_ns\": [" + each.bare + "], \"recorded\": [" +
                    each.recorded + "]}";
        }
        std::FILE* const file = std::fopen((out_ + "/results-cuda.jsonl").c_str(), "a");
        std::fprintf(file, "%s}\n", line.c_str());
        std::fclose(file);
        ++number_;
    }

private:
    double period_ns(const step_function& step, int steps, bool marks) {
        CHECK(cudaDeviceSynchronize());
        for (int i = 0; i < steps_before; ++i) {
            step();
            limit_();
        }
        if (marks) prof_step();
        const double begun_ns = now_ns();
        for (int i = 0; i < steps; ++i) {
            step();
            limit_();
            if (marks) prof_step();
        }
        const double ended_ns = now_ns();
        CHECK(cudaDeviceSynchronize());
        return (ended_ns - begun_ns) / steps;
    }

    std::string recorded(const step_function& step, const char* kind, int turn) {
        const std::string number = (number_ < 10 ? "0" : "") + std::to_string(number_);
        const std::string name = "cuda-" + number + "-" + kind + "-" + std::to_string(turn);
        const std::string setting = "name=" + name;
        const std::string directory = "output_dir=" + out_ + "/captures";
        const char* const settings[] = {setting.c_str(), directory.c_str(), "export=none", "compress=1", nullptr};
        if (prof_start(settings) != PROF_OK) std::fprintf(stderr, "cuda_cases: %s\n", prof_last_error());
        const double of_step_ns = period_ns(step, steps_measured, true);
        prof_stop();
        std::string path;
        for (const auto& entry : std::filesystem::directory_iterator(out_ + "/captures")) {
            if (entry.path().filename().string().starts_with(name + ".")) path = entry.path().string();
        }
        return "{\"capture\": \"" + path + "\", \"period_ns\": " + std::to_string(of_step_ns) + "}";
    }

    std::string out_;
    int count_;
    int number_ = 0;
    limiter limit_;
};

void host_cases(rounds& runs) {
    runs.run({.name = "clean", .forbidden = "*", .flawed = [] { train(); }});
    for (const int ms : {5, 10}) {
        runs.run({.name = "sleep " + std::to_string(ms) + " ms",
                  .rule = "host_code",
                  .place = "flaw",
                  .flawed =
                      [ms] {
                          train();
                          const range flaw("flaw");
                          sleep(ms);
                      },
                  .fixed = [] { train(); }});
    }
    for (const int ms : {2, 5}) {
        const auto step = [ms](bool waits) {
            train(30);
            if (waits) CHECK(cudaDeviceSynchronize());
            const range prepare("prepare");
            busy(ms);
        };
        runs.run({.name = "cudaDeviceSynchronize, then " + std::to_string(ms) + " ms of host code",
                  .rule = "synchronization",
                  .flawed = [=] { step(true); },
                  .fixed = [=] { step(false); }});
    }
    for (const int count : {500, 2000}) {
        float* values = nullptr;
        CHECK(cudaMalloc(&values, 256 * sizeof(float)));
        const auto work = [=] {
            for (int i = 0; i < count; ++i) increment<<<1, 256, 0, stream_of_work>>>(values);
        };
        cudaGraph_t graph = nullptr;
        cudaGraphExec_t executable = nullptr;
        CHECK(cudaStreamBeginCapture(stream_of_work, cudaStreamCaptureModeThreadLocal));
        work();
        CHECK(cudaStreamEndCapture(stream_of_work, &graph));
        CHECK(cudaGraphInstantiate(&executable, graph, 0));
        runs.run({.name = std::to_string(count) + " tiny kernels",
                  .rule = "launch_bound",
                  .flawed =
                      [=] {
                          {
                              const range small("small");
                              work();
                          }
                          train(2);
                      },
                  .fixed =
                      [=] {
                          {
                              const range small("small");
                              CHECK(cudaGraphLaunch(executable, stream_of_work));
                          }
                          train(2);
                      }});
    }
    for (const int count : {1, 4}) {
        constexpr std::size_t bytes = 256 * megabyte;
        runs.run({.name = "cudaMalloc and cudaFree " + std::to_string(count) + " times",
                  .rule = "allocation",
                  .flawed =
                      [=] {
                          for (int i = 0; i < count; ++i) {
                              void* more = nullptr;
                              CHECK(cudaMalloc(&more, bytes));
                              train(12 / count);
                              CHECK(cudaFree(more));
                          }
                      },
                  .fixed = [=] { train(12); }});
    }
}

void copy_cases(rounds& runs) {
    memory labels(2 * megabyte);
    for (const std::size_t size : {8, 64}) {
        memory batch(size * megabyte);
        const auto step = [&](bool pageable) {
            CHECK(cudaMemcpyAsync(labels.device, labels.pinned, labels.pageable.size(), cudaMemcpyHostToDevice,
                                  stream_of_work));
            CHECK(cudaMemcpyAsync(batch.device, pageable ? batch.pageable.data() : batch.pinned, batch.pageable.size(),
                                  cudaMemcpyHostToDevice, stream_of_work));
            train();
        };
        runs.run({.name = "pageable copy " + std::to_string(size) + " MB",
                  .rule = "pageable_copies",
                  .flawed = [&] { step(true); },
                  .fixed = [&] { step(false); }});
    }
    memory batch(64 * megabyte);
    const cudaStream_t side = new_stream();
    const cudaEvent_t copied = new_event();
    const cudaEvent_t used = new_event();
    const auto in_side_stream = [&](std::size_t bytes, int kernels) {
        CHECK(cudaStreamWaitEvent(stream_of_work, copied));
        CHECK(cudaStreamWaitEvent(side, used));
        CHECK(cudaMemcpyAsync(batch.device, batch.pinned, bytes, cudaMemcpyHostToDevice, side));
        CHECK(cudaEventRecord(copied, side));
        train(kernels);
        CHECK(cudaEventRecord(used, stream_of_work));
    };
    for (const int ms : {2, 5}) {
        const auto step = [&, ms](bool waits) {
            constexpr std::size_t bytes = 16 * megabyte;
            if (waits) {
                train(30);
                CHECK(cudaMemcpy(batch.device, batch.pinned, bytes, cudaMemcpyHostToDevice));
            } else {
                in_side_stream(bytes, 30);
            }
            const range prepare("prepare");
            busy(ms);
        };
        runs.run({.name = "cudaMemcpy 16 MB, then " + std::to_string(ms) + " ms of host code",
                  .rule = "blocking_copies",
                  .flawed = [&] { step(true); },
                  .fixed = [&] { step(false); }});
    }
    for (const std::size_t size : {16, 64}) {
        const std::size_t bytes = size * megabyte;
        runs.run(
            {.name = "pinned copy " + std::to_string(size) + " MB in the compute stream",
             .rule = "copy_overlap",
             .flawed =
                 [&] {
                     CHECK(cudaMemcpyAsync(batch.device, batch.pinned, bytes, cudaMemcpyHostToDevice, stream_of_work));
                     train();
                 },
             .fixed = [&] { in_side_stream(bytes, 12); }});
    }
    const auto in_pieces = [&batch](int count, std::size_t bytes) {
        for (int i = 0; i < count; ++i) {
            CHECK(cudaMemcpy(batch.device, batch.pageable.data(), bytes, cudaMemcpyHostToDevice));
        }
    };
    for (const int count : {64, 256}) {
        const auto step = [=](int pieces) {
            in_pieces(pieces, std::size_t{4000} * count / pieces);
            train();
        };
        runs.run({.name = std::to_string(count) + " small copies",
                  .rule = "small_copies",
                  .flawed = [=] { step(count); },
                  .fixed = [=] { step(1); }});
    }
    const auto two_flaws = [=](int pieces, double ms) {
        in_pieces(pieces, std::size_t{4000} * 128 / pieces);
        train();
        const range flaw("flaw");
        sleep(ms);
    };
    runs.run({.name = "sleep 5 ms and 128 small copies",
              .rule = "host_code",
              .place = "flaw",
              .second = "small_copies",
              .flawed = [=] { two_flaws(128, 5); },
              .fixed = [=] { two_flaws(1, 0); }});
    runs.run({.name = "decoy: pinned copy 16 MB in a side stream", .forbidden = "copy_overlap", .flawed = [&] {
                  in_side_stream(16 * megabyte, 12);
              }});
    runs.run({.name = "decoy: sleep 2 ms that the GPU hides", .forbidden = "host_code", .flawed = [] {
                  train(60);
                  const range flaw("flaw");
                  sleep(2);
              }});
    const cudaEvent_t event = new_event();
    runs.run({.name = "decoy: a wait with enough queued", .forbidden = "synchronization", .flawed = [=] {
                  train(20);
                  CHECK(cudaEventRecord(event, stream_of_work));
                  train(20);
                  CHECK(cudaEventSynchronize(event));
              }});
}

// Kernels of two streams that could run beside each other. The second stream's take so many times 0.1 ms.
void stream_cases(rounds& runs) {
    const cudaStream_t side = new_stream();
    const cudaEvent_t begun = new_event();
    const cudaEvent_t ended = new_event();
    const auto step = [=](int kernels, bool is_serial) {
        train(6);
        if (is_serial) {
            CHECK(cudaEventRecord(begun, stream_of_work));
            CHECK(cudaStreamWaitEvent(side, begun));
        }
        for (int i = 0; i < kernels; ++i) spin<<<1, 32, 0, side>>>(100'000);
        CHECK(cudaEventRecord(ended, side));
        if (is_serial) CHECK(cudaStreamWaitEvent(stream_of_work, ended));
        train(6);
        CHECK(cudaStreamWaitEvent(stream_of_work, ended));
    };
    for (const int kernels : {4, 16}) {
        runs.run({.name = std::to_string(kernels) + " kernels of 0.1 ms in a serial stream",
                  .rule = "serial_streams",
                  .flawed = [=] { step(kernels, true); },
                  .fixed = [=] { step(kernels, false); }});
    }
    // The host waits for the short stream and for the long one; either alone would hold it up.
    for (const int kernels : {20, 28}) {
        const auto wait = [=](bool waits) {
            for (int i = 0; i < kernels; ++i) spin<<<1, 32, 0, side>>>(100'000);
            CHECK(cudaEventRecord(ended, side));
            train(12);
            CHECK(cudaStreamWaitEvent(stream_of_work, ended));
            if (waits) CHECK(cudaDeviceSynchronize());
            const range prepare("prepare");
            busy(2);
        };
        runs.run({.name = std::to_string(kernels) + " kernels in a side stream, then cudaDeviceSynchronize",
                  .rule = "synchronization",
                  .flawed = [=] { wait(true); },
                  .fixed = [=] { wait(false); }});
    }
    runs.run({.name = "decoy: a stream that waits for what is complete", .forbidden = "serial_streams", .flawed = [=] {
                  step(4, false);
              }});
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::puts("SKIPPED: no GPU");
        return 77;
    }
    CHECK(cudaStreamCreate(&stream_of_work));
    std::filesystem::create_directories(std::string(argv[1]) + "/captures");
    rounds runs(argv[1], std::atoi(argv[2]));
    host_cases(runs);
    copy_cases(runs);
    stream_cases(runs);
    return 0;
}
