// Reads a capture file as a sequence of intact chunks. Whatever is damaged, truncated or of an unknown type is passed
// over and counted; hostile input (lengths, checksums, zip bombs) costs at most twice format::largest_chunk_bytes of
// memory, and all that is delivered from a file is at most format::most_inflated_bytes(). What is delivered is
// well_formed() for its type; capture/payload.hpp reads it as typed values. After the chunks of the file come those
// that recovery finds in the rings of a process that died (capture/recovery/recovery.hpp), in the same form, so that a
// reader need not know the difference.
//
// The front of a capture may have been dropped (docs/flight-recorder.md): zeros up to a key frame. They are no damage,
// and cost no time where they take no storage.
//
// One reader, one thread. The file is read as it goes, and never mapped: it may shrink, or its disk fail, meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "capture/format.hpp"

namespace prof {

struct chunk {
    format::chunk_type type{};
    std::uint64_t aux = 0;
    std::span<const std::byte> payload;  // inflated; 8-byte aligned; valid until the next call of next()
    bool recovered = false;              // from the rings, not from the file
    // A key frame with which the capture begins: what came before it, if anything was delivered, has been dropped since
    // and is to be forgotten.
    bool begins = false;
};

struct capture_damage {
    std::uint64_t bytes = 0;   // passed over
    std::uint64_t chunks = 0;  // lost, by the holes in the sequence
    std::uint64_t unknown_chunks = 0;
    // At the end of a file that was not closed, of a chunk that is not whole and that the rings do not have: the
    // process died while it was written, or the file was cut later. Not counted above.
    std::uint64_t cut_off_bytes = 0;
    std::string first;  // one line about the first damage: offset and what was wrong; empty if none
};

class capture_reader {
public:
    // Throws prof::error when the file cannot be opened or does not begin like a capture of this version. A header that
    // does begin so but is damaged further on is damage: the chunks are read all the same.
    explicit capture_reader(const std::string& path);
    ~capture_reader();
    capture_reader(const capture_reader&) = delete;
    capture_reader& operator=(const capture_reader&) = delete;

    const format::file_header& header() const noexcept;
    bool next(chunk& out);  // false at the end
    // What the chunks of a type hold in all, going by the headers: a hint of how much room to make, wrong where the
    // file is damaged, and at most four times its size. Reads the headers only.
    std::uint64_t payload_bytes_hint(format::chunk_type type) const;
    void rewind();                                  // start again at the first chunk; damage() is counted anew
    const capture_damage& damage() const noexcept;  // complete once next() has returned false

    // Where a further chunk goes, once next() has returned false, and its sequence number: behind the last, and over
    // one that the file's end cuts off.
    struct append_point {
        std::uint64_t offset = 0;
        std::uint32_t sequence = 0;
    };
    append_point where_to_append() const noexcept;

    // How the capture ended, once next() has returned false: empty if it was closed; else one line that says what was
    // recovered from the rings, or why nothing was. They are read once: a rewound reader gives the same again.
    const std::string& recovery_outcome() const noexcept;

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace prof
