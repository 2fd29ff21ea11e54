// SPDX-License-Identifier: Apache-2.0
// Steps of a program on the simulated GPU, and children of it.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <prof/range.hpp>

#include "fakes/cuda/fake_cuda.h"
#include "session/scenes.hpp"

namespace prof::test {

// Three ranges and two kernels, which take 3 us each.
inline void train_step() {
    PROF_RANGE("step");
    {
        PROF_RANGE("forward");
        expect(fake_cuda_launch("forward_k", 3'000, nullptr) == 0, "a launch");
    }
    PROF_RANGE("backward");
    expect(fake_cuda_launch("backward_k", 3'000, nullptr) == 0, "a launch");
}

inline void train(int steps) {
    for (int i = 0; i < steps; ++i) train_step();
    expect(cudaDeviceSynchronize() == cudaSuccess, "the GPU ends its work");
}

inline void print_line(const char* text) {
    std::puts(text);
    std::fflush(stdout);
}

// Forks; the child does `work` and exits with `status`.
inline pid_t child_that(const std::function<void()>& work, int status) {
    const pid_t child = fork();
    if (child != 0) return child;
    work();
    std::exit(status);
}

inline int status_of(pid_t child) {
    int status = 0;
    expect(waitpid(child, &status, 0) == child, "the child ends");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

}  // namespace prof::test
