// SPDX-License-Identifier: Apache-2.0
// A library of the user's with a line that waits, for native_lines_test.py.
#include <cstdint>
#include <functional>

extern "C" {
int fake_cuda_launch(const char* kernel, std::uint64_t duration_ns, void* stream);
int cudaDeviceSynchronize();
}

__attribute__((visibility("default"))) void library_flaw(const std::function<void()>& callback);

void library_flaw(const std::function<void()>& callback) {
    fake_cuda_launch("kernel", 10'000'000, nullptr);
    cudaDeviceSynchronize();  // library
    callback();               // call of callback
}
