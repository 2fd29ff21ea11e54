// SPDX-License-Identifier: Apache-2.0
// libprof's line on stderr (session/process/warn_once.hpp), wherever that leads: it never ends the program, and never
// holds it up.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <initializer_list>
#include <string>
#include <string_view>

#include "session/process/warn_once.hpp"

namespace prof::test {
namespace {

constexpr int went_on = 7;

enum class kind { pipe, socket };

// {to read from, to write to}
std::array<int, 2> two_ends(kind of) {
    std::array<int, 2> ends{};
    const int failed = of == kind::pipe ? pipe(ends.data()) : socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data());
    if (failed != 0) _exit(1);
    return ends;
}

void fill(int descriptor) {
    const int flags = fcntl(descriptor, F_GETFL);
    fcntl(descriptor, F_SETFL, flags | O_NONBLOCK);
    const std::array<char, 512> bytes{};
    while (write(descriptor, bytes.data(), bytes.size()) > 0) {
    }
    fcntl(descriptor, F_SETFL, flags);
}

std::string read_some(int descriptor) {
    std::array<char, 2 * PIPE_BUF> text{};
    const ssize_t bytes = read(descriptor, text.data(), text.size());
    return {text.data(), bytes > 0 ? static_cast<std::size_t>(bytes) : 0};
}

// In a process of its own, which is killed if it has to wait. Its signals are as they were.
[[noreturn]] void complain_to(int descriptor, const std::string& line = "line") {
    alarm(20);
    dup2(descriptor, STDERR_FILENO);
    warn_once(line);
    sigset_t mask;
    sigset_t pending;
    pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    sigpending(&pending);
    for (const int number : {SIGPIPE, SIGXFSZ, SIGTTOU}) {
        if (sigismember(&mask, number) != 0 || sigismember(&pending, number) != 0) _exit(2);
    }
    _exit(went_on);
}

struct WarnOnceStream : testing::TestWithParam<kind> {};

TEST_P(WarnOnceStream, SurvivesAClosedReader) {
    const auto complain = [] {
        const auto ends = two_ends(GetParam());
        close(ends[0]);
        complain_to(ends[1]);
    };
    EXPECT_EXIT(complain(), testing::ExitedWithCode(went_on), "");
}

TEST_P(WarnOnceStream, DoesNotBlockWhenFull) {
    const auto complain = [] {
        const auto ends = two_ends(GetParam());
        fill(ends[1]);
        complain_to(ends[1]);
    };
    EXPECT_EXIT(complain(), testing::ExitedWithCode(went_on), "");
}

TEST_P(WarnOnceStream, GetsOneLine) {
    const auto ends = two_ends(GetParam());
    EXPECT_EXIT(complain_to(ends[1]), testing::ExitedWithCode(went_on), "");
    EXPECT_EQ(read_some(ends[0]), "libprof: line\n");
    EXPECT_EXIT(complain_to(ends[1], std::string(2 * PIPE_BUF, 'x')), testing::ExitedWithCode(went_on), "");
    const std::string cut = read_some(ends[0]);
    EXPECT_EQ(cut.size(), std::size_t{PIPE_BUF});
    EXPECT_EQ(cut.back(), '\n');
    close(ends[0]);
    close(ends[1]);
}

INSTANTIATE_TEST_SUITE_P(Each, WarnOnceStream, testing::Values(kind::pipe, kind::socket));

// A line that could not be written does not count as the one line.
TEST(WarnOnce, WritesALaterLineOnceThereIsRoom) {
    const auto complain = [] {
        const auto ends = two_ends(kind::pipe);
        fill(ends[1]);
        dup2(ends[1], STDERR_FILENO);
        warn_once("first");
        fcntl(ends[0], F_SETFL, O_NONBLOCK);
        while (!read_some(ends[0]).empty()) {
        }
        warn_once("second");
        warn_once("third");
        _exit(read_some(ends[0]) == "libprof: second\n" ? went_on : 1);
    };
    EXPECT_EXIT(complain(), testing::ExitedWithCode(went_on), "");
}

// A small loss does not hide that of everything.
TEST(WarnOnce, WritesTheFirstErrorAfterAWarning) {
    const auto complain = [](std::initializer_list<prof_log_severity> severities, std::string_view expected) {
        const auto ends = two_ends(kind::pipe);
        fcntl(ends[0], F_SETFL, O_NONBLOCK);
        dup2(ends[1], STDERR_FILENO);
        char line[] = "1";
        for (const prof_log_severity severity : severities) {
            warn_once(line, severity);
            ++line[0];
        }
        _exit(read_some(ends[0]) == expected ? went_on : 1);
    };
    constexpr auto warning = PROF_LOG_WARNING;
    constexpr auto error = PROF_LOG_ERROR;
    const testing::ExitedWithCode as_expected(went_on);
    EXPECT_EXIT(complain({warning, warning, error, error, warning}, "libprof: 1\nlibprof: 3\n"), as_expected, "");
    EXPECT_EXIT(complain({error, error, warning}, "libprof: 1\n"), as_expected, "");
}

TEST(WarnOnce, SurvivesTheFileSizeLimit) {
    const auto complain = [] {
        char path[] = "/tmp/prof-test-XXXXXX";
        const int file = mkstemp(path);
        unlink(path);
        const rlimit none{0, RLIM_INFINITY};
        setrlimit(RLIMIT_FSIZE, &none);
        complain_to(file);
    };
    EXPECT_EXIT(complain(), testing::ExitedWithCode(went_on), "");
}

TEST(WarnOnce, SurvivesAClosedStandardError) {
    const auto complain = [] {
        close(STDERR_FILENO);
        warn_once("line");
        _exit(went_on);
    };
    EXPECT_EXIT(complain(), testing::ExitedWithCode(went_on), "");
}

}  // namespace
}  // namespace prof::test
