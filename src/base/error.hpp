// The exception of setup and offline code: one line that says what went wrong, where, and what to do.
// Never thrown on the hot path, never across libprof.so's border.
#pragma once

#include <stdexcept>
#include <string>

namespace prof {

class error : public std::runtime_error {
public:
    explicit error(const std::string& line) : std::runtime_error(line) {}
};

}  // namespace prof
