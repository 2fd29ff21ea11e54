// SPDX-License-Identifier: Apache-2.0
#include "parameters.hpp"

#include <cmath>
#include <utility>

namespace trainer {
namespace {

constexpr std::size_t alignment = 64;  // floats; cuBLAS picks its fast kernels for aligned matrices
constexpr float matrix_weight_decay = 0.01F;

}  // namespace

parameter* parameter_store::matrix(std::string name, int inputs, int outputs, float scale) {
    parameter declared;
    declared.name = std::move(name);
    declared.count = static_cast<std::size_t>(inputs) * static_cast<std::size_t>(outputs);
    declared.deviation = scale / std::sqrt(static_cast<float>(inputs));
    declared.weight_decay = matrix_weight_decay;
    return declare(std::move(declared));
}

parameter* parameter_store::vector(std::string name, int count, float initial) {
    parameter declared;
    declared.name = std::move(name);
    declared.count = static_cast<std::size_t>(count);
    declared.initial = initial;
    return declare(std::move(declared));
}

parameter* parameter_store::declare(parameter declared) {
    declared.offset = next_offset_;
    next_offset_ += (declared.count + alignment - 1) / alignment * alignment;
    return &parameters_.emplace_back(std::move(declared));
}

void parameter_store::allocate(device& on, unsigned seed) {
    values_ = device_array<float>(on, next_offset_);
    gradients_ = device_array<float>(on, next_offset_);
    first_moments_ = device_array<float>(on, next_offset_);
    second_moments_ = device_array<float>(on, next_offset_);

    std::mt19937 random(seed);
    std::vector<float> initial(next_offset_);
    for (parameter& each : parameters_) {
        each.value = values_.data() + each.offset;
        each.gradient = gradients_.data() + each.offset;
        each.first_moment = first_moments_.data() + each.offset;
        each.second_moment = second_moments_.data() + each.offset;
        std::normal_distribution<float> normal;
        for (std::size_t i = 0; i < each.count; ++i)
            initial[each.offset + i] = each.initial + (each.deviation > 0.0F ? each.deviation * normal(random) : 0.0F);
    }
    on.upload(values_.data(), initial.data(), values_.bytes());
}

void parameter_store::clear_gradients(device& on) { on.zero(gradients_.data(), gradients_.size()); }

void parameter_store::update(device& on, float learning_rate, int step) {
    adamw_step adamw;
    adamw.learning_rate = learning_rate;
    adamw.correction1 = 1.0F - std::pow(adamw.beta1, static_cast<float>(step));
    adamw.correction2 = 1.0F - std::pow(adamw.beta2, static_cast<float>(step));
    for (const parameter& each : parameters_) {
        adamw.weight_decay = each.weight_decay;
        on.adamw(each.value, each.gradient, each.first_moment, each.second_moment, each.count, adamw);
    }
}

std::size_t parameter_store::count() const {
    std::size_t total = 0;
    for (const parameter& each : parameters_) total += each.count;
    return total;
}

}  // namespace trainer
