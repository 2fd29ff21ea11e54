// SPDX-License-Identifier: Apache-2.0
#include "cli/progress_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/display_text.hpp"
#include "base/json_text.hpp"
#include "base/number.hpp"
#include "cli/cli.hpp"

namespace prof {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds between_drawings{100};
constexpr std::size_t bar_cells = 20;

// A variable of tests.
std::chrono::milliseconds silent_time() {
    const char* const text = std::getenv("PROF_PROGRESS_AFTER_MS");  // NOLINT(concurrency-mt-unsafe): one thread
    const auto given = text == nullptr ? std::nullopt : parse_number<std::uint32_t>(text);
    return std::chrono::milliseconds(given.value_or(1000));
}

std::string bar(std::uint64_t done, std::uint64_t total) {
    const double share = static_cast<double>(std::min(done, total)) / static_cast<double>(total);
    const auto full = static_cast<std::size_t>(share * static_cast<double>(bar_cells));
    return fmt::format("[{}{}] {:3.0f} %", std::string(full, '#'), std::string(bar_cells - full, '-'), 100 * share);
}

}  // namespace

progress_display::progress_display(bool is_wanted) : is_shown_(is_wanted && isatty(STDERR_FILENO) == 1) {}

progress_line::progress_line(const progress_display& display, std::string text)
    : text_(std::move(text)), start_(display.start()) {
    if (!display.is_shown()) return;
    if (silent_time() == silent_time().zero()) draw();  // however short the work is
    drawing_ = std::thread([this] { draw_until_the_end(); });
}

progress_line::~progress_line() {
    if (!drawing_.joinable()) return;
    {
        const std::lock_guard lock(mutex_);
        has_ended_ = true;
    }
    changed_.notify_one();
    drawing_.join();
}

void progress_line::update(std::uint64_t done, std::uint64_t total) {
    done_.store(done, std::memory_order_relaxed);
    total_.store(total, std::memory_order_relaxed);
}

void progress_line::draw_until_the_end() {
    std::unique_lock lock(mutex_);
    for (steady_clock::time_point next = start_ + silent_time();
         !changed_.wait_until(lock, next, [this] { return has_ended_; });
         next = steady_clock::now() + between_drawings) {
        draw();
    }
    erase();
}

// A percentage as long as parts of the work are counted; else the time since the command began to work.
std::string progress_line::line() const {
    const std::uint64_t done = done_.load(std::memory_order_relaxed);
    const std::uint64_t total = total_.load(std::memory_order_relaxed);
    std::string how_far = done < total ? "  " + bar(done, total) : std::string();
    if (how_far.empty()) {
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(steady_clock::now() - start_);
        how_far = fmt::format(" ({} s)", seconds.count());
    }
    const std::size_t width = output_width(STDERR_FILENO) - 1;
    const std::size_t left = width - std::min(width, how_far.size());
    return shortened(shortened(terminal_safe(text_), left) + how_far, width);  // narrower than the bar, too
}

void progress_line::draw() {
    const std::string text = line();
    const std::size_t cells = display_width(text);
    fmt::print(stderr, "\r{}{}", text, std::string(drawn_cells_ - std::min(drawn_cells_, cells), ' '));
    std::fflush(stderr);
    drawn_cells_ = cells;
}

void progress_line::erase() {
    if (drawn_cells_ == 0) return;
    fmt::print(stderr, "\r{}\r", std::string(drawn_cells_, ' '));
    std::fflush(stderr);
}

}  // namespace prof
