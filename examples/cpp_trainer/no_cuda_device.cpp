// SPDX-License-Identifier: Apache-2.0
// Stands in for cuda_device.cu where the example was built without a CUDA toolkit.
#include <stdexcept>

#include "device.hpp"

namespace trainer {

std::unique_ptr<device> make_cuda_device(precision /*matrix_precision*/) {
    throw std::runtime_error("built without a CUDA toolkit");
}

}  // namespace trainer
