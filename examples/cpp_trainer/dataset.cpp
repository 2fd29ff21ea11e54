// SPDX-License-Identifier: Apache-2.0
#include "dataset.hpp"

#include <cstddef>
#include <random>

namespace trainer {
namespace {

constexpr int batch_count = 8;
constexpr float pattern_strength = 0.3F;  // beside noise of deviation 1

}  // namespace

dataset::dataset(const model_shape& shape, unsigned seed) {
    const auto rows = static_cast<std::size_t>(shape.rows());
    const auto features = static_cast<std::size_t>(shape.features);
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::uniform_int_distribution<int> any_class(0, shape.classes - 1);

    std::vector<float> patterns(static_cast<std::size_t>(shape.classes) * features);
    for (float& value : patterns) value = pattern_strength * normal(random);

    batches_.resize(batch_count);
    for (host_batch& batch : batches_) {
        batch.features.resize(rows * features);
        batch.labels.resize(rows);
        int label = 0;
        for (std::size_t row = 0; row < rows; ++row) {
            if (row % static_cast<std::size_t>(shape.sequence) == 0) label = any_class(random);
            batch.labels[row] = label;
            const float* pattern = patterns.data() + static_cast<std::size_t>(label) * features;
            for (std::size_t i = 0; i < features; ++i) batch.features[row * features + i] = pattern[i] + normal(random);
        }
    }
}

const host_batch& dataset::batch(int step) const { return batches_[static_cast<std::size_t>(step) % batches_.size()]; }

}  // namespace trainer
