// SPDX-License-Identifier: Apache-2.0
// The destination of an export: bytes in order, from one thread.
#pragma once

#include <string_view>

namespace prof {

class byte_sink {
public:
    virtual ~byte_sink() = default;
    virtual void write(std::string_view bytes) = 0;  // throws prof::error

protected:
    byte_sink() = default;
    byte_sink(const byte_sink&) = default;
    byte_sink& operator=(const byte_sink&) = default;
};

}  // namespace prof
