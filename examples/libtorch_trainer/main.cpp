// SPDX-License-Identifier: Apache-2.0
// The same training loop twice: with a PROF_PHASE around each part, and without any, where PyTorch is observed.
#include <torch/torch.h>

#include <charconv>
#include <cstdio>
#include <exception>
#include <prof/range.hpp>
#include <prof/torch.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {

struct options {
    bool observe = false;
    torch::Device device = torch::kCPU;
    int steps = 20;
    int layers = 4;
    int width = 64;
    int batch = 32;
};

struct batch {
    torch::Tensor features;
    torch::Tensor labels;
};

constexpr int classes = 10;
constexpr double learning_rate = 1e-3;

// The label is the largest of the first features.
batch make_batch(const options& chosen) {
    const torch::Tensor features = torch::randn({chosen.batch, chosen.width});
    const torch::Tensor labels = features.slice(1, 0, classes).argmax(1);
    return {features.to(chosen.device), labels.to(chosen.device)};
}

torch::nn::Sequential make_model(const options& chosen) {
    torch::nn::Sequential model;
    for (int layer = 0; layer < chosen.layers; ++layer) {
        model->push_back(torch::nn::Linear(chosen.width, chosen.width));
        model->push_back(torch::nn::ReLU());
    }
    model->push_back(torch::nn::Linear(chosen.width, classes));
    model->to(chosen.device);
    return model;
}

torch::Tensor train_with_phases(torch::nn::Sequential& model, const options& chosen) {
    torch::optim::AdamW optimizer(model->parameters(), torch::optim::AdamWOptions(learning_rate));
    torch::Tensor loss;
    for (int step = 0; step < chosen.steps; ++step) {
        PROF_PHASE("step");
        batch next;
        {
            PROF_PHASE("data");
            next = make_batch(chosen);
        }
        {
            PROF_PHASE("forward");
            loss = torch::nn::functional::cross_entropy(model->forward(next.features), next.labels);
        }
        {
            PROF_PHASE("backward");
            loss.backward();
        }
        {
            PROF_PHASE("optimizer");
            optimizer.step();
        }
        optimizer.zero_grad();
    }
    return loss;
}

torch::Tensor train_observed(torch::nn::Sequential& model, const options& chosen) {
    prof::observed_optimizer<torch::optim::AdamW> optimizer(model->parameters(),
                                                            torch::optim::AdamWOptions(learning_rate));
    if (!prof::observe_torch_phases()) throw std::runtime_error("PyTorch's engine is not the one that is observed");
    torch::Tensor loss;
    for (int step = 0; step < chosen.steps; ++step) {
        const batch next = make_batch(chosen);
        loss = torch::nn::functional::cross_entropy(model->forward(next.features), next.labels);
        loss.backward();
        optimizer.step();
        optimizer.zero_grad();
    }
    return loss;
}

int whole_number(std::string_view text) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < 1)
        throw std::invalid_argument("\"" + std::string(text) + "\" is no whole number above 0");
    return value;
}

options parse_options(int argc, char** argv) {
    options chosen;
    for (int i = 1; i < argc; ++i) {
        const std::string_view option = argv[i];
        const std::string_view value = i + 1 < argc ? argv[i + 1] : "";
        if (option == "--observe") {
            chosen.observe = true;
            continue;
        }
        if (option == "--device") {
            chosen.device = torch::Device(std::string(value));
        } else if (option == "--steps") {
            chosen.steps = whole_number(value);
        } else if (option == "--layers") {
            chosen.layers = whole_number(value);
        } else if (option == "--width") {
            chosen.width = whole_number(value);
        } else if (option == "--batch") {
            chosen.batch = whole_number(value);
        } else {
            throw std::invalid_argument(
                "usage: libtorch_trainer [--observe] [--device cpu|cuda] [--steps N] [--layers N] [--width N] "
                "[--batch N]");
        }
        ++i;
    }
    if (chosen.width < classes) throw std::invalid_argument("--width is less than the number of classes");
    return chosen;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const options chosen = parse_options(argc, argv);
        torch::manual_seed(1);
        torch::nn::Sequential model = make_model(chosen);
        const torch::Tensor loss = chosen.observe ? train_observed(model, chosen) : train_with_phases(model, chosen);
        std::printf("loss %.6f after %d steps\n", loss.item<double>(), chosen.steps);
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "libtorch_trainer: %s\n", error.what());
        return 2;
    }
}
