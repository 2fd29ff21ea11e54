// SPDX-License-Identifier: Apache-2.0
// Standard output as the destination of a trace, compressed if wanted. One thread; throws prof::error.
#pragma once

#include <memory>
#include <string_view>

#include "export/byte_sink.hpp"

namespace prof {

class gzip_stream;

class standard_output final : public byte_sink {
public:
    explicit standard_output(bool is_compressed);
    ~standard_output() override;

    void write(std::string_view bytes) override;
    void finish();  // REQUIRES: it is the last call

private:
    static void write_plain(std::string_view bytes);

    std::unique_ptr<gzip_stream> gzip_;
};

}  // namespace prof
