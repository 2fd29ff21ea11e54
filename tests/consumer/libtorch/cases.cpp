// SPDX-License-Identifier: Apache-2.0
// What <prof/torch.hpp> observes of programs other than the trainer of the examples. libtorch_test.py says what it is.
#include <torch/torch.h>

#include <prof/prof.h>
#include <cstdio>
#include <functional>
#include <map>
#include <prof/range.hpp>
#include <prof/torch.hpp>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

using sgd = prof::observed_optimizer<torch::optim::SGD>;

constexpr int steps = 4;

struct trained {
    torch::nn::Linear model{8, 1};
    torch::Tensor input = torch::ones({2, 8});

    torch::Tensor loss() { return model->forward(input).square().mean(); }
};

void plain() {
    trained here;
    sgd optimizer(here.model->parameters(), torch::optim::SGDOptions(0.01).momentum(0.9));
    prof::observe_torch_phases();
    for (int step = 0; step < steps; ++step) {
        const torch::Tensor loss = here.loss();
        loss.backward();
        torch::nn::utils::clip_grad_norm_(here.model->parameters(), 1.0);
        optimizer.step();
        optimizer.zero_grad();
        (void)loss.item<float>();
        const torch::NoGradGuard evaluation;
        (void)here.loss();
    }
}

void accumulation() {
    trained here;
    sgd optimizer(here.model->parameters(), torch::optim::SGDOptions(0.01));
    prof::observe_torch_phases();
    for (int step = 0; step < steps; ++step) {
        for (int part = 0; part < 3; ++part) here.loss().backward();
        optimizer.step();
    }
}

void two_optimizers() {
    trained one;
    trained other;
    sgd of_one(one.model->parameters(), torch::optim::SGDOptions(0.01));
    sgd of_other(other.model->parameters(), torch::optim::SGDOptions(0.01));
    prof::observe_torch_phases();
    for (int step = 0; step < steps; ++step) {
        one.loss().backward();
        of_one.step();
        other.loss().backward();
        of_other.step();
    }
}

// Each step calls its closure twice.
void closure() {
    trained here;
    prof::observed_optimizer<torch::optim::LBFGS> optimizer(
        here.model->parameters(), torch::optim::LBFGSOptions(1e-3).max_iter(2).tolerance_grad(0).tolerance_change(0));
    prof::observe_torch_phases();
    for (int step = 0; step < steps; ++step) {
        optimizer.step([&] {
            optimizer.zero_grad();
            torch::Tensor loss = here.loss();
            loss.backward();
            return loss;
        });
    }
}

void exceptions() {
    trained here;
    sgd optimizer(here.model->parameters(), torch::optim::SGDOptions(0.01));
    prof::observe_torch_phases();
    for (int step = 0; step < steps; ++step) {
        try {
            here.model->forward(here.input).backward();  // not a scalar
        } catch (const c10::Error&) {
        }
        try {
            optimizer.step([]() -> torch::Tensor { throw std::runtime_error("closure"); });
        } catch (const std::runtime_error&) {
        }
        here.loss().backward();
        optimizer.step();
    }
}

void optimizer_alone() {
    trained here;
    sgd optimizer(here.model->parameters(), torch::optim::SGDOptions(0.01));
    for (int step = 0; step < steps; ++step) {
        here.loss().backward();
        optimizer.step();
    }
}

// Computes its forward again in its backward, as a checkpoint does; before that, an optimizer may step.
torch::optim::Optimizer* stepped_in_backward = nullptr;

struct checkpoint : torch::autograd::Function<checkpoint> {
    static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& input,
                                 const torch::Tensor& weight) {
        context->save_for_backward({input, weight});
        return input.matmul(weight);
    }
    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                   const torch::autograd::variable_list& gradients) {
        if (stepped_in_backward != nullptr) stepped_in_backward->step();
        const torch::AutoGradMode enabled(true);
        const auto saved = context->get_saved_variables();
        const torch::Tensor input = saved[0].detach().requires_grad_();
        const torch::Tensor weight = saved[1].detach().requires_grad_();
        const torch::Tensor again = input.matmul(weight);
        again.backward(gradients[0]);
        return {input.grad(), weight.grad()};
    }
};

void checkpointing() {
    torch::nn::Linear first(8, 8);
    torch::Tensor weight = torch::ones({8, 1}, torch::requires_grad());
    sgd optimizer(std::vector<torch::Tensor>{weight}, torch::optim::SGDOptions(0.01));
    prof::observe_torch_phases();
    for (int step = 0; step < steps; ++step) {
        checkpoint::apply(first->forward(torch::ones({2, 8})), weight).mean().backward();
        optimizer.step();
    }
}

void optimizer_in_backward() {
    torch::nn::Linear first(8, 8);
    torch::Tensor weight = torch::ones({8, 1}, torch::requires_grad());
    sgd optimizer(first->parameters(), torch::optim::SGDOptions(0.01));
    stepped_in_backward = &optimizer;
    prof::observe_torch_phases();
    for (int step = 0; step < steps; ++step) {
        checkpoint::apply(first->forward(torch::ones({2, 8})), weight).mean().backward();
    }
}

void no_operator_on_a_parameter() {
    torch::Tensor weight = torch::ones({8, 1}, torch::requires_grad());
    sgd optimizer(std::vector<torch::Tensor>{weight}, torch::optim::SGDOptions(0.01));
    prof::observe_torch_phases();
    for (int step = 0; step < steps; ++step) {
        checkpoint::apply(torch::ones({2, 8}), weight).mean().backward();
        optimizer.step();
    }
}

void threads() {
    trained here;
    sgd optimizer(here.model->parameters(), torch::optim::SGDOptions(0.01));
    prof::observe_torch_phases();
    std::thread([] {
        trained other;
        for (int step = 0; step < steps; ++step) other.loss().backward();
    }).join();
    for (int step = 0; step < steps; ++step) {
        here.loss().backward();
        optimizer.step();
    }
}

void counted() {
    trained here;
    sgd optimizer(here.model->parameters(), torch::optim::SGDOptions(0.01));
    prof::observe_torch_phases();
    for (int step = 0; step < steps; ++step) {
        prof_step();
        here.loss().backward();
        optimizer.step();
    }
}

void unobserved_optimizer() {
    trained here;
    torch::optim::SGD optimizer(here.model->parameters(), torch::optim::SGDOptions(0.01));
    prof::observe_torch_phases();
    for (int step = 0; step < steps; ++step) {
        here.loss().backward();
        optimizer.step();
    }
}

// The program's own phase for what PyTorch does not show.
void own_phases() {
    trained here;
    sgd optimizer(here.model->parameters(), torch::optim::SGDOptions(0.01));
    prof::observe_torch_phases();
    for (int step = 0; step < steps; ++step) {
        {
            PROF_PHASE("data");
            here.input = torch::ones({2, 8});
        }
        here.loss().backward();
        optimizer.step();
    }
}

const std::map<std::string, void (*)()> cases{{"plain", plain},
                                              {"optimizer_alone", optimizer_alone},
                                              {"optimizer_in_backward", optimizer_in_backward},
                                              {"accumulation", accumulation},
                                              {"two_optimizers", two_optimizers},
                                              {"closure", closure},
                                              {"exceptions", exceptions},
                                              {"checkpointing", checkpointing},
                                              {"no_operator_on_a_parameter", no_operator_on_a_parameter},
                                              {"threads", threads},
                                              {"counted", counted},
                                              {"unobserved_optimizer", unobserved_optimizer},
                                              {"own_phases", own_phases}};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    cases.at(argv[1])();
    return 0;
}
