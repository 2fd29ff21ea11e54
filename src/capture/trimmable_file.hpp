// SPDX-License-Identifier: Apache-2.0
// The file of a capture, whose front can be trimmed in one of two ways:
// - By punching a hole: this frees the storage, and everything else keeps its place.
// - By a copy without the front that replaces the file, if the file system cannot punch holes or the file has become
//   too long. The copy is made when the front is at least as large as the rest. So the file is at most twice as large
//   as what is kept, and at most one byte is copied for each byte written.
//
// Positions count from the beginning of the recording, and do not change when the file is replaced. Used by one thread,
// except copy(). Nothing throws after construction, except copy() if its callback throws. It must not be used in a
// child made by fork, since the file is the parent's; capture_writer ensures that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "capture/output_file.hpp"

namespace prof {

class trimmable_file {
public:
    using part_writer = std::function<int(std::span<const std::byte>)>;

    // More than any capture needs, and less than file systems allow.
    static constexpr std::uint64_t usual_longest = std::uint64_t{1} << 40;

    // Creates `path`; throws prof::error. `write` and `punch` are the system's calls except in tests.
    trimmable_file(const std::string& path, write_function write, punch_function punch, std::uint64_t longest);

    output_file::outcome write_all(std::span<const std::byte> bytes) noexcept;
    bool is_removed() const noexcept { return file_->is_removed(); }

    // Position of the end of everything written.
    std::uint64_t position() const noexcept { return position_; }
    // Present size of the file.
    std::uint64_t bytes() const noexcept { return position_ - shift_; }

    // Passes the file's bytes up to `end`, without the trimmed part, to `writer` piece by piece. Stops at the first
    // error of `writer`. Returns 0, that error, or the errno of reading. Reads through the open descriptor, since the
    // path may name another file by now. Any thread. REQUIRES: nothing is trimmed meanwhile.
    int copy(std::uint64_t end, const part_writer& writer) const;

    // Trims everything before `position` except the file's header. Returns 0 or errno. If this needs a copy, it may be
    // deferred.
    int trim(std::uint64_t position) noexcept;
    // For a file that must not become longer: at once replaces it by a copy without what may be trimmed. Returns 0,
    // EFBIG if there is nothing to trim, or another errno.
    int shorten() noexcept;

private:
    int copy_bytes(std::uint64_t begin, std::uint64_t end, const part_writer& writer) const;
    int make_hole(std::uint64_t end) noexcept;
    int try_replace(std::uint64_t begin) noexcept;
    int replace(std::uint64_t begin);

    const std::string path_;  // absolute, since the program may change its directory
    const write_function write_;
    const punch_function punch_;
    const std::uint64_t longest_;
    std::unique_ptr<output_file> file_;
    std::uint64_t position_ = 0;
    std::uint64_t shift_ = 0;  // position minus place in the file
    std::uint64_t hole_end_ = 0;
    std::uint64_t wanted_ = 0;        // the position up to which trim() was asked to trim
    std::uint64_t replace_from_ = 0;  // after a failed attempt: no further one until the file has this many bytes
    bool makes_holes_ = true;
};

}  // namespace prof
