// SPDX-License-Identifier: Apache-2.0
// A small trainer on the simulated GPU, for the session's tests: what it launches under which range is known, since a
// kernel's name says the range that it belongs to ("forward_k" under "forward").
//
//   victim [steps N] [graph | graph-loose] [graph-first] [stop-and-go] [cuda-first] [autograd] [c-api] [fork] [_exit]
//          [stuck] [kill] [raise N] [throw] [no-cuda] [threads N] [ranges-each N] [cycles N]
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <prof/prof.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <prof/range.hpp>

#include <algorithm>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "fakes/fake_gpu.h"

namespace {

void forward_k() {}
void backward_k() {}
void layer_k() {}
void optimizer_step_k() {}
void loose_k() {}

void launch(void (*kernel)(), cudaStream_t stream, unsigned blocks) {
    (void)cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(blocks), dim3(128), nullptr, 0, stream);
}

void register_kernels() {
    fake_gpu_register_kernel(reinterpret_cast<const void*>(forward_k), "forward_k", 20'000);
    fake_gpu_register_kernel(reinterpret_cast<const void*>(backward_k), "backward_k", 40'000);
    fake_gpu_register_kernel(reinterpret_cast<const void*>(layer_k), "layer_k", 5'000);
    fake_gpu_register_kernel(reinterpret_cast<const void*>(optimizer_step_k), "optimizer_step_k", 10'000);
    fake_gpu_register_kernel(reinterpret_cast<const void*>(loose_k), "loose_k", 1'000);
}

void train(bool autograd, cudaStream_t stream, void* device, const std::vector<char>& host) {
    {
        PROF_RANGE("data_to_device");
        (void)cudaMemcpyAsync(device, host.data(), host.size(), cudaMemcpyHostToDevice, stream);
    }
    {
        PROF_RANGE("forward");
        launch(forward_k, stream, 1);
        for (int i = 0; i < 3; ++i) {
            PROF_RANGE("layer");
            launch(layer_k, stream, 2);
        }
    }
    {
        PROF_RANGE("backward");
        const auto work = [&] {
            for (int i = 0; i < 4; ++i) launch(backward_k, stream, 4);
        };
        if (autograd) {
            std::thread([&] {
                pthread_setname_np(pthread_self(), "pt_autograd_0");
                work();
            }).join();
        } else {
            work();
        }
    }
    {
        PROF_RANGE("optimizer_step");
        launch(optimizer_step_k, stream, 8);
        (void)cudaMemsetAsync(device, 0, 64, stream);
    }
}

void step(int number, bool autograd, cudaStream_t stream, void* device, const std::vector<char>& host) {
    const prof::scoped_range iteration(("iteration " + std::to_string(number)).c_str());
    train(autograd, stream, device, host);
}

// A whole step as one CUDA graph.
cudaGraphExec_t capture_step(bool autograd, cudaStream_t stream, void* device, const std::vector<char>& host) {
    PROF_RANGE("capture");
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    (void)cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
    train(autograd, stream, device, host);
    (void)cudaStreamEndCapture(stream, &graph);
    (void)cudaGraphInstantiate(&exec, graph, 0);
    (void)cudaGraphDestroy(graph);
    return exec;
}

void replay(int number, cudaGraphExec_t exec, cudaStream_t stream) {
    const prof::scoped_range iteration(("iteration " + std::to_string(number)).c_str());
    PROF_RANGE("replay");
    (void)cudaGraphLaunch(exec, stream);
}

int number_after(std::map<std::string, int>& words, const char* word, int otherwise) {
    const auto found = words.find(word);
    return found == words.end() ? otherwise : found->second;
}

}  // namespace

int main(int argc, char** argv) {
    std::map<std::string, int> words;
    for (int i = 1; i < argc; ++i) words[argv[i]] = i + 1 < argc ? std::atoi(argv[i + 1]) : 0;
    const int steps = number_after(words, "steps", 3);

    if (words.contains("no-cuda")) {
        for (int i = 0; i < steps; ++i) {
            PROF_RANGE("only_host");
        }
        std::puts("done");
        return 3;
    }
    if (words.contains("cuda-first")) (void)cudaFree(nullptr);

    register_kernels();
    cudaStream_t stream = nullptr;
    void* device = nullptr;
    const std::vector<char> host(4096);

    // Through dlsym: the victim is not linked to libprof, which may be there all the same.
    const auto start = reinterpret_cast<decltype(&prof_start)>(dlsym(RTLD_DEFAULT, "prof_start"));
    const auto stop = reinterpret_cast<decltype(&prof_stop)>(dlsym(RTLD_DEFAULT, "prof_stop"));

    (void)cudaStreamCreate(&stream);
    (void)cudaMalloc(&device, host.size());
    const bool autograd = words.contains("autograd");
    // Captured before the recording, in the same process.
    cudaGraphExec_t exec = words.contains("graph-first") ? capture_step(autograd, stream, device, host) : nullptr;
    for (int cycle = 0; cycle < number_after(words, "cycles", 1); ++cycle) {
        const bool controlled = words.contains("c-api");
        if (controlled && start(nullptr) != PROF_OK) return 10;
        if (exec == nullptr && (words.contains("graph") || words.contains("graph-loose"))) {
            exec = capture_step(autograd, stream, device, host);
        }
        for (int i = 0; i < steps; ++i) {
            if (words.contains("graph-loose")) {
                (void)cudaGraphLaunch(exec, stream);
            } else if (exec != nullptr) {
                replay(i, exec, stream);
            } else {
                step(i, autograd, stream, device, host);
            }
        }
        if (words.contains("loose")) launch(loose_k, stream, 1);
        (void)cudaStreamSynchronize(stream);
        if (controlled && stop() != PROF_OK) return 11;
        if (controlled) launch(loose_k, stream, 1);  // while stopped
    }
    if (words.contains("stop-and-go")) {  // recording stops and starts between replays of the same graph
        for (int i = 0; i < 3; ++i) {
            if (stop() != PROF_OK) return 11;
            replay(steps + 2 * i, exec, stream);
            (void)cudaStreamSynchronize(stream);
            if (start(nullptr) != PROF_OK) return 10;
            replay(steps + 2 * i + 1, exec, stream);
            (void)cudaStreamSynchronize(stream);
        }
    }
    std::vector<std::thread> threads;
    const int thread_count = number_after(words, "threads", 0);
    const int ranges = number_after(words, "ranges-each", 0);
    std::barrier all_there(std::max(thread_count, 1));
    for (int t = 0; t < thread_count; ++t) {
        threads.emplace_back([&] {
            {
                PROF_RANGE("layer");
                launch(layer_k, stream, 2);
            }
            if (ranges == 0) return;
            all_there.arrive_and_wait();  // all of them alive, each with a ring of its own
            for (int i = 0; i < ranges; ++i) {
                PROF_RANGE("piece");
            }
            all_there.arrive_and_wait();
        });
    }
    for (std::thread& thread : threads) thread.join();
    (void)cudaDeviceSynchronize();
    std::puts("done");
    std::fflush(stdout);
    if (words.contains("fork")) {
        const pid_t child = fork();
        if (child == 0) {
            PROF_RANGE("in the child");
            std::exit(7);
        }
        int status = 0;
        waitpid(child, &status, 0);
        return WEXITSTATUS(status);
    }
    // In two ranges that stay open: a kernel that the GPU does not end.
    if (words.contains("stuck")) {
        nvtxRangePushA("epoch");
        nvtxRangePushA("stuck");
        cudaStream_t other = nullptr;
        (void)cudaStreamCreate(&other);
        fake_gpu_next_never_completes();
        launch(loose_k, other, 1);
    }
    if (words.contains("_exit")) _exit(5);
    if (words.contains("kill")) raise(SIGKILL);
    if (words.contains("raise")) raise(words.at("raise"));
    if (words.contains("throw")) throw std::runtime_error("of the program's own");
    return 3;
}
