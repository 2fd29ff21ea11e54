// SPDX-License-Identifier: Apache-2.0
// Any bytes as a symbol: a name of bounded length, or none.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "symbols/demangle.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string symbol = "_Z" + std::string(reinterpret_cast<const char*>(data), size);
    const auto name = prof::demangle(symbol);
    const std::size_t most = 4096 + 64 * symbol.size();
    if (name && (name->full.size() > most || name->base.size() > most)) std::abort();
    return 0;
}
