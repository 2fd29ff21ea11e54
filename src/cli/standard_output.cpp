// SPDX-License-Identifier: Apache-2.0
#include "cli/standard_output.hpp"

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "base/error.hpp"
#include "cli/cli.hpp"
#include "export/gzip_stream.hpp"

namespace prof {
namespace {

[[noreturn]] void fail() { throw error("cannot write to standard output: " + std::generic_category().message(errno)); }

}  // namespace

standard_output::standard_output(bool is_compressed) {
    if (is_compressed) gzip_ = std::make_unique<gzip_stream>(compressing_threads());
}

standard_output::~standard_output() = default;

void standard_output::write_plain(std::string_view bytes) {
    if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size()) fail();
}

void standard_output::write(std::string_view bytes) {
    if (!gzip_) return write_plain(bytes);
    gzip_->compress(bytes, false, [](std::string_view piece) { write_plain(piece); });
}

void standard_output::finish() {
    if (gzip_) gzip_->compress({}, true, [](std::string_view piece) { write_plain(piece); });
    if (std::fflush(stdout) != 0) fail();
}

}  // namespace prof
