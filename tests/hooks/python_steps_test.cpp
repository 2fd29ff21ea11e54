// SPDX-License-Identifier: Apache-2.0
// Where the steps of a program begin (hooks/python/python_steps.hpp), without PyTorch and without Python: the test says
// what happens, and where in which code, and the interpreter's functions answer from that.
#include "hooks/python/python_steps.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace prof::python_steps_test {
namespace {

enum instruction : std::int32_t { nothing, jump_backward, for_iter, extended_arg, push_exc_info, load_attribute };
constexpr python_instructions instructions{.jump_backward = jump_backward,
                                           .jump_caches = 0,
                                           .for_iter = for_iter,
                                           .extended_arg = extended_arg,
                                           .push_exc_info = push_exc_info,
                                           .load_attribute = load_attribute};

struct fake_code {
    std::string bytes = std::string(200, '\0');

    void set(std::int32_t offset, instruction what, std::int32_t argument = 0) {
        bytes[static_cast<std::size_t>(offset)] = static_cast<char>(what);
        bytes[static_cast<std::size_t>(offset) + 1] = static_cast<char>(argument);
    }
    // A loop `for`, from its head to the jump back to it.
    void add_loop(std::int32_t head, std::int32_t jump) {
        set(head, for_iter);
        set(jump, jump_backward, (jump + 2 - head) / 2);
    }
};

struct fake_frame {
    fake_code* code = nullptr;
    std::int32_t offset = 0;
};

// The innermost frame last, and what the steps have asked for. Objects are never released: they are the test's.
std::vector<fake_frame> frames;
std::vector<std::string> open, begun;

python_functions make_functions() {
    python_functions python{};
    python.retain = [](python_object) {};
    python.release = [](python_object) {};
    python.clear_error = [] {};
    python.attribute = [](python_object code, const char*) { return code; };
    python.code_bytes = [](python_object code) { return code; };
    python.bytes = [](python_object code) -> const char* { return static_cast<fake_code*>(code)->bytes.data(); };
    python.size = [](python_object code) { return std::ptrdiff_t(static_cast<fake_code*>(code)->bytes.size()); };
    python.count = [](python_object) -> std::ptrdiff_t { return 0; };
    python.weak_reference = [](python_object object, python_object) -> python_object { return object; };
    python.frame = []() -> python_object { return frames.empty() ? nullptr : &frames.back(); };
    python.frame_back = [](python_object frame) -> python_object {
        return frame == frames.data() ? nullptr : static_cast<fake_frame*>(frame) - 1;
    };
    python.frame_code = [](python_object frame) -> python_object { return static_cast<fake_frame*>(frame)->code; };
    python.frame_offset = [](python_object frame) -> int { return static_cast<fake_frame*>(frame)->offset; };
    return python;
}

class PythonSteps : public testing::Test {
protected:
    PythonSteps() {
        frames.clear();
        frames.reserve(8);
        open.clear();
        begun.clear();
        steps_.forget();
        steps_.set_on_death(&on_death_);
    }
    ~PythonSteps() override { steps_.forget(); }

    void go_to(std::int32_t offset) { frames.back().offset = offset; }
    std::uint64_t count() const { return static_cast<std::uint64_t>(std::count(begun.begin(), begun.end(), "step")); }

    // What happens in a training loop's body at these offsets, in each turn.
    void train(int turns, int backwards = 1) {
        for (int turn = 0; turn < turns; ++turn) {
            go_to(20);
            steps_.zero_grad(main_, &optimizer_);
            for (int i = 0; i < backwards; ++i) {
                go_to(24 + i * 8);
                steps_.call(main_, false);
                go_to(28 + i * 8);
                steps_.backward(main_);
            }
            go_to(60);
            steps_.begin_optimizer(main_, &optimizer_);
            steps_.step(main_, &optimizer_, false);
        }
    }

    void fetch() {
        if (steps_.is_begun_by_fetch(main_, true)) steps_.begin_fetched();
    }
    // Notes by each turn's forward how many steps have begun.
    void fetch_and_train(int turns) {
        for (int turn = 0; turn < turns; ++turn) {
            go_to(14);
            fetch();
            go_to(20);
            steps_.zero_grad(main_, &optimizer_);
            go_to(24);
            steps_.call(main_, false);
            steps_of_turns_.push_back(count());
            go_to(28);
            steps_.backward(main_);
            go_to(60);
            steps_.begin_optimizer(main_, &optimizer_);
            steps_.step(main_, &optimizer_, false);
        }
    }

    std::vector<std::uint64_t> steps_of_turns_;
    python_functions python_ = make_functions();
    python_places places_{python_, instructions};
    python_steps steps_{python_,
                        places_,
                        {.push =
                             [](const char* name, std::uint32_t) noexcept {
                                 open.emplace_back(name);
                                 begun.emplace_back(name);
                                 return true;
                             },
                         .pop = []() noexcept { open.pop_back(); }}};
    python_steps::thread main_{.number = 1, .is_main = true}, other_{.number = 2, .is_main = false};
    int optimizer_ = 0, second_ = 0, graph_ = 0, on_death_ = 0;
    fake_code code_;
};

TEST_F(PythonSteps, AreTheTurnsOfTheLoopAroundAnOptimizersStep) {
    code_.add_loop(10, 80);
    frames.push_back({.code = &code_});
    steps_.make(main_, &optimizer_);
    EXPECT_EQ(open, std::vector<std::string>{"startup"});
    train(5);
    EXPECT_EQ(count(), 5U);
    EXPECT_EQ(open, std::vector<std::string>{"step"});
    EXPECT_EQ(python_steps::observed().begun, 5U);
    steps_.end(main_);
    EXPECT_TRUE(open.empty());
}

// Warm-up and measurement by one function, as benchmarks do it.
TEST_F(PythonSteps, GoOnWhereTheFunctionWithTheLoopIsCalledAgain) {
    fake_code outer;
    code_.add_loop(10, 80);
    steps_.make(main_, &optimizer_);
    for (const auto& [offset, turns] : {std::pair{20, 3}, std::pair{40, 5}, std::pair{60, 1}}) {
        frames = {{.code = &outer, .offset = offset}, {.code = &code_}};
        fetch_and_train(turns);
    }
    EXPECT_EQ(steps_of_turns_, (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST_F(PythonSteps, GoOnWhereThatIsInALoop) {
    fake_code outer;
    outer.add_loop(10, 80);
    code_.add_loop(10, 80);
    steps_.make(main_, &optimizer_);
    for (int repetition = 0; repetition < 2; ++repetition) {
        for (const auto& [offset, turns] : {std::pair{20, 2}, std::pair{40, 3}}) {
            frames = {{.code = &outer, .offset = offset}, {.code = &code_}};
            fetch_and_train(turns);
        }
    }
    EXPECT_EQ(steps_of_turns_, (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
}

// A batch of another loop, in the same turn or after it, is for something else: an evaluation with gradients enabled.
TEST_F(PythonSteps, DoNotBeginWithAnEvaluation) {
    fake_code outer, evaluation;
    outer.add_loop(10, 80);
    code_.add_loop(10, 80);
    evaluation.add_loop(10, 80);
    steps_.make(main_, &optimizer_);
    for (int epoch = 0; epoch < 3; ++epoch) {
        frames = {{.code = &outer, .offset = 20}, {.code = &code_}};
        fetch_and_train(2);
        frames = {{.code = &outer, .offset = 40}, {.code = &evaluation}};
        for (int turn = 0; turn < 3; ++turn) {
            go_to(14);
            fetch();
            go_to(24);
            steps_.call(main_, true);
        }
    }
    EXPECT_EQ(steps_of_turns_, (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6}));
}

TEST_F(PythonSteps, HaveAllPassesBetweenTwoStepsOfTheOptimizer) {
    code_.add_loop(10, 80);
    frames.push_back({.code = &code_});
    steps_.make(main_, &optimizer_);
    train(4, 3);
    EXPECT_EQ(count(), 4U);
}

TEST_F(PythonSteps, GoByTheOptimizersWhereNoFrameIsKnown) {
    python_.frame_offset = nullptr;
    frames.push_back({.code = &code_});
    steps_.make(main_, &optimizer_);
    train(3);
    EXPECT_EQ(count(), 3U);
}

TEST_F(PythonSteps, WaitForTheSecondOptimizer) {
    code_.add_loop(10, 80);
    frames.push_back({.code = &code_});
    steps_.make(main_, &optimizer_);
    steps_.make(main_, &second_);
    for (int turn = 0; turn < 3; ++turn) {
        for (const auto& [offset, optimizer] : {std::pair{20, &optimizer_}, std::pair{50, &second_}}) {
            go_to(offset);
            steps_.zero_grad(main_, optimizer);
            steps_.call(main_, false);
            steps_.backward(main_);
            go_to(offset + 4);
            steps_.begin_optimizer(main_, optimizer);
            steps_.step(main_, optimizer, false);
        }
    }
    EXPECT_EQ(count(), 3U);
}

TEST_F(PythonSteps, AreOfOneThread) {
    code_.add_loop(10, 80);
    frames.push_back({.code = &code_});
    steps_.make(main_, &optimizer_);
    train(2);
    steps_.call(other_, false);
    steps_.backward(other_);
    EXPECT_EQ(count(), 2U);
    python_steps::thread_ended(main_.number);
    steps_.backward(other_);
    EXPECT_EQ(count(), 3U);
}

TEST_F(PythonSteps, OfAnEvaluationAreTheCallsOfTheOutermostModule) {
    code_.add_loop(10, 80);
    frames.push_back({.code = &code_});
    for (int turn = 0; turn < 4; ++turn) {
        go_to(20);
        steps_.call(main_, true);
    }
    EXPECT_EQ(count(), 4U);
}

TEST_F(PythonSteps, AreTheReplaysOfAGraphWithAnOptimizersStep) {
    code_.add_loop(10, 80);
    frames.push_back({.code = &code_});
    steps_.make(main_, &optimizer_);
    go_to(2);
    steps_.capture(main_, &graph_);
    steps_.backward(main_);
    steps_.step(main_, &optimizer_, false);
    steps_.capture(main_, nullptr);
    EXPECT_EQ(count(), 0U) << "what is captured is no step";
    for (int turn = 0; turn < 3; ++turn) {
        go_to(20);
        steps_.replay(main_, &graph_);
    }
    EXPECT_EQ(count(), 3U);
    EXPECT_EQ(steps_.object_died(&graph_), &graph_);
    steps_.replay(main_, &graph_);
    EXPECT_EQ(count(), 3U);
}

TEST_F(PythonSteps, AreThoseThatTheProgramMarks) {
    code_.add_loop(10, 80);
    frames.push_back({.code = &code_});
    steps_.make(main_, &optimizer_);
    train(1);
    steps_.mark(main_);
    train(5);
    EXPECT_EQ(count(), 2U);
    steps_.end_marking(main_);
    train(1);
    EXPECT_EQ(count(), 3U);
}

}  // namespace
}  // namespace prof::python_steps_test
