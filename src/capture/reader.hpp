// SPDX-License-Identifier: Apache-2.0
// Reads a capture file as a sequence of intact chunks. A damaged, truncated or unknown chunk is skipped and counted.
// Each delivered payload is well_formed() for its type; capture/payload.hpp reads it as typed values.
//
// After the chunks of the file come those that recovery finds in the rings of a process that died
// (capture/recovery/recovery.hpp). They have the same form, so a reader can treat them alike.
//
// Hostile input (lengths, checksums, zip bombs) costs at most twice format::largest_chunk_bytes of memory, and at most
// format::most_inflated_bytes() are delivered from a file.
//
// The front of a capture may have been trimmed (docs/guide/flight-recorder.md): it is zeros up to a key frame. Such
// zeros are no damage, and skipping them costs no time if they take no storage.
//
// A reader is used by one thread. The file is read piece by piece and never mapped, since it may shrink or its disk may
// fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "capture/chunk.hpp"
#include "capture/format.hpp"

namespace prof {

using bytes_by_type = std::map<format::chunk_type, std::uint64_t>;

class capture_reader {
public:
    // Throws prof::error if the file cannot be opened or does not begin like a capture of this version. Damage further
    // on in the header counts as damage, and the chunks are still read.
    explicit capture_reader(const std::string& path);
    ~capture_reader();
    capture_reader(const capture_reader&) = delete;
    capture_reader& operator=(const capture_reader&) = delete;

    const format::file_header& header() const noexcept;
    bool next(chunk& out);  // false at the end
    // The total payload bytes of all chunks of each type, according to the headers: a hint for reserving memory. It is
    // wrong if the file is damaged, and at most four times the file's size. Types without chunks are left out. Reads
    // the headers only.
    bytes_by_type payload_bytes_hints() const;
    // Reads a payload once more, without disturbing next(). False if it is not in the file any more, or cannot be read.
    // REQUIRES: `destination` has its size.
    bool read_again(const stored_payload& payload, std::span<std::byte> destination) const noexcept;
    // How far next() has come in the file.
    std::uint64_t read_bytes() const noexcept;
    std::uint64_t file_bytes() const noexcept;
    void rewind();                                  // begins again at the first chunk; damage() restarts too
    const capture_damage& damage() const noexcept;  // complete once next() has returned false

    // The place and sequence number for a further chunk: after the last whole one, over one that the end of the file
    // cuts off. REQUIRES: next() has returned false.
    struct append_point {
        std::uint64_t offset = 0;
        std::uint32_t sequence = 0;
    };
    append_point where_to_append() const noexcept;

    // How the capture ended, once next() has returned false. Empty if it was closed; else one line on what was
    // recovered from the rings, or why nothing was. The rings are read once: after rewind() the same chunks are
    // delivered again.
    const std::string& recovery_outcome() const noexcept;

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace prof
