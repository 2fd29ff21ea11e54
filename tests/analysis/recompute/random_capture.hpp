// SPDX-License-Identifier: Apache-2.0
// A random program: what its threads and GPUs did, as records for a capture and as JSON for somebody else to work out
// what the reports must say. The JSON is what was made up, not what the records became.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/capture_builder.hpp"

namespace prof::test {

inline const std::string kernel_symbols[] = {
    "kernel",
    "_Z4gemmIfLi4EEvPT_",
    "_Z4gemmIdLi8EEvPT_",
    "ncclDevKernel_AllReduce",
    "_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE",
    "_ZN2at6native4fillIfEEvPT_i"};

// Which parts of it a program has, drawn from its seed.
struct program_traits {
    bool adopts = false;     // threads that say for whom they work
    bool autograd = false;   // threads that work for others by their names
    bool graphs = false;     // captured, and replayed node by node
    bool operators = false;  // ranges of PyTorch's observer
    bool steps = false;
    bool runtime_calls = false;  // beside the driver's
    bool many_idle = false;      // now and then more start/end ranges than are followed at once
    bool dies = false;
    int windows = 1;
};

// JSON has no bytes: each stands as the character of its number.
std::string bytes_text(const std::string& bytes);

constexpr std::uint8_t flags_of(payload_type type) { return static_cast<std::uint8_t>(type); }

class random_capture {
public:
    explicit random_capture(std::uint32_t seed);

    const nlohmann::json& description() const { return emitted_; }
    void write(const std::string& path) const;

private:
    // What the capture has of a node of a graph: the ids that lead to it, the last of which is launched.
    using node_id = std::uint64_t;

    std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
    bool one_in(std::uint32_t n) { return below(n) == 0; }
    template <typename TList>
    const auto& any_of(const TList& list) {
        return list[below(static_cast<std::uint32_t>(std::size(list)))];
    }
    void pass_time() { now_ += 1 + below(6); }

    void draw_traits();
    void make_threads();
    void make_domains();
    void run();
    void begin_window(std::uint32_t number);
    void end_window();
    void step_mark();
    void happen();

    // Each adds a record and its description.
    nlohmann::json& add_event(std::uint32_t thread, const char* what);
    void annotate(record& r, nlohmann::json& event, const std::string& name);
    void set_payload(record& r, nlohmann::json& event);
    void push(std::uint32_t thread);
    void push_operator(std::uint32_t thread);
    void push_observed(std::uint32_t thread, const std::string& name, std::int64_t sequence);
    void pop(std::uint32_t thread);
    void start(std::uint32_t thread);
    void end(std::uint32_t thread);
    void idle_ranges(std::uint32_t thread);
    void mark(std::uint32_t thread);
    void here(std::uint32_t thread);
    void adopt(std::uint32_t thread);
    void leave(std::uint32_t thread);
    void begin_graph_capture(std::uint32_t thread);
    void capture_node(std::uint32_t thread);
    void update_node(std::uint32_t thread);
    void launch(std::uint32_t thread);
    void launch_nodes(std::uint32_t thread);
    void launch_graph(std::uint32_t thread);
    void launch_copy(std::uint32_t thread);
    void wait(std::uint32_t thread);

    std::size_t enter(std::uint32_t thread, api_class kind, const char* what, const std::string& kernel = {});
    void leave_call(std::uint32_t thread, std::size_t call);
    nlohmann::json& add_op(const char* kind, std::size_t call, std::uint64_t correlation, const placement& on);
    void add_kernel(std::size_t call, std::uint64_t correlation, const placement& on, const std::string& symbol);
    void add_transfer(std::size_t call, std::uint64_t correlation, const placement& on, bool is_set);
    placement some_stream();
    std::pair<std::uint64_t, std::uint64_t> some_time();
    void put(std::uint32_t thread, const record& r);

    std::mt19937 random_;
    program_traits has_;
    nlohmann::json emitted_;
    capture_builder capture_;
    std::vector<thread_script*> threads_;
    std::vector<bool> is_in_call_;          // per thread: one has not been seen to return
    std::vector<std::uint32_t> window_of_;  // per thread: the last in which it did something
    std::vector<std::string> domains_{""};
    std::uint64_t now_ = 0;
    std::uint32_t epoch_ = 0;
    format::window_entry window_;
    std::vector<std::uint32_t> calls_in_epoch_;
    std::vector<std::uint64_t> correlations_;  // per call
    std::vector<node_id> nodes_;
    std::uint64_t next_id_ = 1;
    std::vector<std::pair<std::uint64_t, std::uint32_t>> started_;  // ids and threads
    std::vector<std::uint64_t> ended_;
    bool after_start_or_end_ = false;
    std::uint64_t places_ = 0;
    std::uint64_t step_ = 0;
};

}  // namespace prof::test
