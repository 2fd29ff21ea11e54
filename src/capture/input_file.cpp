// SPDX-License-Identifier: Apache-2.0
#include "capture/input_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/error.hpp"

namespace prof {
namespace {

constexpr std::size_t read_ahead_bytes = 1U << 20;

}  // namespace

input_file::input_file(const std::string& path) {
    const auto refuse = [&](const struct stat& status) {
        if (S_ISDIR(status.st_mode))
            throw file_error("cannot read " + path + ": it is a directory; name the files in it", EISDIR);
        throw error("cannot read " + path + ": it is not a regular file");
    };
    // Checked before opening: opening a device may have effects, and a capture may name any path as its rings.
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) refuse(status);
    // O_NONBLOCK: opening a FIFO that was put there in the meantime would block until it has a writer.
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor_ < 0) {
        const int reason = errno;
        throw file_error("cannot open " + path + ": " + std::generic_category().message(reason), reason);
    }
    if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
        ::close(descriptor_);
        refuse(status);
    }
    size_ = static_cast<std::uint64_t>(status.st_size);
    file_ = file_identity(descriptor_);
}

input_file::~input_file() {
    if (file_.is_still(descriptor_)) ::close(descriptor_);
}

std::span<const std::byte> input_file::view(std::uint64_t offset, std::size_t bytes) {
    if (offset >= size_) {
        return {};
    }
    bytes = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, size_ - offset));
    const bool held = offset >= held_from_ && offset + bytes <= held_from_ + held_;
    if (!held) {
        // Begin at a multiple of 8, so that what is aligned in the file is aligned in the buffer.
        held_from_ = offset & ~std::uint64_t{7};
        held_ = 0;
        const auto wanted = static_cast<std::size_t>(
            std::min<std::uint64_t>(std::max(bytes + sizeof(std::uint64_t), read_ahead_bytes), size_ - held_from_));
        if (wanted > capacity_) {
            buffer_ = std::make_unique_for_overwrite<std::byte[]>(wanted);
            capacity_ = wanted;
        }
        held_ = read(held_from_, {buffer_.get(), wanted});
    }
    const auto skipped = static_cast<std::size_t>(offset - held_from_);
    const std::span<const std::byte> all{buffer_.get(), held_};
    return all.size() <= skipped ? std::span<const std::byte>{}
                                 : all.subspan(skipped, std::min(bytes, held_ - skipped));
}

std::uint64_t input_file::skip_zeros(std::uint64_t offset) {
    constexpr std::size_t word = sizeof(std::uint64_t);
    constexpr std::size_t at_a_time = 64U << 10;
    while (offset < size_) {
        // A file system without SEEK_DATA reports everything as data.
        const bool is_ours = file_.is_still(descriptor_);
        const off_t data = is_ours ? ::lseek(descriptor_, static_cast<off_t>(offset), SEEK_DATA) : 0;
        if (data < 0 && errno == ENXIO) return size_;
        if (data >= 0) offset = std::max(offset, static_cast<std::uint64_t>(data) / word * word);
        const auto bytes = view(offset, at_a_time);
        if (bytes.empty()) return size_;
        const auto other = std::find_if(bytes.begin(), bytes.end(), [](std::byte b) { return b != std::byte{0}; });
        offset += static_cast<std::uint64_t>(other - bytes.begin());
        if (other != bytes.end()) return offset / word * word;
    }
    return size_;
}

std::size_t input_file::read(std::uint64_t offset, std::span<std::byte> destination) const noexcept {
    std::size_t done = 0;
    while (done < destination.size()) {
        const ssize_t got = ::pread(descriptor_, destination.data() + done, destination.size() - done,
                                    static_cast<off_t>(offset + done));
        if (got > 0) {
            done += static_cast<std::size_t>(got);
        } else if (got == 0 || errno != EINTR) {
            break;
        }
    }
    return file_.is_still(descriptor_) ? done : 0;
}

}  // namespace prof
