// SPDX-License-Identifier: Apache-2.0
// A thread with a name that does what it is told, one thing after the other.
#pragma once

#include <pthread.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace prof::test {

class task_thread {
public:
    explicit task_thread(const std::string& name) : thread_([this, name] { obey(name); }) {}
    ~task_thread() {
        (*this)([this] { ended_ = true; });
        thread_.join();
    }
    task_thread(const task_thread&) = delete;
    task_thread& operator=(const task_thread&) = delete;

    // Returns when it is done.
    void operator()(const std::function<void()>& what) {
        std::unique_lock lock(mutex_);
        what_ = &what;
        changed_.notify_all();
        changed_.wait(lock, [&] { return what_ == nullptr; });
    }

private:
    void obey(const std::string& name) {
        pthread_setname_np(pthread_self(), name.c_str());
        std::unique_lock lock(mutex_);
        while (!ended_) {
            changed_.wait(lock, [&] { return what_ != nullptr; });
            (*what_)();
            what_ = nullptr;
            changed_.notify_all();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    const std::function<void()>* what_ = nullptr;
    bool ended_ = false;
    std::thread thread_;  // last: it uses the others
};

}  // namespace prof::test
