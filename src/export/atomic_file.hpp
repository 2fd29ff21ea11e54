// SPDX-License-Identifier: Apache-2.0
// A file that appears as a whole or not at all.
//
// It is written as `<path>.tmp-<pid>` (its mode follows the umask) in the same directory, or under a name there that
// programs pass over which read all of a directory's files (`.<name>.tmp-<pid>`), and commit() renames it to `path`. A
// file that exists at `path` stays unchanged until then. Without a commit() the destructor removes the temporary file.
// A terminal, pipe or device (/dev/null) is written in place. If the name ends in ".gz" the content is compressed.
//
// If the program closes the descriptor, writing fails, and another file that has the same number by then is not
// touched. One thread at a time. Every failure is a prof::error that names the file.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/own_descriptor.hpp"
#include "export/byte_sink.hpp"

namespace prof {

class gzip_stream;

class atomic_file final : public byte_sink {
public:
    // `compressing_threads`: of its own, for a name that ends in ".gz" (gzip_stream.hpp). `is_hidden`: until commit().
    explicit atomic_file(std::string path, unsigned compressing_threads = 0, bool is_hidden = false);
    ~atomic_file() override;
    atomic_file(const atomic_file&) = delete;
    atomic_file& operator=(const atomic_file&) = delete;

    void write(std::string_view bytes) override;
    // Moves the file to its place. REQUIRES: it is the last call.
    void commit();

private:
    void write_plain(std::string_view bytes);
    [[noreturn]] void fail(const char* what, int error_number) const;

    std::string path_;
    std::string temporary_path_;  // empty: the file is written in place
    int descriptor_ = -1;
    file_identity file_;
    std::unique_ptr<gzip_stream> gzip_;
};

}  // namespace prof
