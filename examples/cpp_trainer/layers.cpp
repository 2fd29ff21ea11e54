// SPDX-License-Identifier: Apache-2.0
#include "layers.hpp"

namespace trainer {

linear linear::declare(parameter_store& store, const std::string& name, int inputs, int outputs, float scale) {
    return {store.matrix(name + ".weight", inputs, outputs, scale), store.vector(name + ".bias", outputs, 0.0F), inputs,
            outputs};
}

void linear::forward(device& on, float* y, const float* x, int rows) const {
    on.gemm({.rows = rows, .columns = outputs, .inner = inputs}, x, weight->value, y);
}

void linear::backward(device& on, float* dx, const float* dy, const float* x, int rows) const {
    on.bias_backward(bias->gradient, dy, rows, outputs);
    on.gemm({.rows = inputs, .columns = outputs, .inner = rows, .transpose_a = true, .beta = 1.0F}, x, dy,
            weight->gradient);
    if (dx != nullptr)
        on.gemm({.rows = rows, .columns = inputs, .inner = outputs, .transpose_b = true}, dy, weight->value, dx);
}

layernorm layernorm::declare(parameter_store& store, const std::string& name, int rows, int columns) {
    layernorm declared;
    declared.gain = store.vector(name + ".gain", columns, 1.0F);
    declared.bias = store.vector(name + ".bias", columns, 0.0F);
    declared.rows = rows;
    declared.columns = columns;
    return declared;
}

void layernorm::allocate(device& on) {
    const auto row_count = static_cast<std::size_t>(rows);
    out = device_array<float>(on, row_count * static_cast<std::size_t>(columns));
    mean = device_array<float>(on, row_count);
    inverse_deviation = device_array<float>(on, row_count);
}

void layernorm::forward(device& on, const float* x) {
    on.layernorm(out.data(), mean.data(), inverse_deviation.data(), x, gain->value, bias->value, rows, columns);
}

void layernorm::backward(device& on, float* dx, const float* dy, const float* x) const {
    on.layernorm_backward(dx, gain->gradient, bias->gradient, dy, x, gain->value, mean.data(), inverse_deviation.data(),
                          rows, columns);
}

}  // namespace trainer
