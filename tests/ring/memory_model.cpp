// SPDX-License-Identifier: Apache-2.0
#include "ring/memory_model.hpp"

#include <ucontext.h>

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>

namespace prof::test::model {
namespace {

constexpr std::size_t most_threads = 4;
constexpr std::size_t stack_bytes = 256U << 10;

using clock = std::array<std::uint32_t, most_threads>;  // per thread: how many of its steps are known
using view = std::vector<std::size_t>;                  // per location: the oldest message that may still be read

void join(clock& to, const clock& from) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = std::max(to[i], from[i]);
}
void join(view& to, const view& from) {
    if (to.size() < from.size()) to.resize(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = std::max(to[i], from[i]);
}

struct message {
    std::uint64_t value = 0;
    view seen;  // what an acquire takes over; empty where there was no release
    clock done{};
};
struct location {
    std::string name;
    std::vector<message> history;
};
struct cell {
    clock written{};
    clock read{};
};
struct step {
    int location = -1;
    bool writes = false;
};
bool touch(const step& a, const step& b) { return a.location == b.location && (a.writes || b.writes); }

struct thread_state {
    ucontext_t context{};
    std::unique_ptr<char[]> stack = std::make_unique<char[]>(stack_bytes);
    std::function<void()> body;
    view seen;
    clock done{};
    step next;  // what it is about to do
    bool ended = false;
};

struct choice {
    std::size_t taken = 0;
    std::size_t of = 1;
};

bool acquires(std::memory_order order) {
    return order == std::memory_order_acquire || order == std::memory_order_acq_rel ||
           order == std::memory_order_seq_cst || order == std::memory_order_consume;
}
bool releases(std::memory_order order) {
    return order == std::memory_order_release || order == std::memory_order_acq_rel ||
           order == std::memory_order_seq_cst;
}

class search {
public:
    search(const std::function<void(scenario&)>& make, const search_limits& limits) : make_(make), limits_(limits) {}

    verdict run() {
        do {
            if (found_.executions++ == limits_.executions) throw std::runtime_error("the search is too large");
            run_once();
        } while (found_.bug.empty() && next_path());
        return found_;
    }

    int new_location(std::uint64_t value) {
        locations_.push_back({"#" + std::to_string(locations_.size()), {{value, {}, {}}}});
        return static_cast<int>(locations_.size() - 1);
    }
    void name_location(int index, const char* name) { locations_[static_cast<std::size_t>(index)].name = name; }
    int new_plain() {
        cells_.emplace_back();
        return static_cast<int>(cells_.size() - 1);
    }

    std::uint64_t load(int index, std::memory_order order) {
        order = weakened(index, access::load, order);
        yield({index, false});
        return read(index, order, choose(unread(index)));
    }

    void store(int index, std::uint64_t value, std::memory_order order) {
        order = weakened(index, access::store, order);
        yield({index, true});
        location& where = locations_[static_cast<std::size_t>(index)];
        if (running_ == none) {
            where.history.push_back({value, {}, {}});
            return;
        }
        thread_state& self = current();
        if (seen_of(self, index) + 1 != where.history.size()) fail("a store that is not ordered after the latest one");
        add_message(self, index, value, releases(order));
        note(index, "=", value);
    }

    bool exchange(int index, std::uint64_t& expected, std::uint64_t desired, std::memory_order success,
                  std::memory_order failure) {
        success = weakened(index, access::exchange, success);
        if (running_ == none) throw std::logic_error("an exchange outside of the threads");
        yield({index, true});
        thread_state& self = current();
        // The last message, which an exchange may replace, or an older one that differs from what is expected.
        const std::size_t back = choose(unread(index));
        location& where = locations_[static_cast<std::size_t>(index)];
        const message& found = where.history[where.history.size() - 1 - back];
        if (found.value != expected) {
            expected = read(index, failure, back);
            return false;
        }
        if (back != 0) give_up();  // it cannot be exchanged any more
        const message replaced = found;
        read(index, success, 0);
        add_message(self, index, desired, releases(success));
        // A release that an exchange follows is acquired through it as well.
        join(where.history.back().seen, replaced.seen);
        join(where.history.back().done, replaced.done);
        note(index, "<-", desired);
        return true;
    }

    void touch_plain(int index, bool is_write) {
        if (running_ == none) return;  // before or after the threads
        thread_state& self = current();
        cell& where = cells_[static_cast<std::size_t>(index)];
        for (std::size_t i = 0; i < threads_.size(); ++i) {
            const bool unordered = where.written[i] > self.done[i] || (is_write && where.read[i] > self.done[i]);
            if (i != running_ && unordered) fail(is_write ? "a write races" : "a read races");
        }
        (is_write ? where.written : where.read)[running_] = self.done[running_] + 1;
    }

    void fail(const char* what) {
        found_.bug = std::string(what) + trace_;
        give_up();
    }

private:
    static constexpr std::size_t none = SIZE_MAX;

    thread_state& current() { return *threads_[running_]; }

    void run_once() {
        locations_.clear();
        cells_.clear();
        trace_.clear();
        depth_ = 0;
        running_ = none;
        given_up_ = false;
        scenario made;
        make_(made);
        if (made.threads.size() > most_threads) throw std::runtime_error("too many threads");
        while (threads_.size() < made.threads.size()) threads_.push_back(std::make_unique<thread_state>());
        for (std::size_t i = 0; i < made.threads.size(); ++i) begin_thread(*threads_[i], made.threads[i]);
        std::vector<std::size_t> sleeping;
        for (std::size_t i = 0; i < threads_.size() && !given_up_; ++i) resume(i);  // up to its first access
        while (!given_up_ && step_once(sleeping)) {
        }
        running_ = none;
        if (!given_up_ && made.end) made.end();
    }

    void begin_thread(thread_state& thread, const std::function<void()>& body) {
        thread.body = body;
        thread.seen.assign(locations_.size(), 0);
        thread.done = {};
        thread.ended = false;
        getcontext(&thread.context);
        thread.context.uc_stack.ss_sp = thread.stack.get();
        thread.context.uc_stack.ss_size = stack_bytes;
        thread.context.uc_link = &scheduler_;
        makecontext(&thread.context, &search::enter, 0);
    }
    static void enter();

    // Lets one of the threads take its next step. False at the end of the execution, and where all that is left are
    // interleavings that have been explored in another order.
    bool step_once(std::vector<std::size_t>& sleeping) {
        std::vector<std::size_t> runnable;
        for (std::size_t i = 0; i < threads_.size(); ++i) {
            const bool sleeps = std::find(sleeping.begin(), sleeping.end(), i) != sleeping.end();
            if (!threads_[i]->ended && !sleeps) runnable.push_back(i);
        }
        if (runnable.empty()) {
            given_up_ = !sleeping.empty();
            return false;
        }
        const std::size_t taken = choose(runnable.size());
        const std::size_t next = runnable[taken];
        sleeping.insert(sleeping.end(), runnable.begin(), runnable.begin() + static_cast<std::ptrdiff_t>(taken));
        const step done = threads_[next]->next;
        std::erase_if(sleeping, [&](std::size_t i) { return touch(threads_[i]->next, done); });
        resume(next);
        return true;
    }

    void resume(std::size_t thread) {
        running_ = thread;
        swapcontext(&scheduler_, &threads_[thread]->context);
    }

    // Before each access: the scheduler chooses whose turn it is.
    void yield(const step& next) {
        if (running_ == none) return;
        current().next = next;
        swapcontext(&current().context, &scheduler_);
        ++current().done[running_];
    }

    // Never returns to the thread.
    void give_up() {
        given_up_ = true;
        if (running_ != none) swapcontext(&current().context, &scheduler_);
    }

    std::size_t choose(std::size_t of) {
        if (of == 1) return 0;
        if (depth_ == path_.size()) path_.push_back({0, of});
        return path_[depth_++].taken;
    }

    // To the next path that has not been taken; false if there is none.
    bool next_path() {
        while (!path_.empty() && path_.back().taken + 1 == path_.back().of) path_.pop_back();
        if (path_.empty()) return false;
        ++path_.back().taken;
        return true;
    }

    std::size_t seen_of(const thread_state& thread, int index) const {
        const auto i = static_cast<std::size_t>(index);
        return i < thread.seen.size() ? thread.seen[i] : 0;
    }
    // How many messages of the location may be read.
    std::size_t unread(int index) {
        const location& where = locations_[static_cast<std::size_t>(index)];
        return running_ == none ? 1 : where.history.size() - seen_of(current(), index);
    }

    std::uint64_t read(int index, std::memory_order order, std::size_t back) {
        location& where = locations_[static_cast<std::size_t>(index)];
        const std::size_t at = where.history.size() - 1 - back;
        const message& found = where.history[at];
        if (running_ != none) {
            thread_state& self = current();
            if (acquires(order)) {
                join(self.seen, found.seen);
                join(self.done, found.done);
            }
            self.seen.resize(locations_.size());
            std::size_t& seen = self.seen[static_cast<std::size_t>(index)];
            seen = std::max(seen, at);
        }
        note(index, "?", found.value);
        return found.value;
    }

    void add_message(thread_state& self, int index, std::uint64_t value, bool is_release) {
        location& where = locations_[static_cast<std::size_t>(index)];
        self.seen.resize(locations_.size());
        self.seen[static_cast<std::size_t>(index)] = where.history.size();
        message added{value, {}, {}};
        if (is_release) {
            added.seen = self.seen;
            added.done = self.done;
        }
        where.history.push_back(std::move(added));
    }

    std::memory_order weakened(int index, access kind, std::memory_order order) {
        const ordered_access which{locations_[static_cast<std::size_t>(index)].name, kind};
        if (order != std::memory_order_relaxed) found_.ordered.insert(which);
        return limits_.weakened == which ? std::memory_order_relaxed : order;
    }

    void note(int index, const char* what, std::uint64_t value) {
        if (running_ == none) return;
        trace_ += "\n  " + std::to_string(running_) + ": " + locations_[static_cast<std::size_t>(index)].name + ' ' +
                  what + ' ' + std::to_string(value);
    }

    const std::function<void(scenario&)>& make_;
    const search_limits& limits_;
    verdict found_;
    std::vector<choice> path_;
    std::size_t depth_ = 0;
    std::vector<location> locations_;
    std::vector<cell> cells_;
    std::vector<std::unique_ptr<thread_state>> threads_;
    ucontext_t scheduler_{};
    std::size_t running_ = none;
    bool given_up_ = false;
    std::string trace_;
};

search* running_search = nullptr;

void search::enter() {
    running_search->current().body();
    running_search->current().ended = true;
}

}  // namespace

verdict explore(const std::function<void(scenario&)>& make, const search_limits& limits) {
    search all{make, limits};
    running_search = &all;
    verdict found = all.run();
    running_search = nullptr;
    return found;
}

void expect(bool holds, const char* what) {
    if (!holds) running_search->fail(what);
}

namespace detail {

int new_location(std::uint64_t value) { return running_search->new_location(value); }
void name_location(int location, const char* name) { running_search->name_location(location, name); }
std::uint64_t load(int location, std::memory_order order) { return running_search->load(location, order); }
void store(int location, std::uint64_t value, std::memory_order order) {
    running_search->store(location, value, order);
}
bool exchange(int location, std::uint64_t& expected, std::uint64_t desired, std::memory_order success,
              std::memory_order failure) {
    return running_search->exchange(location, expected, desired, success, failure);
}
int new_plain() { return running_search->new_plain(); }
void touch_plain(int cell, bool is_write) { running_search->touch_plain(cell, is_write); }

}  // namespace detail
}  // namespace prof::test::model
