// SPDX-License-Identifier: Apache-2.0
// A training run whose memory is known beforehand: a transformer of some layers, with its phases, modules, gradients
// that autograd's thread makes, and an optimizer whose state is made in the first step.
//
// Sizes are in MiB. Of `layers` layers each has 27 of parameters, of gradients and, twice that, of the optimizer's
// state, and 150 of activations (in a long step a quarter more); the embedding has 154 of parameters, and the head 400
// of activations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memory/simulated_allocator.hpp"
#include "record/label.hpp"
#include "support/capture_builder.hpp"

namespace prof {

struct training_options {
    std::uint64_t steps = 12;
    std::uint64_t layers = 6;
    std::uint64_t long_step = 7;              // has a quarter more activations
    std::uint64_t blocks = 1;                 // that activations of a module are divided into
    std::uint64_t more_kib = 0;               // of activations in each step
    std::uint64_t leaked_mib = 0;             // a step, in the loss
    std::uint64_t failing_step = UINT64_MAX;  // in the middle of whose backward an allocation fails
    std::uint64_t last_step = UINT64_MAX;     // at that place of this step nothing more happens
    std::uint8_t gpus = 1;                    // each has the same but for a quarter of the parameters more
    std::uint64_t step_ns = 40'000'000;
};

class training_program {
public:
    static constexpr std::uint64_t mib = std::uint64_t{1} << 20;
    static constexpr std::uint64_t layer_parameters = 27;
    static constexpr std::uint64_t embedding = 154;
    static constexpr std::uint64_t layer_activations = 150;
    static constexpr std::uint64_t head_activations = 400;

    explicit training_program(training_options options)
        : main(capture.thread("python")), autograd(capture.thread("pt_autograd_0")), of_(options) {
        capture.parts().properties = {{"pid", "4711"},          {"name", "train_gpt.py"},
                                      {"hostname", "node7"},    {"command", "python train_gpt.py --batch 16"},
                                      {"modules", "all"},       {"allocations", "on"},
                                      {"allocator", "pytorch"}, {"executable", "/usr/bin/python3.11"}};
        for (std::uint8_t gpu = 0; gpu < of_.gpus; ++gpu) {
            gpus_.emplace_back(gpu);
            capture.h200();
            capture.parts().devices.back().device = gpu;
        }
        start();
        for (std::uint64_t i = 0; i < of_.steps && !has_ended_; ++i) step(i);
        if (!has_ended_) main.step(begin_of(of_.steps), of_.steps, steps_);
    }

    // What a step has at its peak, which is in backward, before the last layer's activations come back.
    std::uint64_t peak_bytes(std::uint64_t number, std::uint64_t gpu = 0) const {
        const std::uint64_t parameters = parameters_mib(gpu);
        const std::uint64_t activations =
            (of_.layers * layer_activations + head_activations) * mib * (number == of_.long_step ? 5 : 4) / 4;
        constexpr std::uint64_t first_gradient = layer_parameters;
        constexpr std::uint64_t workspace = 32;
        return (3 * parameters + first_gradient + workspace + (number + 1) * of_.leaked_mib) * mib + activations;
    }
    std::uint64_t parameters_mib(std::uint64_t gpu = 0) const {
        return embedding + of_.layers * layer_parameters + (gpu == 0 ? 0 : embedding / 2);
    }

    capture_builder capture;
    thread_script& main;
    thread_script& autograd;

private:
    std::uint64_t begin_of(std::uint64_t number) const { return 1'600'000'000 + number * of_.step_ns; }

    std::uint64_t take(std::size_t gpu, thread_script& on, std::uint64_t bytes) {
        simulated_allocator& from = gpus_[gpu];
        // As the caching allocator: it reserves in pieces, and keeps them.
        constexpr std::uint64_t piece = 64 * mib;
        if (from.allocated + bytes > from.reserved) {
            from.reserved = (from.allocated + bytes + from.allocated / 16) / piece * piece + piece;
        }
        return from.take(on, now_ += tick_, bytes);
    }
    void free(std::size_t gpu, thread_script& on, std::uint64_t block) { gpus_[gpu].free(on, now_ += tick_, block); }

    // A module's range, and the numbers of the nodes that autograd makes in it.
    void module(const std::string& name, std::int64_t sequence) {
        main.add({.ticks = now_ += tick_,
                  .value = static_cast<std::uint64_t>(sequence),
                  .name = capture.name(name),
                  .domain = modules_,
                  .kind = record_kind::range_push,
                  .flags = static_cast<std::uint8_t>(payload_type::u64)});
    }
    void leave(std::int64_t sequence) {
        main.add({.ticks = now_ += tick_,
                  .value = static_cast<std::uint64_t>(sequence),
                  .domain = modules_,
                  .kind = record_kind::range_pop,
                  .flags = static_cast<std::uint8_t>(payload_type::u64)});
    }

    void start() {
        now_ = 400'000'000;
        tick_ = 100'000;
        for (std::size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
            (void)take(gpu, main, (embedding + (gpu == 0 ? 0 : embedding / 2)) * mib);
            for (std::uint64_t layer = 0; layer < of_.layers; ++layer) {
                now_ += 20'000'000;
                (void)take(gpu, main, 9 * mib);
                (void)take(gpu, main, 18 * mib);
            }
        }
        live_.resize(gpus_.size());
    }

    void kernel(thread_script& on, std::uint64_t length_ns, const std::string& name) {
        const std::uint64_t id = ++correlation_;
        on.launch(now_ += tick_, id, name);
        gpu_ns_ = std::max(gpu_ns_, now_ + 2'000);
        capture.kernel(id, gpu_ns_, gpu_ns_ + length_ns, {}, name);
        gpu_ns_ += length_ns;
    }

    void activate(std::uint64_t mibs, std::uint64_t number) {
        const std::uint64_t bytes = mibs * mib * (number == of_.long_step ? 5 : 4) / 4 / of_.blocks;
        for (std::size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
            for (std::uint64_t i = 0; i < of_.blocks; ++i) live_[gpu].push_back(take(gpu, main, bytes));
        }
    }

    void forward(std::uint64_t number) {
        main.push(now_ += tick_, "forward", phases_);
        module("GPT (GPT)", 0);
        for (std::uint64_t layer = 0; layer < of_.layers; ++layer) {
            const std::string name = "GPT.h." + std::to_string(layer);
            const auto node = static_cast<std::int64_t>(10 * layer);
            module(name + " (Block)", node);
            module(name + ".attn (Attention)", node);
            activate(60, number);
            kernel(main, of_.step_ns / 40, "flash_fwd");
            leave(node + 5);
            module(name + ".mlp (MLP)", node + 5);
            activate(90, number);
            kernel(main, of_.step_ns / 40, "gemm");
            leave(node + 10);
            leave(node + 10);
        }
        module("GPT.lm_head (Linear)", 900);
        activate(head_activations, number);
        kernel(main, of_.step_ns / 40, "gemm_head");
        leave(910);
        leave(910);
        main.push(now_ += tick_, "loss");
        if (of_.leaked_mib != 0) (void)take(0, main, of_.leaked_mib * mib);
        if (of_.more_kib != 0) live_[0].push_back(take(0, main, of_.more_kib * 1024));
        main.pop(now_ += tick_);
        main.pop(now_ += tick_, phases_);
    }

    // The activations come back with the layers, last one first; gradients stay for the optimizer.
    void backward(std::uint64_t number) {
        main.push(now_ += tick_, "backward", phases_);
        for (std::uint64_t layer = of_.layers; layer-- > 0;) {
            for (std::size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
                std::vector<std::uint64_t>& live = live_[gpu];
                gradients_[gpu].push_back(take(gpu, autograd, layer_parameters * mib));
                const std::uint64_t workspace = take(gpu, autograd, 32 * mib);
                if (gpu == 0 && layer == of_.layers / 2) {
                    if (number == of_.failing_step) gpus_[0].fail(autograd, now_ += tick_, std::uint64_t{3} << 30);
                    has_ended_ = number == of_.last_step;
                }
                if (has_ended_) return;
                free(gpu, autograd, workspace);
                // All beyond what the layers below still need.
                const std::size_t keep = static_cast<std::size_t>(layer * 2 * of_.blocks);
                while (live.size() > keep) {
                    free(gpu, autograd, live.back());
                    live.pop_back();
                }
            }
            kernel(autograd, of_.step_ns / 20, "gemm_backward");
        }
        for (std::size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
            gradients_[gpu].push_back(take(gpu, autograd, (embedding + (gpu == 0 ? 0 : embedding / 2)) * mib));
        }
        main.pop(now_ += tick_, phases_);
    }

    void optimize() {
        main.push(now_ += tick_, "optimizer", phases_);
        for (std::size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
            if (!has_state_) {
                for (int moment = 0; moment < 2; ++moment) {
                    (void)take(gpu, main, (embedding + (gpu == 0 ? 0 : embedding / 2)) * mib);
                    for (std::uint64_t layer = 0; layer < of_.layers; ++layer) {
                        (void)take(gpu, main, layer_parameters * mib);
                    }
                }
            }
            kernel(main, of_.step_ns / 20, "multi_tensor_adam");
            for (const std::uint64_t gradient : gradients_[gpu]) free(gpu, main, gradient);
            gradients_[gpu].clear();
        }
        has_state_ = true;
        main.pop(now_ += tick_, phases_);
    }

    void step(std::uint64_t number) {
        now_ = begin_of(number);
        gpu_ns_ = std::max(gpu_ns_, now_);
        // The changes of a step are spread over it.
        const std::uint64_t changes = (8 * of_.layers * of_.blocks + 16 * of_.layers + 40) * gpus_.size();
        tick_ = std::max<std::uint64_t>(of_.step_ns / changes, 1);
        gradients_.resize(gpus_.size());
        main.step(now_, number, steps_);
        forward(number);
        backward(number);
        if (!has_ended_) optimize();
    }

    training_options of_;
    std::vector<simulated_allocator> gpus_;
    std::uint16_t steps_ = capture.domain("prof");
    std::uint16_t phases_ = capture.domain(std::string(phase_domain));
    std::uint16_t modules_ = capture.domain(std::string(module_domain));
    std::vector<std::vector<std::uint64_t>> live_;       // activations, by GPU
    std::vector<std::vector<std::uint64_t>> gradients_;  // likewise
    std::uint64_t now_ = 0;
    std::uint64_t tick_ = 1;
    std::uint64_t gpu_ns_ = 0;
    std::uint64_t correlation_ = 0;
    bool has_state_ = false;
    bool has_ended_ = false;
};

}  // namespace prof
