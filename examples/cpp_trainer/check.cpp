// SPDX-License-Identifier: Apache-2.0
#include "check.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <vector>

#include "model.hpp"

namespace trainer {
namespace {

// Sizes that are no multiple of a warp or a block, so that the kernels' edges are met.
constexpr model_shape small{
    .layers = 2, .batch = 3, .sequence = 20, .width = 64, .heads = 2, .features = 40, .classes = 24};
constexpr unsigned seed = 7;
constexpr float learning_rate = 1e-3F;

std::vector<float> fetch(device& from, const float* values, std::size_t count) {
    std::vector<float> host(count);
    from.download(host.data(), values, count * sizeof(float));
    return host;
}

double length(const std::vector<float>& values) {
    double squares = 0.0;
    for (const float value : values) squares += static_cast<double>(value) * value;
    return std::sqrt(squares);
}

double distance(const std::vector<float>& left, const std::vector<float>& right) {
    std::vector<float> difference(left.size());
    std::transform(left.begin(), left.end(), right.begin(), difference.begin(), std::minus<>());
    return length(difference);
}

float loss_of(device& on, model& network) {
    const device_array<float> loss(on, 1);
    network.forward(loss.data());
    return fetch(on, loss.data(), 1)[0];
}

// The loss after a step of `by` along `direction` from `origin`.
float loss_beside(device& on, model& network, const parameter& moved, const std::vector<float>& origin,
                  const std::vector<float>& direction, double by) {
    std::vector<float> values(origin.size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(origin[i] + by * direction[i]);
    on.upload(moved.value, values.data(), values.size() * sizeof(float));
    return loss_of(on, network);
}

}  // namespace

bool check_gradients(device& cpu) {
    constexpr double step = 1e-2;
    constexpr double tolerance = 5e-3;  // floats: the loss itself is good to about 1e-6
    model network(cpu, small, seed);
    network.load(dataset(small, seed).batch(0));
    loss_of(cpu, network);
    network.backward();

    bool agreed = true;
    double worst = 0.0;
    for (const parameter& each : network.parameters().all()) {
        const std::vector<float> origin = fetch(cpu, each.value, each.count);
        std::vector<float> direction = fetch(cpu, each.gradient, each.count);
        const double slope = length(direction);
        for (float& value : direction) value = static_cast<float>(value / slope);
        const double measured = (loss_beside(cpu, network, each, origin, direction, step) -
                                 loss_beside(cpu, network, each, origin, direction, -step)) /
                                (2.0 * step);
        cpu.upload(each.value, origin.data(), origin.size() * sizeof(float));
        const double error = std::abs(measured - slope) / slope;
        worst = std::max(worst, error);
        if (error < tolerance) continue;
        agreed = false;
        std::printf("  %-32s slope %.6f by backward, %.6f by finite differences\n", each.name.c_str(), slope, measured);
    }
    std::printf("gradients against finite differences: %s (largest relative error %.1e)\n", agreed ? "ok" : "WRONG",
                worst);
    return agreed;
}

bool check_against(device& cpu, device& gpu) {
    constexpr int steps = 5;
    constexpr double loss_tolerance = 1e-3;
    constexpr double gradient_tolerance = 1e-3;  // of the gradient's length
    const dataset data(small, seed);
    model reference(cpu, small, seed);
    model network(gpu, small, seed);

    bool agreed = true;
    double worst_loss = 0.0;
    double worst_gradient = 0.0;
    for (int step = 0; step < steps; ++step) {
        reference.load(data.batch(step));
        network.load(data.batch(step));
        const double expected_loss = loss_of(cpu, reference);
        const double loss = loss_of(gpu, network);
        worst_loss = std::max(worst_loss, std::abs(loss - expected_loss) / expected_loss);
        reference.backward();
        network.backward();
        // Later steps amplify rounding through AdamW's division: gradients are compared at the first.
        if (step == 0) {
            for (std::size_t i = 0; i < network.parameters().all().size(); ++i) {
                const parameter& here = network.parameters().all()[i];
                const parameter& there = reference.parameters().all()[i];
                const std::vector<float> gradient = fetch(gpu, here.gradient, here.count);
                const std::vector<float> expected = fetch(cpu, there.gradient, there.count);
                const double error = distance(gradient, expected) / length(expected);
                worst_gradient = std::max(worst_gradient, error);
                if (error < gradient_tolerance) continue;
                agreed = false;
                std::printf("  %-32s gradient differs by %.1e of its length\n", here.name.c_str(), error);
            }
        }
        reference.optimizer_step(learning_rate);
        network.optimizer_step(learning_rate);
    }
    agreed = agreed && worst_loss < loss_tolerance;
    std::printf("%s against the CPU: %s (largest relative difference: loss %.1e, gradients %.1e)\n", gpu.name().c_str(),
                agreed ? "ok" : "WRONG", worst_loss, worst_gradient);
    return agreed;
}

}  // namespace trainer
