// SPDX-License-Identifier: Apache-2.0
// The trainer's own kernels. Those that work on rows give each row to one warp: a row of a few
// hundred to a few thousand floats is read in coalesced strides and reduced by shuffles alone.
#pragma once

#include "device.hpp"

namespace trainer::kernels {

constexpr int warp_width = 32;
constexpr int rows_per_block = 8;
constexpr float layernorm_epsilon = 1e-5F;

__device__ inline float warp_sum(float value) {
    for (int offset = warp_width / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffU, value, offset);
    return value;
}

__device__ inline float warp_max(float value) {
    for (int offset = warp_width / 2; offset > 0; offset /= 2)
        value = fmaxf(value, __shfl_xor_sync(0xffffffffU, value, offset));
    return value;
}

// The row of this thread's warp, and its first element's index.
struct row_place {
    int row;
    long long first;
};

__device__ inline row_place warp_row(int columns) {
    const int row = static_cast<int>(blockIdx.x * rows_per_block + threadIdx.y);
    return {row, static_cast<long long>(row) * columns};
}

__device__ inline long long first_element() { return static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ inline long long element_stride() { return static_cast<long long>(gridDim.x) * blockDim.x; }

// The tanh form of GELU and its derivative, as in the reference.
constexpr float gelu_scale = 0.7978845608F;
constexpr float gelu_cubic = 0.044715F;

__device__ inline float gelu(float x) { return 0.5F * x * (1.0F + tanhf(gelu_scale * (x + gelu_cubic * x * x * x))); }

__device__ inline float gelu_slope(float x) {
    const float t = tanhf(gelu_scale * (x + gelu_cubic * x * x * x));
    const float inner_slope = gelu_scale * (1.0F + 3.0F * gelu_cubic * x * x);
    return 0.5F * (1.0F + t) + 0.5F * x * (1.0F - t * t) * inner_slope;
}

__global__ void add_bias(float* values, const float* bias, long long count, int columns) {
    for (long long i = first_element(); i < count; i += element_stride()) values[i] += bias[i % columns];
}

__global__ void add_bias_residual(float* out, const float* residual, const float* values, const float* bias,
                                  long long count, int columns) {
    for (long long i = first_element(); i < count; i += element_stride())
        out[i] = residual[i] + values[i] + bias[i % columns];
}

__global__ void bias_gelu(float* out, float* values, const float* bias, long long count, int columns) {
    for (long long i = first_element(); i < count; i += element_stride()) {
        const float x = values[i] + bias[i % columns];
        values[i] = x;
        out[i] = gelu(x);
    }
}

__global__ void gelu_backward(float* gradient, const float* values, long long count) {
    for (long long i = first_element(); i < count; i += element_stride()) gradient[i] *= gelu_slope(values[i]);
}

__global__ void layernorm(float* out, float* mean, float* inverse_deviation, const float* in, const float* gain,
                          const float* bias, int rows, int columns) {
    const auto [row, first] = warp_row(columns);
    if (row >= rows) return;
    const float* x = in + first;
    float sum = 0.0F;
    for (int j = threadIdx.x; j < columns; j += warp_width) sum += x[j];
    const float average = warp_sum(sum) / static_cast<float>(columns);
    float squares = 0.0F;
    for (int j = threadIdx.x; j < columns; j += warp_width) squares += (x[j] - average) * (x[j] - average);
    const float inverse = rsqrtf(warp_sum(squares) / static_cast<float>(columns) + layernorm_epsilon);
    for (int j = threadIdx.x; j < columns; j += warp_width)
        out[first + j] = (x[j] - average) * inverse * gain[j] + bias[j];
    if (threadIdx.x == 0) {
        mean[row] = average;
        inverse_deviation[row] = inverse;
    }
}

__global__ void layernorm_backward_rows(float* in_gradient, const float* out_gradient, const float* in,
                                        const float* gain, const float* mean, const float* inverse_deviation, int rows,
                                        int columns) {
    const auto [row, first] = warp_row(columns);
    if (row >= rows) return;
    const float* x = in + first;
    const float* dy = out_gradient + first;
    const float average = mean[row];
    const float inverse = inverse_deviation[row];
    float gradient_sum = 0.0F;
    float product_sum = 0.0F;
    for (int j = threadIdx.x; j < columns; j += warp_width) {
        const float scaled = dy[j] * gain[j];
        gradient_sum += scaled;
        product_sum += scaled * (x[j] - average) * inverse;
    }
    const float gradient_mean = warp_sum(gradient_sum) / static_cast<float>(columns);
    const float product_mean = warp_sum(product_sum) / static_cast<float>(columns);
    for (int j = threadIdx.x; j < columns; j += warp_width) {
        const float normal = (x[j] - average) * inverse;
        in_gradient[first + j] += (dy[j] * gain[j] - gradient_mean - normal * product_mean) * inverse;
    }
}

// Column sums over a slice of the rows. A block holds 32 columns × 8 rows; blockIdx.y picks the
// slice. The slices meet in atomics, so the last bits depend on their order.
constexpr int rows_per_slice = 256;

template <typename TTerm>
__device__ void add_column_sum(float* sums, int rows, int columns, const TTerm& term) {
    __shared__ float partial[rows_per_block][warp_width];
    const int column = static_cast<int>(blockIdx.x * warp_width + threadIdx.x);
    const int first_row = static_cast<int>(blockIdx.y) * rows_per_slice;
    const int last_row = min(rows, first_row + rows_per_slice);
    float sum = 0.0F;
    if (column < columns) {
        for (int row = first_row + static_cast<int>(threadIdx.y); row < last_row; row += rows_per_block)
            sum += term(row, static_cast<long long>(row) * columns + column);
    }
    partial[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && column < columns) {
        for (int i = 1; i < rows_per_block; ++i) sum += partial[i][threadIdx.x];
        atomicAdd(sums + column, sum);
    }
    __syncthreads();  // `partial` is used again by a second call
}

__global__ void bias_backward(float* bias_gradient, const float* gradient, int rows, int columns) {
    add_column_sum(bias_gradient, rows, columns, [=](int /*row*/, long long i) { return gradient[i]; });
}

__global__ void layernorm_backward_columns(float* gain_gradient, float* bias_gradient, const float* out_gradient,
                                           const float* in, const float* mean, const float* inverse_deviation, int rows,
                                           int columns) {
    add_column_sum(gain_gradient, rows, columns, [=](int row, long long i) {
        return out_gradient[i] * (in[i] - mean[row]) * inverse_deviation[row];
    });
    add_column_sum(bias_gradient, rows, columns, [=](int /*row*/, long long i) { return out_gradient[i]; });
}

// From the index of an element in [parts, batch, heads, sequence, head_width] to its index in the
// packed matrix.
__device__ inline long long packed_index(long long i, const head_shape& shape) {
    const int e = static_cast<int>(i % shape.head_width);
    i /= shape.head_width;
    const int t = static_cast<int>(i % shape.sequence);
    i /= shape.sequence;
    const int h = static_cast<int>(i % shape.heads);
    i /= shape.heads;
    const int b = static_cast<int>(i % shape.batch);
    const int part = static_cast<int>(i / shape.batch);
    const long long row = static_cast<long long>(b) * shape.sequence + t;
    const int columns = shape.parts * shape.heads * shape.head_width;
    return row * columns + (part * shape.heads + h) * shape.head_width + e;
}

__global__ void split_heads(float* heads, const float* packed, long long count, head_shape shape) {
    for (long long i = first_element(); i < count; i += element_stride()) heads[i] = packed[packed_index(i, shape)];
}

__global__ void merge_heads(float* packed, const float* heads, long long count, head_shape shape) {
    for (long long i = first_element(); i < count; i += element_stride()) packed[packed_index(i, shape)] = heads[i];
}

__global__ void softmax(float* values, float scale, int rows, int columns) {
    const auto [row, first] = warp_row(columns);
    if (row >= rows) return;
    float* x = values + first;
    float highest = -INFINITY;
    for (int j = threadIdx.x; j < columns; j += warp_width) highest = fmaxf(highest, x[j]);
    highest = warp_max(highest);
    float sum = 0.0F;
    for (int j = threadIdx.x; j < columns; j += warp_width) {
        x[j] = expf((x[j] - highest) * scale);
        sum += x[j];
    }
    const float inverse_sum = 1.0F / warp_sum(sum);
    for (int j = threadIdx.x; j < columns; j += warp_width) x[j] *= inverse_sum;
}

__global__ void softmax_backward(float* gradient, const float* probabilities, float scale, int rows, int columns) {
    const auto [row, first] = warp_row(columns);
    if (row >= rows) return;
    float* dp = gradient + first;
    const float* p = probabilities + first;
    float dot = 0.0F;
    for (int j = threadIdx.x; j < columns; j += warp_width) dot += dp[j] * p[j];
    dot = warp_sum(dot);
    for (int j = threadIdx.x; j < columns; j += warp_width) dp[j] = p[j] * (dp[j] - dot) * scale;
}

__global__ void cross_entropy(float* loss, float* logits, const int* labels, int rows, int columns) {
    const auto [row, first] = warp_row(columns);
    if (row >= rows) return;
    float* x = logits + first;
    const int label = labels[row];
    float highest = -INFINITY;
    for (int j = threadIdx.x; j < columns; j += warp_width) highest = fmaxf(highest, x[j]);
    highest = warp_max(highest);
    float sum = 0.0F;
    for (int j = threadIdx.x; j < columns; j += warp_width) sum += expf(x[j] - highest);
    sum = warp_sum(sum);
    const float row_share = 1.0F / static_cast<float>(rows);
    if (threadIdx.x == 0) atomicAdd(loss, (logf(sum) + highest - x[label]) * row_share);
    __syncwarp();  // lane 0 has read x[label] before its owner overwrites it
    for (int j = threadIdx.x; j < columns; j += warp_width)
        x[j] = (expf(x[j] - highest) / sum - (j == label ? 1.0F : 0.0F)) * row_share;
}

__global__ void adamw(float* values, const float* gradients, float* first_moments, float* second_moments,
                      long long count, adamw_step step) {
    for (long long i = first_element(); i < count; i += element_stride()) {
        const float g = gradients[i];
        const float m = step.beta1 * first_moments[i] + (1.0F - step.beta1) * g;
        const float v = step.beta2 * second_moments[i] + (1.0F - step.beta2) * g * g;
        first_moments[i] = m;
        second_moments[i] = v;
        const float update = (m / step.correction1) / (sqrtf(v / step.correction2) + step.epsilon);
        values[i] -= step.learning_rate * (update + step.weight_decay * values[i]);
    }
}

}  // namespace trainer::kernels
