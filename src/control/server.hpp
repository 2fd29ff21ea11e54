// SPDX-License-Identifier: Apache-2.0
// The answering side of the control socket: one of libprof's own threads, which sleeps in poll() until a request comes.
//
// Only the user and root can connect. Even so, no client can block the server, crash it, or make it grow: requests are
// bounded, a slow client is disconnected, and clients beyond most_control_clients are refused.
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

#include "base/outcome.hpp"
#include "base/own_descriptor.hpp"
#include "control/protocol.hpp"

namespace prof {

inline constexpr std::size_t most_control_clients = 8;

class control_server {
public:
    // The handler calls `answer` once for each request, from any thread, while the server exists.
    using answer_function = std::function<void(control_answer)>;
    struct handlers {
        // All run on the server's thread; they must not throw or block.
        std::function<void(const control_request&, answer_function)> requested;
        std::function<void()> signalled;  // after raise(); signals that come close together make one call
        std::function<void()> idled{};    // about once a second, while no request comes
    };
    // `patience`: the time that a client has for its request, and again for receiving the answer.
    explicit control_server(handlers functions, std::chrono::milliseconds patience = std::chrono::seconds(5));
    ~control_server();  // REQUIRES: each request has been answered
    control_server(const control_server&) = delete;
    control_server& operator=(const control_server&) = delete;

    // Creates the socket of process `pid` in `directory`, with mode 0600; replaces the socket of a dead process.
    // REQUIRES: start() was not called.
    outcome listen_in(const std::string& directory, pid_t pid);

    // Starts the thread.
    outcome start();

    // Sends the answers that are ready, removes the socket and ends the thread. Idempotent. Call from one thread only.
    void stop() noexcept;

    // Ends the thread until resume(): clients that come meanwhile wait. False, with nothing changed: there is a client.
    // By the thread that calls start(), stop() and these.
    bool pause() noexcept;
    // Makes the thread again, if it was there.
    outcome resume();

    // Calls handlers::signalled on the server's thread. May be called in a signal handler.
    void raise() noexcept;
    // Removes the socket's name, so that clients no longer find it. May be called in a signal handler that ends the
    // process.
    void remove_socket() noexcept;

    // For a forked child, which has copies of the descriptors but not the thread: closes them.
    void abandon_in_child() noexcept;

private:
    enum class client_state { free, asking, waiting, taking };
    // Used by the server's thread; abandon_in_child() closes the descriptors.
    struct client {
        own_descriptor socket;
        client_state state = client_state::free;
        std::string text;  // the request received so far, then the part of the answer still to be sent
        std::chrono::steady_clock::time_point end;
    };

    static void* enter(void* self) noexcept;
    void run();
    void wake(char reason) const noexcept;
    bool is_closed_by_program() const noexcept;
    bool take_signals() const noexcept;
    void sleep_without_poll() const noexcept;
    int poll_timeout() const;
    void accept_client();
    void serve(client& peer, short events);
    void read_request(client& peer);
    void take_answers();
    void begin_answer(client& peer, const control_answer& answer);
    void write_answer(client& peer);
    void hang_up(client& peer) noexcept;

    const handlers handlers_;
    const std::chrono::milliseconds patience_;
    own_descriptor observer_;
    // The two ends of a socket pair. Unlike with an eventfd, it can be checked whether such a descriptor is still the
    // same.
    own_descriptor wake_;
    own_descriptor woken_;
    std::atomic<bool> stopping_{false};
    std::atomic<bool> has_thread_{false};
    std::atomic<bool> pausing_{false};
    bool is_paused_ = false;
    pthread_t thread_{};
    std::string path_;  // of the socket; "": there is none
    dev_t device_ = 0;
    ino_t inode_ = 0;
    // Until then no client is accepted, since no descriptor was left for one.
    std::chrono::steady_clock::time_point deaf_until_;
    std::array<client, most_control_clients> clients_;
    std::mutex answers_mutex_;
    std::vector<std::pair<client*, control_answer>> answers_;
};

}  // namespace prof
