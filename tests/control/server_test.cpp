// SPDX-License-Identifier: Apache-2.0
#include "control/server.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "control/client.hpp"
#include "control/place.hpp"
#include "control/socket_address.hpp"
#include "support/scratch_directory.hpp"

namespace prof::server_test {
namespace {

using namespace std::chrono_literals;
using test::scratch_directory;

// A client that sends any bytes in any pieces.
class raw_client {
public:
    explicit raw_client(const std::string& path) : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        connected_ = with_address(connect, fd_, path) == 0;
    }
    ~raw_client() {
        if (fd_ >= 0) close(fd_);
    }
    raw_client(const raw_client&) = delete;
    raw_client& operator=(const raw_client&) = delete;

    bool connected() const noexcept { return connected_; }
    // False: the other side has hung up.
    bool send_text(std::string_view text) const {
        while (!text.empty()) {
            const ssize_t bytes = send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
            if (bytes <= 0) return false;
            text.remove_prefix(static_cast<std::size_t>(bytes));
        }
        return true;
    }
    void await_hang_up() const {
        pollfd one{.fd = fd_, .events = POLLRDHUP, .revents = 0};
        EXPECT_EQ(poll(&one, 1, -1), 1);
    }
    void end_sending() const { shutdown(fd_, SHUT_WR); }
    std::string receive_all() const {
        std::string out;
        char part[512];
        for (ssize_t bytes = 0; (bytes = recv(fd_, part, sizeof part, 0)) > 0;) {
            out.append(part, static_cast<std::size_t>(bytes));
        }
        return out;
    }

private:
    int fd_;
    bool connected_ = false;
};

constexpr std::size_t much = 4U << 20U;

// Answers "echo" and "much" at once, keeps the answers to "wait", as a worker that is busy.
struct served {
    explicit served(std::chrono::milliseconds patience = 60s)
        : server({.requested =
                      [this](const control_request& request, control_server::answer_function answer) {
                          const std::lock_guard lock(mutex);
                          if (request.command == "wait") {
                              waiting.push_back(std::move(answer));
                              came.notify_all();
                          } else {
                              answer({control_result::done,
                                      request.command == "much" ? std::string(much, 'x') : request.command});
                          }
                      },
                  .signalled =
                      [this] {
                          const std::lock_guard lock(mutex);
                          ++signals;
                          came.notify_all();
                      }},
                 patience) {
        EXPECT_EQ(chmod(scratch.path.c_str(), 0700), 0);
        EXPECT_EQ(server.listen_in(scratch.path, getpid()).message(), "");
        EXPECT_EQ(server.start().message(), "");
        path = control_socket_path(scratch.path, getpid());
    }
    void await_waiting(std::size_t count) {
        std::unique_lock lock(mutex);
        came.wait(lock, [&] { return waiting.size() >= count; });
    }
    void answer_all(const std::string& text) {
        const std::lock_guard lock(mutex);
        for (const auto& answer : waiting) answer({control_result::done, text});
        waiting.clear();
    }
    std::string echo() const {
        const raw_client client(path);
        client.send_text(request_line({"echo", {}}));
        return client.receive_all();
    }

    scratch_directory scratch;
    std::string path;
    std::mutex mutex;
    std::condition_variable came;
    std::vector<control_server::answer_function> waiting;
    int signals = 0;
    control_server server;
};

const std::string echoed = "prof-control 1 done 4\necho";

TEST(ControlServer, AnswersOnAPrivateSocket) {
    const served one;
    EXPECT_EQ(one.echo(), echoed);
    struct stat found {};
    ASSERT_EQ(lstat(one.path.c_str(), &found), 0);
    EXPECT_TRUE(S_ISSOCK(found.st_mode));
    EXPECT_EQ(found.st_mode & 0777U, 0600U);
    EXPECT_EQ(found.st_uid, geteuid());
}

TEST(ControlServer, IsNotBlockedByClients) {
    served one;
    const raw_client idle(one.path);
    const raw_client half(one.path);
    EXPECT_TRUE(half.send_text("prof-control 1 ec"));
    const raw_client busy(one.path);
    EXPECT_TRUE(busy.send_text(request_line({"wait", {}})));
    one.await_waiting(1);
    {
        const raw_client gone(one.path);
        EXPECT_TRUE(gone.send_text("prof-control 1 sta"));
    }
    EXPECT_EQ(one.echo(), echoed);
    EXPECT_TRUE(half.send_text("ho\n"));
    EXPECT_EQ(half.receive_all(), echoed);
    one.answer_all("late");
    EXPECT_EQ(busy.receive_all(), "prof-control 1 done 4\nlate");
}

TEST(ControlServer, ReadsNoMoreThanARequest) {
    const served one;
    const raw_client loud(one.path);
    const std::string megabyte(1U << 20U, 'x');
    (void)loud.send_text(megabyte);  // it is hung up on before the end
    EXPECT_EQ(one.echo(), echoed);

    std::string longest = request_line({"echo", {"x"}});
    longest.insert(longest.size() - 1, longest_request - longest.size(), 'x');
    const raw_client just(one.path);
    EXPECT_TRUE(just.send_text(longest));
    EXPECT_EQ(just.receive_all(), echoed);
    const raw_client beyond(one.path);
    EXPECT_TRUE(beyond.send_text("x" + longest));
    EXPECT_EQ(beyond.receive_all(), "prof-control 1 refused 33\na request has at most 16384 bytes");
}

TEST(ControlServer, AnswersAClientThatClosedItsSide) {
    served one;
    const raw_client client(one.path);
    EXPECT_TRUE(client.send_text(request_line({"wait", {}})));
    client.end_sending();
    one.await_waiting(1);
    EXPECT_EQ(one.echo(), echoed);
    one.answer_all("late");
    EXPECT_EQ(client.receive_all(), "prof-control 1 done 4\nlate");
}

TEST(ControlServer, DisconnectsASlowClient) {
    const served one(50ms);
    const raw_client idle(one.path);
    EXPECT_EQ(idle.receive_all(), "");  // returns
}

// As many clients as there are places do not read, and the answer is longer than the buffers between the two.
TEST(ControlServer, DisconnectsAClientThatDoesNotReadItsAnswer) {
    const served one(50ms);
    std::vector<std::unique_ptr<raw_client>> clients;
    for (std::size_t i = 0; i < most_control_clients; ++i) {
        clients.push_back(std::make_unique<raw_client>(one.path));
        (void)clients.back()->send_text(request_line({"much", {}}));
    }
    for (const auto& client : clients) {
        client->await_hang_up();
        EXPECT_LT(client->receive_all().size(), much);
    }
    EXPECT_EQ(one.echo(), echoed);
}

// A command whose client has gone still counts: there are never more commands than places.
TEST(ControlServer, RefusesClientsBeyondTheLimit) {
    served one;
    std::vector<std::unique_ptr<raw_client>> clients;
    for (std::size_t i = 0; i < most_control_clients; ++i) {
        clients.push_back(std::make_unique<raw_client>(one.path));
        EXPECT_TRUE(clients.back()->send_text(request_line({"wait", {}})));
    }
    one.await_waiting(most_control_clients);
    EXPECT_NE(one.echo().find("refused"), std::string::npos);
    clients.clear();
    EXPECT_NE(one.echo().find("refused"), std::string::npos);
    one.answer_all("to nobody");
    EXPECT_EQ(one.echo(), echoed);
}

TEST(ControlServer, WakesUpForRaise) {
    served one;
    one.server.raise();
    std::unique_lock lock(one.mutex);
    one.came.wait(lock, [&] { return one.signals == 1; });
}

TEST(ControlServer, LeavesNoSocketBehind) {
    served one;
    const raw_client busy(one.path);
    EXPECT_TRUE(busy.send_text(request_line({"wait", {}})));
    const raw_client idle(one.path);
    one.await_waiting(1);
    one.answer_all("at the last moment");
    one.server.stop();
    EXPECT_EQ(busy.receive_all(), "prof-control 1 done 18\nat the last moment");
    EXPECT_EQ(idle.receive_all(), "");
    EXPECT_TRUE(std::filesystem::is_empty(one.scratch.path));
}

TEST(ControlServer, ReplacesADeadProcesssSocket) {
    const scratch_directory scratch;
    const std::string path = control_socket_path(scratch.path, getpid());
    const int dead = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(with_address(bind, dead, path), 0);
    close(dead);
    control_server server({});
    EXPECT_EQ(server.listen_in(scratch.path, getpid()).message(), "");
    EXPECT_TRUE(raw_client(path).connected());
}

TEST(ControlServer, LeavesALiveProcesssSocketAlone) {
    served one;
    control_server second({});
    EXPECT_NE(second.listen_in(one.scratch.path, getpid()).message().find("is another process's"), std::string::npos);
    EXPECT_EQ(one.echo(), echoed);
    // Nor does it remove what has taken its place.
    ASSERT_EQ(unlink(one.path.c_str()), 0);
    ASSERT_EQ(second.listen_in(one.scratch.path, getpid()).message(), "");
    one.server.stop();
    EXPECT_TRUE(raw_client(one.path).connected());
}

TEST(ControlServer, AnswersManyThreads) {
    const served one;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 50; ++i) EXPECT_EQ(one.echo(), echoed);
        });
    }
    for (std::thread& thread : threads) thread.join();
}

TEST(ControlServer, RefusesOtherUsers) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can be another user";
    const served one;
    // The directory and the mode keep others out; this is what stands behind them.
    ASSERT_EQ(chmod(one.scratch.path.c_str(), 0755), 0);
    ASSERT_EQ(chmod(one.path.c_str(), 0666), 0);
    const pid_t child = fork();
    if (child == 0) {
        if (setgid(12345) != 0 || setuid(12345) != 0) _exit(3);
        const raw_client client(one.path);
        if (!client.connected()) _exit(4);
        (void)client.send_text(request_line({"echo", {}}));
        _exit(client.receive_all().find("user 12345 may not control this process") != std::string::npos ? 0 : 5);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

int open_sockets() {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
        count += target.rfind("socket:", 0) == 0 ? 1 : 0;
    }
    return count;
}

// A forked child's copies keep neither clients nor the socket's name alive.
TEST(ControlServer, DoesNotRunInAForkedChild) {
    served one;
    const raw_client busy(one.path);
    EXPECT_TRUE(busy.send_text(request_line({"wait", {}})));
    one.await_waiting(1);
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const pid_t child = fork();
    if (child == 0) {
        one.server.abandon_in_child();
        char end = 0;
        close(ends[1]);
        (void)!read(ends[0], &end, 1);
        _exit(open_sockets());
    }
    one.answer_all("still here");
    EXPECT_EQ(busy.receive_all(), "prof-control 1 done 10\nstill here");
    EXPECT_EQ(one.echo(), echoed);
    one.server.stop();
    EXPECT_FALSE(raw_client(one.path).connected());
    close(ends[1]);
    close(ends[0]);
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 1);  // our own side of `busy`
}

TEST(ControlClient, NamesTheObstacle) {
    const auto problem = [](pid_t pid) -> std::string {
        try {
            (void)ask_process(pid, {"status", {}}, 10s);
        } catch (const error& failure) {
            return failure.what();
        }
        return "";
    };
    EXPECT_NE(problem(getpid()).find("has no control socket"), std::string::npos);
    const pid_t child = fork();
    if (child == 0) _exit(0);
    EXPECT_EQ(waitpid(child, nullptr, 0), child);
    EXPECT_EQ(problem(child), "there is no process " + std::to_string(child));
}

// A limit as a sandbox sets it: poll(2) then refuses more descriptors than that. It answers again once it may.
TEST(ControlServer, SleepsAndWakesUnderADescriptorLimit) {
    served one;
    const raw_client before(one.path);
    const raw_client second(one.path);
    rlimit usual{};
    getrlimit(RLIMIT_NOFILE, &usual);
    int raised = 0;
    for (const rlim_t limit : {rlim_t{0}, rlim_t{3}, rlim_t{9}}) {
        const rlimit less{limit, usual.rlim_max};
        ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &less), 0);
        {
            one.server.raise();
            ++raised;
            std::unique_lock lock(one.mutex);
            ASSERT_TRUE(one.came.wait_for(lock, 20s, [&] { return one.signals >= raised; })) << "limit " << limit;
        }
        timespec begin{};
        timespec end{};
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
        std::this_thread::sleep_for(200ms);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
        const auto used_ns = (end.tv_sec - begin.tv_sec) * 1'000'000'000 + end.tv_nsec - begin.tv_nsec;
        EXPECT_LT(used_ns, 30'000'000) << "limit " << limit;
    }
    setrlimit(RLIMIT_NOFILE, &usual);
    one.server.raise();
    before.send_text(request_line({"echo", {}}));
    EXPECT_EQ(before.receive_all(), echoed);
}

}  // namespace
}  // namespace prof::server_test
