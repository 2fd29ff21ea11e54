// SPDX-License-Identifier: Apache-2.0
// The reference: plain loops, sums in double, nothing clever. What the GPU computes is checked
// against this, and it runs the example where there is no GPU.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>

#include "device.hpp"

namespace trainer {
namespace {

constexpr float layernorm_epsilon = 1e-5F;

// The tanh form of GELU, and its derivative.
constexpr float gelu_scale = 0.7978845608F;  // sqrt(2/π)
constexpr float gelu_cubic = 0.044715F;

float gelu(float x) { return 0.5F * x * (1.0F + std::tanh(gelu_scale * (x + gelu_cubic * x * x * x))); }

float gelu_slope(float x) {
    const float t = std::tanh(gelu_scale * (x + gelu_cubic * x * x * x));
    const float inner_slope = gelu_scale * (1.0F + 3.0F * gelu_cubic * x * x);
    return 0.5F * (1.0F + t) + 0.5F * x * (1.0F - t * t) * inner_slope;
}

template <typename TValue>
TValue* row_of(TValue* values, int row, int columns) {
    return values + static_cast<std::size_t>(row) * static_cast<std::size_t>(columns);
}

class cpu_device final : public device {
public:
    std::string name() const override { return "CPU"; }

    void* allocate(std::size_t bytes) override {
        void* memory = std::calloc(bytes, 1);
        if (memory == nullptr) throw std::bad_alloc();
        return memory;
    }
    void release(void* memory) noexcept override { std::free(memory); }
    void upload(void* target, const void* source, std::size_t bytes) override { std::memcpy(target, source, bytes); }
    void download(void* target, const void* source, std::size_t bytes) override { std::memcpy(target, source, bytes); }
    void zero(float* values, std::size_t count) override { std::fill_n(values, count, 0.0F); }
    void wait() override {}

    void gemm(const gemm_shape& shape, const float* a, const float* b, float* c) override {
        const auto rows = static_cast<std::size_t>(shape.rows);
        const auto columns = static_cast<std::size_t>(shape.columns);
        const auto inner = static_cast<std::size_t>(shape.inner);
        for (int product = 0; product < shape.count; ++product) {
            for (std::size_t i = 0; i < rows; ++i) {
                float* c_row = c + i * columns;
                for (std::size_t j = 0; j < columns; ++j) c_row[j] = shape.beta == 0.0F ? 0.0F : c_row[j] * shape.beta;
                const auto a_at = [&](std::size_t p) {
                    return shape.alpha * (shape.transpose_a ? a[p * rows + i] : a[i * inner + p]);
                };
                if (shape.transpose_b) {
                    for (std::size_t j = 0; j < columns; ++j) {
                        float sum = 0.0F;
                        for (std::size_t p = 0; p < inner; ++p) sum += a_at(p) * b[j * inner + p];
                        c_row[j] += sum;
                    }
                } else {
                    for (std::size_t p = 0; p < inner; ++p) {
                        const float a_value = a_at(p);
                        for (std::size_t j = 0; j < columns; ++j) c_row[j] += a_value * b[p * columns + j];
                    }
                }
            }
            a += rows * inner;
            b += inner * columns;
            c += rows * columns;
        }
    }

    void add_bias(float* values, const float* bias, int rows, int columns) override {
        for (int i = 0; i < rows; ++i) {
            float* row = row_of(values, i, columns);
            for (int j = 0; j < columns; ++j) row[j] += bias[j];
        }
    }

    void add_bias_residual(float* out, const float* residual, const float* values, const float* bias, int rows,
                           int columns) override {
        for (int i = 0; i < rows; ++i)
            for (int j = 0; j < columns; ++j)
                row_of(out, i, columns)[j] = row_of(residual, i, columns)[j] + row_of(values, i, columns)[j] + bias[j];
    }

    void bias_backward(float* bias_gradient, const float* gradient, int rows, int columns) override {
        for (int i = 0; i < rows; ++i)
            for (int j = 0; j < columns; ++j) bias_gradient[j] += row_of(gradient, i, columns)[j];
    }

    void bias_gelu(float* out, float* values, const float* bias, int rows, int columns) override {
        add_bias(values, bias, rows, columns);
        const std::size_t count = static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
        for (std::size_t i = 0; i < count; ++i) out[i] = gelu(values[i]);
    }

    void gelu_backward(float* gradient, const float* values, std::size_t count) override {
        for (std::size_t i = 0; i < count; ++i) gradient[i] *= gelu_slope(values[i]);
    }

    void layernorm(float* out, float* mean, float* inverse_deviation, const float* in, const float* gain,
                   const float* bias, int rows, int columns) override {
        for (int i = 0; i < rows; ++i) {
            const float* x = row_of(in, i, columns);
            double sum = 0.0;
            for (int j = 0; j < columns; ++j) sum += x[j];
            const double average = sum / columns;
            double squares = 0.0;
            for (int j = 0; j < columns; ++j) squares += (x[j] - average) * (x[j] - average);
            mean[i] = static_cast<float>(average);
            inverse_deviation[i] = static_cast<float>(1.0 / std::sqrt(squares / columns + layernorm_epsilon));
            for (int j = 0; j < columns; ++j)
                row_of(out, i, columns)[j] = (x[j] - mean[i]) * inverse_deviation[i] * gain[j] + bias[j];
        }
    }

    void layernorm_backward(float* in_gradient, float* gain_gradient, float* bias_gradient, const float* out_gradient,
                            const float* in, const float* gain, const float* mean, const float* inverse_deviation,
                            int rows, int columns) override {
        for (int i = 0; i < rows; ++i) {
            const float* x = row_of(in, i, columns);
            const float* dy = row_of(out_gradient, i, columns);
            float* dx = row_of(in_gradient, i, columns);
            double gradient_sum = 0.0;
            double product_sum = 0.0;
            for (int j = 0; j < columns; ++j) {
                const float normal = (x[j] - mean[i]) * inverse_deviation[i];
                gradient_sum += dy[j] * gain[j];
                product_sum += dy[j] * gain[j] * normal;
                gain_gradient[j] += dy[j] * normal;
                bias_gradient[j] += dy[j];
            }
            const auto gradient_mean = static_cast<float>(gradient_sum / columns);
            const auto product_mean = static_cast<float>(product_sum / columns);
            for (int j = 0; j < columns; ++j) {
                const float normal = (x[j] - mean[i]) * inverse_deviation[i];
                dx[j] += (dy[j] * gain[j] - gradient_mean - normal * product_mean) * inverse_deviation[i];
            }
        }
    }

    void split_heads(float* heads, const float* packed, const head_shape& shape) override {
        each_head_element(shape, [&](std::size_t head, std::size_t pack) { heads[head] = packed[pack]; });
    }
    void merge_heads(float* packed, const float* heads, const head_shape& shape) override {
        each_head_element(shape, [&](std::size_t head, std::size_t pack) { packed[pack] = heads[head]; });
    }

    void softmax(float* values, float scale, int rows, int columns) override {
        for (int i = 0; i < rows; ++i) {
            float* row = row_of(values, i, columns);
            const float highest = *std::max_element(row, row + columns);
            double sum = 0.0;
            for (int j = 0; j < columns; ++j) {
                row[j] = std::exp((row[j] - highest) * scale);
                sum += row[j];
            }
            const auto inverse_sum = static_cast<float>(1.0 / sum);
            for (int j = 0; j < columns; ++j) row[j] *= inverse_sum;
        }
    }

    void softmax_backward(float* gradient, const float* probabilities, float scale, int rows, int columns) override {
        for (int i = 0; i < rows; ++i) {
            float* dp = row_of(gradient, i, columns);
            const float* p = row_of(probabilities, i, columns);
            double dot = 0.0;
            for (int j = 0; j < columns; ++j) dot += dp[j] * p[j];
            for (int j = 0; j < columns; ++j) dp[j] = p[j] * (dp[j] - static_cast<float>(dot)) * scale;
        }
    }

    void cross_entropy(float* loss, float* logits, const int* labels, int rows, int columns) override {
        double total = 0.0;
        for (int i = 0; i < rows; ++i) {
            float* row = row_of(logits, i, columns);
            const float highest = *std::max_element(row, row + columns);
            double sum = 0.0;
            for (int j = 0; j < columns; ++j) sum += std::exp(row[j] - highest);
            total += std::log(sum) + highest - row[labels[i]];
            for (int j = 0; j < columns; ++j) {
                const auto probability = static_cast<float>(std::exp(row[j] - highest) / sum);
                row[j] = (probability - (j == labels[i] ? 1.0F : 0.0F)) / static_cast<float>(rows);
            }
        }
        *loss += static_cast<float>(total / rows);
    }

    void adamw(float* values, const float* gradients, float* first_moments, float* second_moments, std::size_t count,
               const adamw_step& step) override {
        for (std::size_t i = 0; i < count; ++i) {
            const float g = gradients[i];
            first_moments[i] = step.beta1 * first_moments[i] + (1.0F - step.beta1) * g;
            second_moments[i] = step.beta2 * second_moments[i] + (1.0F - step.beta2) * g * g;
            const float first = first_moments[i] / step.correction1;
            const float second = second_moments[i] / step.correction2;
            values[i] -=
                step.learning_rate * (first / (std::sqrt(second) + step.epsilon) + step.weight_decay * values[i]);
        }
    }

private:
    template <typename TVisitor>
    static void each_head_element(const head_shape& shape, const TVisitor& visit) {
        std::size_t head = 0;
        for (int part = 0; part < shape.parts; ++part)
            for (int b = 0; b < shape.batch; ++b)
                for (int h = 0; h < shape.heads; ++h)
                    for (int t = 0; t < shape.sequence; ++t)
                        for (int e = 0; e < shape.head_width; ++e, ++head) {
                            const int row = b * shape.sequence + t;
                            const int column = (part * shape.heads + h) * shape.head_width + e;
                            const int columns = shape.parts * shape.heads * shape.head_width;
                            visit(head, static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) +
                                            static_cast<std::size_t>(column));
                        }
    }
};

}  // namespace

std::unique_ptr<device> make_cpu_device() { return std::make_unique<cpu_device>(); }

}  // namespace trainer
