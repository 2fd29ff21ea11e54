// SPDX-License-Identifier: Apache-2.0
#include "model.hpp"

#include <prof/range.hpp>
#include <string>

namespace trainer {
namespace {

constexpr float head_scale = 0.1F;  // starts near the loss of a blind guess, ln(classes)

std::string layer_name(std::size_t layer) { return "layer " + std::to_string(layer); }

}  // namespace

model::model(device& on, const model_shape& shape, unsigned seed) : on_(on), shape_(shape), scratch_(on, shape) {
    const auto rows = static_cast<std::size_t>(shape.rows());
    embed_ = linear::declare(store_, "embed", shape.features, shape.width);
    for (int layer = 0; layer < shape.layers; ++layer) blocks_.emplace_back(store_, layer_name(blocks_.size()), shape);
    norm_ = layernorm::declare(store_, "norm", shape.rows(), shape.width);
    head_ = linear::declare(store_, "head", shape.width, shape.classes, head_scale);
    store_.allocate(on, seed);
    for (transformer_block& block : blocks_) block.allocate(on);
    norm_.allocate(on);

    features_ = device_array<float>(on, rows * static_cast<std::size_t>(shape.features));
    labels_ = device_array<int>(on, rows);
    embedded_ = device_array<float>(on, rows * static_cast<std::size_t>(shape.width));
    logits_ = device_array<float>(on, rows * static_cast<std::size_t>(shape.classes));
    gradient_ = device_array<float>(on, rows * static_cast<std::size_t>(shape.width));
}

void model::load(const host_batch& batch) {
    PROF_PHASE("data");
    on_.upload(features_.data(), batch.features.data(), features_.bytes());
    on_.upload(labels_.data(), batch.labels.data(), labels_.bytes());
}

void model::forward(float* loss) {
    PROF_PHASE("forward");
    {
        PROF_RANGE("embed");
        embed_.forward(on_, embedded_.data(), features_.data(), shape_.rows());
        on_.add_bias(embedded_.data(), embed_.bias->value, shape_.rows(), shape_.width);
    }
    last_ = embedded_.data();
    for (std::size_t layer = 0; layer < blocks_.size(); ++layer) {
        const prof::scoped_range range{layer_name(layer).c_str()};
        last_ = blocks_[layer].forward(on_, scratch_, last_);
    }
    PROF_RANGE("loss");
    norm_.forward(on_, last_);
    head_.forward(on_, logits_.data(), norm_.out.data(), shape_.rows());
    on_.add_bias(logits_.data(), head_.bias->value, shape_.rows(), shape_.classes);
    on_.cross_entropy(loss, logits_.data(), labels_.data(), shape_.rows(), shape_.classes);
}

void model::backward() {
    PROF_PHASE("backward");
    store_.clear_gradients(on_);
    {
        PROF_RANGE("loss");
        head_.backward(on_, scratch_.narrow.data(), logits_.data(), norm_.out.data(), shape_.rows());
        on_.zero(gradient_.data(), gradient_.size());
        norm_.backward(on_, gradient_.data(), scratch_.narrow.data(), last_);
    }
    for (std::size_t layer = blocks_.size(); layer-- > 0;) {
        const prof::scoped_range range{layer_name(layer).c_str()};
        blocks_[layer].backward(on_, scratch_, gradient_.data());
    }
    PROF_RANGE("embed");
    embed_.backward(on_, nullptr, gradient_.data(), features_.data(), shape_.rows());
}

void model::optimizer_step(float learning_rate) {
    PROF_PHASE("optimizer");
    store_.update(on_, learning_rate, ++steps_taken_);
}

}  // namespace trainer
