// SPDX-License-Identifier: Apache-2.0
// An address in a program or library, and what is there. Plain data.
#pragma once

#include <cstdint>
#include <string>

namespace prof {

struct code_address {
    std::string build_id;  // in hexadecimal; "": the file has none
    std::string path;
    std::uint64_t address = 0;  // in the file
};
struct code_place {
    std::string function;    // "": not known
    std::string file;        // "": not known
    std::uint32_t line = 0;  // 0: not known
};

}  // namespace prof
