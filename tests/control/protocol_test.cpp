// SPDX-License-Identifier: Apache-2.0
#include "control/protocol.hpp"

#include <gtest/gtest.h>

#include <string>

namespace prof::protocol_test {
namespace {

std::string all_bytes() {
    std::string out;
    for (int byte = 0; byte < 256; ++byte) out += static_cast<char>(byte);
    return out;
}

TEST(ControlProtocol, TransmitsEveryByte) {
    const control_request sent{"start", {"name=a b", "output_dir=/x%41\n", all_bytes()}};
    std::string line = request_line(sent);
    ASSERT_EQ(line.back(), '\n');
    line.pop_back();
    EXPECT_EQ(line.find('\n'), std::string::npos);
    control_request got;
    EXPECT_EQ(parse_request(line, got).message(), "");
    EXPECT_EQ(got.command, sent.command);
    EXPECT_EQ(got.words, sent.words);
}

// Worked by hand, so that an older or newer command understands it.
TEST(ControlProtocol, MatchesTheDocument) {
    EXPECT_EQ(request_line({"set", {"name=50%\n"}}), "prof-control 1 set name=50%25%0A\n");
    EXPECT_EQ(answer_bytes({control_result::refused, "no\n"}), "prof-control 1 refused 3\nno\n");
    const auto answer = parse_answer("prof-control 1 done 2\nok");
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->result, control_result::done);
    EXPECT_EQ(answer->text, "ok");
}

TEST(ControlProtocol, RefusesMalformedRequests) {
    for (const char* line : {"", "prof-control", "prof-control 1", "prof-control 1 ", "prof-control 2 status", "status",
                             "prof-control 1  status", "prof-control 1 status ", "prof-control 1 a%",
                             "prof-control 1 a%4", "prof-control 1 a%4g", "prof-control 1 a%4a", "prof-control 1 a\tb",
                             "prof-control 1 \xC3\xA9", "GET / HTTP/1.1\r"}) {
        control_request out{"untouched", {}};
        EXPECT_NE(parse_request(line, out).message(), "") << line;
        EXPECT_EQ(out.command, "untouched") << line;
    }
}

// The part that a process sent before it died.
TEST(ControlProtocol, AcceptsOnlyWholeAnswers) {
    const std::string whole = answer_bytes({control_result::failed, "a text of some length"});
    EXPECT_TRUE(parse_answer(whole).has_value());
    for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
        EXPECT_FALSE(parse_answer(whole.substr(0, bytes)).has_value()) << bytes;
    }
    EXPECT_FALSE(parse_answer(whole + "x").has_value());
    EXPECT_FALSE(parse_answer("prof-control 1 perhaps 2\nok").has_value());
    EXPECT_FALSE(parse_answer("prof-control 1 done -2\nok").has_value());
}

TEST(ControlProtocol, ListsTheKnownCommands) {
    EXPECT_EQ(find_control_command("begin"), nullptr);
    const std::string line = unknown_control_command("begin");
    for (const control_command& known : control_commands()) {
        EXPECT_EQ(find_control_command(known.name), &known);
        EXPECT_NE(line.find(known.name), std::string::npos);
    }
}

}  // namespace
}  // namespace prof::protocol_test
