#include "session/background.hpp"

#include <pthread.h>

#include <utility>

#include "record/silent_thread.hpp"

namespace prof {

// REQUIRES: mutex_ is held.
bool background_thread::start() {
    if (has_thread_) return true;
    pthread_t thread{};
    has_thread_ = create_silent_thread(thread, enter, this) == 0;
    if (has_thread_) pthread_detach(thread);
    return has_thread_;
}

void* background_thread::enter(void* self) noexcept {
    auto* const thread = static_cast<background_thread*>(self);
    pthread_setname_np(pthread_self(), thread->name_);
    thread->run();
    return nullptr;
}

void background_thread::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        // By the clock of pthread_cond_timedwait, which the thread sanitizer follows.
        while (!changed_.wait_until(lock, std::chrono::system_clock::now() + between_looks_whether_alone,
                                    [&] { return !tasks_.empty(); })) {
            exit_if_alone();
        }
        const std::function<void()> task = std::move(tasks_.front());
        tasks_.pop_front();
        busy_ = true;
        lock.unlock();
        task();
        lock.lock();
        busy_ = false;
        changed_.notify_all();
    }
}

void background_thread::post(std::function<void()> task) {
    {
        const std::lock_guard lock(mutex_);
        if (start()) {
            tasks_.push_back(std::move(task));
            changed_.notify_all();
            return;
        }
    }
    task();
}

bool background_thread::is_idle() {
    const std::lock_guard lock(mutex_);
    return has_done_all();
}

bool background_thread::wait_until_idle(std::chrono::milliseconds longest) {
    std::unique_lock lock(mutex_);
    const auto idle = [&] { return has_done_all(); };
    if (longest == std::chrono::milliseconds::max()) {
        changed_.wait(lock, idle);
        return true;
    }
    // By the clock of pthread_cond_timedwait, which the thread sanitizer follows.
    return changed_.wait_until(lock, std::chrono::system_clock::now() + longest, idle);
}

}  // namespace prof
