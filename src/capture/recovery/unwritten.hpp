// The chunks that a process was writing, or was about to write, when it died: from the rings' file
// (capture/write_buffer.hpp). They go on where the capture's file ends, and are read with as much distrust.
#pragma once

#include <vector>

#include "capture/input_file.hpp"
#include "capture/recovery/recovery.hpp"

namespace prof {

struct unwritten_chunks {
    std::vector<recovered_chunk> chunks;
    bool has_next = false;     // the one that comes next in the file is there
    bool is_of_later = false;  // the process went on with another capture, to which all that the rings hold belongs
};

// Those of the capture that was created at contents.created_realtime_ns, in order from contents.next_sequence on; an
// end chunk is left out, since the process has not closed the capture. `rings` is a region's file. Never more bytes
// than its.
unwritten_chunks read_unwritten(const input_file& rings, const recovery_basis& contents);

}  // namespace prof
