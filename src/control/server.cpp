// SPDX-License-Identifier: Apache-2.0
#include "control/server.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <new>
#include <utility>

#include "base/helper_thread.hpp"
#include "control/place.hpp"
#include "control/socket_address.hpp"

namespace prof {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds pause_without_descriptors{1};
// The longest time until it is noticed that the program has closed the server's descriptors, and with them the wake-up.
constexpr std::chrono::seconds longest_sleep{1};

constexpr char for_work = 'w';
constexpr char for_signal = 's';

// Copies of the descriptor may exist in a child just forked, so the connection is shut down for all of them.
void hang_up_on(own_descriptor& socket) noexcept {
    if (const int fd = socket.get(); fd >= 0) shutdown(fd, SHUT_RDWR);
    socket.close();
}

bool is_observed_by_any(const std::string& path) noexcept {
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return false;
    const bool refused = with_address(connect, fd, path) != 0 && (errno == ECONNREFUSED || errno == ENOENT);
    close(fd);
    return !refused;
}

// Gets the peer's uid from the kernel. True for the process's own user and for root.
bool may_ask(int fd, uid_t& user) noexcept {
    ucred peer{};
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
    user = peer.uid;
    return user == geteuid() || user == 0;
}

}  // namespace

control_server::control_server(handlers functions, std::chrono::milliseconds patience)
    : handlers_(std::move(functions)), patience_(patience) {}

control_server::~control_server() { stop(); }

outcome control_server::listen_in(const std::string& directory, pid_t pid) {
    const std::string path = control_socket_path(directory, pid);
    if (path.empty()) return outcome::failed(directory + " is too long a name for a socket's directory");
    if (is_observed_by_any(path)) {
        return outcome::failed(path + " is another process's (of a container with the same process numbers?)");
    }
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return outcome::failed(std::string("no socket: ") + std::strerror(errno));
    // The socket gets its name once it listens. So a socket that refuses a connection belongs to a dead process.
    const std::string unready = path + ".new";
    unlink(unready.c_str());
    struct stat made {};
    if (with_address(bind, fd, unready) != 0 || chmod(unready.c_str(), 0600) != 0 ||
        listen(fd, most_control_clients) != 0 || lstat(unready.c_str(), &made) != 0 ||
        std::rename(unready.c_str(), path.c_str()) != 0) {
        std::string problem = "cannot make " + path + ": " + std::strerror(errno);
        unlink(unready.c_str());
        close(fd);
        return outcome::failed(std::move(problem));
    }
    observer_.take(fd);
    path_ = path;
    device_ = made.st_dev;
    inode_ = made.st_ino;
    return {};
}

outcome control_server::start() {
    std::array<int, 2> pair{-1, -1};
    int failed = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0 ? errno : 0;
    woken_.take(pair[0]);
    wake_.take(pair[1]);
    if (failed == 0) failed = create_helper_thread(thread_, enter, this);
    has_thread_ = failed == 0;
    if (has_thread_) return {};
    stop();
    return outcome::failed(std::string("no thread for control: ") + std::strerror(failed));
}

void control_server::stop() noexcept {
    stopping_.store(true);
    if (has_thread_.exchange(false)) {
        wake(for_work);
        pthread_join(thread_, nullptr);
    }
    remove_socket();
    observer_.close();
    wake_.close();
    woken_.close();
}

bool control_server::pause() noexcept {
    if (!has_thread_ || is_closed_by_program()) return !has_thread_;
    pausing_.store(true);
    wake(for_work);
    pthread_join(thread_, nullptr);
    pausing_.store(false);
    has_thread_.store(false);
    is_paused_ = true;
    const bool is_asked = std::any_of(clients_.begin(), clients_.end(),
                                      [](const client& peer) { return peer.state != client_state::free; });
    return !is_asked || !resume().ok();
}

outcome control_server::resume() {
    if (!is_paused_) return {};
    is_paused_ = false;
    const int failed = create_helper_thread(thread_, enter, this);
    has_thread_ = failed == 0;
    if (has_thread_) return {};
    return outcome::failed(std::string("no thread for control: ") + std::strerror(failed));
}

// Also called in signal handlers. If the socket pair is full, the thread has been woken already.
void control_server::wake(char reason) const noexcept {
    (void)send(wake_.get(), &reason, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void control_server::raise() noexcept { wake(for_signal); }

void control_server::abandon_in_child() noexcept {
    observer_.close();
    wake_.close();
    woken_.close();
    for (client& peer : clients_) peer.socket.close();
}

// Does nothing if another socket has taken the name.
void control_server::remove_socket() noexcept {
    struct stat found {};
    const bool is_ours =
        !path_.empty() && lstat(path_.c_str(), &found) == 0 && found.st_dev == device_ && found.st_ino == inode_;
    if (is_ours) unlink(path_.c_str());
    path_.clear();
}

void* control_server::enter(void* self) noexcept {
    pthread_setname_np(pthread_self(), "prof-control");
    try {
        static_cast<control_server*>(self)->run();
    } catch (const std::bad_alloc&) {
        // Out of memory: the process goes on without control.
    }
    return nullptr;
}

int control_server::poll_timeout() const {
    auto first = steady_clock::now() + longest_sleep;
    if (deaf_until_ > steady_clock::now()) first = std::min(first, deaf_until_);
    for (const client& peer : clients_) {
        if (peer.state == client_state::asking || peer.state == client_state::taking) first = std::min(first, peer.end);
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(first - steady_clock::now()).count();
    return static_cast<int>(std::max<long long>(left, 0));
}

// Daemons close all descriptors. The numbers may belong to the program's own files by now.
bool control_server::is_closed_by_program() const noexcept {
    return woken_.get() < 0 || (observer_.is_taken() && observer_.get() < 0);
}

bool control_server::take_signals() const noexcept {
    std::array<char, 64> reasons{};
    bool is_signalled = false;
    for (ssize_t bytes = 0; (bytes = recv(woken_.get(), reasons.data(), reasons.size(), MSG_DONTWAIT)) > 0;) {
        is_signalled =
            is_signalled || std::find(reasons.begin(), reasons.begin() + bytes, for_signal) != reasons.begin() + bytes;
    }
    return is_signalled;
}

// For when poll() fails: it accepts no more descriptors than the program's limit on open files, however low that is.
// Waits to be woken for as long as poll() would.
void control_server::sleep_without_poll() const noexcept {
    const timeval at_most{longest_sleep.count(), 0};
    char reason = 0;
    if (setsockopt(woken_.get(), SOL_SOCKET, SO_RCVTIMEO, &at_most, sizeof at_most) == 0 &&
        (recv(woken_.get(), &reason, 1, MSG_PEEK) > 0 || errno == EAGAIN || errno == EINTR)) {
        return;
    }
    const timespec pause{longest_sleep.count(), 0};
    (void)nanosleep(&pause, nullptr);
}

void control_server::run() {
    std::array<pollfd, 2 + most_control_clients> all{};
    std::array<std::size_t, most_control_clients> places{};  // index of each client in `all`; 0: absent
    while (!stopping_.load() && !pausing_.load() && !is_closed_by_program()) {
        all[0] = {.fd = woken_.get(), .events = POLLIN, .revents = 0};
        const bool is_deaf = deaf_until_ > steady_clock::now();
        all[1] = {.fd = is_deaf ? -1 : observer_.get(), .events = POLLIN, .revents = 0};
        nfds_t used = 2;
        for (std::size_t i = 0; i < clients_.size(); ++i) {
            const client& peer = clients_[i];
            places[i] = 0;
            if (peer.socket.get() < 0) continue;
            const short events = peer.state == client_state::asking   ? POLLIN
                                 : peer.state == client_state::taking ? POLLOUT
                                                                      : 0;  // a disconnect is still reported
            places[i] = used;
            all[used++] = {.fd = peer.socket.get(), .events = events, .revents = 0};
        }
        const int ready = poll(all.data(), used, poll_timeout());
        if (ready < 0 && errno != EINTR) sleep_without_poll();
        if (ready == 0) exit_if_alone();
        if (ready == 0 && handlers_.idled) handlers_.idled();
        if (ready < 0) {
            for (pollfd& polled : all) polled.revents = 0;
        }
        const bool is_signalled = take_signals();
        take_answers();
        if (is_signalled && handlers_.signalled) handlers_.signalled();
        for (std::size_t i = 0; i < clients_.size(); ++i) {
            serve(clients_[i], places[i] == 0 ? short{0} : all[places[i]].revents);
        }
        if (all[1].revents != 0) accept_client();
    }
    if (pausing_.load()) return;
    take_answers();
    for (client& peer : clients_) hang_up(peer);
}

void control_server::accept_client() {
    const int fd = accept4(observer_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        const bool is_short = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
        if (is_short) deaf_until_ = steady_clock::now() + pause_without_descriptors;
        return;
    }
    own_descriptor socket;
    socket.take(fd);
    uid_t user = 0;
    std::string refusal;
    const auto place =
        std::find_if(clients_.begin(), clients_.end(), [](const client& c) { return c.state == client_state::free; });
    if (!may_ask(fd, user)) {
        refusal = "user " + std::to_string(user) + " may not control this process; its own user and root may";
    } else if (place == clients_.end()) {
        refusal = "the process answers " + std::to_string(clients_.size()) + " others just now: try again";
    }
    if (!refusal.empty()) {
        const std::string bytes = answer_bytes({control_result::refused, refusal});
        (void)send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);  // fits the empty socket buffer
        hang_up_on(socket);
        return;
    }
    place->socket.take(fd);
    place->state = client_state::asking;
    place->text.clear();
    place->end = steady_clock::now() + patience_;
}

void control_server::serve(client& peer, short events) {
    const bool has_gone = (events & (POLLHUP | POLLERR)) != 0;
    if (peer.state == client_state::asking && (events & (POLLIN | POLLHUP)) != 0) {
        read_request(peer);
    } else if (peer.state == client_state::waiting && has_gone) {
        // The command goes on. The place becomes free when it is done, so there are never more commands than places.
        hang_up_on(peer.socket);
    } else if (peer.state == client_state::taking && events != 0) {
        write_answer(peer);
    }
    const bool may_wait = peer.state == client_state::free || peer.state == client_state::waiting;
    if (!may_wait && steady_clock::now() >= peer.end) hang_up(peer);
}

void control_server::read_request(client& peer) {
    char part[4096];
    const ssize_t bytes = recv(peer.socket.get(), part, sizeof part, 0);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (bytes <= 0) {
        hang_up(peer);
        return;
    }
    peer.text.append(part, static_cast<std::size_t>(bytes));
    const std::size_t end = peer.text.find('\n');
    if (std::min(end, peer.text.size()) >= longest_request) {
        begin_answer(peer,
                     {control_result::refused, "a request has at most " + std::to_string(longest_request) + " bytes"});
        return;
    }
    if (end == std::string::npos) return;
    control_request request;
    if (outcome parsed = parse_request(std::string_view(peer.text).substr(0, end), request); !parsed.ok()) {
        begin_answer(peer, {control_result::refused, std::move(parsed).message()});
        return;
    }
    peer.state = client_state::waiting;
    handlers_.requested(request, [this, requester = &peer](control_answer answer) {
        {
            const std::lock_guard lock(answers_mutex_);
            answers_.emplace_back(requester, std::move(answer));
        }
        wake(for_work);
    });
}

void control_server::take_answers() {
    std::vector<std::pair<client*, control_answer>> ready;
    {
        const std::lock_guard lock(answers_mutex_);
        ready.swap(answers_);
    }
    for (const auto& [asker, answer] : ready) {
        if (!asker->socket.is_taken()) {
            hang_up(*asker);  // the client has disconnected
        } else {
            begin_answer(*asker, answer);
        }
    }
}

void control_server::begin_answer(client& peer, const control_answer& answer) {
    peer.state = client_state::taking;
    peer.text = answer_bytes(answer);
    peer.end = steady_clock::now() + patience_;
    write_answer(peer);
}

void control_server::write_answer(client& peer) {
    const ssize_t bytes = send(peer.socket.get(), peer.text.data(), peer.text.size(), MSG_NOSIGNAL);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (bytes > 0) peer.text.erase(0, static_cast<std::size_t>(bytes));
    if (bytes <= 0 || peer.text.empty()) hang_up(peer);
}

void control_server::hang_up(client& peer) noexcept {
    hang_up_on(peer.socket);
    peer.state = client_state::free;
    peer.text = {};
}

}  // namespace prof
