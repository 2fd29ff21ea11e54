// SPDX-License-Identifier: Apache-2.0
#include "session/own_status.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <utility>

#include "base/clock.hpp"
#include "base/version.hpp"
#include "session/process/process.hpp"
#include "session/recording.hpp"

namespace prof {
namespace {

constexpr std::chrono::milliseconds status_patience{1000};

std::atomic<std::uint64_t> opened_ns{0};  // CLOCK_MONOTONIC; 0: not yet

}  // namespace

void note_control_opened() noexcept { opened_ns = clock_ns(CLOCK_MONOTONIC); }

result<session_status> read_own_status() {
    session_status out;
    if (!recording_session::instance().describe(out, status_patience)) {
        return outcome::failed("the process is opening or ending a window just now: try again");
    }
    return out;
}

void add_process(session_status& status) {
    const session_options defaults;
    process_facts facts = read_process_facts(defaults, {});
    status.pid = static_cast<std::uint64_t>(getpid());
    status.hostname = std::move(facts.hostname);
    status.command = std::move(facts.command);
    status.version = library_version;
    if (const std::uint64_t since = opened_ns.load(); since != 0) status.loaded_ns = clock_ns(CLOCK_MONOTONIC) - since;
}

}  // namespace prof
