// A file that appears whole or not at all: written as `<path>.tmp-<pid>` (mode 0600) beside its place, renamed there by
// commit(), removed by the destructor if commit() was not reached. Where the program that it is in closes it, it fails,
// and what has its number then stays as it is. What stood at `path` before stays until then. A terminal, pipe or device
// (/dev/null) is written in place. A name that ends in ".gz" is compressed. One thread at a time; every failure is a
// prof::error that names the file.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/own_descriptor.hpp"
#include "export/byte_sink.hpp"

namespace prof {

class atomic_file final : public byte_sink {
public:
    explicit atomic_file(std::string path);
    ~atomic_file() override;
    atomic_file(const atomic_file&) = delete;
    atomic_file& operator=(const atomic_file&) = delete;

    void write(std::string_view bytes) override;
    void commit();

private:
    class gzip_stream;

    void write_plain(std::string_view bytes);
    [[noreturn]] void fail(const char* what, int error_number) const;

    std::string path_;
    std::string temporary_path_;  // empty: written in place
    int descriptor_ = -1;
    file_identity file_;
    std::unique_ptr<gzip_stream> gzip_;
};

}  // namespace prof
