// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "bursts.hpp"

namespace launch_cost {
namespace {

// Symbols of about 250 characters.
template <int N>
struct a_functor_with_a_name_as_long_as_the_templates_of_machine_learning_frameworks_have_them {};
template <typename TFirst, typename TSecond, typename TThird>
__global__ void empty() {}

template <int... N>
std::vector<const void*> kernels_of(std::integer_sequence<int, N...>) {
    return {reinterpret_cast<const void*>(
        empty<a_functor_with_a_name_as_long_as_the_templates_of_machine_learning_frameworks_have_them<N>, char[N + 1],
              a_functor_with_a_name_as_long_as_the_templates_of_machine_learning_frameworks_have_them<N + 1>>)...};
}

}  // namespace

const std::vector<const void*>& empty_kernels() {
    static const std::vector<const void*> kernels = kernels_of(std::make_integer_sequence<int, 80>{});
    return kernels;
}

}  // namespace launch_cost
