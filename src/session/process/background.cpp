// SPDX-License-Identifier: Apache-2.0
#include "session/process/background.hpp"

#include <pthread.h>

#include <utility>

#include "base/clock.hpp"
#include "base/helper_thread.hpp"
#include "session/process/out_of_memory.hpp"

namespace prof {

bool background_thread::start() {
    if (has_thread_) return true;
    has_begun_ = false;
    has_thread_ = create_helper_thread(thread_, enter, this) == 0;
    if (!has_thread_) return false;
    clockid_t clock = no_clock;
    if (pthread_getcpuclockid(thread_, &clock) == 0) clock_.store(clock);
    return true;
}

bool background_thread::end() {
    pthread_t ending{};
    {
        annotated_lock lock(mutex_);
        if (!has_thread_) return true;
        changed_.wait(lock.native(), [&]() PROF_REQUIRES(mutex_) { return has_begun_ || !has_thread_; });
        if (!has_thread_ || !has_done_all()) return !has_thread_;
        ending = thread_;
        has_thread_ = false;
        ++ended_;
        clock_.store(no_clock);
        changed_.notify_all();
    }
    pthread_join(ending, nullptr);
    return true;
}

void* background_thread::enter(void* self) noexcept {
    auto* const thread = static_cast<background_thread*>(self);
    pthread_setname_np(pthread_self(), thread->name_);
    thread->run();
    return nullptr;
}

void background_thread::run() {
    annotated_lock lock(mutex_);
    const std::uint64_t ended_before = ended_;
    const auto has_work = [&]() PROF_REQUIRES(mutex_) { return !tasks_.empty() || ended_ != ended_before; };
    has_begun_ = true;
    changed_.notify_all();
    for (;;) {
        while (!changed_.wait_for(lock.native(), alone_check_interval, has_work)) {
            exit_if_alone();
        }
        if (ended_ != ended_before) return;
        const std::function<void()> task = std::move(tasks_.front());
        tasks_.pop_front();
        busy_ = true;
        lock.unlock();
        do_as_far_as_memory_goes(task);
        lock.lock();
        busy_ = false;
        changed_.notify_all();
    }
}

void background_thread::post(std::function<void()> task) {
    {
        const annotated_lock lock(mutex_);
        if (start()) {
            tasks_.push_back(std::move(task));
            changed_.notify_all();
            return;
        }
    }
    do_as_far_as_memory_goes(task);
}

bool background_thread::is_idle() {
    const annotated_lock lock(mutex_);
    return has_done_all();
}

bool background_thread::wait_until_idle(std::chrono::milliseconds longest) {
    const auto idle = [&]() PROF_REQUIRES(mutex_) { return has_done_all(); };
    annotated_lock lock(mutex_);
    return changed_.wait_for(lock.native(), longest, idle);
}

bool background_thread::wait_while_it_works(std::chrono::milliseconds standstill) {
    constexpr std::chrono::milliseconds between_checks{50};
    std::uint64_t worked_ns = cpu_ns();
    auto since = std::chrono::steady_clock::now();
    {
        const annotated_lock lock(mutex_);
        if (stood_still_at_ns_ == worked_ns) since = stands_still_since_;
    }
    while (!wait_until_idle(between_checks)) {
        const auto now = std::chrono::steady_clock::now();
        const std::uint64_t before_ns = std::exchange(worked_ns, cpu_ns());
        if (before_ns != worked_ns) since = now;
        if (now - since < standstill) continue;
        const annotated_lock lock(mutex_);
        stood_still_at_ns_ = worked_ns;
        stands_still_since_ = since;
        return false;
    }
    return true;
}

std::uint64_t background_thread::cpu_ns() const noexcept {
    const clockid_t clock = clock_.load();
    return clock == no_clock ? 0 : clock_ns(clock);
}

}  // namespace prof
