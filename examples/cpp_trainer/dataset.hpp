// SPDX-License-Identifier: Apache-2.0
// A made-up task that a transformer can learn: each sequence belongs to one class, each of its
// frames is the class's pattern drowned in noise, and every frame is to name the class. One frame
// alone says little; attention over the sequence finds the pattern.
#pragma once

#include <vector>

#include "block.hpp"

namespace trainer {

// Ordinary pageable host memory, as a data loader hands it out.
struct host_batch {
    std::vector<float> features;  // rows × features
    std::vector<int> labels;      // one a row
};

class dataset {
public:
    dataset(const model_shape& shape, unsigned seed);
    const host_batch& batch(int step) const;

private:
    std::vector<host_batch> batches_;
};

}  // namespace trainer
