// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <prof/range.hpp>
#include <thread>

int main() {
    for (int step = 0; step < 3; ++step) {
        PROF_RANGE("step");
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
}
