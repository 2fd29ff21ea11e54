// SPDX-License-Identifier: Apache-2.0
// Explores all executions of a few threads under the release/acquire part of the C++ memory model: not only all
// interleavings, but also all values that a load may return besides the latest.
//
// A scenario's threads use atomic<T> in place of std::atomic<T> and plain<T> for memory that is not atomic. Each store
// adds a message to the history of its location; a load may return any message that is not older than what its thread
// has seen of that location. A release store carries what its thread has seen and done before it; an acquire load that
// returns it takes that over. Access to plain memory that is not ordered by that is a data race, and ends the search.
//
// What is left out: load buffering (a load never returns what is stored later in time; no processor that runs CUDA
// does so for code without data races), fences, and seq_cst beyond acquire and release, which allows more than C++
// does. Histories are in order of time; a store that does not know the latest message of its location would not have
// to be, so it is reported like a race. The search is depth first, with sleep sets, which leave out interleavings that
// differ only in the order of accesses that do not touch one another.
//
// One search at a time. Variables on the stacks of the threads' functions must not own memory, since an execution may
// be abandoned before its end.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace prof::test::model {

enum class access { load, store, exchange };

// An access whose order was stronger than relaxed: which location, which kind.
using ordered_access = std::pair<std::string, access>;

struct verdict {
    std::uint64_t executions = 0;
    std::string bug;  // empty: none. Else what was wrong, and the accesses that led there
    std::set<ordered_access> ordered;
};

class scenario {
public:
    void thread(std::function<void()> body) { threads.push_back(std::move(body)); }
    // Runs after all threads have ended, and sees all that they did.
    void at_end(std::function<void()> body) { end = std::move(body); }

    std::vector<std::function<void()>> threads;
    std::function<void()> end;
};

struct search_limits {
    std::uint64_t executions = 20'000'000;
    std::optional<ordered_access> weakened;  // these accesses are made relaxed
};

// `make` is called for each execution and sets up memory and threads anew.
verdict explore(const std::function<void(scenario&)>& make, const search_limits& limits = {});

// In a scenario: a condition of which the search is to find a violation.
void expect(bool holds, const char* what);

// What atomic<T> and plain<T> are made of.
namespace detail {
int new_location(std::uint64_t value);
void name_location(int location, const char* name);
std::uint64_t load(int location, std::memory_order order);
void store(int location, std::uint64_t value, std::memory_order order);
// The new value, if the exchange takes place, is `change`d from the old one.
bool exchange(int location, std::uint64_t& expected, std::uint64_t desired, std::memory_order success,
              std::memory_order failure);
int new_plain();
void touch_plain(int cell, bool is_write);
}  // namespace detail

template <typename T>
class atomic {
public:
    atomic(T value = {}) : location_(detail::new_location(static_cast<std::uint64_t>(value))) {}  // NOLINT: as std's
    atomic(const atomic&) = delete;
    atomic& operator=(const atomic&) = delete;
    void call(const char* name) { detail::name_location(location_, name); }

    T load(std::memory_order order = std::memory_order_seq_cst) const noexcept {
        return static_cast<T>(detail::load(location_, order));
    }
    void store(T value, std::memory_order order = std::memory_order_seq_cst) noexcept {
        detail::store(location_, static_cast<std::uint64_t>(value), order);
    }
    bool compare_exchange_strong(T& expected, T desired, std::memory_order success,
                                 std::memory_order failure) noexcept {
        auto old = static_cast<std::uint64_t>(expected);
        const bool done = detail::exchange(location_, old, static_cast<std::uint64_t>(desired), success, failure);
        expected = static_cast<T>(old);
        return done;
    }

private:
    int location_;
};

template <typename T>
class plain {
public:
    plain(T value = {}) : cell_(detail::new_plain()), value_(value) {}  // NOLINT(google-explicit-constructor)
    plain(const plain& other) : plain(other.get()) {}
    plain& operator=(const plain& other) {
        set(other.get());
        return *this;
    }
    T get() const {
        detail::touch_plain(cell_, false);
        return value_;
    }
    void set(T value) {
        detail::touch_plain(cell_, true);
        value_ = value;
    }

private:
    int cell_;
    T value_;
};

}  // namespace prof::test::model
