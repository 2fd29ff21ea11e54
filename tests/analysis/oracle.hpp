// SPDX-License-Identifier: Apache-2.0
// A second opinion for the property test: a little program of pushes, pops and launches, and what its GPU work belongs
// to, worked out from the written rules by the shortest road, whatever it costs. Shares no code with the library.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace prof::oracle {

struct gpu_work {
    std::uint64_t id = 0;
    std::int64_t start = 0;
    std::int64_t end = 0;
    std::uint32_t device = 0;
    std::uint32_t stream = 0;
    int node = -1;  // of a graph: index into nodes, -2 one that was not seen; -1: not of a graph
};

// A node of a graph, as it was captured.
struct node {
    int thread = 0;
    int number = 0;  // of the event
    std::int64_t time = 0;
};

struct capture_begin {
    int thread = 0;
    std::int64_t time = 0;
};

struct range {
    std::uint64_t id = 0;  // in order of opening over all threads
    std::string name;
    int thread = 0;
    int domain = 0;
    int opened = 0;  // number of the event
    int closed = 1 << 30;
    std::int64_t start = 0;
    std::int64_t end = INT64_MAX;  // never
};

struct launch {
    int thread = 0;
    int number = 0;  // of the event
    std::int64_t time = 0;
    std::vector<gpu_work> work;
};

struct verdict {
    std::string where;             // the path of its self row
    std::set<std::uint64_t> open;  // ids of all ranges it counts for
    bool adopted = false;
    std::vector<std::uint64_t> captured{};  // ids of the captured ranges it counts for, outermost first
    bool unseen_capture = false;
    bool ambiguous_capture = false;
    bool operator==(const verdict&) const = default;
};

// A place to work for, and the time in which a thread does.
struct place {
    std::uint64_t id = 0;
    int thread = 0;
    int number = 0;
    std::int64_t time = 0;
};
struct frame {
    int thread = 0;
    std::uint64_t place = 0;
    int pushed = 0;
    int popped = 1 << 30;
};

// Where something hangs: under the first of `open`.
struct hanging {
    bool is_ambiguous = false;
    std::vector<const range*> open;  // innermost first
};

// The segments of ranges. A row is one of the tree with every number folded: its path, with '|' before captured names.
// In the rows of `apart` each name stands by itself.
struct naming {
    std::map<std::string, std::string> folded;  // name → segment
    std::set<std::string> apart{};
    std::map<std::uint64_t, std::string> folded_where{};  // by id of the work: its self row, without captured names

    std::string segment(const std::string& name, const std::string& row) const {
        const std::string& text = folded.at(name);
        return apart.contains(row) ? text.substr(0, text.find(':') + 1) + name : text;  // after the domain, if any
    }
};

// Of names in one row, with how often each of them is on each thread: whether their numbers name things. By then each
// is three times on some thread, and there are at most eight names, or as many times at least as names, to 64.
using names_of_row = std::map<std::string, std::map<int, int>>;
inline bool name_different_things(const names_of_row& names) {
    for (const auto& [name, by_thread] : names) {
        int most = 0;
        for (const auto& [thread, times] : by_thread) most = std::max(most, times);
        if (most < 3) return false;
        if (names.size() > 64 || (names.size() > 8 && static_cast<std::size_t>(most) < names.size())) return false;
    }
    return names.size() > 1;
}

struct program {
    std::vector<bool> works_for_others;  // per thread
    std::vector<range> ranges;
    std::vector<launch> launches;
    std::vector<gpu_work> unmatched;
    std::vector<node> nodes;
    std::vector<capture_begin> captures;
    std::vector<place> places;
    std::vector<frame> frames;

    using range_list = std::vector<const range*>;

    // Answers given before, for a program that is whole.
    mutable std::map<std::pair<int, int>, range_list> own_known;
    mutable std::map<std::uint64_t, const frame*> declared_known;

    static range_list latest_first(range_list open) {
        std::sort(open.begin(), open.end(), [](auto* a, auto* b) { return a->opened > b->opened; });
        return open;
    }
    static range_list those_open(const range_list& list, std::int64_t time) {
        range_list open;
        for (const range* r : list) {
            if (time < r->end) open.push_back(r);
        }
        return open;
    }
    static bool is_open_at_event(const range& r, int number) { return r.opened < number && number < r.closed; }

    const place* find_place(std::uint64_t id) const {
        for (const place& p : places) {
            if (p.id == id) return &p;
        }
        return nullptr;
    }
    // The latest adoption that holds; of unknown places none does.
    const frame* frame_at(int thread, int number) const {
        const frame* latest = nullptr;
        for (const frame& f : frames) {
            const bool holds = f.thread == thread && f.pushed < number && number < f.popped && find_place(f.place);
            if (holds && (latest == nullptr || f.pushed > latest->pushed)) latest = &f;
        }
        return latest;
    }
    // The thread's own ranges that count at an event, latest first: the latest opened since the adoption that holds
    // began, and of those that it was opened inside the ones that are open.
    range_list own_at_event(int thread, int number) const {
        const auto [known, is_new] = own_known.try_emplace({thread, number});
        if (is_new) known->second = find_own(thread, number);
        return known->second;
    }
    range_list find_own(int thread, int number) const {
        const frame* since = frame_at(thread, number);
        const range* latest = nullptr;
        for (const range& r : ranges) {
            const bool counts =
                r.thread == thread && is_open_at_event(r, number) && (!since || since->pushed < r.opened);
            if (counts && (latest == nullptr || r.opened > latest->opened)) latest = &r;
        }
        range_list own;
        for (const range* r = latest; r != nullptr; r = own_parent(*r)) {
            if (is_open_at_event(*r, number)) own.push_back(r);
        }
        return own;
    }
    const range* own_parent(const range& r) const {
        const range_list own = own_at_event(r.thread, r.opened);
        return own.empty() ? nullptr : own.front();
    }
    const range& root_of(const range& r) const {
        const range* parent = own_parent(r);
        return parent == nullptr ? r : root_of(*parent);
    }
    const frame* declared(const range& r) const {
        const auto [known, is_new] = declared_known.try_emplace(r.id);
        if (is_new) {
            const range& root = root_of(r);
            known->second = frame_at(root.thread, root.opened);
        }
        return known->second;
    }
    bool is_declared(const launch& l) const {
        const range_list own = own_at_event(l.thread, l.number);
        return (own.empty() ? frame_at(l.thread, l.number) : declared(*own.front())) != nullptr;
    }

    range_list open_at_time(int thread, std::int64_t time) const {
        range_list open;
        for (const range& r : ranges) {
            if (r.thread == thread && r.start <= time && time < r.end && !declared(r)) open.push_back(&r);
        }
        return latest_first(open);
    }
    bool is_annotated(int thread, std::int64_t time) const {
        bool begun = false;
        bool ended = true;
        for (const range& r : ranges) {
            if (r.thread != thread || r.start == r.end || declared(r)) continue;
            begun = begun || r.start <= time;
            ended = ended && r.end <= time;
        }
        return begun && !ended;
    }

    // Where what a thread like autograd's does hangs, by the thread that it works for.
    hanging by_pattern(std::int64_t time, const gpu_work* first) const {
        std::set<int> on_stream;
        std::set<int> on_device;
        for (const launch& l : launches) {
            if (works_for_others[static_cast<std::size_t>(l.thread)] || l.work.empty()) continue;
            if (!is_annotated(l.thread, time) || is_declared(l)) continue;
            for (const gpu_work& w : l.work) {
                if (first == nullptr || w.device == first->device) on_device.insert(l.thread);
                if (first != nullptr && w.device == first->device && w.stream == first->stream)
                    on_stream.insert(l.thread);
            }
        }
        const std::set<int>& candidates = on_stream.empty() ? on_device : on_stream;
        hanging h;
        bool any_open = false;
        for (const int thread : candidates) {
            h.open = open_at_time(thread, time);
            any_open = any_open || !h.open.empty();
        }
        if (candidates.size() < 2) return h;
        return {any_open, {}};
    }

    static const gpu_work* first_of(const launch& l) {
        const auto first = std::min_element(l.work.begin(), l.work.end(), [](const auto& a, const auto& b) {
            return std::tie(a.start, a.end, a.device, a.stream) < std::tie(b.start, b.end, b.device, b.stream);
        });
        return first == l.work.end() ? nullptr : &*first;
    }

    // The earliest of all work launched that is wanted.
    template <typename TWanted>
    const gpu_work* first_where(TWanted&& wanted) const {
        const gpu_work* first = nullptr;
        for (const launch& l : launches) {
            for (const gpu_work& w : l.work) {
                if (!wanted(w)) continue;
                if (first == nullptr || std::pair{w.start, w.end} < std::pair{first->start, first->end} ||
                    (std::pair{w.start, w.end} == std::pair{first->start, first->end} && first_of_two(l, w, *first))) {
                    first = &w;
                }
            }
        }
        return first;
    }
    // Of work at the same time that of the earlier launch comes first, then by device and stream.
    static bool first_of_two(const launch& l, const gpu_work& w, const gpu_work& other) {
        const bool same_launch = &other >= l.work.data() && &other < l.work.data() + l.work.size();
        return same_launch && std::pair{w.device, w.stream} < std::pair{other.device, other.stream};
    }

    hanging by_place(std::uint64_t id, std::int64_t time) const {
        const place& p = *find_place(id);
        const range_list own = own_at_event(p.thread, p.number);
        hanging h;
        if (!own.empty()) {
            const hanging above = root_hangs(root_of(*own.front()));
            h.open = own;
            for (const range* r : those_open(above.open, p.time)) h.open.push_back(r);
        } else if (const frame* f = frame_at(p.thread, p.number)) {
            h = by_place(f->place, p.time);
        } else if (works_for_others[static_cast<std::size_t>(p.thread)]) {
            h = by_pattern(p.time, nullptr);
        }
        h.open = those_open(h.open, time);
        return h;
    }
    hanging root_hangs(const range& root) const {
        if (const frame* f = frame_at(root.thread, root.opened)) return by_place(f->place, root.start);
        if (!works_for_others[static_cast<std::size_t>(root.thread)]) return {};
        const gpu_work* first = nullptr;
        for (const launch& l : launches) {
            if (l.thread != root.thread || l.work.empty()) continue;
            const range_list own = own_at_event(l.thread, l.number);
            if (own.empty() || &root_of(*own.front()) != &root) continue;
            first = first_of(l);
            break;
        }
        if (first == nullptr) {
            first = first_where([&](const gpu_work& w) {
                if (w.node < 0) return false;
                const node& n = nodes[static_cast<std::size_t>(w.node)];
                const range_list own = n.thread == root.thread ? own_at_event(n.thread, n.number) : range_list{};
                return !own.empty() && &root_of(*own.front()) == &root;
            });
        }
        return by_pattern(root.start, first);
    }
    // What a thread does at an event; `first` is the first work that comes of it.
    hanging hangs(int thread, int number, std::int64_t time, const gpu_work* first) const {
        const range_list own = own_at_event(thread, number);
        if (!own.empty()) return root_hangs(root_of(*own.front()));
        if (const frame* f = frame_at(thread, number)) return by_place(f->place, time);
        if (works_for_others[static_cast<std::size_t>(thread)]) return by_pattern(time, first);
        return {};
    }

    std::string path(const range& r, const naming& names, bool folds_all = false) const {
        folds_all = folds_all || names.apart.empty();
        const std::string name = folds_all ? names.folded.at(r.name) : names.segment(r.name, path(r, names, true));
        if (const range* parent = own_parent(r)) return path(*parent, names, folds_all) + "/" + name;
        const hanging h = root_hangs(r);
        if (h.is_ambiguous) return "(ambiguous)/" + name;
        return h.open.empty() ? name : path(*h.open.front(), names, folds_all) + "/" + name;
    }

    static bool is_of_another(const range_list& open, int thread) {
        return std::any_of(open.begin(), open.end(), [&](const range* r) { return r->thread != thread; });
    }

    verdict judge(const launch& l, const naming& names) const {
        verdict v;
        const range_list own = own_at_event(l.thread, l.number);
        for (const range* r : own) v.open.insert(r->id);
        const hanging h = hangs(l.thread, l.number, l.time, first_of(l));
        if (!own.empty()) {
            v.where = path(*own.front(), names);
        } else {
            v.where = h.is_ambiguous ? "(ambiguous)" : h.open.empty() ? "(no range)" : path(*h.open.front(), names);
        }
        v.adopted = is_of_another(h.open, l.thread);
        for (const range* r : those_open(h.open, l.time)) v.open.insert(r->id);
        return v;
    }

    // The captured ranges that work counts for, besides those of the launch.
    void judge_capture(const gpu_work& w, verdict& v) const {
        if (w.node == -1) return;
        v.unseen_capture = w.node == -2;
        if (v.unseen_capture) return;
        const node& n = nodes[static_cast<std::size_t>(w.node)];
        const range_list own = own_at_event(n.thread, n.number);
        const auto same_node = [&](const gpu_work& each) { return each.node == w.node; };
        const hanging h = hangs(n.thread, n.number, n.time, first_where(same_node));
        v.ambiguous_capture = h.is_ambiguous;
        const range_list others = those_open(h.open, n.time);
        std::int64_t began = INT64_MIN;
        for (const capture_begin& c : captures) {
            const bool is_ours = c.thread == n.thread || (!others.empty() && c.thread == others.front()->thread);
            if (is_ours && c.time <= n.time) began = std::max(began, c.time);
        }
        for (const bool enclosing : {true, false}) {
            if (enclosing && !v.open.empty()) continue;
            for (const range_list& list : {others, own}) {
                for (auto r = list.rbegin(); r != list.rend(); ++r) {
                    const bool encloses = (*r)->start <= began;
                    if (encloses == enclosing && !v.open.contains((*r)->id)) v.captured.push_back((*r)->id);
                }
            }
        }
    }
};

}  // namespace prof::oracle
