// SPDX-License-Identifier: Apache-2.0
// A program that captures its step as a CUDA graph at one time and replays it at another, one scene a run, for
// idle_graphs_test.cpp. A kernel's name is the path below its iteration of the row that is to own it.
//
//   idle_graphs_victim eager | before | conditional | nested | updated | between | in_first | in_first_window | again |
//   many | busy | forked | not_started | steps | warm_steps | ranges | profiler_calls | subscription | killed
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>
#include <prof/prof.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <prof/range.hpp>
#include <string>
#include <thread>
#include <vector>

#include "fakes/cuda/fake_cuda.h"
#include "session/inner_graphs.hpp"
#include "session/printed_subscription.hpp"
#include "session/scenes.hpp"

namespace {

using prof::test::expect;
using prof::test::print_subscription;

cudaStream_t stream = nullptr;

// A thread of its own that is gone when this returns.
void on_thread(const char* name, const std::function<void()>& what) {
    std::thread([&] {
        pthread_setname_np(pthread_self(), name);
        what();
    }).join();
}

// Each kernel takes as long as it always does, and no two the same.
void launch(const char* path) {
    static const std::map<std::string, std::uint64_t> lengths = {
        {"forward", 1'000},      {"forward/libprof attention", 2'030}, {"backward", 4'500}, {"backward/hook", 900},
        {"optimizer_step", 650}, {"optimizer_step/chunk #", 333}};
    expect(fake_cuda_launch(path, lengths.at(path), stream) == 0, "a launch");
}

// Ranges of two domains, autograd's thread in two ways, and a worker with a declared parent.
void step() {
    nvtxRangePushA("forward");
    launch("forward");
    {
        PROF_RANGE("libprof attention");
        launch("forward/libprof attention");
        launch("forward/libprof attention");
    }
    launch("forward");
    nvtxRangePop();
    nvtxRangePushA("backward");
    on_thread("pt_autograd_0", [] {
        launch("backward");
        nvtxRangePushA("hook");
        launch("backward/hook");
        nvtxRangePop();
    });
    nvtxRangePop();
    nvtxRangePushA("optimizer_step");
    launch("optimizer_step");
    const std::uint64_t place = prof_parent_here();
    on_thread("pool", [place] {
        const bool pushed = prof_adopt_push(place) == PROF_OK;
        nvtxRangePushA("chunk 3");
        launch("optimizer_step/chunk #");
        nvtxRangePop();
        if (pushed) prof_adopt_pop();
    });
    nvtxRangePop();
}

cudaGraph_t capture(void (*what)() = step) {
    nvtxRangePushA("prepare");
    expect(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed) == 0, "a capture begins");
    what();
    cudaGraph_t graph = nullptr;
    expect(cudaStreamEndCapture(stream, &graph) == 0, "a capture ends");
    nvtxRangePop();
    return graph;
}

cudaGraphExec_t instantiate(cudaGraph_t graph) {
    cudaGraphExec_t exec = nullptr;
    expect(cudaGraphInstantiate(&exec, graph, 0) == 0, "a graph is instantiated");
    return exec;
}

cudaGraphExec_t instantiate_and_destroy(cudaGraph_t graph) {
    const cudaGraphExec_t exec = instantiate(graph);
    expect(cudaGraphDestroy(graph) == 0, "a graph is destroyed");
    return exec;
}

cudaGraphExec_t make_graph() { return instantiate_and_destroy(capture()); }
// The step in the body of an `if`, as a child of a child, and by an update of what was captured in other ranges.
cudaGraphExec_t make_conditional_graph() {
    const auto captured = [](cudaGraph_t body) {
        nvtxRangePushA("prepare");
        prof::test::capture_into(body, stream, step);
        nvtxRangePop();
    };
    return instantiate_and_destroy(prof::test::graph_with_body(captured));
}
cudaGraphExec_t make_nested_graph() {
    return instantiate_and_destroy(prof::test::as_child(prof::test::as_child(capture())));
}
cudaGraphExec_t make_other_graph() {
    return instantiate_and_destroy(capture([] {
        for (int i = 0; i < 8; ++i) launch("forward");
    }));
}
void update(cudaGraphExec_t exec) { prof::test::update_by(exec, capture()); }

void iterate(cudaGraphExec_t exec, int count = 3) {
    for (int i = 0; i < count; ++i) {
        nvtxRangePushA(("iteration " + std::to_string(i)).c_str());
        if (exec == nullptr) {
            step();
        } else {
            expect(cudaGraphLaunch(exec, stream) == 0, "a replay");
        }
        nvtxRangePop();
        expect(cudaStreamSynchronize(stream) == 0, "the stream is done");
    }
}

void start() { expect(prof_start(nullptr) == PROF_OK, "start"); }
void stop() { expect(prof_stop() == PROF_OK, "stop"); }

void made_before_and_after_the_start(cudaGraphExec_t (*make)()) {
    const cudaGraphExec_t exec = make();
    iterate(exec, 1);  // unrecorded
    start();
    iterate(exec);
    iterate(make());
    stop();
}

// Waits until the window before is settled: until then nobody listens.
void settle() { prof_summary_close(prof_summary_open()); }

void pause() {
    expect(prof_pause() == PROF_OK, "pause");
    settle();
}

// Much that has nothing to do with graphs.
void other_work(int ranges) {
    for (int i = 0; i < ranges; ++i) {
        nvtxRangePushA("elsewhere");
        PROF_RANGE("and inside");
        nvtxMarkA("a mark");
        nvtxRangePop();  // the domains' ranges interleave
    }
}

const std::map<std::string, void (*)()> scenes = {
    {"eager",
     [] {
         start();
         iterate(nullptr);
         stop();
     }},
    {"before",
     [] {
         const cudaGraphExec_t exec = make_graph();
         other_work(10);
         iterate(exec, 1);  // unrecorded
         start();
         iterate(exec);
         stop();
     }},
    {"conditional", [] { made_before_and_after_the_start(make_conditional_graph); }},
    {"nested", [] { made_before_and_after_the_start(make_nested_graph); }},
    // Updated before, between and in the windows.
    {"updated",
     [] {
         const cudaGraphExec_t before = make_other_graph();
         const cudaGraphExec_t between = make_other_graph();
         update(before);
         start();
         const cudaGraphExec_t in_first = make_other_graph();
         iterate(before);
         update(in_first);
         iterate(in_first, 1);
         pause();
         update(between);
         expect(prof_resume() == PROF_OK, "resume");
         iterate(between);
         iterate(in_first, 1);
         const cudaGraphExec_t in_second = make_other_graph();
         update(in_second);
         iterate(in_second, 1);
         stop();
     }},
    {"between",
     [] {
         start();
         iterate(nullptr);
         pause();
         other_work(30'000);  // several times what is kept before a sweep
         const cudaGraphExec_t exec = make_graph();
         other_work(30'000);
         iterate(exec, 1);  // unrecorded
         expect(prof_resume() == PROF_OK, "resume");
         iterate(exec);
         stop();
     }},
    {"in_first",
     [] {
         start();
         const cudaGraphExec_t exec = make_graph();
         stop();
         other_work(5);
         start();
         iterate(exec);
         stop();
     }},
    {"in_first_window",
     [] {
         start();
         const cudaGraphExec_t exec = make_graph();
         pause();
         iterate(exec, 1);  // unrecorded
         expect(prof_resume() == PROF_OK, "resume");
         iterate(exec);
         stop();
     }},
    // Captured once; its copies are made before, between and in the recordings.
    {"again",
     [] {
         const cudaGraph_t graph = capture();
         const cudaGraphExec_t before = instantiate(graph);
         start();
         iterate(before);
         iterate(instantiate(graph));
         stop();
         const cudaGraphExec_t between = instantiate(graph);
         expect(cudaGraphDestroy(graph) == 0, "a graph is destroyed");
         expect(cudaGraphExecDestroy(before) == 0, "its copy is destroyed");
         start();
         iterate(between);
         stop();
     }},
    // Captured anew again and again: what is remembered does not grow.
    {"many",
     [] {
         cudaGraphExec_t exec = nullptr;
         for (int i = 0; i < 400; ++i) {
             if (exec != nullptr) (void)cudaGraphExecDestroy(exec);
             exec = make_graph();
         }
         start();
         iterate(exec);
         stop();
     }},
    // Other threads have ranges all the time, across all beginnings and ends.
    {"busy",
     [] {
         other_work(1);  // NVTX initialises itself here, in what the thread sanitizer takes for a race among threads
         std::atomic<bool> go_on{true};
         std::vector<std::thread> threads;
         for (int t = 0; t < 3; ++t) {
             threads.emplace_back([&] {
                 // So many at most that their records fit their rings, however slowly those are read.
                 for (int i = 0; go_on && i < 3'000; ++i) {
                     other_work(30);
                     std::this_thread::yield();
                 }
             });
         }
         for (int i = 0; i < 4; ++i) {
             const cudaGraphExec_t exec = make_graph();
             if (i == 0) {
                 start();
             } else {
                 expect(prof_resume() == PROF_OK, "resume");
             }
             iterate(exec);
             if (i < 3) pause();
         }
         stop();
         go_on = false;
         for (std::thread& thread : threads) thread.join();
     }},
    {"forked",
     [] {
         const cudaGraphExec_t exec = make_graph();
         const pid_t child = fork();
         if (child == 0) {
             other_work(10);
             std::exit(7);
         }
         int status = 0;
         expect(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7, "the child ends as it wants to");
         start();
         iterate(exec);
         stop();
     }},
    // For a schedule of two cycles: a step in which a graph is made, one of warm-up, two that are recorded.
    {"steps",
     [] {
         cudaGraphExec_t exec = nullptr;
         for (int i = 0; i < 10; ++i) {
             if (i % 4 == 0) settle();
             if (i % 4 == 0 || exec == nullptr) exec = make_graph();
             iterate(exec, 1);
             expect(prof_step() == PROF_OK, "a step");
         }
     }},
    // The same where the graph is made in the warm-up, which comes first.
    {"warm_steps",
     [] {
         (void)prof_start(nullptr);  // unless it was started before CUDA was used
         cudaGraphExec_t exec = nullptr;
         for (int i = 0; i < 6; ++i) {
             if (i % 3 == 0) settle();
             if (i % 3 == 0) exec = make_graph();
             iterate(exec, 1);
             expect(prof_step() == PROF_OK, "a step");
         }
     }},
    // For capture ranges.
    {"ranges",
     [] {
         for (int i = 0; i < 3; ++i) {
             const cudaGraphExec_t exec = make_graph();
             other_work(10);
             nvtxRangePushA("recorded");
             iterate(exec, 2);
             nvtxRangePop();
             settle();
         }
     }},
    {"profiler_calls",
     [] {
         for (int i = 0; i < 3; ++i) {
             const cudaGraphExec_t exec = make_graph();
             other_work(10);
             (void)cudaProfilerStart();
             iterate(exec, 2);
             (void)cudaProfilerStop();
             settle();
         }
     }},
    {"subscription",
     [] {
         print_subscription("before");
         (void)cudaProfilerStart();
         launch("forward");
         (void)cudaProfilerStop();
         settle();
         print_subscription("between");
         stop();
         print_subscription("after");
     }},
    // Killed while nothing is recorded and something is heard.
    {"killed",
     [] {
         start();
         iterate(nullptr);
         pause();
         const cudaGraphExec_t exec = make_graph();
         expect(prof_resume() == PROF_OK, "resume");
         iterate(exec);
         pause();
         make_graph();
         other_work(10);
         (void)raise(SIGKILL);
     }},
    {"not_started",
     [] {
         iterate(make_graph());
         other_work(10);
     }},
};

}  // namespace

int main(int argc, char** argv) {
    const auto scene = argc == 2 ? scenes.find(argv[1]) : scenes.end();
    if (scene == scenes.end()) return 2;
    (void)cudaStreamCreate(&stream);
    scene->second();
    (void)cudaDeviceSynchronize();
    std::puts("done");
    return 0;
}
