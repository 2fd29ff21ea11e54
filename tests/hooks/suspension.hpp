// SPDX-License-Identifier: Apache-2.0
// A thread that neither runs nor sleeps, at a place of the test's choosing and for as long as it wants: to the kernel
// it is in uninterruptible sleep, as a thread is that has a child by vfork. It stands in for one that is ready to run
// and gets no processor, which no test can have at will.
#pragma once

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

namespace prof::test {

// As in proc(5); 0 if there is no such thread.
inline char thread_state(pid_t tid) {
    std::ifstream file("/proc/self/task/" + std::to_string(tid) + "/stat");
    std::string line;
    std::getline(file, line);
    const std::size_t name_end = line.rfind(')');
    return name_end == std::string::npos ? '\0' : line.at(name_end + 2);
}

class suspension {
public:
    suspension() {
        if (pipe2(ends_, O_CLOEXEC) != 0) std::abort();
    }
    ~suspension() {  // REQUIRES: it has ended
        if (child_ > 0) (void)waitpid(child_, nullptr, 0);
        close(ends_[0]);
        close(ends_[1]);
    }
    suspension(const suspension&) = delete;
    suspension& operator=(const suspension&) = delete;

    // Suspends the calling thread until end(). The child has memory of its own, and makes system calls only.
    void begin() {
        tid_ = static_cast<pid_t>(syscall(SYS_gettid));
        child_ = static_cast<pid_t>(syscall(SYS_clone, CLONE_VFORK | SIGCHLD, nullptr, nullptr, 0, 0));
        if (child_ == 0) {
            char byte = 0;
            syscall(SYS_close, ends_[1]);  // or it would outlive a test that dies
            syscall(SYS_read, ends_[0], &byte, 1);
            syscall(SYS_exit_group, 0);
        }
        if (child_ < 0) std::abort();
    }
    // Waits until the other thread is where begin() puts it.
    void wait_until_begun() const {
        while (tid_ == 0 || thread_state(tid_) != 'D') std::this_thread::yield();
    }
    void end() const {
        if (write(ends_[1], "", 1) != 1) std::abort();
    }

private:
    int ends_[2] = {-1, -1};
    std::atomic<pid_t> tid_{0};
    pid_t child_ = 0;
};

}  // namespace prof::test
