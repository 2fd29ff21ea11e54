// SPDX-License-Identifier: Apache-2.0
#include "cli/leftovers.hpp"

#include <fmt/format.h>

#include <cstdint>

#include "capture/recovery/left_rings.hpp"
#include "cli/cli.hpp"
#include "cli/run_journal.hpp"
#include "control/client.hpp"

namespace prof {
namespace {

std::string count_of(std::size_t count, const char* noun) {
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace

void clean_leftovers(const std::string& rings) {
    constexpr std::uint64_t bytes_of_a_megabyte = 1U << 20;
    remove_left_journals();
    (void)controlled_processes();  // removes the sockets of dead processes
    if (rings == "memory") return;
    const std::string directory = rings == "auto" ? "/dev/shm" : rings;
    const cleaned_rings done = clean_left_rings(directory);
    if (done.sealed == 0 && done.removed == 0) return;
    const std::string sealed =
        done.sealed == 0 ? "" : " and completed " + count_of(done.sealed, "capture") + " from them";
    complain(fmt::format("removed {} of rings that killed processes had left in {}{} ({} MB)",
                         count_of(done.sealed + done.removed, "file"), directory, sealed,
                         (done.bytes + bytes_of_a_megabyte - 1) / bytes_of_a_megabyte));
}

}  // namespace prof
