// The answering side of the control socket: one thread of ours, asleep in poll() until somebody asks.
//
// Whoever can connect is the user, or root; all the same nobody can block the server, crash it or make it grow:
// requests are bounded, a client that is slow to ask or to take its answer is hung up on, and more than a few are
// turned away.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "base/own_descriptor.hpp"
#include "control/protocol.hpp"

namespace prof {

inline constexpr std::size_t most_control_clients = 8;

class control_server {
public:
    // Calls `answer` once for each request, from any thread, while the server lives.
    using answer_function = std::function<void(control_answer)>;
    struct handlers {
        // Both on the server's thread; they neither throw nor wait.
        std::function<void(const control_request&, answer_function)> requested;
        std::function<void()> signalled;  // after raise(); several that come together are one
    };
    // `patience`: how long a client may take for its request, and again to take the answer.
    explicit control_server(handlers what, std::chrono::milliseconds patience = std::chrono::seconds(5));
    ~control_server();  // REQUIRES: each request has been answered
    control_server(const control_server&) = delete;
    control_server& operator=(const control_server&) = delete;

    // Puts the socket of process `pid` into `directory`, mode 0600; one that is a dead process's is replaced. Returns
    // "" or one line. REQUIRES: start() was not called.
    std::string listen_in(const std::string& directory, pid_t pid);

    // Starts the thread. Returns "" or one line.
    std::string start();

    // Sends the answers that are ready, removes the socket, ends the thread. Idempotent. By one thread.
    void stop() noexcept;

    // From a signal handler.
    void raise() noexcept;
    // From a signal handler that ends the process: nobody finds the socket any more.
    void remove_socket() noexcept;

    // In a forked child, which has copies of the descriptors and no thread: closes them.
    void abandon_in_child() noexcept;

private:
    enum class client_state { free, asking, waiting, taking };
    // Belongs to the server's thread; abandon_in_child() looks at the descriptors.
    struct client {
        own_descriptor socket;
        client_state state = client_state::free;
        std::string text;  // the request so far, then what is left of the answer
        std::chrono::steady_clock::time_point end;
    };

    static void* enter(void* self) noexcept;
    void run();
    void wake(char why) const noexcept;
    bool is_closed_by_program() const noexcept;
    bool take_signals() const noexcept;
    void sleep_without_poll() const noexcept;
    int poll_timeout() const;
    void accept_client();
    void look_at(client& who, short events);
    void read_request(client& who);
    void take_answers();
    void begin_answer(client& who, const control_answer& answer);
    void write_answer(client& who);
    void hang_up(client& who) noexcept;

    const handlers handlers_;
    const std::chrono::milliseconds patience_;
    own_descriptor observer_;
    // Two ends of a pipe of sockets, of which, unlike of an event's descriptor, one can see whether it is still itself.
    own_descriptor wake_;
    own_descriptor woken_;
    std::atomic<bool> stopping_{false};
    std::atomic<bool> has_thread_{false};
    pthread_t thread_{};
    std::string path_;  // of the socket; "": there is none
    dev_t device_ = 0;
    ino_t inode_ = 0;
    std::chrono::steady_clock::time_point deaf_until_;  // no descriptor was left for a client
    std::array<client, most_control_clients> clients_;
    std::mutex answers_mutex_;
    std::vector<std::pair<client*, control_answer>> answers_;
};

}  // namespace prof
