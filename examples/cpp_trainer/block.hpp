// SPDX-License-Identifier: Apache-2.0
// One transformer block, pre-norm, with a hand-written backward pass:
//   x += attention(layernorm(x));  x += mlp(layernorm(x))
#pragma once

#include <string>

#include "device.hpp"
#include "layers.hpp"
#include "parameters.hpp"

namespace trainer {

struct model_shape {
    int layers = 0;
    int batch = 0;
    int sequence = 0;
    int width = 0;
    int heads = 0;
    int features = 0;  // width of the input
    int classes = 0;   // width of the output

    int rows() const { return batch * sequence; }
    int head_width() const { return width / heads; }
};

// Gradients that only live inside one block's backward pass: all blocks share them.
struct block_scratch {
    block_scratch(device& on, const model_shape& shape);

    device_array<float> wide;    // rows × 4·width
    device_array<float> packed;  // rows × 3·width
    device_array<float> heads;   // the same, by heads
    device_array<float> narrow;  // rows × width
    device_array<float> output_heads;
    device_array<float> scores;  // batch × heads × sequence × sequence
};

class transformer_block {
public:
    transformer_block(parameter_store& store, const std::string& name, const model_shape& shape);
    void allocate(device& on);

    // The result stays valid, and `x` is needed, until the backward pass is done.
    const float* forward(device& on, block_scratch& scratch, const float* x);
    // From the gradient of the result to that of x, in place.
    void backward(device& on, block_scratch& scratch, float* gradient);

private:
    void attention_forward(device& on, block_scratch& scratch);
    void mlp_forward(device& on, block_scratch& scratch);
    void attention_backward(device& on, block_scratch& scratch, float* gradient);
    void mlp_backward(device& on, block_scratch& scratch, float* gradient);
    gemm_shape scores_shape() const;    // rows and columns: positions; inner: a head's width
    gemm_shape weighted_shape() const;  // rows and inner: positions; columns: a head's width
    head_shape heads(int parts) const;
    std::size_t part_size() const;

    model_shape shape_;
    layernorm attention_norm_;
    linear qkv_;
    linear projection_;
    layernorm mlp_norm_;
    linear expand_;
    linear contract_;

    // Saved by the forward pass.
    const float* in_ = nullptr;
    device_array<float> qkv_heads_;
    device_array<float> probabilities_;
    device_array<float> merged_;
    device_array<float> middle_;
    device_array<float> pre_gelu_;
    device_array<float> gelu_;
    device_array<float> out_;
};

}  // namespace trainer
