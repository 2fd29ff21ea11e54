// SPDX-License-Identifier: Apache-2.0
#include "graph_sections.hpp"

#include <utility>

namespace truth {
namespace {

constexpr std::uint64_t us = 1000;
constexpr std::uint32_t most_runs = 64;

// A graph's kernels, each under the ranges of its capture, and launches of it.
class graph_script {
public:
    graph_script(stage& on, const std::string& name) : on_(on), all_(on, in_, name) {}

    cudaGraph_t create() {
        cudaGraph_t graph = nullptr;
        must(cudaGraphCreate(&graph, 0), "cudaGraphCreate");
        return graph;
    }

    // What `fill` launches becomes a part of the graph, in a range of its own; in order behind `after`. Returns the
    // last node.
    template <typename TFill>
    cudaGraphNode_t capture_into(cudaGraph_t graph, const std::string& range, TFill&& fill,
                                 const cudaGraphNode_t* after = nullptr, int stream = 0) {
        must(cudaStreamBeginCaptureToGraph(on_.stream(0, stream), graph, after, nullptr, after == nullptr ? 0 : 1,
                                           cudaStreamCaptureModeThreadLocal),
             "cudaStreamBeginCaptureToGraph");
        const std::vector<std::string> ranges_before = std::exchange(ranges_, {range});
        cudaGraphNode_t last = nullptr;
        {
            const open_range own(on_, in_, range);
            fill();
            last = last_node(stream).second;
        }
        ranges_ = ranges_before;
        must(cudaStreamEndCapture(on_.stream(0, stream), nullptr), "cudaStreamEndCapture");
        return last;
    }

    // In a capture: the number of the kernel.
    std::size_t node(kernel which, std::uint64_t ns, int stream = 0) {
        spins_.push_back(on_.out().new_spin(0, which, ns, most_runs));
        ranges_of_.push_back(ranges_);
        must(launch(spins_.back(), on_.memory(0), on_.stream(0, stream)), "a launch in a capture");
        return spins_.size() - 1;
    }
    std::size_t decision(kernel which, const condition& about, std::uint64_t ns) {
        spins_.push_back(on_.out().new_spin(0, which, ns, most_runs));
        ranges_of_.push_back(ranges_);
        must(launch_decision(spins_.back(), about, on_.memory(0), on_.stream(0, 0)), "a launch in a capture");
        return spins_.size() - 1;
    }
    // The graph and the node that comes before whatever the stream is going to do.
    std::pair<cudaGraph_t, cudaGraphNode_t> last_node(int stream = 0) {
        cudaStreamCaptureStatus status{};
        cudaGraph_t graph = nullptr;
        const cudaGraphNode_t* nodes = nullptr;
        const cudaGraphEdgeData* edges = nullptr;
        std::size_t count = 0;
        must(cudaStreamGetCaptureInfo(on_.stream(0, stream), &status, nullptr, &graph, &nodes, &edges, &count),
             "cudaStreamGetCaptureInfo");
        return {graph, count == 0 ? nullptr : nodes[count - 1]};
    }
    void in_ranges(std::vector<std::string> ranges) { ranges_ = std::move(ranges); }

    static cudaGraphNode_t add_condition(cudaGraph_t graph, const cudaGraphNode_t* after, const condition& about,
                                         cudaGraphConditionalNodeType type, std::vector<cudaGraph_t>& bodies) {
        cudaGraphNodeParams what{};
        what.type = cudaGraphNodeTypeConditional;
        what.conditional.handle = about.handle;
        what.conditional.type = type;
        what.conditional.size = static_cast<unsigned int>(bodies.size());
        cudaGraphNode_t node = nullptr;
        must(cudaGraphAddNode(&node, graph, after, nullptr, after == nullptr ? 0 : 1, &what), "cudaGraphAddNode");
        for (std::size_t i = 0; i < bodies.size(); ++i) bodies[i] = what.conditional.phGraph_out[i];
        return node;
    }

    static cudaGraphExec_t instantiate(cudaGraph_t graph, unsigned int flags = 0) {
        cudaGraphExec_t executable = nullptr;
        must(cudaGraphInstantiate(&executable, graph, flags), "cudaGraphInstantiate");
        must(cudaGraphDestroy(graph), "cudaGraphDestroy");
        return executable;
    }

    // Runs these kernels, in this order, in a range of its own.
    void replay(cudaGraphExec_t executable, const std::vector<std::size_t>& kernels, bool waits = true) {
        const open_range own(on_, in_, "replay " + std::to_string(++replays_));
        std::vector<spin> spins;
        for (const std::size_t k : kernels) spins.push_back(spins_[k]);
        must(launch(executable, spins, on_.stream(0, 0)), "cudaGraphLaunch");
        const std::uint32_t number = on_.out().next_replay();
        for (const std::size_t k : kernels) {
            operation op;
            op.kernel = name_of(spins_[k].which);
            op.requested_ns = spins_[k].ns;
            op.stamp = spins_[k].first + runs_[k]++;
            op.captured = ranges_of_[k];
            op.replay = number;
            on_.note(op, in_);
        }
        if (waits) must(cudaStreamSynchronize(on_.stream(0, 0)), "cudaStreamSynchronize");
    }

    stage& on() { return on_; }
    open_ranges& in() { return in_; }

private:
    stage& on_;
    open_ranges in_;
    const open_range all_;
    std::vector<spin> spins_;
    std::vector<std::vector<std::string>> ranges_of_;
    std::vector<std::string> ranges_;
    std::uint32_t runs_[most_runs] = {};
    int replays_ = 0;
};

void if_with_neighbours(stage& on) {
    graph_script script(on, "if");
    const cudaGraph_t graph = script.create();
    condition about;
    must(make_condition(about, graph), "make_condition");
    std::size_t first = 0;
    std::size_t inside = 0;
    std::size_t last = 0;
    const cudaGraphNode_t decided =
        script.capture_into(graph, "decide", [&] { first = script.decision(kernel::decide, about, 100 * us); });
    std::vector<cudaGraph_t> bodies(1);
    const cudaGraphNode_t node = script.add_condition(graph, &decided, about, cudaGraphCondTypeIf, bodies);
    script.capture_into(bodies[0], "body", [&] { inside = script.node(kernel::layer, 200 * us); });
    script.capture_into(
        graph, "after", [&] { last = script.node(kernel::side, 50 * us); }, &node);
    const cudaGraphExec_t executable = script.instantiate(graph);
    for (unsigned int i = 0; i < 6; ++i) {
        set_condition(about, i % 2);
        if (i % 2 == 0) script.replay(executable, {first, last});
        if (i % 2 == 1) script.replay(executable, {first, inside, last});
    }
    // The host far ahead of the GPU.
    for (unsigned int i = 0; i < 5; ++i) script.replay(executable, {first, inside, last}, i == 4);
}

void while_of_two_kernels(stage& on) {
    graph_script script(on, "while");
    const cudaGraph_t graph = script.create();
    condition about;
    must(make_condition(about, graph), "make_condition");
    std::size_t first = 0;
    std::size_t inside = 0;
    std::size_t again = 0;
    const cudaGraphNode_t decided =
        script.capture_into(graph, "decide", [&] { first = script.decision(kernel::decide, about, 50 * us); });
    std::vector<cudaGraph_t> bodies(1);
    script.add_condition(graph, &decided, about, cudaGraphCondTypeWhile, bodies);
    script.capture_into(bodies[0], "body", [&] {
        inside = script.node(kernel::forward, 150 * us);
        script.in_ranges({"body", "again"});
        const open_range deeper(on, script.in(), "again");
        again = script.decision(kernel::again, about, 30 * us);
    });
    const cudaGraphExec_t executable = script.instantiate(graph);
    for (unsigned int times = 0; times < 5; ++times) {
        set_condition(about, times);
        std::vector<std::size_t> kernels = {first};
        for (unsigned int i = 0; i < times; ++i) {
            kernels.push_back(inside);
            kernels.push_back(again);
        }
        script.replay(executable, kernels);
    }
}

void switch_of_three(stage& on) {
    graph_script script(on, "switch");
    const cudaGraph_t graph = script.create();
    condition about;
    must(make_condition(about, graph), "make_condition");
    std::size_t first = 0;
    std::vector<std::size_t> inside(3);
    const cudaGraphNode_t decided =
        script.capture_into(graph, "decide", [&] { first = script.decision(kernel::decide, about, 50 * us); });
    std::vector<cudaGraph_t> bodies(3);
    script.add_condition(graph, &decided, about, cudaGraphCondTypeSwitch, bodies);
    for (std::size_t i = 0; i < bodies.size(); ++i) {
        script.capture_into(bodies[i], "case " + std::string(1, static_cast<char>('a' + i)),
                            [&] { inside[i] = script.node(kernel::backward, (i + 1) * 100 * us); });
    }
    const cudaGraphExec_t executable = script.instantiate(graph);
    for (unsigned int value = 0; value < 5; ++value) {
        set_condition(about, value);
        std::vector<std::size_t> kernels = {first};
        if (value < inside.size()) kernels.push_back(inside[value]);
        script.replay(executable, kernels);
    }
}

// Between two kernels of an ordinary capture.
void if_in_capture(stage& on) {
    graph_script script(on, "if_in_capture");
    const cudaGraph_t graph = script.create();
    std::size_t first = 0;
    std::size_t inside = 0;
    std::size_t last = 0;
    script.capture_into(graph, "around", [&] {
        first = script.node(kernel::forward, 100 * us);
        const auto [captured, before] = script.last_node();
        condition about;
        must(make_condition(about, captured), "make_condition");
        std::vector<cudaGraph_t> bodies(1);
        cudaGraphNode_t node = script.add_condition(captured, &before, about, cudaGraphCondTypeIf, bodies);
        must(cudaStreamUpdateCaptureDependencies(on.stream(0, 0), &node, nullptr, 1, cudaStreamSetCaptureDependencies),
             "cudaStreamUpdateCaptureDependencies");
        script.capture_into(
            bodies[0], "body", [&] { inside = script.node(kernel::layer, 200 * us, 1); }, nullptr, 1);
        last = script.node(kernel::side, 100 * us);
    });
    const cudaGraphExec_t executable = script.instantiate(graph);
    for (int i = 0; i < 3; ++i) script.replay(executable, {first, inside, last});
}

}  // namespace

void graphs(stage& on) {
    constexpr std::uint32_t replays = 20;
    open_ranges in;
    const open_range all(on, in, "graphs");
    std::vector<spin> nodes;
    std::vector<std::vector<std::string>> ranges_of_nodes;
    cudaGraphExec_t executable = nullptr;
    const cudaStream_t stream = on.stream(0, 0);
    {
        const open_range capture(on, in, "capture");
        must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
        open_ranges captured;  // what is opened from here on
        const auto node = [&](kernel which, std::uint64_t ns, const std::vector<std::string>& ranges) {
            nodes.push_back(on.out().new_spin(0, which, ns, replays));
            ranges_of_nodes.push_back(ranges);
            must(launch(nodes.back(), on.memory(0), stream), "a launch in a capture");
        };
        const open_range step(on, in, "captured_step");
        {
            const open_range forward(on, in, "forward");
            node(kernel::forward, 300 * us, {"captured_step", "forward"});
            const open_range layer(on, in, "layer 1");
            node(kernel::layer, 100 * us, {"captured_step", "forward", "layer 1"});
        }
        {
            const open_range backward(on, in, "backward");
            node(kernel::backward, 600 * us, {"captured_step", "backward"});
        }
        const open_range optimizer(on, in, "optimizer_step");
        node(kernel::optimizer, 150 * us, {"captured_step", "optimizer_step"});
        cudaGraph_t graph = nullptr;
        must(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
        must(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
    }
    for (std::uint32_t run = 0; run < replays; ++run) {
        const open_range replay(on, in, "replay " + std::to_string(run));
        must(launch(executable, nodes, stream), "cudaGraphLaunch");
        const std::uint32_t number = on.out().next_replay();
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            operation op;
            op.kernel = name_of(nodes[i].which);
            op.requested_ns = nodes[i].ns;
            op.stamp = nodes[i].first + run;
            op.captured = ranges_of_nodes[i];
            op.replay = number;
            on.note(op, in);
        }
    }
    must(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

void conditional(stage& on) {
    if_with_neighbours(on);
    while_of_two_kernels(on);
    switch_of_three(on);
    if_in_capture(on);
}

void body_alone(stage& on) {
    graph_script script(on, "body_alone");
    const cudaGraph_t graph = script.create();
    condition about;
    must(make_condition(about, graph), "make_condition");
    std::vector<cudaGraph_t> bodies(1);
    script.add_condition(graph, nullptr, about, cudaGraphCondTypeIf, bodies);
    std::size_t inside = 0;
    script.capture_into(bodies[0], "body", [&] { inside = script.node(kernel::layer, 200 * us); });
    const cudaGraphExec_t executable = script.instantiate(graph);
    for (int i = 0; i < 3; ++i) script.replay(executable, {inside});
}

void children(stage& on) {
    for (const bool nested : {false, true}) {
        graph_script script(on, nested ? "child_of_child" : "child");
        std::size_t inside = 0;
        std::size_t beside = 0;
        std::size_t last = 0;
        cudaGraph_t graph = script.create();
        script.capture_into(graph, "inner", [&] {
            inside = script.node(kernel::layer, 200 * us);
            script.in_ranges({"inner", "deep"});
            const open_range deeper(on, script.in(), "deep");
            beside = script.node(kernel::forward, 100 * us);
        });
        for (int depth = 0; depth < (nested ? 2 : 1); ++depth) {
            const cudaGraph_t outer = script.create();
            cudaGraphNode_t child = nullptr;
            must(cudaGraphAddChildGraphNode(&child, outer, nullptr, 0, graph), "cudaGraphAddChildGraphNode");
            must(cudaGraphDestroy(graph), "cudaGraphDestroy");
            graph = outer;
            if (depth == 0) {
                script.capture_into(
                    graph, "outer", [&] { last = script.node(kernel::side, 50 * us); }, &child);
            }
        }
        const cudaGraphExec_t executable = script.instantiate(graph);
        for (int i = 0; i < 3; ++i) script.replay(executable, {inside, beside, last}, i == 2);
    }
}

void updates(stage& on) {
    graph_script script(on, "updates");
    const auto capture = [&](const std::string& range, kernel which, std::uint64_t ns) {
        const cudaGraph_t graph = script.create();
        std::vector<std::size_t> kernels;
        script.capture_into(graph, range, [&] {
            kernels.push_back(script.node(which, ns));
            script.in_ranges({range, "more"});
            const open_range deeper(on, script.in(), "more");
            kernels.push_back(script.node(kernel::side, ns / 2));
        });
        return std::pair{graph, kernels};
    };
    const auto [first, kernels] = capture("first", kernel::forward, 100 * us);
    const cudaGraphExec_t executable = script.instantiate(first);
    // What was launched before an update and has not run yet is as it was.
    for (int i = 0; i < 3; ++i) script.replay(executable, kernels, false);
    for (const std::string range : {"second", "third"}) {
        const auto [graph, others] = capture(range, kernel::backward, 200 * us);
        cudaGraphExecUpdateResultInfo result{};
        must(cudaGraphExecUpdate(executable, graph, &result), "cudaGraphExecUpdate");
        script.replay(executable, others, false);
        must(cudaGraphDestroy(graph), "cudaGraphDestroy");
        script.replay(executable, others, false);
    }
    must(cudaStreamSynchronize(on.stream(0, 0)), "cudaStreamSynchronize");
}

void launch_kinds(stage& on) {
    open_ranges in;
    {
        const open_range all(on, in, "launch_kinds");
        const auto note = [&](const spin& what) {
            operation op;
            op.kernel = name_of(what.which);
            op.requested_ns = what.ns;
            op.stamp = what.first;
            on.note(op, in);
        };
        for (int i = 0; i < 3; ++i) {
            const open_range cooperative(on, in, "cooperative");
            const spin what = on.out().new_spin(0, kernel::layer, 100 * us);
            must(launch_cooperatively(what, on.memory(0), on.stream(0, 0)), "cudaLaunchCooperativeKernel");
            note(what);
        }
        for (int i = 0; i < 3; ++i) {
            const open_range dependent(on, in, "dependent");
            const spin what = on.out().new_spin(0, kernel::side, 100 * us);
            must(launch_dependently(what, on.memory(0), on.stream(0, 0)), "cudaLaunchKernelEx");
            note(what);
        }
        on.wait();
    }
    graph_script script(on, "device_launchable");
    const cudaGraph_t graph = script.create();
    std::size_t inside = 0;
    script.capture_into(graph, "captured", [&] { inside = script.node(kernel::optimizer, 100 * us); });
    const cudaGraphExec_t executable = script.instantiate(graph, cudaGraphInstantiateFlagDeviceLaunch);
    must(upload(executable, on.stream(0, 0)), "cudaGraphUpload");
    for (int i = 0; i < 3; ++i) script.replay(executable, {inside});
}

}  // namespace truth
