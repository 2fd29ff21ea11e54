// SPDX-License-Identifier: Apache-2.0
// As large as libprof.so, with as much storage in each thread, and does nothing: what tests/lab/residue.py finds of a
// library that is merely there.
#include <array>
#include <cstddef>

namespace {

constexpr std::size_t text_bytes = 3'000'000;
constexpr std::size_t data_bytes = 145'000;

constexpr std::array<char, text_bytes> text{1};
std::array<char, data_bytes> data{2};
thread_local std::array<char, 88> in_each_thread __attribute__((tls_model("initial-exec"))){};

}  // namespace

// It is never called. Without it the linker would drop the arrays.
extern "C" int bystander_touch(std::size_t at) {
    data[at % data_bytes] = text[at % text_bytes];
    return ++in_each_thread[at % in_each_thread.size()];
}
