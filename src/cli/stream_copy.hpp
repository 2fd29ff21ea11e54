// SPDX-License-Identifier: Apache-2.0
// What standard input or a pipe delivers, as a file that can be read at any place. It lies in $TMPDIR or /tmp, and has
// no name there: it is gone with the object. One thread.
#pragma once

#include <string>

namespace prof {

class stream_copy {
public:
    // Reads it to its end. `name`: of a pipe, or standard_input. Throws prof::error.
    explicit stream_copy(const std::string& name);
    ~stream_copy();
    stream_copy(const stream_copy&) = delete;
    stream_copy& operator=(const stream_copy&) = delete;

    std::string path() const;  // by which this process can open the copy

private:
    int copy_ = -1;
};

inline constexpr const char* standard_input = "-";

}  // namespace prof
