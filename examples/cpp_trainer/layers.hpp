// SPDX-License-Identifier: Apache-2.0
// The two layers everything is built from, each with its parameters and its backward pass.
#pragma once

#include <string>

#include "device.hpp"
#include "parameters.hpp"

namespace trainer {

// y = x · weight + bias; the bias is added by whoever uses y, fused with what comes next.
struct linear {
    parameter* weight = nullptr;
    parameter* bias = nullptr;
    int inputs = 0;
    int outputs = 0;

    // Weights start as N(0, scale²/inputs).
    static linear declare(parameter_store& store, const std::string& name, int inputs, int outputs, float scale = 1.0F);
    void forward(device& on, float* y, const float* x, int rows) const;
    // Adds to the parameters' gradients; overwrites dx unless it is null.
    void backward(device& on, float* dx, const float* dy, const float* x, int rows) const;
};

// Keeps its result and the statistics of each row, which the backward pass needs.
struct layernorm {
    parameter* gain = nullptr;
    parameter* bias = nullptr;
    int rows = 0;
    int columns = 0;
    device_array<float> out;
    device_array<float> mean;
    device_array<float> inverse_deviation;

    static layernorm declare(parameter_store& store, const std::string& name, int rows, int columns);
    void allocate(device& on);
    void forward(device& on, const float* x);
    // Adds to dx and to the parameters' gradients.
    void backward(device& on, float* dx, const float* dy, const float* x) const;
};

}  // namespace trainer
