// SPDX-License-Identifier: Apache-2.0
// The simulated GPUs of the process: streams, graphs, the schedule and the journal. The driver API is written on it.
//
// One instance for the process, never destroyed, so that it outlives every other library's exit code. Thread-safe,
// except reset(). No lock is held while the tool is called.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "fakes/gpu/clock.hpp"
#include "fakes/gpu/objects.hpp"
#include "fakes/gpu/tools.hpp"

namespace fake {

inline constexpr int max_devices = 16;

struct allocation {
    std::size_t bytes = 0;
    std::uint8_t kind = 0;  // CUpti_ActivityMemoryKind
};

class simulated_gpu {
public:
    static simulated_gpu& instance();

    void reset();
    // What else reset() must reset, first; one function (libcupti_fake.so's).
    void at_reset(void (*also)()) { at_reset_ = also; }

    // fake_gpu_interrupt()
    void interrupt(fake_gpu_place place, void (*handler)()) { handlers_[place] = handler; }
    void at(fake_gpu_place place) {
        if (void (*handler)() = handlers_[place].exchange(nullptr)) {
            handler();
        }
    }

    gpu_clock clock;
    std::atomic<std::uint64_t> api_cost_ns{0};
    std::atomic<std::uint64_t> launch_latency_ns{0};

    void attach(tool* attached) { tool_ = attached; }
    tool* attached_tool() const { return tool_; }
    // 1, 2, … and 1 again after 2^32 - 1; 0 means none.
    std::uint32_t next_correlation_id() {
        const std::uint32_t id = ++last_correlation_id_;
        return id != 0 ? id : ++last_correlation_id_;
    }

    int device_count() const { return device_count_; }
    void set_device_count(int count) { device_count_ = count; }
    fake_gpu_device device(int index) const;
    void set_device(int index, const fake_gpu_device& device);

    // The device's primary context, created when first asked for.
    CUcontext primary_context(int device);
    CUcontext existing_context(int device) const;

    CUstream create_stream(CUcontext context, bool is_blocking);
    void destroy_stream(CUstream stream);
    // Null and the special handles become the streams they stand for.
    CUstream resolve_stream(CUstream handle, CUcontext context);

    CUevent create_event();
    void destroy_event(CUevent event);
    void record_event(CUevent event, CUstream stream);
    void wait_event(CUstream stream, CUevent event);

    CUfunction function(const std::string& name);
    CUfunction function_at(const void* address);
    void register_kernel(const void* address, const std::string& name, std::uint64_t duration_ns);

    void* allocate(std::size_t bytes, std::uint8_t kind);
    bool release(void* address, std::uint8_t kind);
    std::uint8_t memory_kind(const void* address) const;

    // Schedules the operation, or makes it a node of the graph that the stream is being captured into.
    void launch(CUstream stream, fake_gpu_operation operation, std::uint64_t duration_ns);

    // Into `graph`, or into a new one.
    void begin_capture(CUstream stream, CUgraph graph = nullptr);
    CUgraph end_capture(CUstream stream);
    CUgraph create_graph();
    CUgraphNode add_child(CUgraph graph, const std::vector<CUgraphNode>& after, CUgraph child);
    // A condition's value, for all launches until another is set: how often a `while` body runs, which `switch` body
    // (none beyond the last), whether an `if` body does.
    std::uint64_t create_condition(std::uint32_t value);
    void set_condition(std::uint64_t handle, std::uint32_t value);
    CUgraphNode add_conditional(CUgraph graph, const std::vector<CUgraphNode>& after, CUgraphNode_st::type what,
                                std::uint64_t handle, std::uint32_t bodies);
    CUgraphExec instantiate(CUgraph graph);
    // False if the graphs are not of one shape.
    bool update(CUgraphExec exec, CUgraph graph);
    void launch_graph(CUgraphExec exec, CUstream stream, std::uint32_t correlation_id);
    // Ids of graphs, instantiated or not, go up to this.
    std::uint32_t last_graph_id() const;
    // Launching a graph with a higher id than this that is there now will end the process.
    void break_graphs_made_after(std::uint32_t graph_id);
    void destroy_graph(CUgraph graph);
    void destroy_graph_exec(CUgraphExec exec);

    // When all that was launched so far will have ended; FAKE_GPU_NEVER where something hangs.
    std::uint64_t stream_end_ns(CUstream stream) const;
    std::uint64_t context_end_ns(CUcontext context) const;
    std::uint64_t event_end_ns(CUevent event) const;

    // Tells the tool of every operation that has ended by now, in order of end.
    void settle();
    bool has_operations_in_flight() const;

    std::size_t journal_size() const;
    bool journal_entry(std::size_t index, fake_gpu_operation& operation) const;
    void set_record_state(std::uint64_t index, fake_gpu_record_state state);

private:
    std::array<std::atomic<void (*)()>, FAKE_GPU_PLACES> handlers_{};
    struct in_flight {
        std::uint64_t end_ns;
        std::uint64_t index;
        std::uint64_t ticket;
    };

    // A journal entry whose times are not known yet, and the tool's ticket for it.
    struct issued {
        std::uint64_t index;
        std::uint64_t ticket;
    };
    issued issue(fake_gpu_operation operation);
    void announce(CUpti_CallbackIdResource what, CUgraph graph, CUgraphNode node = nullptr,
                  CUgraphNode original = nullptr, CUgraphExec exec = nullptr, CUgraph original_graph = nullptr) const;
    void announce_end(const CUgraph_st& graph) const;
    std::uint32_t next_graph_id();
    std::unique_ptr<CUgraph_st> copy_graph(CUgraph_st& of);
    void copy_nodes(CUgraph_st& of, CUgraph_st& to);
    void move_inner_nodes(CUgraph_st& graph);
    CUgraphNode append(CUgraph graph, std::unique_ptr<CUgraphNode_st> node, const std::vector<CUgraphNode>& after);

    // The rest of the private functions need the lock.
    std::uint64_t ready_ns(const CUstream_st& stream) const;
    std::uint64_t schedule(issued what, std::uint64_t start_ns, std::uint64_t duration_ns);
    struct step;  // of a launch of a graph (graphs.cpp)
    struct graph_launch;
    CUgraphNode add_node(CUstream stream, const fake_gpu_operation& operation, std::uint64_t duration_ns);

    mutable std::mutex mutex_;
    // Held while ended operations are handed on, so that all of them have been when settle() returns.
    std::mutex settling_;

    std::atomic<tool*> tool_{nullptr};
    std::atomic<void (*)()> at_reset_{nullptr};
    std::atomic<std::uint32_t> last_correlation_id_{0};
    std::atomic<int> device_count_{1};

    std::array<fake_gpu_device, max_devices> devices_{};
    std::array<std::unique_ptr<CUctx_st>, max_devices> contexts_{};
    // The legacy default stream of a context (thread 0), and its per-thread default streams.
    std::map<std::pair<std::uint32_t, pid_t>, std::unique_ptr<CUstream_st>> default_streams_;
    std::vector<std::unique_ptr<CUstream_st>> streams_;
    std::vector<std::unique_ptr<CUevent_st>> events_;
    std::map<std::string, std::unique_ptr<CUfunc_st>> functions_;
    std::map<const void*, CUfunction> functions_at_;
    std::map<std::uintptr_t, allocation> allocations_;
    std::vector<std::unique_ptr<CUgraph_st>> graphs_;
    std::vector<std::unique_ptr<CUgraphExec_st>> graph_execs_;
    std::uint32_t last_stream_id_ = 0;
    std::uint32_t last_graph_id_ = 0;
    std::atomic<std::uint32_t> broken_after_{0};  // graphs with ids from here …
    std::atomic<std::uint32_t> broken_up_to_{0};  // … to here end the process
    std::map<std::uint64_t, std::uint32_t> conditions_;
    std::uint64_t kernels_free_at_ns_ = 0;  // where a tool serialises kernels

    std::vector<fake_gpu_operation> journal_;
    std::vector<in_flight> in_flight_;  // a heap, first end on top
};

// The calling thread's own settings for the next operation, taken by the next launch.
struct next_operation {
    std::uint64_t duration_ns = 0;
    bool never_completes = false;
};
next_operation& next_on_this_thread();

inline simulated_gpu& gpu() { return simulated_gpu::instance(); }

}  // namespace fake
