// SPDX-License-Identifier: Apache-2.0
// The simulated driver and the process: injection, fork.
#include <sys/wait.h>
#include <unistd.h>

#include "fakes/cuda/fake_cuda.h"
#include "fakes/cupti_client.hpp"

namespace fake::fake_process_test {
namespace {

using FakeDriver = cupti_client;

TEST_F(FakeDriver, LoadsTheInjectedLibraryOnceAtFirstUse) {
    setenv("CUDA_INJECTION64_PATH", FAKE_INJECTED_LIBRARY, 1);
    unsetenv("FAKE_INJECTED");
    int count = 0;
    ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
    ASSERT_EQ(fake_cuda_launch("a", 0, nullptr), 0);
    unsetenv("CUDA_INJECTION64_PATH");
    EXPECT_STREQ(std::getenv("FAKE_INJECTED"), "1");
}

TEST_F(FakeDriver, RefusesToWorkInAForkedChild) {
    ASSERT_EQ(fake_cuda_launch("a", 0, nullptr), 0);
    const pid_t child = fork();
    if (child == 0) {
        _exit(fake_cuda_launch("a", 0, nullptr));
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), int{cudaErrorInitializationError});
}

TEST_F(FakeDriver, AbortsAForkedChildThatCallsCupti) {
    const pid_t child = fork();
    if (child == 0) {
        std::uint64_t now_ns = 0;
        cuptiGetTimestamp(&now_ns);
        _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

}  // namespace
}  // namespace fake::fake_process_test
