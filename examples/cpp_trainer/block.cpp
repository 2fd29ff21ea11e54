// SPDX-License-Identifier: Apache-2.0
#include "block.hpp"

#include <cmath>
#include <prof/range.hpp>

namespace trainer {
namespace {

std::size_t area(int rows, int columns) { return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns); }

std::size_t score_count(const model_shape& shape) {
    return area(shape.batch * shape.heads, shape.sequence) * static_cast<std::size_t>(shape.sequence);
}

}  // namespace

block_scratch::block_scratch(device& on, const model_shape& shape)
    : wide(on, area(shape.rows(), 4 * shape.width)),
      packed(on, area(shape.rows(), 3 * shape.width)),
      heads(on, area(shape.rows(), 3 * shape.width)),
      narrow(on, area(shape.rows(), shape.width)),
      output_heads(on, area(shape.rows(), shape.width)),
      scores(on, score_count(shape)) {}

transformer_block::transformer_block(parameter_store& store, const std::string& name, const model_shape& shape)
    : shape_(shape) {
    const int width = shape.width;
    // What the blocks add to the residual stream starts small, so that their sum does not grow with their number.
    const float residual_scale = 1.0F / std::sqrt(2.0F * static_cast<float>(shape.layers));
    attention_norm_ = layernorm::declare(store, name + ".attention.norm", shape.rows(), width);
    qkv_ = linear::declare(store, name + ".attention.qkv", width, 3 * width);
    projection_ = linear::declare(store, name + ".attention.projection", width, width, residual_scale);
    mlp_norm_ = layernorm::declare(store, name + ".mlp.norm", shape.rows(), width);
    expand_ = linear::declare(store, name + ".mlp.expand", width, 4 * width);
    contract_ = linear::declare(store, name + ".mlp.contract", 4 * width, width, residual_scale);
}

void transformer_block::allocate(device& on) {
    const std::size_t narrow = area(shape_.rows(), shape_.width);
    attention_norm_.allocate(on);
    mlp_norm_.allocate(on);
    qkv_heads_ = device_array<float>(on, 3 * narrow);
    probabilities_ = device_array<float>(on, score_count(shape_));
    merged_ = device_array<float>(on, narrow);
    middle_ = device_array<float>(on, narrow);
    pre_gelu_ = device_array<float>(on, 4 * narrow);
    gelu_ = device_array<float>(on, 4 * narrow);
    out_ = device_array<float>(on, narrow);
}

std::size_t transformer_block::part_size() const { return area(shape_.rows(), shape_.width); }

head_shape transformer_block::heads(int parts) const {
    return {parts, shape_.batch, shape_.sequence, shape_.heads, shape_.head_width()};
}

gemm_shape transformer_block::scores_shape() const {
    return {.rows = shape_.sequence,
            .columns = shape_.sequence,
            .inner = shape_.head_width(),
            .transpose_b = true,
            .count = shape_.batch * shape_.heads};
}

gemm_shape transformer_block::weighted_shape() const {
    return {.rows = shape_.sequence,
            .columns = shape_.head_width(),
            .inner = shape_.sequence,
            .count = shape_.batch * shape_.heads};
}

const float* transformer_block::forward(device& on, block_scratch& scratch, const float* x) {
    in_ = x;
    attention_forward(on, scratch);
    mlp_forward(on, scratch);
    return out_.data();
}

void transformer_block::backward(device& on, block_scratch& scratch, float* gradient) {
    mlp_backward(on, scratch, gradient);
    attention_backward(on, scratch, gradient);
}

void transformer_block::attention_forward(device& on, block_scratch& scratch) {
    PROF_RANGE("attention");
    const int rows = shape_.rows();
    attention_norm_.forward(on, in_);
    qkv_.forward(on, scratch.packed.data(), attention_norm_.out.data(), rows);
    on.add_bias(scratch.packed.data(), qkv_.bias->value, rows, qkv_.outputs);
    on.split_heads(qkv_heads_.data(), scratch.packed.data(), heads(3));

    const float* q = qkv_heads_.data();
    const float* k = q + part_size();
    const float* v = k + part_size();
    const float scale = 1.0F / std::sqrt(static_cast<float>(shape_.head_width()));
    on.gemm(scores_shape(), q, k, probabilities_.data());
    on.softmax(probabilities_.data(), scale, shape_.batch * shape_.heads * shape_.sequence, shape_.sequence);
    on.gemm(weighted_shape(), probabilities_.data(), v, scratch.output_heads.data());

    on.merge_heads(merged_.data(), scratch.output_heads.data(), heads(1));
    projection_.forward(on, scratch.narrow.data(), merged_.data(), rows);
    on.add_bias_residual(middle_.data(), in_, scratch.narrow.data(), projection_.bias->value, rows, shape_.width);
}

void transformer_block::mlp_forward(device& on, block_scratch& scratch) {
    PROF_RANGE("mlp");
    const int rows = shape_.rows();
    mlp_norm_.forward(on, middle_.data());
    expand_.forward(on, pre_gelu_.data(), mlp_norm_.out.data(), rows);
    on.bias_gelu(gelu_.data(), pre_gelu_.data(), expand_.bias->value, rows, expand_.outputs);
    contract_.forward(on, scratch.narrow.data(), gelu_.data(), rows);
    on.add_bias_residual(out_.data(), middle_.data(), scratch.narrow.data(), contract_.bias->value, rows, shape_.width);
}

void transformer_block::mlp_backward(device& on, block_scratch& scratch, float* gradient) {
    PROF_RANGE("mlp");
    const int rows = shape_.rows();
    contract_.backward(on, scratch.wide.data(), gradient, gelu_.data(), rows);
    on.gelu_backward(scratch.wide.data(), pre_gelu_.data(), area(rows, expand_.outputs));
    expand_.backward(on, scratch.narrow.data(), scratch.wide.data(), mlp_norm_.out.data(), rows);
    mlp_norm_.backward(on, gradient, scratch.narrow.data(), middle_.data());
}

void transformer_block::attention_backward(device& on, block_scratch& scratch, float* gradient) {
    PROF_RANGE("attention");
    const int rows = shape_.rows();
    projection_.backward(on, scratch.narrow.data(), gradient, merged_.data(), rows);
    on.split_heads(scratch.output_heads.data(), scratch.narrow.data(), heads(1));

    const float* q = qkv_heads_.data();
    const float* k = q + part_size();
    const float* v = k + part_size();
    float* dq = scratch.heads.data();
    float* dk = dq + part_size();
    float* dv = dk + part_size();
    const float scale = 1.0F / std::sqrt(static_cast<float>(shape_.head_width()));
    gemm_shape transposed = weighted_shape();
    transposed.transpose_a = true;
    on.gemm(transposed, probabilities_.data(), scratch.output_heads.data(), dv);
    on.gemm(scores_shape(), scratch.output_heads.data(), v, scratch.scores.data());
    on.softmax_backward(scratch.scores.data(), probabilities_.data(), scale,
                        shape_.batch * shape_.heads * shape_.sequence, shape_.sequence);
    on.gemm(weighted_shape(), scratch.scores.data(), k, dq);
    on.gemm(transposed, scratch.scores.data(), q, dk);

    on.merge_heads(scratch.packed.data(), scratch.heads.data(), heads(3));
    qkv_.backward(on, scratch.narrow.data(), scratch.packed.data(), attention_norm_.out.data(), rows);
    attention_norm_.backward(on, gradient, scratch.narrow.data(), in_);
}

}  // namespace trainer
