// SPDX-License-Identifier: Apache-2.0
// What the simulated driver loads in fake_process_test: counts its initialisations in FAKE_INJECTED.
#include <cstdlib>
#include <string>

extern "C" int InitializeInjection() {
    const char* before = std::getenv("FAKE_INJECTED");
    setenv("FAKE_INJECTED", std::to_string(before == nullptr ? 1 : std::atoi(before) + 1).c_str(), 1);
    return 1;
}
