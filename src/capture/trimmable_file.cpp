// SPDX-License-Identifier: Apache-2.0
#include "capture/trimmable_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <utility>

#include "base/disk_watch.hpp"
#include "base/error.hpp"
#include "capture/format.hpp"

namespace prof {
namespace {

constexpr std::uint64_t header_bytes = sizeof(format::file_header);

}  // namespace

trimmable_file::trimmable_file(const std::string& path, write_function write, punch_function punch,
                               std::uint64_t longest)
    : path_(std::filesystem::absolute(path)),
      write_(write),
      punch_(punch),
      longest_(longest),
      file_(std::make_unique<output_file>(path, write)) {}

output_file::outcome trimmable_file::write_all(std::span<const std::byte> bytes) noexcept {
    const output_file::outcome result = file_->write_all(bytes);
    position_ += result.written;
    return result;
}

int trimmable_file::copy_bytes(std::uint64_t begin, std::uint64_t end, const part_writer& writer) const {
    constexpr std::uint64_t at_a_time = 1U << 20;
    const std::unique_ptr<std::byte[]> buffer(new (std::nothrow) std::byte[at_a_time]);
    if (buffer == nullptr) return ENOMEM;
    while (begin < end) {
        const std::span some(buffer.get(), static_cast<std::size_t>(std::min(at_a_time, end - begin)));
        if (const int problem = file_->read_all(begin, some); problem != 0) return problem;
        if (const int problem = writer(some); problem != 0) return problem;
        begin += some.size();
    }
    return 0;
}

int trimmable_file::copy(std::uint64_t end, const part_writer& writer) const {
    const int problem = copy_bytes(0, header_bytes, writer);
    return problem != 0 ? problem : copy_bytes(std::max(hole_end_, header_bytes), end, writer);
}

int trimmable_file::trim(std::uint64_t position) noexcept {
    const std::uint64_t place = position - shift_;
    wanted_ = position;
    if (makes_holes_ && bytes() <= longest_) {
        const int result = make_hole(place);
        makes_holes_ = result != EOPNOTSUPP && result != ENOSYS;
        if (makes_holes_) return result;
    }
    const bool is_worth_it = place >= header_bytes + (bytes() - place) || bytes() > longest_;
    if (!is_worth_it || bytes() < replace_from_) return 0;
    const int result = try_replace(place);
    if (result != 0) replace_from_ = 2 * bytes();
    return result;
}

int trimmable_file::shorten() noexcept {
    return wanted_ > shift_ + header_bytes ? try_replace(wanted_ - shift_) : EFBIG;
}

int trimmable_file::try_replace(std::uint64_t begin) noexcept {
    try {
        return replace(begin);
    } catch (const std::bad_alloc&) {
        return ENOMEM;
    } catch (const std::exception&) {
        return EACCES;  // no file can be created beside it
    }
}

// Begins a little before the end of the previous hole, so that the storage unit across that place is freed too.
int trimmable_file::make_hole(std::uint64_t end) noexcept {
    constexpr std::uint64_t largest_unit = 2U << 20;
    const std::uint64_t begin = std::max(hole_end_ / largest_unit * largest_unit, header_bytes);
    if (end <= begin) return 0;
    const int result = file_->punch(begin, end, punch_);
    if (result == 0) hole_end_ = end;
    return result;
}

int trimmable_file::replace(std::uint64_t begin) {
    const disk_call call;
    // If the file was removed or moved, no new one is put there, and a file that is there now is not libprof's.
    if (!file_->is_at(path_)) return ENOENT;
    const std::string next_path = path_ + ".tmp-" + std::to_string(getpid());
    ::unlink(next_path.c_str());
    auto next = std::make_unique<output_file>(next_path, write_);
    const auto append = [&](std::span<const std::byte> part) { return next->write_all(part).error; };
    int problem = copy_bytes(0, header_bytes, append);
    if (problem == 0) problem = copy_bytes(begin, bytes(), append);
    if (problem == 0 && std::rename(next_path.c_str(), path_.c_str()) != 0) problem = errno;
    if (problem != 0) {
        ::unlink(next_path.c_str());
        return problem;
    }
    file_ = std::move(next);
    shift_ += begin - header_bytes;
    hole_end_ = 0;
    return 0;
}

}  // namespace prof
