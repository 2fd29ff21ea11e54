// SPDX-License-Identifier: Apache-2.0
// What a command shows on a terminal while it works for longer than a second: a line on standard error that says what
// it does and how much of that is done, and that is erased afterwards. Nothing where standard error is no terminal.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "base/progress.hpp"

namespace prof {

// Of one command. The time begins with it.
class progress_display {
public:
    explicit progress_display(bool is_wanted = true);

    bool is_shown() const noexcept { return is_shown_; }
    std::chrono::steady_clock::time_point start() const noexcept { return start_; }

private:
    bool is_shown_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// One piece of the work, as long as it lives. A thread of its own draws the line ten times a second, so that the line
// appears also during work of which no part is counted. Nothing else may write to the terminal meanwhile.
class progress_line final : public progress_observer {
public:
    progress_line(const progress_display& display, std::string text);
    ~progress_line() override;
    progress_line(const progress_line&) = delete;
    progress_line& operator=(const progress_line&) = delete;

    void update(std::uint64_t done, std::uint64_t total) override;

private:
    void draw_until_the_end();
    void draw();
    void erase();
    std::string line() const;

    std::string text_;
    std::chrono::steady_clock::time_point start_;  // of the command's work
    std::atomic<std::uint64_t> done_{0};
    std::atomic<std::uint64_t> total_{0};
    std::size_t drawn_cells_ = 0;  // of the drawing thread
    std::mutex mutex_;
    std::condition_variable changed_;
    bool has_ended_ = false;  // guarded by mutex_
    std::thread drawing_;
};

}  // namespace prof
