// SPDX-License-Identifier: Apache-2.0
// The GPU: cuBLAS for the matrix products, our own kernels for the rest, all on one stream.
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExtCudaRt.h>

#include <algorithm>
#include <stdexcept>

#include "device.hpp"
#include "kernels.cuh"

namespace trainer {
namespace {

void check(cudaError_t status, const char* what) {
    if (status != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

void check(cublasStatus_t status, const char* what) {
    if (status != CUBLAS_STATUS_SUCCESS)
        throw std::runtime_error(std::string(what) + ": " + cublasGetStatusString(status));
}

long long elements(int rows, int columns) { return static_cast<long long>(rows) * columns; }

long long elements(const head_shape& shape) {
    return elements(shape.parts * shape.batch * shape.heads, shape.sequence) * shape.head_width;
}

unsigned blocks_for(long long count, int per_block) {
    return static_cast<unsigned>((count + per_block - 1) / per_block);
}

class cuda_device final : public device {
public:
    explicit cuda_device(precision matrix_precision)
        : compute_(matrix_precision == precision::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F) {
        int count = 0;
        check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
        if (count == 0) throw std::runtime_error("cudaGetDeviceCount: no CUDA device");
        cudaDeviceProp properties{};
        check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
        name_ = properties.name;
        most_blocks_ = static_cast<unsigned>(properties.multiProcessorCount) * 8;
        check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
        nvtxNameCudaStreamA(stream_, "training");
        check(cublasCreate(&blas_), "cublasCreate");
        check(cublasSetStream(blas_, stream_), "cublasSetStream");
    }

    ~cuda_device() override {
        cublasDestroy(blas_);
        cudaStreamDestroy(stream_);
    }

    std::string name() const override { return name_; }

    void* allocate(std::size_t bytes) override {
        void* memory = nullptr;
        check(cudaMalloc(&memory, bytes), "cudaMalloc");
        check(cudaMemsetAsync(memory, 0, bytes, stream_), "cudaMemsetAsync");
        return memory;
    }

    void release(void* memory) noexcept override { cudaFree(memory); }

    void upload(void* target, const void* source, std::size_t bytes) override {
        check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyHostToDevice, stream_), "upload");
        // A pageable copy may still be reading the host's memory when the call returns.
        wait();
    }

    void download(void* target, const void* source, std::size_t bytes) override {
        check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToHost, stream_), "download");
        wait();
    }

    void zero(float* values, std::size_t count) override {
        check(cudaMemsetAsync(values, 0, count * sizeof(float), stream_), "cudaMemsetAsync");
    }

    void wait() override { check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

    // cuBLAS is column-major: it sees our matrices transposed, so we ask it for Cᵀ = op(B)ᵀ · op(A)ᵀ.
    void gemm(const gemm_shape& shape, const float* a, const float* b, float* c) override {
        const cublasOperation_t op_a = shape.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
        const cublasOperation_t op_b = shape.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
        const int a_columns = shape.transpose_a ? shape.rows : shape.inner;
        const int b_columns = shape.transpose_b ? shape.inner : shape.columns;
        if (shape.count == 1) {
            check(cublasGemmEx(blas_, op_b, op_a, shape.columns, shape.rows, shape.inner, &shape.alpha, b, CUDA_R_32F,
                               b_columns, a, CUDA_R_32F, a_columns, &shape.beta, c, CUDA_R_32F, shape.columns, compute_,
                               CUBLAS_GEMM_DEFAULT),
                  "cublasGemmEx");
        } else {
            check(cublasGemmStridedBatchedEx(blas_, op_b, op_a, shape.columns, shape.rows, shape.inner, &shape.alpha, b,
                                             CUDA_R_32F, b_columns, elements(shape.inner, shape.columns), a, CUDA_R_32F,
                                             a_columns, elements(shape.rows, shape.inner), &shape.beta, c, CUDA_R_32F,
                                             shape.columns, elements(shape.rows, shape.columns), shape.count, compute_,
                                             CUBLAS_GEMM_DEFAULT),
                  "cublasGemmStridedBatchedEx");
        }
    }

    void add_bias(float* values, const float* bias, int rows, int columns) override {
        each_element(elements(rows, columns), kernels::add_bias, values, bias, elements(rows, columns), columns);
    }

    void add_bias_residual(float* out, const float* residual, const float* values, const float* bias, int rows,
                           int columns) override {
        each_element(elements(rows, columns), kernels::add_bias_residual, out, residual, values, bias,
                     elements(rows, columns), columns);
    }

    void bias_backward(float* bias_gradient, const float* gradient, int rows, int columns) override {
        each_column(rows, columns, kernels::bias_backward, bias_gradient, gradient, rows, columns);
    }

    void bias_gelu(float* out, float* values, const float* bias, int rows, int columns) override {
        each_element(elements(rows, columns), kernels::bias_gelu, out, values, bias, elements(rows, columns), columns);
    }

    void gelu_backward(float* gradient, const float* values, std::size_t count) override {
        const auto total = static_cast<long long>(count);
        each_element(total, kernels::gelu_backward, gradient, values, total);
    }

    void layernorm(float* out, float* mean, float* inverse_deviation, const float* in, const float* gain,
                   const float* bias, int rows, int columns) override {
        each_row(rows, kernels::layernorm, out, mean, inverse_deviation, in, gain, bias, rows, columns);
    }

    void layernorm_backward(float* in_gradient, float* gain_gradient, float* bias_gradient, const float* out_gradient,
                            const float* in, const float* gain, const float* mean, const float* inverse_deviation,
                            int rows, int columns) override {
        each_column(rows, columns, kernels::layernorm_backward_columns, gain_gradient, bias_gradient, out_gradient, in,
                    mean, inverse_deviation, rows, columns);
        each_row(rows, kernels::layernorm_backward_rows, in_gradient, out_gradient, in, gain, mean, inverse_deviation,
                 rows, columns);
    }

    void split_heads(float* heads, const float* packed, const head_shape& shape) override {
        each_element(elements(shape), kernels::split_heads, heads, packed, elements(shape), shape);
    }

    void merge_heads(float* packed, const float* heads, const head_shape& shape) override {
        each_element(elements(shape), kernels::merge_heads, packed, heads, elements(shape), shape);
    }

    void softmax(float* values, float scale, int rows, int columns) override {
        each_row(rows, kernels::softmax, values, scale, rows, columns);
    }

    void softmax_backward(float* gradient, const float* probabilities, float scale, int rows, int columns) override {
        each_row(rows, kernels::softmax_backward, gradient, probabilities, scale, rows, columns);
    }

    void cross_entropy(float* loss, float* logits, const int* labels, int rows, int columns) override {
        each_row(rows, kernels::cross_entropy, loss, logits, labels, rows, columns);
    }

    void adamw(float* values, const float* gradients, float* first_moments, float* second_moments, std::size_t count,
               const adamw_step& step) override {
        const auto total = static_cast<long long>(count);
        each_element(total, kernels::adamw, values, gradients, first_moments, second_moments, total, step);
    }

private:
    static constexpr int element_threads = 256;

    template <typename... TParameters, typename... TArguments>
    void each_element(long long count, void (*kernel)(TParameters...), TArguments... arguments) {
        const unsigned blocks = std::min(blocks_for(count, element_threads), most_blocks_);
        kernel<<<blocks, element_threads, 0, stream_>>>(arguments...);
        check(cudaGetLastError(), "kernel launch");
    }

    template <typename... TParameters, typename... TArguments>
    void each_row(int rows, void (*kernel)(TParameters...), TArguments... arguments) {
        const dim3 block(kernels::warp_width, kernels::rows_per_block);
        kernel<<<blocks_for(rows, kernels::rows_per_block), block, 0, stream_>>>(arguments...);
        check(cudaGetLastError(), "kernel launch");
    }

    template <typename... TParameters, typename... TArguments>
    void each_column(int rows, int columns, void (*kernel)(TParameters...), TArguments... arguments) {
        const dim3 block(kernels::warp_width, kernels::rows_per_block);
        const dim3 grid(blocks_for(columns, kernels::warp_width), blocks_for(rows, kernels::rows_per_slice));
        kernel<<<grid, block, 0, stream_>>>(arguments...);
        check(cudaGetLastError(), "kernel launch");
    }

    cublasComputeType_t compute_;
    std::string name_;
    unsigned most_blocks_ = 0;  // element-wise kernels loop: enough to fill the GPU, no more
    cudaStream_t stream_ = nullptr;
    cublasHandle_t blas_ = nullptr;
};

}  // namespace

std::unique_ptr<device> make_cuda_device(precision matrix_precision) {
    return std::make_unique<cuda_device>(matrix_precision);
}

}  // namespace trainer
