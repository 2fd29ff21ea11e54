// SPDX-License-Identifier: Apache-2.0
// What every consumer builds: a program that uses the macro and nothing else of libprof.
#include <cstdio>
#include <prof/range.hpp>

int main() {
    for (int i = 0; i < 3; ++i) {
        PROF_RANGE("consumer_step");
        std::puts("step");
    }
}
