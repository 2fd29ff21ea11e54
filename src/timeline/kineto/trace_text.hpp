// SPDX-License-Identifier: Apache-2.0
// The text of a trace file from its beginning to its end, inflated if the file is compressed with gzip. One thread; a
// megabyte of memory, whatever the file's size.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/zlib_memory.hpp"
#include "capture/input_file.hpp"

namespace prof {

class trace_text {
public:
    // Throws prof::error if the file cannot be opened.
    explicit trace_text(const std::string& path);
    ~trace_text();
    trace_text(const trace_text&) = delete;
    trace_text& operator=(const trace_text&) = delete;

    // Fills `to` and returns the number of bytes; fewer than asked, or 0, only at the end of the text.
    std::size_t read(std::span<char> to);

    bool is_compressed() const noexcept { return is_compressed_; }
    // How far read() has come in the file.
    std::uint64_t read_bytes() const noexcept { return offset_; }
    std::uint64_t file_bytes() const noexcept { return file_.size(); }
    // Once read() has reached the end: why the compressed data ended early; else empty.
    const std::string& failure() const noexcept { return failure_; }

private:
    std::size_t read_plain(std::span<char> to);
    std::size_t inflate_into(std::span<char> to);
    void end_member();
    bool begins_member(std::uint64_t offset);

    input_file file_;
    std::uint64_t offset_ = 0;
    z_stream stream_ = unbegun_stream<z_stream>();
    bool is_compressed_ = false;
    bool has_ended_ = false;
    std::string failure_;
};

}  // namespace prof
