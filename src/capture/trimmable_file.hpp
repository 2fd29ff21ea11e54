// The file of a capture, whose front can be dropped: as a hole, which gives the storage back and leaves everything
// where it is; where the file system makes none, or the file has become too long, by a copy without the front, which
// takes the file's place. Such a copy is made when the front is at least as large as the rest: the file is at most
// twice as large as what is kept, and for each byte that is written one is copied at most.
//
// Positions are counted from the beginning of the recording, and stay what they are when the file is replaced. One
// thread; nothing throws once it is open. In a child made by fork nothing is done: the file is the parent's.
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

    // Longer than any file need be, and shorter than file systems can.
    static constexpr std::uint64_t usual_longest = std::uint64_t{1} << 40;

    // Creates `path`; throws prof::error. `write` and `punch` are the system's but in tests.
    trimmable_file(const std::string& path, write_function write, punch_function punch, std::uint64_t longest);

    output_file::outcome write_all(std::span<const std::byte> bytes) noexcept;
    bool is_removed() const noexcept { return file_->is_removed(); }

    // Of all that was written.
    std::uint64_t position() const noexcept { return position_; }
    // Of the file now.
    std::uint64_t bytes() const noexcept { return position_ - shift_; }

    // Gives `to` what the file has up to its byte `end`, but what was dropped of it, part by part, until one is not
    // written. Returns 0 or that errno, or why it cannot be read. By the open file: its name may be another's by now.
    // Any thread; REQUIRES: nothing is dropped meanwhile.
    int copy(std::uint64_t end, const part_writer& to) const;

    // All before `position` but the capture's header; 0 or errno. Where it is to be a copy it may be left for later.
    int trim(std::uint64_t position) noexcept;
    // For a file that must not become longer: a copy without what may be dropped takes its place at once. 0; EFBIG if
    // there is nothing to drop; or why not.
    int shorten() noexcept;

private:
    int copy_bytes(std::uint64_t begin, std::uint64_t end, const part_writer& to) const;
    int make_hole(std::uint64_t to) noexcept;
    int try_replace(std::uint64_t from) noexcept;
    int replace(std::uint64_t from);

    const std::string path_;  // absolute: the program may go elsewhere
    const write_function write_;
    const punch_function punch_;
    const std::uint64_t longest_;
    std::unique_ptr<output_file> file_;
    std::uint64_t position_ = 0;
    std::uint64_t shift_ = 0;  // so much less is a place in the file than its position
    std::uint64_t hole_end_ = 0;
    std::uint64_t wanted_ = 0;        // the position up to which was to be dropped
    std::uint64_t replace_from_ = 0;  // not before the file has so many bytes: the last attempt failed
    bool makes_holes_ = true;
};

}  // namespace prof
