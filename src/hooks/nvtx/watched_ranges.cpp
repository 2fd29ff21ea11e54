// SPDX-License-Identifier: Apache-2.0
#include "hooks/nvtx/watched_ranges.hpp"

#include <deque>

#include "base/ascii.hpp"
#include "hooks/nvtx/event.hpp"
#include "hooks/nvtx/torch_text.hpp"
#include "ring/registry.hpp"

namespace prof {

struct range_watch {
    struct entry {
        range_use use = range_use::step;
        std::string name;
        bool in_any_domain = true;
        std::uint32_t domain = 0;              // if not in_any_domain
        std::atomic<std::uint64_t> thread{0};  // number_of_this_thread() of the one whose pushes count; 0: none yet
    };
    std::deque<entry> entries;
    range_observer observer = nullptr;
    const range_watch* before = nullptr;  // never freed: a hook may be reading it
};

namespace {

bool is_named(std::string_view text, std::string_view name) noexcept {
    std::size_t index = 0;
    for (const char c : name) {
        if (c == '#' && index < text.size() && is_digit(text[index])) {
            while (index < text.size() && is_digit(text[index])) ++index;
        } else if (index == text.size() || text[index++] != c) {
            return false;
        }
    }
    return index == text.size() || index == split_torch_text(text).name.size();
}

// All that were ever installed, the latest first.
std::atomic<const range_watch*> all_watches{nullptr};

// At the end of a thread: another one may push the steps from now on, and the range that opened a window ends.
void leave_ranges_of(std::uint64_t thread) noexcept {
    range_watch* const watch = active_watch.load();
    if (watch == nullptr) return;
    for (range_watch::entry& entry : watch->entries) {
        std::uint64_t its = thread;
        (void)entry.thread.compare_exchange_strong(its, 0);
    }
    if (window_opened_by.thread.load() != nullptr && window_opened_by.number.load() == thread) observe_last_pop();
}

bool is_on_its_thread(range_watch::entry& entry) noexcept {
    const std::uint64_t thread = number_of_this_thread();
    std::uint64_t its = entry.thread.load();
    if (its == thread) return true;
    if (its != 0 || !observe_end_of_this_thread(leave_ranges_of)) return false;
    return entry.thread.compare_exchange_strong(its, thread);
}

}  // namespace

void watch_ranges(const std::vector<watched_range>& ranges, region& where, range_observer observer) {
    window_opened_by.thread.store(nullptr);
    if (ranges.empty()) {
        active_watch.store(nullptr);
        watch_all_ranges(false);
        return;
    }
    auto* const watch = new range_watch;
    watch->observer = observer;
    for (const watched_range& watched : ranges) {
        range_watch::entry& entry = watch->entries.emplace_back();
        entry.use = watched.use;
        entry.name = watched.range.name;
        const std::string domain = watched.range.domain.value_or("*");
        entry.in_any_domain = domain == "*";
        if (!entry.in_any_domain && domain != "default") entry.domain = where.domain(domain);
    }
    watch->before = all_watches.exchange(watch);
    active_watch.store(watch);
    watch_all_ranges(true);
}

bool observe_push(range_watch& watch, std::uint32_t domain, std::string_view text) noexcept {
    bool opened = false;
    for (range_watch::entry& entry : watch.entries) {
        if (!is_named(text, entry.name) || (!entry.in_any_domain && entry.domain != domain)) continue;
        if (entry.use == range_use::step && !is_on_its_thread(entry)) continue;
        opened = watch.observer(entry.use, true) || opened;
    }
    return opened;
}

bool observe_push(range_watch& watch, std::uint32_t domain, const char* text) noexcept {
    return text != nullptr && observe_push(watch, domain, std::string_view{text});
}

bool observe_push(range_watch& watch, std::uint32_t domain, const wchar_t* text) noexcept {
    return observe_push(watch, domain, narrow_text{text}.view());
}

bool observe_push(range_watch& watch, std::uint32_t domain, const nvtxEventAttributes_t* event) noexcept {
    if (event == nullptr || event->size < sizeof *event) return false;
    switch (event->messageType) {
        case NVTX_MESSAGE_TYPE_REGISTERED: {
            region* const where = installed_region();
            if (where == nullptr) return false;
            const std::uint32_t name = number_of(event->message.registered);
            if (!is_passing(name)) return observe_push(watch, domain, where->names().text(name));
            const region::name_use use(*where);
            return observe_push(watch, domain, where->name_text(name));
        }
        case NVTX_MESSAGE_TYPE_ASCII:
            return observe_push(watch, domain, event->message.ascii);
        case NVTX_MESSAGE_TYPE_UNICODE:
            return observe_push(watch, domain, event->message.unicode);
        default:
            return false;
    }
}

void remember_opener(const producer* thread, std::uint32_t domain, int level) noexcept {
    if (thread == nullptr) {
        observe_last_pop();
        return;
    }
    // Its producer's address may be that of another thread's after its end.
    (void)observe_end_of_this_thread(leave_ranges_of);
    window_opened_by.number.store(number_of_this_thread(), std::memory_order_relaxed);
    window_opened_by.domain.store(domain, std::memory_order_relaxed);
    window_opened_by.level.store(level, std::memory_order_relaxed);
    window_opened_by.thread.store(thread, std::memory_order_relaxed);
}

void observe_last_pop() noexcept {
    window_opened_by.thread.store(nullptr, std::memory_order_relaxed);
    if (range_watch* const watch = active_watch.load()) (void)watch->observer(range_use::capture, false);
}

}  // namespace prof
