// SPDX-License-Identifier: Apache-2.0
// The exception of setup and offline code: one line with what went wrong, where, and what to do. Never thrown on the
// hot path, and never across the border of libprof.so.
#pragma once

#include <stdexcept>
#include <string>

namespace prof {

class error : public std::runtime_error {
public:
    explicit error(const std::string& line) : std::runtime_error(line) {}
};

// The system refused to open, read or write a file: `number` is that of errno.
class file_error : public error {
public:
    file_error(const std::string& line, int number) : error(line), number_(number) {}

    int number() const noexcept { return number_; }

private:
    int number_;
};

}  // namespace prof
