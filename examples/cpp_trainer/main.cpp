// SPDX-License-Identifier: Apache-2.0
// A small but complete training loop with the phases and ranges an engineer would put into it.
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <prof/range.hpp>
#include <vector>

#include "check.hpp"
#include "model.hpp"
#include "options.hpp"

namespace {

using namespace trainer;

constexpr unsigned seed = 1234;
constexpr float learning_rate_by_width = 0.15F;  // a wider layer adds up more of Adam's equal steps
constexpr int steps_to_learn = 10;               // in fewer, one batch's luck may hide it

struct chosen_device {
    std::unique_ptr<device> on;
    bool is_gpu = false;
};

chosen_device choose_device(const options& chosen) {
    if (chosen.where == processor::cpu) return {make_cpu_device(), false};
    try {
        return {make_cuda_device(chosen.check ? precision::fp32 : chosen.matrix_precision), true};
    } catch (const std::exception& reason) {
        if (chosen.where == processor::gpu) throw;
        std::printf("no GPU: running on the CPU (%s)\n", reason.what());
        return {make_cpu_device(), false};
    }
}

model_shape shape_for(const options& chosen, bool is_gpu) {
    model_shape shape;
    shape.layers = chosen.layers.value_or(is_gpu ? 6 : 2);
    shape.batch = chosen.batch.value_or(is_gpu ? 16 : 8);
    shape.sequence = chosen.sequence.value_or(is_gpu ? 256 : 32);
    shape.width = chosen.width.value_or(is_gpu ? 512 : 64);
    if (shape.width % 32 != 0) throw std::invalid_argument("--width must be a multiple of 32");
    shape.heads = shape.width / (shape.width % 64 == 0 ? 64 : 32);
    shape.features = is_gpu ? 256 : 32;
    shape.classes = 64;
    return shape;
}

int check(const chosen_device& chosen) {
    const std::unique_ptr<device> cpu = make_cpu_device();
    bool right = check_gradients(*cpu);
    if (chosen.is_gpu) right = check_against(*cpu, *chosen.on) && right;
    return right ? 0 : 1;
}

int train(device& on, const model_shape& shape, int steps) {
    const float learning_rate = learning_rate_by_width / static_cast<float>(shape.width);
    const dataset data(shape, seed);
    model network(on, shape, seed);
    const device_array<float> losses(on, static_cast<std::size_t>(steps));
    on.wait();
    std::printf("%s: %d layers of width %d, %.1f M parameters, %d sequences of %d frames a step\n", on.name().c_str(),
                shape.layers, shape.width, static_cast<double>(network.parameters().count()) / 1e6, shape.batch,
                shape.sequence);

    using clock = std::chrono::steady_clock;
    clock::time_point start;
    for (int step = 0; step < steps; ++step) {
        PROF_PHASE("step");
        network.load(data.batch(step));
        network.forward(losses.data() + step);
        network.backward();
        network.optimizer_step(learning_rate);
        // The first step also pays for loading kernels; nothing later waits for the GPU but the copy.
        if (step == 0) {
            on.wait();
            start = clock::now();
        }
    }
    on.wait();
    const std::chrono::duration<double, std::milli> elapsed = clock::now() - start;

    std::vector<float> history(static_cast<std::size_t>(steps));
    on.download(history.data(), losses.data(), losses.bytes());
    std::printf("loss %.4f -> %.4f in %d steps", history.front(), history.back(), steps);
    if (steps > 1) std::printf(", %.3f ms a step", elapsed.count() / (steps - 1));
    std::printf("\n");
    if (steps >= steps_to_learn && !(history.back() < history.front())) {
        std::fprintf(stderr, "cpp_trainer: the loss did not fall\n");
        return 1;
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const options chosen = parse_options(argc, argv);
        if (chosen.help) {
            std::fputs(usage().c_str(), stdout);
            return 0;
        }
        const chosen_device device = choose_device(chosen);
        if (chosen.check) return check(device);
        const int steps = chosen.steps.value_or(device.is_gpu ? 30 : 12);
        return train(*device.on, shape_for(chosen, device.is_gpu), steps);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "cpp_trainer: %s\n", error.what());
        return 2;
    }
}
