// A second opinion for the property test: a little program of pushes, pops and launches, and what its GPU work belongs
// to, worked out from the written rules by the shortest road, whatever it costs. Shares no code with the library.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
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

struct program {
    std::vector<bool> works_for_others;  // per thread
    std::vector<range> ranges;
    std::vector<launch> launches;
    std::vector<gpu_work> unmatched;
    std::vector<node> nodes;
    std::vector<capture_begin> captures;

    using range_set = std::vector<const range*>;

    static const range* latest(const range_set& open) {
        const auto last =
            std::max_element(open.begin(), open.end(), [](auto* a, auto* b) { return a->opened < b->opened; });
        return last == open.end() ? nullptr : *last;
    }
    range_set open_at_event(int thread, int number) const {
        range_set open;
        for (const range& r : ranges) {
            if (r.thread == thread && r.opened < number && number < r.closed) open.push_back(&r);
        }
        return open;
    }
    range_set open_at_time(int thread, std::int64_t time) const {
        range_set open;
        for (const range& r : ranges) {
            if (r.thread == thread && r.start <= time && time < r.end) open.push_back(&r);
        }
        return open;
    }

    // The thread that `thread` works for: nothing, one, or several (-1).
    std::optional<int> works_for(std::int64_t time, const gpu_work* first) const {
        std::set<int> on_stream;
        std::set<int> on_device;
        for (const launch& l : launches) {
            if (works_for_others[static_cast<std::size_t>(l.thread)] || open_at_time(l.thread, time).empty()) continue;
            for (const gpu_work& w : l.work) {
                if (first == nullptr || w.device == first->device) on_device.insert(l.thread);
                if (first != nullptr && w.device == first->device && w.stream == first->stream)
                    on_stream.insert(l.thread);
            }
        }
        const std::set<int>& candidates = on_stream.empty() ? on_device : on_stream;
        if (candidates.empty()) return std::nullopt;
        return candidates.size() == 1 ? *candidates.begin() : -1;
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

    // The captured ranges that work counts for, besides those of the launch.
    void judge_capture(const gpu_work& w, verdict& v) const {
        if (w.node == -1) return;
        v.unseen_capture = w.node == -2;
        if (v.unseen_capture) return;
        const node& n = nodes[static_cast<std::size_t>(w.node)];
        const range_set own = open_at_event(n.thread, n.number);
        range_set others;
        int other_thread = -1;
        if (const range* inner = latest(own)) {
            const range& root = root_of(*inner);
            other_thread = root_works_for(root).value_or(-1);
            if (other_thread >= 0) {
                for (const range* r : open_at_time(other_thread, root.start)) {
                    if (n.time < r->end) others.push_back(r);
                }
            }
        } else if (works_for_others[static_cast<std::size_t>(n.thread)]) {
            const auto same_node = [&](const gpu_work& each) { return each.node == w.node; };
            const std::optional<int> other = works_for(n.time, first_where(same_node));
            v.ambiguous_capture = other == -1;
            other_thread = other.value_or(-1);
            if (other_thread >= 0) others = open_at_time(other_thread, n.time);
        }
        std::int64_t began = INT64_MIN;
        for (const capture_begin& c : captures) {
            const bool is_ours = c.thread == n.thread || (!others.empty() && c.thread == other_thread);
            if (is_ours && c.time <= n.time) began = std::max(began, c.time);
        }
        for (const bool enclosing : {true, false}) {
            if (enclosing && !v.open.empty()) continue;
            for (const range_set& set : {others, own}) {
                for (const range* r : set) {
                    const bool encloses = r->start <= began;
                    if (encloses == enclosing && !v.open.contains(r->id)) v.captured.push_back(r->id);
                }
            }
        }
    }

    const range* own_parent(const range& r) const { return latest(open_at_event(r.thread, r.opened)); }
    const range& root_of(const range& r) const {
        const range* parent = own_parent(r);
        return parent == nullptr ? r : root_of(*parent);
    }
    std::optional<int> root_works_for(const range& root) const {
        if (!works_for_others[static_cast<std::size_t>(root.thread)]) return std::nullopt;
        const gpu_work* first = nullptr;
        for (const launch& l : launches) {
            if (l.thread != root.thread || l.work.empty()) continue;
            const range* inner = latest(open_at_event(l.thread, l.number));
            if (inner == nullptr || &root_of(*inner) != &root) continue;
            first = first_of(l);
            break;
        }
        if (first == nullptr) {
            first = first_where([&](const gpu_work& w) {
                if (w.node < 0) return false;
                const node& n = nodes[static_cast<std::size_t>(w.node)];
                const range* inner = n.thread == root.thread ? latest(open_at_event(n.thread, n.number)) : nullptr;
                return inner != nullptr && &root_of(*inner) == &root;
            });
        }
        return works_for(root.start, first);
    }

    std::string path(const range& r, const std::map<std::string, std::string>& folded) const {
        const std::string& name = folded.at(r.name);
        if (const range* parent = own_parent(r)) return path(*parent, folded) + "/" + name;
        const std::optional<int> other = root_works_for(r);
        if (!other) return name;
        if (*other < 0) return "(ambiguous)/" + name;
        return path(*latest(open_at_time(*other, r.start)), folded) + "/" + name;
    }

    verdict judge(const launch& l, const std::map<std::string, std::string>& folded) const {
        verdict v;
        const range_set own = open_at_event(l.thread, l.number);
        for (const range* r : own) v.open.insert(r->id);
        if (const range* inner = latest(own)) {
            v.where = path(*inner, folded);
            const range& root = root_of(*inner);
            const std::optional<int> other = root_works_for(root);
            if (!other || *other < 0) return v;
            v.adopted = true;
            for (const range* r : open_at_time(*other, root.start)) {
                if (l.time < r->end) v.open.insert(r->id);
            }
            return v;
        }
        const std::optional<int> other =
            works_for_others[static_cast<std::size_t>(l.thread)] ? works_for(l.time, first_of(l)) : std::nullopt;
        if (!other) {
            v.where = "(no range)";
        } else if (*other < 0) {
            v.where = "(ambiguous)";
        } else {
            const range_set open = open_at_time(*other, l.time);
            v.where = path(*latest(open), folded);
            v.adopted = true;
            for (const range* r : open) v.open.insert(r->id);
        }
        return v;
    }
};

}  // namespace prof::oracle
