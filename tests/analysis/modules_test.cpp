// SPDX-License-Identifier: Apache-2.0
// GPU and host time of modules, by timelines worked by hand and by laws that hold for any.
#include "analysis/modules/modules.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "analysis/projection/projection.hpp"
#include "record/label.hpp"
#include "report/makers.hpp"
#include "support/torch_records.hpp"

namespace prof::modules_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view separator = " | ";

// "path | calls | forward evaluation backward recompute" of the GPU, for rows with any.
std::vector<std::string> gpu_lines(const module_table& table) {
    std::vector<std::string> out;
    for (const module_row& row : table.rows) {
        std::string times;
        for (const module_time& time : row.total) times += (times.empty() ? "" : " ") + std::to_string(time.gpu_ns);
        out.push_back(row.path + std::string(separator) + std::to_string(row.calls) + std::string(separator) + times);
    }
    return out;
}

class Modules : public testing::Test {
protected:
    Modules() { capture.parts().properties["modules"] = "all"; }

    void call(thread_script& on, std::uint64_t ns, const std::string& name, std::int64_t sequence) {
        on.add(of_module(ns, sequence, record_kind::range_push, capture.name(name)));
    }
    void leave(thread_script& on, std::uint64_t ns, std::int64_t sequence) {
        on.add(of_module(ns, sequence, record_kind::range_pop, 0));
    }
    void node(thread_script& on, std::uint64_t ns, const std::string& name, std::int64_t sequence) {
        on.add(torch_push(capture, ns, name, sequence));
    }
    record of_module(std::uint64_t ns, std::int64_t sequence, record_kind kind, std::uint32_t name) const {
        return {.ticks = ns,
                .value = static_cast<std::uint64_t>(sequence),
                .name = name,
                .domain = modules,
                .kind = kind,
                .flags = static_cast<std::uint8_t>(sequence < 0 ? payload_type::none : payload_type::u64)};
    }
    module_table measure(bool fold = false) const {
        const timeline data = capture.build();
        return measure_modules(data, attribute(data), fold);
    }

    // A call of Net makes nodes 0 to 4, and number 3 is executed in each backward; the first has this category.
    void go_backward_twice(std::uint32_t category) {
        main.push(5, "forward", phases);
        call(main, 10, "Net (Net)", 0);
        main.launch(15, 1);
        leave(main, 20, 5);
        main.pop(25, phases);
        main.add({.ticks = 30,
                  .name = capture.name("backward"),
                  .category = category,
                  .domain = phases,
                  .kind = record_kind::range_push});
        node(autograd, 40, "MulBackward0", 3);
        autograd.launch(41, 2).pop(45);
        main.pop(50, phases).push(60, "backward", phases);
        node(autograd, 70, "MulBackward0", 3);
        autograd.launch(71, 3).pop(75);
        main.pop(80, phases);
        capture.kernel(1, 100, 101).kernel(2, 200, 202).kernel(3, 300, 304);
    }

    capture_builder capture;
    std::uint16_t phases = capture.domain(std::string(phase_domain));
    std::uint16_t modules = capture.domain(std::string(module_domain));
    thread_script& main = capture.thread("python");
    thread_script& autograd = capture.thread("pt_autograd_0");
};

// Net calls h.0 (nodes 0 to 2), h.1 (3 and 4) and makes node 5 itself; the loss makes 6. Node 1 is a checkpoint, which
// calls h.0.mlp anew on autograd's thread and goes backward through the node 1 that this makes.
TEST_F(Modules, MatchAnExampleWorkedByHand) {
    main.push(0, "forward", phases);
    call(main, 10, "Net (Net)", 0);
    call(main, 20, "Net.h.0 (Block)", 0);
    main.launch(25, 1);
    leave(main, 30, 3);
    call(main, 40, "Net.h.1 (Block)", 3);
    main.launch(45, 2);
    leave(main, 50, 5);
    main.launch(55, 3);
    leave(main, 60, 6);
    main.launch(65, 4).pop(70, phases).push(100, "backward", phases);
    autograd.launch(105, 15);
    node(autograd, 110, "MseLossBackward0", 6);
    autograd.launch(111, 5).pop(115);
    node(autograd, 120, "AddBackward0", 5);
    autograd.launch(121, 6).pop(125);
    node(autograd, 130, "MulBackward0", 3);
    autograd.launch(131, 7).pop(135);
    node(autograd, 136, "torch::autograd::AccumulateGrad", -1);
    autograd.launch(137, 8).pop(138);
    node(autograd, 140, "CheckpointFunctionBackward", 1);
    autograd.push(141, "recompute", phases);
    call(autograd, 142, "Net.h.0.mlp (Mlp)", 0);
    autograd.launch(143, 9);
    leave(autograd, 148, 2);
    autograd.pop(150, phases).launch(155, 16);
    node(autograd, 160, "GeluBackward0", 1);
    autograd.launch(161, 10).pop(165).launch(170, 11).pop(190);
    node(autograd, 191, "ViewBackward0", 0);
    autograd.launch(191, 14).pop(192).launch(193, 12);
    main.pop(200, phases).push(210, "optimizer", phases).launch(215, 13).pop(220, phases);
    for (std::uint64_t i = 1; i <= 16; ++i) capture.kernel(i, 1000 * i, 1000 * i + (std::uint64_t{1} << i));

    const module_table table = measure();
    ASSERT_TRUE(table.is_recorded);
    EXPECT_THAT(
        gpu_lines(table),
        ElementsAre("Net | 1 | 14 0 89280 512",        // 2 + 4 + 8; h and 64
                    "Net.h | 0 | 6 0 89216 512",       //
                    "Net.h.0 | 1 | 2 0 89088 512",     // 65536 + 16384 + 4096: the checkpoint, and what follows node 0
                    "Net.h.0.mlp | 1 | 0 0 3072 512",  //
                    "Net.h.1 | 1 | 4 0 128 0",         //
                    "(outside modules) | 0 | 16 0 32 0", "(AccumulateGrad) | 0 | 0 0 256 0",
                    "(not known) | 0 | 0 0 32768 0"));
    EXPECT_EQ(table.phases[0].gpu_ns, 2 + 4 + 8 + 16);
    EXPECT_EQ(table.phases[2].gpu_ns, 32 + 256 + 32768 + 89280);
    EXPECT_EQ(table.phases[3].gpu_ns, 512);
    EXPECT_EQ(table.rows[0].total[0].host_ns, 50);
    EXPECT_EQ(table.rows[0].self[0].host_ns, 30);
    EXPECT_EQ(table.rows[2].total[3].host_ns, 6);
    EXPECT_EQ(table.rows[2].self[2].host_ns, 45 + 1) << "the checkpoint's node without the one within it";
    EXPECT_EQ(table.rows[3].self[2].host_ns, 5);

    const std::vector<std::string> folded = gpu_lines(measure(true));
    EXPECT_EQ(folded[1], "Net.h.* | 2 | 6 0 89216 512");
    EXPECT_EQ(folded[2], "Net.h.*.mlp | 1 | 0 0 3072 512");
    EXPECT_EQ(measure(true).rows[1].slowest, "Net.h.0");
    EXPECT_EQ(measure(true).rows[1].modules, 2U);
}

// Numbers are a thread's own. Where two threads have made nodes of one number, nothing says whose it is.
TEST_F(Modules, DoNotGuessBetweenThreads) {
    thread_script& second = capture.thread("worker");
    main.push(0, "forward", phases);
    call(main, 10, "A (Net)", 0);
    main.launch(15, 100);  // autograd's threads work for one that launches
    leave(main, 20, 5);
    main.pop(25, phases);
    capture.kernel(100, 500, 501);
    call(second, 12, "B (Net)", 3);
    leave(second, 22, 9);
    main.push(100, "backward", phases);
    for (const std::int64_t sequence : {2, 3, 4, 7}) {
        const auto at = static_cast<std::uint64_t>(110 + 10 * sequence);
        node(autograd, at, "MulBackward0", sequence);
        autograd.launch(at + 1, static_cast<std::uint64_t>(sequence)).pop(at + 5);
        capture.kernel(static_cast<std::uint64_t>(sequence), 1000 * at, 1000 * at + (std::uint64_t{1} << sequence));
    }
    main.pop(300, phases);
    EXPECT_THAT(gpu_lines(measure()), ElementsAre("A | 1 | 1 0 4 0", "B | 1 | 0 0 0 0", "(not known) | 0 | 0 0 152 0"))
        << "7: the first thread may have made it outside its module";
}

// A call that comes after a node has run did not make it: the second thread's call is later.
TEST_F(Modules, GiveNoNodeToALaterCall) {
    thread_script& second = capture.thread("worker");
    call(main, 10, "A (Net)", 0);
    main.launch(15, 100);
    leave(main, 20, 5);
    capture.kernel(100, 500, 501);
    main.push(100, "backward", phases);
    node(autograd, 110, "MulBackward0", 3);
    autograd.launch(111, 1).pop(115);
    main.pop(120, phases);
    call(second, 200, "B (Net)", 0);
    leave(second, 210, 9);
    capture.kernel(1, 1000, 1008);
    EXPECT_THAT(gpu_lines(measure()), ElementsAre("A | 1 | 0 0 8 0", "B | 1 | 0 0 0 0"));
}

TEST_F(Modules, GetReplayedGraphsOfTheirCapture) {
    main.begin_capture(2, 90).push(3, "forward", phases);
    call(main, 4, "Net (Net)", 0);
    call(main, 5, "Net.up (Linear)", 0);
    main.node(6, 77);
    leave(main, 7, 0);
    main.node(8, 78);
    leave(main, 9, 0);
    main.pop(10, phases).launch(110, 1, "");
    capture.kernel(1, 1000, 1010, {.graph_node = 77}).kernel(1, 1010, 1013, {.graph_node = 78});
    EXPECT_THAT(gpu_lines(measure()), ElementsAre("Net | 1 | 13 0 0 0", "Net.up | 1 | 10 0 0 0"));
}

// The module calls itself.
TEST_F(Modules, CountEachCallOfARecursiveModule) {
    main.push(0, "evaluation", phases);
    call(main, 10, "Net (Net)", -1);
    call(main, 20, "Net (Net)", -1);
    main.launch(25, 1);
    leave(main, 30, -1);
    leave(main, 50, -1);
    main.pop(60, phases);
    capture.kernel(1, 100, 107);
    const module_table table = measure();
    EXPECT_THAT(gpu_lines(table), ElementsAre("Net | 2 | 0 7 0 0"));
    EXPECT_EQ(table.rows[0].total[1].host_ns, 40);
}

// The second thread has made nodes in a module and may have made others outside, of numbers that the first used in one.
TEST_F(Modules, DoNotGuessBetweenAModuleAndWorkOutsideAny) {
    thread_script& second = capture.thread("worker");
    call(second, 1, "B (Net)", 0);
    leave(second, 2, 2);
    go_backward_twice(0);
    EXPECT_THAT(gpu_lines(measure()), ElementsAre("Net | 1 | 1 0 0 0", "B | 1 | 0 0 0 0", "(not known) | 0 | 0 0 6 0"));
}

// A thread that makes no node in its modules (it evaluates) is taken to make none at all.
TEST_F(Modules, IgnoreThreadsThatMakeNoNodes) {
    thread_script& second = capture.thread("worker");
    call(second, 1, "B (Net)", 0);
    leave(second, 2, 0);
    go_backward_twice(0);
    EXPECT_THAT(gpu_lines(measure()), ElementsAre("Net | 1 | 1 0 6 0", "B | 1 | 0 0 0 0"));
}

// The graph's nodes are made by threads of the engine, whose numbers are not known.
TEST_F(Modules, DoNotGuessAfterABackwardThatMakesAGraph) {
    go_backward_twice(makes_graph);
    EXPECT_THAT(gpu_lines(measure()), ElementsAre("Net | 1 | 1 0 2 0", "(not known) | 0 | 0 0 4 0"));
}
TEST_F(Modules, KnowTheOwnersOfNodesAfterABackwardWithoutAGraph) {
    go_backward_twice(0);
    EXPECT_THAT(gpu_lines(measure()), ElementsAre("Net | 1 | 1 0 6 0"));
}

// With `--pytorch ops` the forward of a Function of the program's has a number and no namespace.
TEST_F(Modules, DoNotTakeForwardsOfFunctionsForNodes) {
    main.push(0, "forward", phases);
    call(main, 10, "Net (Net)", 0);
    node(main, 12, "Slow", 0);
    main.launch(13, 1).pop(15);
    leave(main, 20, 1);
    main.pop(25, phases).push(30, "backward", phases);
    node(main, 40, "SlowBackward", 0);
    main.launch(41, 2).pop(45).pop(50, phases);
    capture.kernel(1, 100, 101).kernel(2, 200, 202);
    const module_table table = measure();
    EXPECT_THAT(gpu_lines(table), ElementsAre("Net | 1 | 1 0 2 0"));
    EXPECT_EQ(table.rows[0].total[2].host_ns, 5);
}

// Without numbers (another PyTorch) forward is known, and backward stands in the row of unknown work.
TEST_F(Modules, LeaveBackwardUnknownWithoutNumbers) {
    main.push(0, "forward", phases);
    call(main, 10, "Net (Net)", -1);
    main.launch(12, 1);
    leave(main, 20, -1);
    main.pop(25, phases).push(30, "backward", phases);
    node(autograd, 40, "MulBackward0", 3);
    autograd.launch(41, 2).pop(45);
    main.pop(50, phases);
    capture.kernel(1, 100, 107).kernel(2, 200, 220);
    EXPECT_THAT(gpu_lines(measure()), ElementsAre("Net | 1 | 7 0 0 0", "(not known) | 0 | 0 0 20 0"));
}

TEST_F(Modules, SurviveHostileNames) {
    main.push(0, "forward", phases);
    std::uint64_t at = 0;
    for (const std::string& name : {std::string(60'000, '.'), std::string("a.. (b"), std::string(" ("),
                                    std::string(")"), std::string("(outside modules) (x)"), std::string()}) {
        call(main, at += 10, name, -1);
        leave(main, at += 10, -1);
    }
    main.pop(at + 1, phases);
    EXPECT_GE(measure(true).rows.size(), 5U);
}

// A list whose modules are of several classes keeps its names.
TEST_F(Modules, FoldSimilarModulesOfAList) {
    std::uint64_t at = 0;
    const auto call_all = [&](std::initializer_list<const char*> names) {
        for (const char* name : names) {
            call(main, at += 10, name, -1);
            leave(main, at += 10, -1);
        }
    };
    main.push(0, "forward", phases);
    call_all({"Net (Net)", "Net.features.0 (Conv2d)", "Net.features.1 (ReLU)", "Net.features.2 (Conv2d)",
              "Net.layer1.0.conv1 (Conv2d)", "Net.layer1.0 (Bottleneck)", "Net.layer1.1 (Bottleneck)",
              "Net.layer1.1.conv1 (Conv2d)", "Net.layer1.10.conv1 (Conv2d)", "Net.layer1.10 (Bottleneck)",
              "Net.layer2.0 (Bottleneck)"});
    main.pop(at + 1, phases);
    std::vector<std::string> paths;
    for (const module_row& row : measure(true).rows) {
        paths.push_back(row.path + ' ' + std::to_string(row.modules) + ' ' + row.class_name);
    }
    EXPECT_THAT(paths, ElementsAre("Net 1 Net", "Net.features 1 ", "Net.features.0 1 Conv2d", "Net.features.1 1 ReLU",
                                   "Net.features.2 1 Conv2d", "Net.layer1.* 3 Bottleneck",
                                   "Net.layer1.*.conv1 3 Conv2d", "Net.layer2.0 1 Bottleneck"));
}

// Modules that are numbered by class across the program, as in traces of torch.profiler: those in lists of one name
// have one name, too.
TEST_F(Modules, FoldAlikeModulesOfAlikeLists) {
    std::uint64_t at = 0;
    const auto call_all = [&](std::initializer_list<const char*> names) {
        for (const char* name : names) {
            call(main, at += 10, name, -1);
            leave(main, at += 10, -1);
        }
    };
    main.push(0, "forward", phases);
    call_all({"Net_0 (Net)", "Net_0.Block_0 (Block)", "Net_0.Block_0.Mlp_0 (Mlp)", "Net_0.Block_0.Mlp_0.Act_0 (Act)",
              "Net_0.Block_1 (Block)", "Net_0.Block_1.Mlp_1 (Mlp)", "Net_0.Block_1.Mlp_1.Act_0 (Act)",
              "Net_0.Head_1 (Head)", "Net_0.Head_1.Mlp_3 (Mlp)", "Net_1 (Net)"});
    main.pop(at + 1, phases);
    std::vector<std::string> paths;
    for (const module_row& row : measure(true).rows) paths.push_back(row.path + ' ' + std::to_string(row.modules));
    EXPECT_THAT(paths, ElementsAre("Net_0 1", "Net_0.Block_* 2", "Net_0.Block_*.Mlp_* 2", "Net_0.Block_*.Mlp_*.Act_0 2",
                                   "Net_0.Head_1 1", "Net_0.Head_1.Mlp_3 1", "Net_1 1"));
}

// Without phases, as in traces of torch.profiler, the call or the node says which phase it is. The engine has a range
// around each node: what it launches there before and after the node is the node's, and a Function's forward, which has
// a number and no namespace as nodes have, is none.
TEST_F(Modules, FindPhasesByCallsAndNodes) {
    const std::string engine(engine_prefix);
    capture.parts().properties["pytorch"] = "ops";
    main.launch(5, 9);
    call(main, 10, "Net (Net)", 0);
    node(main, 12, "MyFunction", 0);
    main.launch(13, 1).pop(15);
    call(main, 20, "Net.a (A)", 1);
    main.launch(25, 2);
    leave(main, 30, 2);
    leave(main, 40, 2);
    main.launch(45, 3);
    node(autograd, 48, engine + "LossBackward0", 2);
    autograd.launch(49, 12);
    node(autograd, 51, "LossBackward0", 2);
    autograd.launch(52, 4).pop(53).pop(54);
    node(autograd, 60, engine + "CheckpointBackward", 1);
    node(autograd, 61, "CheckpointBackward", 1);
    call(autograd, 62, "Net.a (A)", 0);
    autograd.launch(63, 5);
    leave(autograd, 64, 1);
    node(autograd, 65, engine + "InnerBackward0", 0);
    node(autograd, 66, "InnerBackward0", 0);
    autograd.launch(67, 6).pop(68).launch(69, 7).pop(70).launch(71, 8).pop(72).launch(73, 10).pop(74).launch(75, 11);
    std::uint64_t at = 100;
    for (std::uint64_t launch = 1; launch <= 12; ++launch) {
        capture.kernel(launch, at, at + (std::uint64_t{1} << launch));
        at += std::uint64_t{1} << launch;
    }
    // Launches 6 and 7 are of the inner node, 8 and 10 of the checkpoint's; 3, 9 and 11 of nothing.
    EXPECT_THAT(gpu_lines(measure()),
                ElementsAre("Net | 1 | 6 0 1472 32", "Net.a | 2 | 4 0 1472 32", "(outside modules) | 0 | 0 0 4112 0"));
}

TEST_F(Modules, NoteRowsThatAreLeftOut) {
    main.push(0, "forward", phases);
    std::uint64_t at = 1;
    call(main, at++, "Net (Net)", -1);
    for (const char* part : {"a", "b", "c"}) {
        for (const char* inner : {"x", "y", "z"}) {
            const std::string path = std::string("Net.") + part;
            call(main, at++, path + " (Block)", -1);
            call(main, at++, path + '.' + inner + " (Linear)", -1);
            call(main, at++, path + '.' + inner + ".norm (Norm)", -1);
            for (int i = 0; i < 3; ++i) leave(main, at++, -1);
        }
    }
    leave(main, at++, -1);
    main.pop(at, phases);
    const timeline data = capture.build();
    EXPECT_EQ(modules_report({.data = data}).rows.size(), 22U);
    const table whole = modules_report({.data = data});
    EXPECT_EQ(whole.shorten(whole, {.deepest = 1}).rows.size(), 4U);
    const shown_rows limited = whole.shorten(whole, {.rows = 15});
    EXPECT_EQ(limited.rows.size(), 13U);
    EXPECT_THAT(limited.notes, ElementsAre(HasSubstr("9 rows of modules that lie deeper are left out")));

    capture_builder none;
    none.thread("python").push(1, "mine").pop(2);
    const timeline without = none.build();
    EXPECT_THAT(modules_report({.data = without}).notes, ElementsAre(HasSubstr("prof run --modules")));
}

// Whatever the program does: each phase's GPU time is that of the rows, and no other table knows of modules.
TEST_F(Modules, AddUpForRandomPrograms) {
    for (std::uint32_t seed = 0; seed < 60; ++seed) {
        std::mt19937 random(seed);
        const auto draw = [&](std::uint64_t most) { return random() % most; };
        capture_builder with;
        capture_builder without;
        std::vector<std::string> tables;
        for (capture_builder* const one : {&with, &without}) {
            random.seed(seed);
            one->parts().properties["modules"] = "all";
            const std::uint16_t phase = one->domain(std::string(phase_domain));
            const std::uint16_t module = one->domain(std::string(module_domain));
            std::vector<thread_script*> threads = {&one->thread("python"), &one->thread("pt_autograd_0"),
                                                   &one->thread("worker")};
            std::vector<std::vector<int>> open(threads.size());
            std::uint64_t correlation = 0;
            for (std::uint64_t ns = 1; ns < 400; ++ns) {
                const std::size_t at = draw(threads.size());
                thread_script& on = *threads[at];
                const std::uint64_t what = draw(8);
                const std::uint64_t detail = draw(6);
                const auto sequence = static_cast<std::int64_t>(draw(40));
                constexpr std::array phase_names = {"forward", "evaluation", "backward", "recompute", "step", "data"};
                if (what < 2) {
                    on.push(ns, phase_names.at(detail), phase);
                    open[at].push_back(0);
                } else if (what == 2) {
                    on.add(torch_push(*one, ns, detail == 0 ? "torch::autograd::AccumulateGrad" : "MulBackward0",
                                      detail == 0 ? -1 : sequence));
                    open[at].push_back(1);
                } else if (what == 3) {
                    if (one == &with) {
                        record r = of_module(ns, sequence, record_kind::range_push,
                                             one->name("Net.h." + std::to_string(detail) + " (Block)"));
                        r.domain = module;
                        on.add(r);
                    }
                    open[at].push_back(2);
                } else if (what < 6) {
                    on.launch(ns, ++correlation);
                    one->kernel(correlation, 1000 * ns, 1000 * ns + 1 + detail);
                } else if (!open[at].empty()) {
                    const int kind = open[at].back();
                    open[at].pop_back();
                    if (kind == 0) on.pop(ns, phase);
                    if (kind == 1) on.pop(ns);
                    if (kind == 2 && one == &with) {
                        record r = of_module(ns, sequence + 40, record_kind::range_pop, 0);
                        r.domain = module;
                        on.add(r);
                    }
                }
            }
            const timeline data = one->build();
            std::string rows;
            for (const projection_row& row : project(data, attribute(data)).rows) {
                rows += row.path + ' ' + std::to_string(row.instances) + ' ' + std::to_string(row.gpu_self_ns) + '\n';
            }
            tables.push_back(rows);
        }
        EXPECT_EQ(tables[0], tables[1]) << seed;

        const timeline data = with.build();
        for (const bool fold : {false, true}) {
            const module_table table = measure_modules(data, attribute(data), fold);
            if (!table.is_recorded) continue;
            for (std::size_t work = 0; work < module_work_names.size(); ++work) {
                std::int64_t self_ns = 0;
                std::int64_t roots_ns = 0;
                std::uint64_t ops = 0;
                for (const module_row& row : table.rows) {
                    self_ns += row.self[work].gpu_ns;
                    ops += row.self[work].ops;
                    if (row.parent == npos) roots_ns += row.total[work].gpu_ns;
                }
                EXPECT_EQ(self_ns, table.phases[work].gpu_ns) << seed;
                EXPECT_EQ(roots_ns, table.phases[work].gpu_ns) << seed;
                EXPECT_EQ(ops, table.phases[work].ops) << seed;
            }
        }
    }
}

}  // namespace
}  // namespace prof::modules_test
