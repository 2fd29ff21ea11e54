// SPDX-License-Identifier: Apache-2.0
// The whole network: a linear embedding of the input frames, the blocks, and a normed linear head
// with cross-entropy loss on every frame.
#pragma once

#include <vector>

#include "block.hpp"
#include "dataset.hpp"

namespace trainer {

class model {
public:
    model(device& on, const model_shape& shape, unsigned seed);

    // Copies one batch to the device; the batch may be overwritten afterwards.
    void load(const host_batch& batch);
    // Adds the batch's mean loss to *loss, which lies on the device.
    void forward(float* loss);
    // Replaces the parameters' gradients by those of the last forward pass.
    void backward();
    void optimizer_step(float learning_rate);

    parameter_store& parameters() { return store_; }

private:
    device& on_;
    model_shape shape_;
    parameter_store store_;
    linear embed_;
    std::vector<transformer_block> blocks_;
    layernorm norm_;
    linear head_;
    block_scratch scratch_;

    device_array<float> features_;
    device_array<int> labels_;
    device_array<float> embedded_;
    const float* last_ = nullptr;  // of the last block
    device_array<float> logits_;   // after the loss: their gradient
    device_array<float> gradient_;
    int steps_taken_ = 0;
};

}  // namespace trainer
