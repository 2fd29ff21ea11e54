// SPDX-License-Identifier: Apache-2.0
// C++ programs of known lines, for native_lines_test.py: each line that is to be found ends with a comment, its name.
//
// After each of these calls something follows, since a compiler makes a jump of a function's last call, and the
// function is gone when the callee runs.
//
// Usage: native_lines_cases CASE
#include <alloca.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>

extern "C" {
int fake_cuda_launch(const char* kernel, std::uint64_t duration_ns, void* stream);
int cudaDeviceSynchronize();
}
void library_flaw(const std::function<void()>& callback);

namespace {

constexpr std::uint64_t long_ns = 10'000'000;

void launch() { fake_cuda_launch("kernel", long_ns, nullptr); }
void rest() { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }

[[gnu::noinline]] void two_flaws() {
    for (int i = 0; i < 3; ++i) {
        launch();
        cudaDeviceSynchronize();  // first flaw
        rest();
        launch();
        cudaDeviceSynchronize();  // second flaw
        rest();
    }
}

inline void inlined_twice() {
    launch();
    cudaDeviceSynchronize();  // inlined
}
[[gnu::noinline]] void inlined() {
    inlined_twice();  // caller of inlined
    rest();
}

[[gnu::noinline]] int recursion(int depth) {
    if (depth == 0) {
        launch();
        cudaDeviceSynchronize();  // deepest
        return 1;
    }
    return recursion(depth - 1) + depth;
}

template <typename TCall>
[[gnu::noinline]] void aligned(TCall&& call) {
    alignas(64) volatile char wide[256];
    std::memset(const_cast<char*>(wide), 1, sizeof wide);
    call();
    wide[0] = wide[1];
}
[[gnu::noinline]] void variable(int size) {
    auto* const bytes = static_cast<volatile char*>(alloca(static_cast<std::size_t>(size)));
    bytes[size - 1] = 1;
    aligned([&] {
        launch();
        cudaDeviceSynchronize();  // aligned
        bytes[0] = 2;
    });
}

struct on_leaving {
    ~on_leaving() {
        launch();
        cudaDeviceSynchronize();  // destructor
    }
};
[[gnu::noinline]] void thrower() {
    const on_leaving here;
    throw 1;
}
[[gnu::noinline]] void unwound() {
    try {
        thrower();
    } catch (int) {
        launch();
        cudaDeviceSynchronize();  // handler
    }
}

[[gnu::noinline]] void in_thread() {
    std::thread([] {
        launch();
        cudaDeviceSynchronize();  // thread
        rest();
    }).join();
}

[[gnu::noinline]] void in_library() {
    library_flaw([] {
        launch();
        cudaDeviceSynchronize();  // callback
        rest();
    });
}

[[gnu::noinline]] void through_function() {
    std::map<std::string, std::function<void()>> calls;
    calls["a"] = [] {
        launch();
        cudaDeviceSynchronize();  // in function
        rest();
    };
    for (const auto& [name, call] : calls) call();
}

[[gnu::noinline]] void stretch() {
    launch();
    rest();
    fake_cuda_launch("kernel", long_ns, nullptr);  // after the stretch
    launch();
}

}  // namespace

int main(int, char** arguments) {
    const std::string name = arguments[1];
    if (name == "two_flaws") two_flaws();
    if (name == "inlined") inlined();
    if (name == "recursion") return recursion(60) == 0 ? 1 : 0;
    if (name == "aligned") variable(std::atoi("3000"));
    if (name == "unwound") unwound();
    if (name == "thread") in_thread();
    if (name == "library") in_library();
    if (name == "function") through_function();
    if (name == "stretch") stretch();
    return 0;
}
