// SPDX-License-Identifier: Apache-2.0
// What a checkpoint would save: on a step worked by hand, and on random programs that are run once more with
// checkpoints, whose peak is the reference.
#include "memory/checkpoint_savings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "analysis/steps/whole_steps.hpp"
#include "memory/forward_calls.hpp"
#include "memory/memory_summary.hpp"
#include "memory/simulated_allocator.hpp"
#include "record/label.hpp"
#include "report/make_reports.hpp"
#include "report/reports.hpp"
#include "support/torch_records.hpp"

namespace prof::checkpoint_savings_test {
namespace {

constexpr std::uint64_t kib = 1024;

// A layer's blocks in forward, in their order.
struct layer_blocks {
    std::vector<std::uint64_t> kept;       // for its backward
    std::vector<std::uint64_t> temporary;  // given back before the next is asked for, after the kept one of that index
    std::uint64_t output = 0;
    bool saves_output = false;  // its own backward needs it to the last, as relu's does
};

// Trains layers one after another, each a module; every block comes back with the backward node that needed it last.
class layered_program {
public:
    layered_program(std::vector<layer_blocks> layers, bool has_checkpoints)
        : layers_(std::move(layers)), has_checkpoints_(has_checkpoints) {
        capture.parts().properties["modules"] = "all";
        (void)gpu.take(main, 10, 100 * kib);
        for (std::uint64_t i = 0; i < 3; ++i) step(i);
        main.step(begin_of(3), 3, steps_);
    }

    capture_builder capture;
    thread_script& main = capture.thread("python");
    thread_script& autograd = capture.thread("pt_autograd_0");
    simulated_allocator gpu;
    std::uint64_t peak = 0;  // the most that was allocated in the last step

private:
    static std::uint64_t begin_of(std::uint64_t step) { return 1'000'000 * (step + 1); }

    std::uint64_t take(thread_script& on, std::uint64_t bytes) {
        const std::uint64_t block = gpu.take(on, now_ += 10, bytes);
        peak = std::max(peak, gpu.allocated);
        return block;
    }
    void give_back(thread_script& on, std::vector<std::uint64_t>& blocks) {
        for (const std::uint64_t each : blocks) gpu.free(on, now_ += 10, each);
        blocks.clear();
    }
    void module(const std::string& name, record_kind kind, std::uint64_t sequence) {
        main.add({.ticks = now_ += 10,
                  .value = first_sequence_ + sequence,
                  .name = name.empty() ? 0 : capture.name(name),
                  .domain = modules_,
                  .kind = kind,
                  .flags = static_cast<std::uint8_t>(payload_type::u64)});
    }
    void kernel(thread_script& on) {
        const std::uint64_t id = ++correlation_;
        on.launch(now_ += 10, id);
        capture.kernel(id, now_ + 5, now_ + 7);
    }

    // What forward makes; the output is the last.
    std::uint64_t compute(thread_script& on, const layer_blocks& of, std::vector<std::uint64_t>& kept) {
        for (std::size_t i = 0; i < of.kept.size(); ++i) {
            kept.push_back(take(on, of.kept[i]));
            if (i < of.temporary.size()) gpu.free(on, now_ += 10, take(on, of.temporary[i]));
        }
        kernel(on);
        return take(on, of.output);
    }

    void step(std::uint64_t number) {
        now_ = begin_of(number);
        first_sequence_ = 100 * number;  // autograd's numbers go on
        peak = gpu.allocated;
        main.step(now_, number, steps_);
        main.push(now_ += 10, "forward", phases_);
        module("Net (Net)", record_kind::range_push, 0);
        std::vector<std::vector<std::uint64_t>> kept(layers_.size());
        std::vector<std::uint64_t> outputs;
        for (std::size_t i = 0; i < layers_.size(); ++i) {
            module("Net.layers." + std::to_string(i) + " (Layer)", record_kind::range_push, 10 * i);
            outputs.push_back(compute(main, layers_[i], kept[i]));
            module({}, record_kind::range_pop, 10 * i + 2);
            if (has_checkpoints_) give_back(main, kept[i]);
        }
        module({}, record_kind::range_pop, 10 * layers_.size());
        std::vector<std::uint64_t> loss = {take(main, 2 * kib)};
        main.pop(now_ += 10, phases_);
        main.push(now_ += 10, "backward", phases_);
        node(10 * layers_.size() + 5);
        leave_node();
        give_back(autograd, loss);
        if (!layers_.back().saves_output) gpu.free(autograd, now_ += 10, outputs.back());
        std::vector<std::uint64_t> gradients;
        for (std::size_t i = layers_.size(); i-- > 0;) {
            node(10 * i + 1);
            if (has_checkpoints_) gpu.free(autograd, now_ += 10, compute(autograd, layers_[i], kept[i]));
            gradients.push_back(take(autograd, 30 * kib));
            leave_node();
            if (layers_[i].saves_output) gpu.free(autograd, now_ += 10, outputs[i]);
            node(10 * i);
            kernel(autograd);
            leave_node();
            give_back(autograd, kept[i]);
            if (i > 0 && !layers_[i - 1].saves_output) gpu.free(autograd, now_ += 10, outputs[i - 1]);
        }
        main.pop(now_ += 10, phases_);
        main.push(now_ += 10, "optimizer", phases_);
        give_back(main, gradients);
        main.pop(now_ += 10, phases_);
    }

    void node(std::uint64_t sequence) {
        autograd.add(
            torch_push(capture, now_ += 10, "AddmmBackward0", static_cast<std::int64_t>(first_sequence_ + sequence)));
    }
    void leave_node() { autograd.pop(now_ += 10); }

    std::vector<layer_blocks> layers_;
    bool has_checkpoints_;
    std::uint16_t steps_ = capture.domain("prof");
    std::uint16_t phases_ = capture.domain(std::string(phase_domain));
    std::uint16_t modules_ = capture.domain(std::string(module_domain));
    std::uint64_t now_ = 0;
    std::uint64_t correlation_ = 0;
    std::uint64_t first_sequence_ = 0;
};

// What the reports would have of the highest step.
struct measured_program {
    explicit measured_program(const layered_program& program)
        : data(program.capture.build()),
          att(attribute(data)),
          memory(measure_memory(data, att)),
          account(data),
          calls(data, att, data) {}

    const memory_step& step() const { return memory.devices.front().steps[memory.devices.front().highest]; }
    std::vector<checkpoint_saving> savings() const {
        const whole_step of{.start_ns = step().start_ns, .end_ns = step().end_ns};
        return checkpoint_savings(data, account, calls, packed_device(1, 0), of, step().peak_event);
    }

    timeline data;
    attribution att;
    memory_summary memory;
    block_account account;
    forward_calls calls;
};

layer_blocks usual_layer() { return {.kept = {40 * kib}, .temporary = {16 * kib}, .output = 10 * kib}; }

// 100 KiB of parameters. Forward ends with 252; the loss and the last output gone there are 240, and with the first
// gradient 270. The three layers give up 40 each: when each backward begins, 120, 140 and 160 are there and 56 beside
// them; with the gradients there are 190, 210 and, since none is given up any more, 230.
TEST(CheckpointSavings, OfAStepWorkedByHand) {
    const layered_program program({usual_layer(), usual_layer(), usual_layer()}, false);
    const measured_program of(program);
    EXPECT_EQ(of.step().peak, 270 * kib);
    const std::vector<checkpoint_saving> found = of.savings();
    ASSERT_EQ(found.size(), 1U) << "the net as a whole saves nothing";
    EXPECT_EQ(of.calls.path(found.front().module), "Net.layers.*");
    EXPECT_EQ(of.calls.class_name(found.front().module), "Layer");
    EXPECT_EQ(found.front().calls, 3U);
    EXPECT_EQ(found.front().held, 140 * kib) << "of the outputs the last one has come back";
    EXPECT_EQ(found.front().outputs, 20 * kib);
    EXPECT_EQ(found.front().peak, 230 * kib);
    EXPECT_EQ(found.front().saving, 40 * kib);
}

// Its own backward needs the output, too: it is taken for what was born last, and stays.
TEST(CheckpointSavings, AnOutputThatIsSavedStays) {
    layer_blocks layer = usual_layer();
    layer.saves_output = true;
    const measured_program of(layered_program({layer, layer, layer}, false));
    const std::vector<checkpoint_saving> found = of.savings();
    ASSERT_EQ(found.size(), 1U);
    // 280 with the first gradient, as the last output is there; then 210, 220 (an output less), 230.
    EXPECT_EQ(of.step().peak, 280 * kib);
    EXPECT_EQ(found.front().held, 150 * kib);
    EXPECT_EQ(found.front().outputs, 30 * kib);
    EXPECT_EQ(found.front().peak, 240 * kib);
}

// A program that has checkpoints already gives nothing up between forward and backward.
TEST(CheckpointSavings, AreNoneOfAProgramThatHasThem) {
    EXPECT_TRUE(
        measured_program(layered_program({usual_layer(), usual_layer(), usual_layer()}, true)).savings().empty());
}

TEST(CheckpointSavings, AreThoseOfAProgramThatIsRunWithThem) {
    std::mt19937 random(46);
    const auto draw = [&](std::uint64_t below) { return std::uint64_t{random()} % below; };
    std::size_t compared = 0;
    for (int round = 0; round < 300; ++round) {
        std::vector<layer_blocks> layers(1 + draw(6));
        for (layer_blocks& each : layers) {
            each.kept.resize(1 + draw(3));
            for (std::uint64_t& bytes : each.kept) bytes = (1 + draw(60)) * kib;
            each.temporary.resize(draw(3));
            for (std::uint64_t& bytes : each.temporary) bytes = (1 + draw(40)) * kib;
            each.output = (1 + draw(20)) * kib;
        }
        const layered_program plain(layers, false);
        const layered_program with(layers, true);
        const measured_program of(plain);
        ASSERT_EQ(of.step().peak, plain.peak);
        for (const checkpoint_saving& each : of.savings()) {
            if (of.calls.path(each.module) == "Net") continue;
            ++compared;
            EXPECT_EQ(each.peak, with.peak) << "round " << round;
            EXPECT_EQ(each.saving, plain.peak - with.peak) << "round " << round;
        }
    }
    EXPECT_GT(compared, 100U) << "most programs have something to save";
}

// The report has all modules, and the finding the best one, with its price.
TEST(CheckpointSavings, AreAReportAndAFinding) {
    const timeline data = layered_program({usual_layer(), usual_layer(), usual_layer()}, false).capture.build();
    const report_kind* const kinds[] = {find_report("memory_checkpoints"), find_report("memory_findings")};
    const report_document document = make_reports(data, "x.prof", {}, kinds);
    const table& modules = *block_in<table>(document.parts[0]);
    ASSERT_EQ(modules.rows.size(), 1U);
    EXPECT_EQ(std::get<std::string>(modules.rows[0][1].value), "Net.layers.*");
    EXPECT_EQ(std::get<std::uint64_t>(modules.rows[0][4].value), 40 * kib);
    const auto cost_ns = std::get<std::int64_t>(modules.rows[0][6].value);
    EXPECT_GE(cost_ns, 3 * 60) << "three layers, whose forward takes 60 ns on the host each";
    EXPECT_LE(cost_ns, 3 * 60 + 3 * 2);
    const table& findings = *block_in<table>(document.parts[1]);
    ASSERT_EQ(findings.rows.size(), 1U);
    EXPECT_EQ(std::get<std::string>(findings.rows[0][1].value), "memory_checkpoint");
    EXPECT_TRUE(std::get<std::string>(findings.rows[0][2].value)
                    .starts_with("checkpointing Net.layers.* (3 calls a step) would lower the peak by"));
}

// Without modules, or where no backward is known, there is a reason in place of a number.
TEST(CheckpointSavings, SayWhyThereAreNone) {
    const auto note_of = [](const timeline& data) {
        const report_kind* const kinds[] = {find_report("memory_checkpoints")};
        const report_document document = make_reports(data, "x.prof", {}, kinds);
        const table& of = *block_in<table>(document.parts[0]);
        return of.rows.empty() && !of.notes.empty() ? of.notes.front() : std::string();
    };
    timeline data = layered_program({usual_layer(), usual_layer()}, false).capture.build();
    for (timeline_range& range : data.ranges) range.is_operator = false;
    EXPECT_EQ(note_of(data), "of no module's call the backward is known");
    for (timeline_range& range : data.ranges) range.is_module = false;
    EXPECT_TRUE(note_of(data).starts_with("no modules were recorded"));
    EXPECT_TRUE(note_of(capture_builder().build()).find("--allocations on") != std::string::npos);
}

TEST(CheckpointSavings, HaveWhatForwardTakes) {
    const layered_program program({usual_layer(), usual_layer()}, false);
    const measured_program of(program);
    const std::vector<whole_step> steps = steps_that_count(of.data, of.att).steps;
    ASSERT_EQ(steps.size(), 2U);
    std::uint32_t module = npos;
    for (std::uint32_t i = 0; i < of.calls.modules(); ++i) {
        if (of.calls.path(i) == "Net.layers.*") module = i;
    }
    const std::vector<repeated_forward> found = repeated_forwards(of.data, of.calls, module, steps);
    ASSERT_EQ(found.size(), 4U) << "two layers in two steps";
    for (const repeated_forward& each : found) {
        EXPECT_EQ(each.gpu_ns, 2) << "one kernel";
        EXPECT_EQ(each.host_ns, 60) << "three blocks taken, one given back, a launch";
        EXPECT_EQ(of.data.threads[each.thread].system_name, "pt_autograd_0");
    }
    EXPECT_LT(found[0].at_ns, found[1].at_ns);
}

}  // namespace
}  // namespace prof::checkpoint_savings_test
