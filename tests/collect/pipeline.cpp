// SPDX-License-Identifier: Apache-2.0
#include "collect/pipeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "fakes/fake_cupti.h"
#include "fakes/fake_gpu.h"
#include "ring/gate.hpp"
#include "ring/registry.hpp"

namespace prof::test {
namespace {

constexpr std::uint32_t epoch = 1;
constexpr std::uint32_t buffers_for_all = 512;  // no plan is to run out of them
constexpr std::uint64_t hour_ns = 3'600'000'000'000;
constexpr std::uint32_t first_tid = 2'000'000'000;  // beyond any that the kernel gives: nothing is read from /proc

region_options ring_options(const drain_plan& plan, std::size_t threads) {
    region_options options;
    options.place = "memory";
    options.large_ring_bytes = plan.ring_records * static_cast<std::uint32_t>(sizeof(record));
    options.large_rings = static_cast<std::uint32_t>(threads);
    options.small_ring_bytes = 512;
    options.medium_rings = 0;
    options.small_rings = 1;
    options.name_bytes = 64U << 10;
    options.name_slots = 256;
    options.passing_name_bytes = 16U << 10;
    options.passing_name_slots = 64;
    options.label_capacity = 64;
    return options;
}

}  // namespace

drain_plan drain_plan::random(std::uint32_t seed, std::size_t steps) {
    std::mt19937 random{seed};
    const auto pick = [&random](std::initializer_list<std::uint32_t> choices) {
        return *(choices.begin() + random() % choices.size());
    };
    drain_plan plan;
    plan.seed = seed;
    plan.ring_records = pick({128, 256, 4096});
    plan.buffer_bytes = pick({512, 1024, 4096, 1U << 16});
    plan.delivery = static_cast<buffers>(random() % 3);
    plan.round_one_in = pick({0, 1, 2, 7, 20});
    plan.flush_one_in = pick({0, 0, 1, 5});
    plan.housekeeping_one_in = pick({0, 1, 10});
    plan.tracer_known_at = random() % (steps + 1);
    plan.deflate = random() % 4 == 0;
    return plan;
}

std::string drain_plan::text() const {
    return "rings of " + std::to_string(ring_records) + ", buffers of " + std::to_string(buffer_bytes) + ", delivery " +
           std::to_string(static_cast<int>(delivery)) + ", a round in " + std::to_string(round_one_in) +
           ", a flush in " + std::to_string(flush_one_in) + ", housekeeping in " + std::to_string(housekeeping_one_in) +
           ", tracer at " + std::to_string(tracer_known_at) + (deflate ? ", deflated" : "");
}

pipeline::pipeline(const std::string& path, const drain_plan& plan, const std::vector<std::string>& threads)
    : plan_(plan), random_(plan.seed), region_(ring_options(plan, threads.size())) {
    capture_writer_options written;
    written.deflate = plan.deflate;
    writer_ = std::make_unique<capture_writer>(path, written);
    const keep_limits limits{.time_ns = plan.key_frame_one_in == 0 ? 0 : hour_ns, .bytes = 0};
    collector_ = std::make_unique<collector>(region_, region_.drops(), nullptr, limits);
    collector_->begin_capture(*writer_);
    for (std::size_t i = 0; i < threads.size(); ++i) {
        virtual_thread& thread = threads_.emplace_back();
        thread.ring = region_.claim_ring(first_tid + static_cast<std::uint32_t>(i));
        thread.ring->name = {};
        threads[i].copy(thread.ring->name.data(), thread.ring->name.size() - 1);
        // As if the ring had served other threads before: the records of most programs wrap around its end.
        const std::uint64_t served = plan.ring_records - 1 - random_() % 16;
        thread.ring->counters.head.store(served);
        thread.ring->counters.tail.store(served);
        thread.out.attach(region_, *thread.ring, epoch);
    }
    tracer_options options;
    options.library = PROF_TEST_FAKE_CUPTI;
    options.buffer_bytes = plan.buffer_bytes;
    options.buffer_count = buffers_for_all;
    tracer_ = std::make_unique<cupti_tracer>(region_, options);
    install_region(&region_, nullptr);
    if (plan.delivery != drain_plan::buffers::as_they_fill) fake_cupti_hold_buffers();
    open_gate();
    EXPECT_EQ(tracer_->attach(epoch).message(), "");
}

pipeline::~pipeline() {
    stop_observing();
    set_this_thread(nullptr);
    install_region(nullptr, nullptr);
    tracer_->detach(false);
}

void pipeline::become(int thread) { set_this_thread(&threads_[static_cast<std::size_t>(thread)].out); }
void pipeline::stop_observing() { set_gate(recording_epoch, 0); }
void pipeline::open_gate() { set_gate(recording_epoch, epoch); }

bool pipeline::any_ring_fills() const {
    return std::any_of(threads_.begin(), threads_.end(), [](const virtual_thread& thread) {
        const ring_counters<std::uint64_t>& at = thread.ring->counters;
        return at.head.load() - at.tail.load() > thread.ring->capacity / 4;
    });
}

void pipeline::after_step(std::size_t number) {
    if (number == plan_.tracer_known_at) collector_->set_tracer(tracer_.get());
    if (one_in(plan_.flush_one_in)) tracer_->flush(false);
    if (one_in(plan_.round_one_in) || any_ring_fills()) collector_->round();
    // As many as there are in a period: nothing is trimmed.
    if (key_frames_ + 1 < key_frames::in_a_period && one_in(plan_.key_frame_one_in)) {
        collector_->keep(clock_ns(CLOCK_MONOTONIC) + ++key_frames_ * (hour_ns / key_frames::in_a_period));
    }
    if (one_in(plan_.housekeeping_one_in)) collector_->housekeeping();
}

// As the session stops.
void pipeline::finish() {
    collector_->set_tracer(tracer_.get());
    tracer_->stop_recording();
    stop_observing();
    if (plan_.delivery != drain_plan::buffers::as_they_fill) {
        fake_cupti_release_buffers(plan_.delivery == drain_plan::buffers::held ? FAKE_CUPTI_IN_ORDER
                                                                               : FAKE_CUPTI_REVERSED);
    }
    tracer_->flush(true);
    tracer_->disable();
    collector_->round();
    tracer_->detach(true);
    collector_->finish(format::end_reason::stopped);
    EXPECT_EQ(writer_->failure(), "");
    writer_.reset();
}

void carry_out(random_program& program, const drain_plan& plan, const std::string& path) {
    program.forget_runs();
    fake_gpu_reset();
    fake_gpu_set_device_count(device_count);
    fake_gpu_set_clock(FAKE_GPU_CLOCK_VIRTUAL);
    pipeline way(path, plan, program.threads);
    way.become(0);
    actor plays;
    for (const captured_graph& graph : program.graphs) {
        way.become(graph.thread);
        plays.capture(graph);
    }
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
        const program_step& step = program.steps[i];
        way.become(step.thread);
        if (step.what == program_step::act::unseen) way.stop_observing();
        program.ran(step, plays.perform(step));
        way.open_gate();
        way.after_step(i);
        if (testing::Test::HasFatalFailure()) return;
    }
    plays.wait_for_gpu();
    way.finish();
}

}  // namespace prof::test
