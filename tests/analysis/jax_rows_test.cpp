// SPDX-License-Identifier: Apache-2.0
// What a JAX program's tables have: one row of compilation and a report of what was compiled, the phases of jitted
// functions as the parts of a step, the phases of fusions, and why there are no modules. Worked by hand.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/projection/row_fold.hpp"
#include "analysis/projection/xla_phases.hpp"
#include "analysis/steps/step_figures.hpp"
#include "record/label.hpp"
#include "report/makers.hpp"
#include "report/reports.hpp"
#include "support/capture_builder.hpp"

namespace prof::jax_rows_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A program with steps that it annotates.
struct program {
    void execute(std::uint64_t at, const std::string& function, const std::vector<std::string>& names,
                 const std::string& hlo_op = "loop_add_fusion") {
        main.push(at, "XlaModule:#hlo_module=jit_" + function + ",program_id=7#", tsl);
        std::uint64_t time = at;
        for (const std::string& name : names) {
            const std::string named = name.empty() ? "" : "name=" + name + ",";
            main.push(++time, "Thunk:#" + named + "hlo_op=" + hlo_op + ",unique_hlo_op_id=7#", tsl);
            launch(time, 10);
            main.pop(++time, tsl);
        }
        main.pop(++time, tsl);
    }
    void launch(std::uint64_t at, std::uint64_t gpu_ns) {
        main.launch(at, ++correlation);
        gpu_at = std::max(gpu_at, at) + 1;
        capture.kernel(correlation, gpu_at, gpu_at + gpu_ns);
        gpu_at += gpu_ns;
    }
    // A stage with a trial of a kernel, and a range of the program's that is traced.
    void stage(std::uint64_t at, const std::string& name) {
        main.push(at, "compilation", phases).push(at, name, phases).push(at + 1, "XlaCompile:#module=jit_f#", tsl);
        main.push(at + 2, "mine");
        launch(at + 3, 5);
        main.pop(at + 4).pop(at + 5, tsl).pop(at + 6, phases).pop(at + 7, phases);
    }
    // Three steps, so that the second counts.
    template <typename TBody>
    void steps(TBody&& body) {
        for (std::uint64_t at = 10'000; at < 50'000; at += 10'000) {
            main.push(at, "step", phases).push(at + 1, "train " + std::to_string(at));
            body(at + 100);
            main.pop(at + 9'000).pop(at + 9'001, phases);
        }
    }

    std::vector<std::string> rows(const projection_options& options = {}) const {
        const projection made = project(capture.build(), options);
        std::int64_t self_ns = 0;
        std::vector<std::string> out;
        for (const projection_row& row : made.rows) {
            self_ns += row.gpu_self_ns;
            if (row.kind != row_kind::range) continue;
            out.push_back(row.path + ' ' + std::to_string(row.instances) + " gpu " + std::to_string(row.gpu_sum_ns) +
                          " ops " + std::to_string(row.ops));
        }
        EXPECT_EQ(self_ns, made.total_gpu_ns);
        return out;
    }
    std::vector<std::string> parts() const {
        const timeline data = capture.build();
        const shown_timeline shown(data, {});
        const auto figures = measure_steps(shown.data(), attribute(shown.data()), shown.step_function());
        std::vector<std::string> out;
        if (!figures) return out;
        for (const step_part& part : figures->parts) {
            if (part.gpu_sum_ns != 0) {
                out.push_back(part.name + ' ' +
                              std::to_string(part.gpu_sum_ns / static_cast<std::int64_t>(figures->steps)));
            }
        }
        return out;
    }
    std::vector<std::string> notes_of(const char* report) const {
        const timeline data = capture.build();
        const report_part made = find_report(report)->make({.data = data});
        return block_in<table>(made)->notes;
    }

    capture_builder capture;
    std::uint16_t tsl = capture.domain("TSL");
    std::uint16_t phases = capture.domain(std::string{phase_domain});
    thread_script& main = capture.thread("python");
    std::uint64_t correlation = 0;
    std::uint64_t gpu_at = 0;
};

TEST(JaxRows, HaveOneRowForCompilation) {
    program p;
    std::uint64_t at = 100;
    for (const char* const name : {"tracing add", "lowering jit(add)", "compiling jit(add)", "tracing mul"}) {
        p.stage(at, name);
        at += 100;
    }
    EXPECT_THAT(p.rows(), ElementsAre("compilation 4 gpu 20 ops 4"));
    EXPECT_GT(p.rows({.fold = {.mode = fold_mode::none}}).size(), 12U);  // all that was pushed

    const timeline data = p.capture.build();
    const table compiled = compilation_report({.data = data});
    std::vector<std::string> out;
    for (const table_row& row : compiled.rows) {
        out.push_back(std::get<std::string>(row[0].value) + ' ' +
                      std::to_string(std::get<std::uint64_t>(row[1].value)) + " host " +
                      std::to_string(std::get<std::int64_t>(row[2].value)) + " gpu " +
                      std::to_string(std::get<std::int64_t>(row[7].value)));
    }
    EXPECT_THAT(out, ElementsAre("add 1 host 18 gpu 15", "mul 0 host 6 gpu 5"));
}

// The compiled functions of torch.compile have rows of their own, and so has what only looks like a stage.
TEST(JaxRows, LeaveOtherCompilersTheirRows) {
    program p;
    p.main.push(1, "compilation", p.phases).push(2, "Net.forward (net.py)", p.phases);
    p.launch(3, 5);
    p.main.pop(4, p.phases).pop(5, p.phases);
    p.main.push(10, "compilation").push(11, "tracing add");
    p.launch(12, 5);
    p.main.pop(13).pop(14);
    EXPECT_THAT(p.rows(), ElementsAre("compilation 1 gpu 5 ops 1", "compilation/Net.forward (net.py) 1 gpu 5 ops 1",
                                      "compilation 1 gpu 5 ops 1", "compilation/tracing add 1 gpu 5 ops 1"));
}

TEST(JaxRows, DivideAStepByThePhasesOfItsFunctions) {
    program p;
    p.steps([&](std::uint64_t at) {
        p.main.push(at, "behind one more range");
        p.execute(at + 1, "f",
                  {"jit(f)/jvp(M)/add", "jit(f)/transpose(jvp(M))/add", "jit(f)/optimizer/mul", "jit(f)/mul"});
        p.main.pop(at + 50);
        p.execute(at + 100, "g", {"jit(g)/transpose(jvp(N))/add"});  // another one with gradients
        p.execute(at + 200, "evaluate", {"jit(evaluate)/M/add"});    // none: it is one part
        p.execute(at + 300, "add", {"jit(add)/add"});
    });
    EXPECT_THAT(p.parts(), testing::UnorderedElementsAre("backward 20", "forward 10", "optimizer 10", "other 10",
                                                         "jit(evaluate) 10", "jit(add) 10"));
}

TEST(JaxRows, TellWhatFusionsAreOf) {
    program p;
    p.capture.parts().properties["text.xla_fusions"] =
        "jit_f\tfusion.1\tbackward,other\njit_f\tfusion.2\tother\njit_f\tfusion.3\tbackward\n"
        "jit_f\tfusion.4\tforward,backward\njit_g\tfusion.5\tother\n\nno tabs\njit_f\tfusion.6\tbackward";
    p.steps([&](std::uint64_t at) {
        p.execute(at, "f", {"jit(f)/jvp(M)/add"});
        for (std::uint64_t i = 1; i < 6; ++i) p.execute(at + 100 * i, "f", {"jit(f)"}, "fusion." + std::to_string(i));
        p.execute(at + 600, "f", {"jit(f)/optimizer"}, "fusion.6");  // its own name says what it is
        p.execute(at + 700, "f", {"jit(f)"}, "copy.1");
    });
    EXPECT_THAT(p.parts(), testing::UnorderedElementsAre("forward 10", "backward + other 10", "other 20", "backward 10",
                                                         "forward + backward 10", "other fusions 10", "optimizer 10"));
    EXPECT_THAT(
        p.notes_of("gpu-projection"),
        ElementsAre("of the GPU's busy time in steps 12.5 % is forward and backward in one fusion, and 50.0 % is "
                    "neither alone: 12.5 % are "
                    "fusions of gradients with other operations, as an update's; 12.5 % (other fusions) may be, "
                    "as their operations have no scope in common and the capture does not have their names"));
}

// However many functions are executed before them, the rows of the step are shown.
TEST(JaxRows, ShowTheStepAmongManyFunctions) {
    program p;
    for (std::uint64_t i = 0; i < 80; ++i) p.execute(10 + 100 * i, "op_" + std::string(i + 1, 'x'), {"jit(o)/add"});
    p.steps([&](std::uint64_t at) {
        p.execute(at, "f", {"jit(f)/jvp(M)/add", "jit(f)/transpose(jvp(M))/add", "jit(f)/transpose(jvp(M))/mul"});
    });
    const projection made = project(p.capture.build());
    std::vector<std::string> shown;
    for (const shown_row& row : rows_to_show(made.rows, {.most = 12})) shown.push_back(row.figures.path);
    EXPECT_THAT(shown, testing::IsSupersetOf({"train #/jit(f)/forward", "train #/jit(f)/backward"}));
    EXPECT_LE(shown.size(), 12U);
}

TEST(JaxRows, SayWhyThereAreNoModules) {
    program linen;
    program nnx;
    linen.execute(10, "f", {"jit(f)/jvp(M)/Dense_0/add", "jit(f)/transpose(jvp(M))/Dense_0/add"});
    nnx.execute(10, "f", {"jit(f)/jvp()/add", "jit(f)/transpose(jvp())/add", "jit(f)/mul", "jit(f)/mul"});
    EXPECT_THAT(linen.notes_of("modules"), IsEmpty());
    EXPECT_THAT(nnx.notes_of("modules"), ElementsAre(HasSubstr("flax.nnx does not"), HasSubstr("50.0 % of these")));
}

}  // namespace
}  // namespace prof::jax_rows_test
