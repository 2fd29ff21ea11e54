// Captures worked by hand, for tests: what threads did and what the GPU did, at times given in nanoseconds.
//
//     capture_builder capture;
//     thread_script& main = capture.thread("python");
//     main.push(0, "forward").launch(1, /*correlation=*/1).pop(5);
//     capture.kernel(/*correlation=*/1, 10, 20);
//     const timeline data = capture.build();
//
// Ticks are nanoseconds, and so are GPU times: what is written is what the timeline shows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "timeline/build.hpp"
#include "timeline/contents.hpp"

namespace prof {

class capture_builder;

class thread_script {
public:
    thread_script(capture_builder& capture, std::uint64_t uid) : capture_(&capture), uid_(uid) {}

    thread_script& push(std::uint64_t ns, const std::string& name, std::uint16_t domain = 0);
    thread_script& pop(std::uint64_t ns, std::uint16_t domain = 0);
    thread_script& start(std::uint64_t ns, const std::string& name, std::uint64_t id, std::uint16_t domain = 0);
    thread_script& end(std::uint64_t ns, std::uint64_t id);
    thread_script& mark(std::uint64_t ns, const std::string& name);
    // A kernel launch that is back after one nanosecond.
    thread_script& launch(std::uint64_t ns, std::uint64_t correlation, const std::string& kernel = "kernel");
    thread_script& enter(std::uint64_t ns, std::uint64_t correlation, const std::string& kernel = {});
    thread_script& exit(std::uint64_t ns, std::uint64_t correlation);
    // The launch of a graph whose instantiated one has this id.
    thread_script& launch_graph(std::uint64_t ns, std::uint64_t correlation, std::uint32_t graph) {
        return add({.ticks = ns, .value = correlation, .color = graph, .kind = record_kind::api_enter})
            .exit(ns + 1, correlation);
    }
    // The calls of a capture, and what CUPTI tells meanwhile.
    thread_script& begin_capture(std::uint64_t ns, std::uint64_t correlation) {
        return add({.ticks = ns,
                    .value = correlation,
                    .kind = record_kind::api_enter,
                    .flags = static_cast<std::uint8_t>(api_class::begins_graph_capture)})
            .exit(ns, correlation);
    }
    thread_script& node(std::uint64_t ns, std::uint64_t id) {
        return add({.ticks = ns, .value = id, .kind = record_kind::graph_node});
    }
    thread_script& copy(std::uint64_t ns, std::uint64_t id, std::uint64_t original) {
        return node(ns, id).add({.ticks = ns,
                                 .value = id,
                                 .name = static_cast<std::uint32_t>(original),
                                 .color = static_cast<std::uint32_t>(original >> 32),
                                 .kind = record_kind::graph_clone});
    }
    // A node that was there stands for another from now on.
    thread_script& update(std::uint64_t ns, std::uint64_t id, std::uint64_t by) {
        return add({.ticks = ns,
                    .value = id,
                    .name = static_cast<std::uint32_t>(by),
                    .color = static_cast<std::uint32_t>(by >> 32),
                    .kind = record_kind::graph_clone,
                    .flags = replaces_what_it_was});
    }
    // A call that waits, from `ns` to `until_ns`.
    thread_script& wait(std::uint64_t ns, std::uint64_t until_ns, std::uint64_t correlation,
                        api_class kind = api_class::wait);
    // Explicit parents: a place to work for, and work for one.
    thread_script& here(std::uint64_t ns, std::uint64_t place) {
        return add({.ticks = ns, .value = place, .kind = record_kind::parent_here});
    }
    thread_script& adopt(std::uint64_t ns, std::uint64_t place) {
        return add({.ticks = ns, .value = place, .kind = record_kind::adopt_push});
    }
    thread_script& leave(std::uint64_t ns) { return add({.ticks = ns, .kind = record_kind::adopt_pop}); }
    thread_script& add(const record& r) {
        records_.push_back(r);
        return *this;
    }

    std::uint64_t uid() const { return uid_; }
    const std::vector<record>& records() const { return records_; }

private:
    capture_builder* capture_;
    std::uint64_t uid_;
    std::vector<record> records_;
};

struct placement {
    std::uint32_t stream = 7;
    std::uint32_t device = 0;
    std::uint32_t context = 1;
    std::uint64_t graph_node = 0;
    std::uint32_t graph = 0;
};

class capture_builder {
public:
    capture_builder() {
        contents_.ticks = tick_source::monotonic_ns;
        contents_.ended = true;
        contents_.clocks.push_back({});
    }

    thread_script& thread(const std::string& system_name) {
        format::thread_entry entry;
        entry.uid = threads_.size() + 1;
        entry.tid = static_cast<std::uint32_t>(1000 + entry.uid);
        system_name.copy(entry.name.data(), entry.name.size());
        contents_.threads.push_back(entry);
        return threads_.emplace_back(*this, entry.uid);
    }
    thread_script& thread_at(std::size_t index) { return threads_.at(index); }

    capture_builder& kernel(std::uint64_t correlation, std::uint64_t start_ns, std::uint64_t end_ns, placement on = {},
                            const std::string& symbol = "kernel") {
        kernel_record k;
        k.start_ns = start_ns;
        k.end_ns = end_ns;
        k.correlation = correlation;
        k.name = name(symbol);
        k.device = on.device;
        k.context = on.context;
        k.stream = on.stream;
        k.graph_node_id = on.graph_node;
        k.graph_id = on.graph;
        contents_.kernels.push_back(k);
        return *this;
    }
    capture_builder& graph(std::uint64_t correlation, std::uint64_t start_ns, std::uint64_t end_ns, std::uint32_t id) {
        contents_.graphs.push_back({start_ns, end_ns, correlation, id, 0, 1, 7});
        return *this;
    }
    capture_builder& transfer(const transfer_record& t) {
        contents_.transfers.push_back(t);
        return *this;
    }

    std::uint32_t name(const std::string& text) {
        if (text.empty()) return 0;
        const auto id = static_cast<std::uint32_t>(ids_.size() + 1);
        const auto [found, added] = ids_.emplace(text, id);
        if (added) contents_.names.emplace(id, text);
        return found->second;
    }
    std::uint16_t domain(const std::string& text) {
        contents_.labels.push_back({label_kind::domain, name(text), ++domains_});
        return domains_;
    }

    // To be changed at will before contents() is called; the threads' records are added there.
    capture_contents& parts() { return contents_; }

    // Each thread's records in runs of at most `run_records`.
    capture_contents contents(std::size_t run_records = SIZE_MAX) const {
        capture_contents all = contents_;
        for (const thread_script& thread : threads_) {
            const std::vector<record>& records = thread.records();
            for (std::size_t first = 0; first < records.size();) {
                const std::size_t count = std::min(run_records, records.size() - first);
                const auto begin = records.begin() + static_cast<std::ptrdiff_t>(first);
                all.runs.push_back({thread.uid(), first, {begin, begin + static_cast<std::ptrdiff_t>(count)}});
                first += count;
            }
        }
        return all;
    }

    timeline build() const { return build_timeline(contents()); }

private:
    capture_contents contents_;
    std::deque<thread_script> threads_;
    std::map<std::string, std::uint32_t> ids_;
    std::uint16_t domains_ = 0;
};

inline thread_script& thread_script::push(std::uint64_t ns, const std::string& name, std::uint16_t domain) {
    return add({.ticks = ns, .name = capture_->name(name), .domain = domain, .kind = record_kind::range_push});
}
inline thread_script& thread_script::pop(std::uint64_t ns, std::uint16_t domain) {
    return add({.ticks = ns, .domain = domain, .kind = record_kind::range_pop});
}
inline thread_script& thread_script::start(std::uint64_t ns, const std::string& name, std::uint64_t id,
                                           std::uint16_t domain) {
    return add(
        {.ticks = ns, .value = id, .name = capture_->name(name), .domain = domain, .kind = record_kind::range_start});
}
inline thread_script& thread_script::end(std::uint64_t ns, std::uint64_t id) {
    return add({.ticks = ns, .value = id, .kind = record_kind::range_end});
}
inline thread_script& thread_script::mark(std::uint64_t ns, const std::string& name) {
    return add({.ticks = ns, .name = capture_->name(name), .kind = record_kind::mark});
}
inline thread_script& thread_script::launch(std::uint64_t ns, std::uint64_t correlation, const std::string& kernel) {
    return enter(ns, correlation, kernel).exit(ns + 1, correlation);
}
inline thread_script& thread_script::enter(std::uint64_t ns, std::uint64_t correlation, const std::string& kernel) {
    return add({.ticks = ns, .value = correlation, .name = capture_->name(kernel), .kind = record_kind::api_enter});
}
inline thread_script& thread_script::wait(std::uint64_t ns, std::uint64_t until_ns, std::uint64_t correlation,
                                          api_class kind) {
    return add({.ticks = ns,
                .value = correlation,
                .kind = record_kind::api_enter,
                .flags = static_cast<std::uint8_t>(kind)})
        .exit(until_ns, correlation);
}
inline thread_script& thread_script::exit(std::uint64_t ns, std::uint64_t correlation) {
    return add({.ticks = ns, .value = correlation, .kind = record_kind::api_exit});
}

}  // namespace prof
