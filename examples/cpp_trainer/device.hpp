// SPDX-License-Identifier: Apache-2.0
// What a training step needs of a processor: memory, and the operations the model is made of. The
// model is written once, against this; cpu_device.cpp and cuda_device.cu each do the arithmetic.
//
// All calls come from one thread. An operation may return before it is done, as a CUDA stream's
// does; operations take effect in the order of the calls. Matrices are dense, row-major, float.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace trainer {

// C = alpha · op(A) · op(B) + beta · C for `count` independent products that lie back to back.
struct gemm_shape {
    int rows = 0;     // of C
    int columns = 0;  // of C
    int inner = 0;
    bool transpose_a = false;  // A is stored inner × rows
    bool transpose_b = false;  // B is stored columns × inner
    float alpha = 1.0F;
    float beta = 0.0F;
    int count = 1;
};

// How `parts` matrices of batch·sequence rows stand side by side in one packed matrix, each
// row of a part being heads · head_width wide.
struct head_shape {
    int parts = 1;  // 3 for q, k, v; 1 for the attention's output
    int batch = 0;
    int sequence = 0;
    int heads = 0;
    int head_width = 0;
};

struct adamw_step {
    float learning_rate = 1e-3F;
    float beta1 = 0.9F;
    float beta2 = 0.95F;
    float epsilon = 1e-8F;
    float weight_decay = 0.0F;
    float correction1 = 1.0F;  // 1 − beta1^t
    float correction2 = 1.0F;  // 1 − beta2^t
};

class device {
public:
    device() = default;
    device(const device&) = delete;
    device& operator=(const device&) = delete;
    virtual ~device() = default;

    virtual std::string name() const = 0;

    virtual void* allocate(std::size_t bytes) = 0;  // zeroed
    virtual void release(void* memory) noexcept = 0;
    // Returns once `source`, plain pageable host memory, may be overwritten.
    virtual void upload(void* target, const void* source, std::size_t bytes) = 0;
    // Waits for everything queued so far.
    virtual void download(void* target, const void* source, std::size_t bytes) = 0;
    virtual void zero(float* values, std::size_t count) = 0;
    virtual void wait() = 0;

    virtual void gemm(const gemm_shape& shape, const float* a, const float* b, float* c) = 0;

    // values += bias, to each row
    virtual void add_bias(float* values, const float* bias, int rows, int columns) = 0;
    // out = residual + values + bias
    virtual void add_bias_residual(float* out, const float* residual, const float* values, const float* bias, int rows,
                                   int columns) = 0;
    // bias_gradient += column sums of gradient
    virtual void bias_backward(float* bias_gradient, const float* gradient, int rows, int columns) = 0;

    // values += bias, kept for the backward pass; out = gelu(values)
    virtual void bias_gelu(float* out, float* values, const float* bias, int rows, int columns) = 0;
    // gradient *= gelu'(values)
    virtual void gelu_backward(float* gradient, const float* values, std::size_t count) = 0;

    // Keeps each row's mean and 1/deviation for the backward pass.
    virtual void layernorm(float* out, float* mean, float* inverse_deviation, const float* in, const float* gain,
                           const float* bias, int rows, int columns) = 0;
    // Adds to all three gradients.
    virtual void layernorm_backward(float* in_gradient, float* gain_gradient, float* bias_gradient,
                                    const float* out_gradient, const float* in, const float* gain, const float* mean,
                                    const float* inverse_deviation, int rows, int columns) = 0;

    // [batch·sequence, parts·heads·head_width] → [parts, batch, heads, sequence, head_width]
    virtual void split_heads(float* heads, const float* packed, const head_shape& shape) = 0;
    virtual void merge_heads(float* packed, const float* heads, const head_shape& shape) = 0;

    // Each row: values = softmax(scale · values).
    virtual void softmax(float* values, float scale, int rows, int columns) = 0;
    // From d(probabilities) to d(values), in place.
    virtual void softmax_backward(float* gradient, const float* probabilities, float scale, int rows, int columns) = 0;

    // Adds the mean loss of all rows to *loss and turns the logits into their gradient.
    virtual void cross_entropy(float* loss, float* logits, const int* labels, int rows, int columns) = 0;

    virtual void adamw(float* values, const float* gradients, float* first_moments, float* second_moments,
                       std::size_t count, const adamw_step& step) = 0;
};

enum class precision { fp32, tf32 };

std::unique_ptr<device> make_cpu_device();
// Throws std::runtime_error saying why there is no GPU to use.
std::unique_ptr<device> make_cuda_device(precision matrix_precision);

// Device memory with an owner.
template <typename TValue>
class device_array {
public:
    device_array() = default;
    device_array(device& owner, std::size_t count)
        : owner_(&owner), values_(static_cast<TValue*>(owner.allocate(count * sizeof(TValue)))), count_(count) {}
    device_array(device_array&& other) noexcept { swap(other); }
    device_array& operator=(device_array&& other) noexcept {
        swap(other);
        return *this;
    }
    ~device_array() {
        if (values_ != nullptr) owner_->release(values_);
    }

    TValue* data() const { return values_; }
    std::size_t size() const { return count_; }
    std::size_t bytes() const { return count_ * sizeof(TValue); }

private:
    void swap(device_array& other) noexcept {
        std::swap(owner_, other.owner_);
        std::swap(values_, other.values_);
        std::swap(count_, other.count_);
    }

    device* owner_ = nullptr;
    TValue* values_ = nullptr;
    std::size_t count_ = 0;
};

}  // namespace trainer
