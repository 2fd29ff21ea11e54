// SPDX-License-Identifier: Apache-2.0
// The model's parameters, each with its gradient and AdamW's two moments. All values lie in one
// piece of device memory, all gradients in another, so that one memset clears the gradients.
#pragma once

#include <cstddef>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "device.hpp"

namespace trainer {

struct parameter {
    std::string name;
    std::size_t count = 0;
    std::size_t offset = 0;  // of its first value in the shared arrays
    float initial = 0.0F;    // mean of the initial values
    float deviation = 0.0F;  // and their standard deviation
    float weight_decay = 0.0F;
    float* value = nullptr;
    float* gradient = nullptr;
    float* first_moment = nullptr;
    float* second_moment = nullptr;
};

class parameter_store {
public:
    // Declare everything first; the pointers stay valid, and are filled in by allocate().
    parameter* matrix(std::string name, int inputs, int outputs, float scale);  // N(0, scale²/inputs), decays
    parameter* vector(std::string name, int count, float initial);

    void allocate(device& on, unsigned seed);
    void clear_gradients(device& on);
    // One AdamW step; `step` counts from 1.
    void update(device& on, float learning_rate, int step);

    std::size_t count() const;
    std::deque<parameter>& all() { return parameters_; }

private:
    parameter* declare(parameter declared);

    std::deque<parameter> parameters_;
    std::size_t next_offset_ = 0;
    device_array<float> values_;
    device_array<float> gradients_;
    device_array<float> first_moments_;
    device_array<float> second_moments_;
};

}  // namespace trainer
