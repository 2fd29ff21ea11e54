// SPDX-License-Identifier: Apache-2.0
// XLA's ranges as steps, phases and compilation, by timelines worked by hand.
#include "analysis/projection/xla_phases.hpp"

#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "analysis/modules/modules.hpp"
#include "analysis/rows.hpp"
#include "analysis/selection/step_choice.hpp"
#include "analysis/steps/step_figures.hpp"
#include "record/label.hpp"
#include "support/capture_builder.hpp"

namespace prof::xla_phases_test {
namespace {

std::string module_text(const std::string& function, int program = 7) {
    return "XlaModule:#hlo_module=jit_" + function + ",program_id=" + std::to_string(program) + "#";
}
std::string thunk_text(const std::string& name, const std::string& hlo_op = "fusion") {
    const std::string named = name.empty() ? "" : "name=" + name + ",";
    return "Thunk:#" + named + "hlo_op=" + hlo_op + ",unique_hlo_op_id=7#";
}
const std::string container_text = "Thunk:#hlo_op=command_buffer_1#";

// A program's threads and what the GPU did for each launch, 10 ns later and as long as is said.
class program {
public:
    program() : tsl(capture.domain("TSL")), phases(capture.domain(std::string{phase_domain})) {}

    void module(thread_script& on, std::uint64_t at, const std::string& function) {
        on.push(at, module_text(function), tsl);
    }
    // Begins at `at` and takes 2 ns on the host, `gpu_ns` on the GPU.
    void thunk(thread_script& on, std::uint64_t at, const std::string& name, std::uint64_t gpu_ns) {
        on.push(at, thunk_text(name), tsl);
        launch(on, at, gpu_ns);
        on.pop(at + 2, tsl);
    }
    void launch(thread_script& on, std::uint64_t at, std::uint64_t gpu_ns) {
        on.launch(at, ++correlation);
        capture.kernel(correlation, at + 10, at + 10 + gpu_ns);
    }
    // Puts a node into graph 1.
    void node(thread_script& on, std::uint64_t at, const std::string& name, std::uint64_t id) {
        on.push(at, thunk_text(name), tsl).node(at + 1, std::uint64_t{1} << 32 | id).pop(at + 2, tsl);
    }
    void replay(thread_script& on, std::uint64_t at, const std::vector<std::uint64_t>& ids, std::uint64_t gpu_ns) {
        on.launch_graph(at, ++correlation, 1);
        for (const std::uint64_t id : ids) {
            capture.kernel(correlation, at + 10, at + 10 + gpu_ns, {.graph_node = std::uint64_t{1} << 32 | id});
        }
    }

    std::vector<std::string> table(const projection_options& options = {}) const {
        const projection p = project(capture.build(), options);
        EXPECT_EQ(self_total(p), p.total_gpu_ns);
        std::vector<std::string> lines;
        for (const projection_row& row : p.rows) {
            if (row.kind != row_kind::range && row.gpu_sum_ns == 0) continue;
            lines.push_back(row.path + (row.is_captured ? " (captured)" : "") + (row.is_observed ? "* " : " ") +
                            std::to_string(row.instances) + " host " + std::to_string(row.host_ns) + " gpu " +
                            std::to_string(row.gpu_sum_ns) + " self " + std::to_string(row.gpu_self_ns) +
                            (row.adopted_ops == 0 ? "" : " adopted " + std::to_string(row.adopted_ops)));
        }
        return lines;
    }

    std::string step_function() const {
        const timeline data = capture.build();
        return shown_timeline(data, {}).step_function();
    }
    std::optional<step_figures> steps() const {
        const timeline data = capture.build();
        const shown_timeline shown(data, {});
        return measure_steps(shown.data(), attribute(shown.data(), {}), shown.step_function());
    }

    capture_builder capture;
    std::uint16_t tsl;
    std::uint16_t phases;
    std::uint64_t correlation = 0;
};

using lines = std::vector<std::string>;

TEST(XlaPhases, SplitAStepOfEagerThunks) {
    program p;
    thread_script& main = p.capture.thread("python");
    for (const std::uint64_t at : {0U, 1000U}) {
        p.module(main, at, "train_step");
        p.thunk(main, at + 10, "jit(train_step)/jvp(Model)/up/dot_general", 100);
        p.thunk(main, at + 20, "jit(train_step)/transpose(jvp(Model))/up/dot_general", 200);
        p.thunk(main, at + 30, "jit(train_step)/jvp(Model)/checkpoint/up/dot_general", 30);
        p.thunk(main, at + 40, "jit(train_step)/transpose(jvp(Model))/checkpoint/rematted_computation/add", 7);
        p.thunk(main, at + 50, "jit(train_step)/optimizer/mul", 5);
        p.thunk(main, at + 60, "jit(train_step)", 3);
        p.thunk(main, at + 70, "jit(train_step)/mul", 1);
        p.thunk(main, at + 80, "", 40);
        p.launch(main, at + 90, 9);
        main.pop(at + 100, p.tsl);
    }
    p.module(main, 2000, "_randint");
    p.thunk(main, 2010, "jit(_randint)/add", 2);
    main.pop(2020, p.tsl);
    EXPECT_EQ(p.table(), (lines{
                             "step* 2 host 200 gpu 790 self 18",
                             "step/forward* 2 host 8 gpu 260 self 260",
                             "step/backward* 2 host 4 gpu 400 self 400",
                             "step/recompute* 2 host 4 gpu 14 self 14",
                             "step/optimizer* 2 host 4 gpu 10 self 10",
                             "step/other fusions* 2 host 4 gpu 6 self 6",
                             "step/other* 2 host 4 gpu 2 self 2",
                             "step/unnamed operations* 2 host 4 gpu 80 self 80",
                             "jit(_randint)* 1 host 20 gpu 2 self 2",
                         }));
}

TEST(XlaPhases, GiveReplaysOfCommandBuffersTheSameRows) {
    program p;
    thread_script& main = p.capture.thread("python");
    const std::string forward = "jit(train_step)/jvp(Model)/up/dot_general";
    const std::string backward = "jit(train_step)/transpose(jvp(Model))/up/dot_general";
    // The first execution launches all by itself.
    main.push(0, "batch 1");
    p.module(main, 1, "train_step");
    main.push(2, container_text, p.tsl);
    p.thunk(main, 10, forward, 100);
    p.thunk(main, 20, backward, 200);
    p.thunk(main, 30, forward, 50);
    main.pop(40, p.tsl).pop(50, p.tsl).pop(60);
    // The second makes the graph; all replay it, the third makes its nodes fit for other addresses before that.
    for (const std::uint64_t at : {1000U, 2000U, 3000U}) {
        main.push(at, "batch " + std::to_string(at));
        p.module(main, at + 1, "train_step");
        main.push(at + 2, container_text, p.tsl);
        if (at == 1000) {
            p.node(main, at + 10, forward, 1);
            main.push(at + 20, thunk_text(backward), p.tsl).begin_capture(at + 21, 900);
            main.node(at + 22, std::uint64_t{1} << 32 | 2).pop(at + 23, p.tsl);
            p.node(main, at + 30, forward, 3);
        } else if (at == 2000) {
            main.push(at + 10, thunk_text(forward), p.tsl).pop(at + 11, p.tsl);
        }
        p.replay(main, at + 40, {1, 2, 3}, 1000);
        main.pop(at + 50, p.tsl).pop(at + 60, p.tsl).pop(at + 70);
    }
    EXPECT_EQ(p.table(), (lines{
                             "batch # 4 host 270 gpu 9350 self 0",
                             "batch #/step* 4 host 226 gpu 9350 self 0",
                             "batch #/step/forward* 4 host 4 gpu 6150 self 6150",
                             "batch #/step/backward* 4 host 2 gpu 3200 self 3200",
                         }));
}

TEST(XlaPhases, PutTheCompilerAndItsTrialsInOneRow) {
    program p;
    thread_script& main = p.capture.thread("python");
    thread_script& worker = p.capture.thread("python");
    thread_script& loader = p.capture.thread("loader");
    main.push(0, "XlaCompile:#module=jit_f#", p.tsl);
    main.push(1, "XlaPassPipeline:#name=simplify,module=jit_f,program_id=7#", p.tsl);
    main.push(2, "XlaPass:#name=dce,module=jit_f,program_id=7#", p.tsl).pop(5, p.tsl).pop(6, p.tsl);
    worker.push(10, "XlaCompileBackend:#module=gemm_fusion_dot,program_id=8#", p.tsl);
    worker.push(11, "XlaPass:#name=dce,module=gemm_fusion_dot,program_id=8#", p.tsl).pop(15, p.tsl).pop(40, p.tsl);
    worker.push(41, "XlaModule:#hlo_module=gemm_fusion_dot#", p.tsl);
    worker.push(42, "Thunk:#hlo_op=gemm_fusion_dot#", p.tsl);
    p.launch(worker, 43, 100);
    worker.pop(44, p.tsl).pop(45, p.tsl);
    p.launch(worker, 46, 1000);  // in no range: it compares the results
    p.launch(loader, 47, 1);     // not the compiler's thread
    p.launch(main, 48, 10);
    main.pop(50, p.tsl);
    main.push(60, "XlaCompile:#module=jit_g#", p.tsl).pop(65, p.tsl);
    p.launch(worker, 70, 5);  // nobody waits for a function
    // Nobody waits for this one either: it stands for itself.
    worker.push(80, "XlaCompileBackend:#module=late,program_id=9#", p.tsl);
    worker.push(81, "XlaPass:#name=dce,module=late,program_id=9#", p.tsl).pop(82, p.tsl).pop(83, p.tsl);
    EXPECT_EQ(p.table(), (lines{
                             "XLA compilation* 3 host 58 gpu 1110 self 1110 adopted 2",
                             "(no range) 0 host 0 gpu 6 self 6",
                         }));
    projection_options all;
    all.fold = {.mode = fold_mode::none};
    const lines as_pushed = p.table(all);
    EXPECT_EQ(as_pushed.size(), 11U);
    EXPECT_EQ(as_pushed[1],
              "TSL:XlaCompile:#module=jit_f#/TSL:XlaPassPipeline:#name=simplify,module=jit_f,program_id=7# 1 "
              "host 5 gpu 0 self 0");
}

TEST(XlaPhases, PutCompilationWhereItIsWaitedFor) {
    program p;
    thread_script& main = p.capture.thread("python");
    thread_script& worker = p.capture.thread("python");
    main.push(0, "train 0").push(1, "XlaCompile:#module=jit_f#", p.tsl);
    worker.push(10, "XlaPass:#name=dce,module=jit_f,program_id=8#", p.tsl).pop(15, p.tsl);
    p.launch(worker, 20, 100);
    main.pop(50, p.tsl).pop(60);
    EXPECT_EQ(p.table(), (lines{
                             "train # 1 host 60 gpu 100 self 0 adopted 1",
                             "train #/XLA compilation* 1 host 49 gpu 100 self 100 adopted 1",
                         }));
}

// Two functions compute gradients, a third takes more time than both.
program three_functions() {
    program p;
    thread_script& main = p.capture.thread("python");
    const auto run = [&](std::uint64_t at, const std::string& function, const std::string& name, std::uint64_t gpu_ns) {
        p.module(main, at, function);
        p.thunk(main, at + 1, "jit(" + function + ")/" + name, gpu_ns);
        main.pop(at + 10, p.tsl);
    };
    run(0, "small", "transpose(jvp(M))/add", 10);
    run(100, "large", "transpose(jvp(M))/add", 20);
    run(200, "evaluate", "Model/up/add", 1000);
    return p;
}

TEST(XlaPhases, TakeStepsFromTheLongestGradientFunction) {
    program p = three_functions();
    EXPECT_EQ(p.table(), (lines{
                             "jit(small)* 1 host 10 gpu 10 self 0",
                             "jit(small)/backward* 1 host 2 gpu 10 self 10",
                             "step* 1 host 10 gpu 20 self 0",
                             "step/backward* 1 host 2 gpu 20 self 20",
                             "jit(evaluate)* 1 host 10 gpu 1000 self 0",
                             "jit(evaluate)/Model* 1 host 2 gpu 1000 self 1000",
                         }));
    EXPECT_EQ(p.step_function(), "jit(large)");
}

// The range of an execution is what the host does for it: JAX returns before the GPU has worked.
TEST(XlaPhases, EndAStepAtTheNextExecution) {
    program p;
    thread_script& main = p.capture.thread("python");
    for (const std::uint64_t at : {0U, 1000U, 1800U, 2500U}) {
        p.module(main, at, "train_step");
        p.thunk(main, at + 10, "jit(train_step)/jvp(Model)/up/dot_general", 100);
        p.thunk(main, at + 20, "jit(train_step)/transpose(jvp(Model))/up/dot_general", 200);
        main.pop(at + 100, p.tsl);
        p.module(main, at + 300, "evaluate");
        p.thunk(main, at + 310, "jit(evaluate)/Model/add", 7);
        main.pop(at + 320, p.tsl);
    }
    const auto found = p.steps();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->function, "jit(train_step)");
    EXPECT_EQ(found->source, step_source::observed);
    EXPECT_EQ(found->steps, 2U);  // neither the first nor the last
    EXPECT_EQ(found->host_ns, 800 + 700);
    EXPECT_EQ(found->gpu_sum_ns, 2 * (100 + 200 + 7));
    std::vector<std::string> parts;
    for (const step_part& part : found->parts) parts.push_back(part.name + ' ' + std::to_string(part.gpu_sum_ns));
    EXPECT_EQ(parts, (lines{"backward 400", "forward 200", " 14"}));

    const timeline data = p.capture.build();
    const shown_timeline shown(data, {});
    const attribution att = attribute(shown.data());
    lines chosen;
    for (const whole_step& step : choose_whole_steps(shown.data(), att, {.steps = "1:3"}, true).steps) {
        chosen.push_back(std::to_string(step.number) + ' ' + std::to_string(step.end_ns - step.start_ns));
    }
    EXPECT_EQ(chosen, (lines{"1 800", "2 700"}));
}

// Scopes are the tree; of a command buffer's nodes those of its making. What is in no scope, no phase or has no name is
// in no row, and neither is a function that is one operation.
TEST(XlaPhases, PutOperationsInTheScopesOfTheirNames) {
    program p;
    thread_script& main = p.capture.thread("python");
    p.module(main, 0, "train_step");
    p.thunk(main, 10, "jit(train_step)/jvp(Model)/layer_0/up/dot_general", 1);
    p.thunk(main, 20, "jit(train_step)/jvp(Model)/layer_1/up/dot_general", 2);
    p.thunk(main, 30, "jit(train_step)/transpose(jvp(Model))/layer_1/up/dot_general", 4);
    p.thunk(main, 40, "jit(train_step)/transpose(jvp(Model))/checkpoint/rematted_computation/layer_1/add", 8);
    p.thunk(main, 50, "jit(train_step)/optimizer/mul", 16);
    p.thunk(main, 60, "", 32);
    p.node(main, 70, "jit(train_step)/jvp(Model)/head/a.b->c/dot_general", 5);
    p.replay(main, 80, {5}, 64);
    main.pop(100, p.tsl);
    p.module(main, 200, "apply");
    p.thunk(main, 210, "jit(apply)/Model/layer_0/up/dot_general", 128);
    main.pop(220, p.tsl);
    p.module(main, 300, "add");
    p.thunk(main, 310, "jit(add)/add", 256);
    main.pop(320, p.tsl);

    const timeline data = p.capture.build();
    const module_table table = measure_modules(data, attribute(data), true);
    std::vector<std::string> rows;
    for (const module_row& row : table.rows) {
        std::string line = row.path;
        for (const module_time& time : row.total) line += ' ' + std::to_string(time.gpu_ns);
        rows.push_back(line);
    }
    EXPECT_EQ(rows, (lines{
                        "jit(train_step) 67 0 4 8",
                        "jit(train_step)/Model 67 0 4 8",
                        "jit(train_step)/Model/layer_* 3 0 4 8",
                        "jit(train_step)/Model/layer_*/up 3 0 4 0",
                        "jit(train_step)/Model/head/a.b->c 64 0 0 0",
                        "jit(apply) 0 128 0 0",
                        "jit(apply)/Model/layer_0/up 0 128 0 0",
                    }));
    EXPECT_EQ(table.rows[2].slowest, "jit(train_step)/Model/layer_1");
}

TEST(XlaPhases, MakeNoStepsBesideCountedOrObservedOnes) {
    program counted = three_functions();
    counted.capture.parts().properties["steps"] = "3";
    EXPECT_EQ(counted.table()[2], "jit(large)* 1 host 10 gpu 20 self 0");
    counted.capture.parts().properties["steps"] = "0";
    EXPECT_EQ(counted.table()[2], "step* 1 host 10 gpu 20 self 0");

    program observed = three_functions();
    observed.capture.thread_at(0).push(300, "step", observed.phases).pop(310, observed.phases);
    EXPECT_EQ(observed.table()[2], "jit(large)* 1 host 10 gpu 20 self 0");
    EXPECT_EQ(observed.step_function(), "");

    program inference;
    thread_script& main = inference.capture.thread("python");
    inference.module(main, 0, "apply");
    inference.thunk(main, 1, "jit(apply)/Model/up/add", 10);
    main.pop(10, inference.tsl);
    EXPECT_EQ(inference.table()[0], "jit(apply)* 1 host 10 gpu 10 self 0");
}

TEST(XlaPhases, FollowTheInnermostNamedThunk) {
    program p;
    thread_script& main = p.capture.thread("python");
    const std::uint16_t nccl = p.capture.domain("NCCL");
    p.module(main, 0, "train_step");
    main.push(1, thunk_text("jit(train_step)/transpose(jvp(M))/while", "while.1"), p.tsl);
    p.launch(main, 2, 1);
    p.thunk(main, 10, "", 10);  // no name: as what is around it
    p.thunk(main, 20, "jit(train_step)/optimizer/mul", 100);
    p.thunk(main, 30, "jit(train_step)/transpose(jvp(M))/while/body/add", 1000);
    main.push(40, "all reduce", nccl);
    p.launch(main, 41, 10000);
    main.pop(42, nccl).pop(50, p.tsl);
    main.push(60, "", p.tsl);  // its name was lost
    p.launch(main, 61, 100000);
    main.pop(62, p.tsl).pop(70, p.tsl);
    EXPECT_EQ(p.table(), (lines{
                             "step* 1 host 70 gpu 111111 self 0",
                             "step/backward* 1 host 49 gpu 11011 self 1011",
                             "step/backward/NCCL:all reduce 1 host 2 gpu 10000 self 10000",
                             "step/optimizer* 1 host 2 gpu 100 self 100",
                             "step/unnamed operations* 1 host 2 gpu 100000 self 100000",
                         }));
}

TEST(XlaPhases, AddTheProgramsPrefixToNames) {
    program p;
    thread_script& main = p.capture.thread("python");
    main.push(0, "XlaModule:#prefix=jit(f)/transpose(jvp(M)),hlo_module=jit_f,program_id=7#", p.tsl);
    p.thunk(main, 1, "up/add", 10);
    main.push(5, "Thunk:#name=,hlo_op=fusion.1,unique_hlo_op_id=7#", p.tsl);
    p.launch(main, 6, 100);
    main.pop(7, p.tsl).pop(10, p.tsl);
    p.module(main, 20, "g");
    p.thunk(main, 21, "up/add", 1000);  // the same text in a program that has no prefix
    main.pop(30, p.tsl);
    EXPECT_EQ(p.table(), (lines{
                             "step* 1 host 10 gpu 110 self 0",
                             "step/backward* 1 host 4 gpu 110 self 110",
                             "jit(g)* 1 host 10 gpu 1000 self 1000",
                         }));
}

TEST(XlaPhases, UseNamesKeptWithTheCapture) {
    program p;
    thread_script& main = p.capture.thread("python");
    p.capture.parts().properties["text.xla_operations"] =
        "jit_f\treduce.1\tjit(f)/transpose(jvp(M))/reduce_sum\n"
        "jit_f\treduce.2\tjit(f)\n\nno tabs\njit_f\tone tab\n"
        "jit_g\treduce.3\tjit(g)/jvp(M)";
    const auto run = [&](std::uint64_t at, const std::string& hlo_op, std::uint64_t gpu_ns) {
        main.push(at, thunk_text("", hlo_op), p.tsl);
        p.launch(main, at, gpu_ns);
        main.pop(at + 2, p.tsl);
    };
    p.module(main, 0, "f");
    run(10, "reduce.1", 1);
    run(20, "reduce.2", 10);
    run(30, "reduce.3", 100);  // of another program
    main.pop(40, p.tsl);
    p.module(main, 50, "g");
    run(60, "reduce.3", 1000);
    main.pop(90, p.tsl);
    EXPECT_EQ(p.table(), (lines{
                             "step* 1 host 40 gpu 111 self 0",
                             "step/backward* 1 host 2 gpu 1 self 1",
                             "step/other* 1 host 2 gpu 10 self 10",
                             "step/unnamed operations* 1 host 2 gpu 100 self 100",
                             "jit(g)* 1 host 40 gpu 1000 self 0",
                             "jit(g)/forward* 1 host 2 gpu 1000 self 1000",
                         }));
}

TEST(XlaPhases, FollowDomainFilters) {
    program p = three_functions();
    projection_options options;
    options.attribution.domains.exclude = {"TSL"};
    EXPECT_EQ(p.table(options), (lines{"(no range) 0 host 0 gpu 1030 self 1030"}));
    options.attribution.domains.exclude = {std::string{phase_domain}};
    EXPECT_EQ(p.table(options), (lines{"(no range) 0 host 0 gpu 1030 self 1030"}));
    options.attribution.domains = {.include = {"TSL", std::string{phase_domain}}, .exclude = {}};
    EXPECT_EQ(p.table(options).size(), 6U);
}

TEST(XlaPhases, LeaveTimelinesWithoutXlaAlone) {
    capture_builder capture;
    capture.thread("python").push(0, thunk_text("jit(f)/jvp(M)/add")).launch(1, 1).pop(5);
    capture.kernel(1, 10, 20);
    const timeline data = capture.build();
    EXPECT_FALSE(shown_timeline(data, {}).is_changed());
    EXPECT_EQ(sums(project(data))[0], "Thunk:#name=jit(f)\\/jvp(M)\\/add,hlo_op=fusion,unique_hlo_op_id=## 10 10");
}

// Random nesting, pops that are missing or too many. What each phase has is counted while the program is made.
TEST(XlaPhases, AddUpForRandomPrograms) {
    const std::vector<std::pair<std::string, std::string>> names = {
        {"jit(f)/jvp(M)/up/add", "forward"}, {"jit(f)/transpose(jvp(M))/up/add", "backward"},
        {"jit(f)/optimizer", "optimizer"},   {"jit(f)", "other fusions"},
        {"", "unnamed operations"},
    };
    for (unsigned seed = 0; seed < 200; ++seed) {
        std::mt19937 random{seed};
        const auto below = [&](unsigned limit) { return static_cast<unsigned>(random() % limit); };
        program p;
        thread_script& main = p.capture.thread("python");
        std::map<std::string, std::int64_t> expected;
        std::uint64_t at = 0;
        for (int execution = 0; execution < 5; ++execution) {
            p.module(main, ++at, "f");
            // So that there is a step, whatever comes.
            p.thunk(main, at += 2, names[1].first, 3);
            expected["backward"] += 3;
            std::vector<std::string> open;  // rows of the thunks that are open
            for (unsigned i = 0, count = below(60); i < count; ++i) {
                at += 5;
                const unsigned what = below(4);
                if (what == 0) {
                    const auto& [name, row] = names[below(static_cast<unsigned>(names.size()))];
                    main.push(at, thunk_text(name), p.tsl);
                    open.push_back(name.empty() && !open.empty() ? open.back() : row);
                } else if (what == 1 && !open.empty()) {
                    main.pop(at, p.tsl);
                    open.pop_back();
                } else {
                    const auto gpu_ns = static_cast<std::int64_t>(below(1000));
                    p.launch(main, at, static_cast<std::uint64_t>(gpu_ns));
                    expected[open.empty() ? "" : open.back()] += gpu_ns;
                }
            }
            for (std::size_t i = 0; i <= open.size(); ++i) main.pop(++at, p.tsl);
            if (below(4) == 0) main.pop(++at, p.tsl);
        }
        const projection projected = project(p.capture.build());
        EXPECT_EQ(self_total(projected), projected.total_gpu_ns);
        std::map<std::string, std::int64_t> found;
        for (const projection_row& row : projected.rows) {
            if (row.kind == row_kind::range) found[row.depth == 0 ? "" : row.name] += row.gpu_self_ns;
            EXPECT_LE(row.depth, 1U);
            EXPECT_TRUE(row.kind != row_kind::range || row.depth == 1 || row.instances == 5) << row.path;
        }
        std::erase_if(expected, [](const auto& entry) { return entry.second == 0; });
        std::erase_if(found, [](const auto& entry) { return entry.second == 0; });
        EXPECT_EQ(found, expected) << "seed " << seed;
    }
}

}  // namespace
}  // namespace prof::xla_phases_test
