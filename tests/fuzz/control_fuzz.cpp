// Any bytes as a request's line and as an answer: refused and nothing changed, or understood, and then what is made of
// it is understood as the same again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "control/protocol.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace prof;
    const auto check = [](bool holds) {
        if (!holds) std::abort();
    };
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    control_request request{"untouched", {}};
    if (const std::string problem = parse_request(bytes, request); problem.empty()) {
        std::string line = request_line(request);
        check(line.find('\n') == line.size() - 1);
        line.pop_back();
        control_request again;
        check(parse_request(line, again).empty());
        check(again.command == request.command && again.words == request.words);
        check(!request.command.empty() && line.size() <= 3 * bytes.size());
    } else {
        check(problem.find('\n') == std::string::npos);
        check(request.command == "untouched" && request.words.empty());
    }
    if (const auto answer = parse_answer(bytes)) {
        const auto again = parse_answer(answer_bytes(*answer));
        check(again && again->result == answer->result && again->text == answer->text);
        check(bytes.ends_with(answer->text));
    }
    return 0;
}
