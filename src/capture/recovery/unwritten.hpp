// SPDX-License-Identifier: Apache-2.0
// Reads from the rings' file the chunks that a process was writing, or was about to write, when it died
// (capture/write_buffer.hpp). They continue where the capture's file ends, and are treated as hostile input.
#pragma once

#include <vector>

#include "capture/input_file.hpp"
#include "capture/recovery/recovery_basis.hpp"

namespace prof {

struct unwritten_chunks {
    std::vector<recovered_chunk> chunks;
    bool has_next = false;  // `chunks` includes the one that comes next in the file
};

// The chunks of the capture with the number contents.number, in order from contents.next_sequence on. An end
// chunk is left out, since the process has not closed the capture. `rings` is a region's file. The result is never
// larger than that file.
unwritten_chunks read_unwritten(const input_file& rings, const recovery_basis& contents);

}  // namespace prof
