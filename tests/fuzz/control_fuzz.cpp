// SPDX-License-Identifier: Apache-2.0
// Any bytes as a request's line and as an answer: refused and nothing changed, or understood, and then what is made of
// it is understood as the same again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "control/protocol.hpp"

namespace {

constexpr std::size_t greeting_bytes = 15;  // "prof-control 1 "

// Of the number that begins at `at`: an answer's length may have some.
std::string without_leading_zeros(std::string_view bytes, std::size_t at) {
    std::string out(bytes);
    while (at + 1 < out.size() && out[at] == '0' && out[at + 1] >= '0' && out[at + 1] <= '9') out.erase(at, 1);
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace prof;
    const auto check = [](bool holds) {
        if (!holds) std::abort();
    };
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    control_request request{"untouched", {}};
    if (const outcome parsed = parse_request(bytes, request); parsed.ok()) {
        std::string line = request_line(request);
        check(line.find('\n') == line.size() - 1);
        line.pop_back();
        control_request again;
        check(parse_request(line, again).ok());
        check(again.command == request.command && again.words == request.words);
        check(!request.command.empty() && line.size() <= bytes.size());  // what need not be escaped is not
    } else {
        check(parsed.message().find('\n') == std::string::npos);
        check(request.command == "untouched" && request.words.empty());
    }
    if (const auto answer = parse_answer(bytes)) {
        check(without_leading_zeros(bytes, answer_bytes(*answer).find(' ', greeting_bytes) + 1) ==
              answer_bytes(*answer));
    }
    return 0;
}
