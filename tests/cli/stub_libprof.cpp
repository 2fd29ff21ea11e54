// SPDX-License-Identifier: Apache-2.0
// Stands in for libprof.so in tests of `prof run`: whatever program it is loaded into leaves a small capture, as a
// recorded one would. STUB_LIBPROF=abort, nothing: what it does instead. STUB_RANGES: how many ranges it has made;
// STUB_LOST: how many it has lost.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "capture/writer.hpp"

namespace prof {
namespace {

std::string variable(const char* name, const char* otherwise = "") {
    const char* const value = std::getenv(name);
    return value == nullptr ? otherwise : value;
}

record event(record_kind kind, std::uint64_t ticks, std::uint32_t name, std::uint64_t value = 0) {
    return {.ticks = ticks, .value = value, .name = name, .kind = kind};
}

// Range i, in times that begin at i * 100'000 ns: forward [1000, 9000) launches kernel_x [20'000, 50'000).
void write_range(capture_writer& out, std::uint32_t i) {
    const std::uint64_t begin = i * std::uint64_t{100'000};
    const std::uint64_t correlation = correlation_key(1, i + 1);
    record launch = event(record_kind::api_enter, begin + 2000, 2, correlation);
    launch.category = 211;
    launch.domain = static_cast<std::uint16_t>(api_domain::runtime);
    const record records[] = {event(record_kind::range_push, begin + 1000, 1), launch,
                              event(record_kind::api_exit, begin + 3000, 0, correlation),
                              event(record_kind::range_pop, begin + 9000, 0)};
    out.records(1, i * std::uint64_t{4}, records);
    kernel_record kernel;
    kernel.start_ns = begin + 20'000;
    kernel.end_ns = begin + 50'000;
    kernel.correlation = correlation;
    kernel.name = 2;
    kernel.stream = 7;
    out.gpu<kernel_record>({&kernel, 1});
}

void write_capture(const std::string& path) {
    capture_writer out(path, {});
    const std::string rank = variable("RANK", "0");
    out.property("name", "stub");
    out.property("pid", std::to_string(getpid()));
    out.property("rank", rank);
    if (const std::string ranks = variable("WORLD_SIZE"); !ranks.empty()) out.property("world_size", ranks);
    out.property("run_id", variable("PROF_RUN_ID"));
    out.property("executable", "/usr/bin/stub");
    const capture_writer::name_entry names[] = {{1, "forward"}, {2, "kernel_x"}};
    out.names(names);
    const clock_snapshot clock{};
    out.clocks({&clock, 1});
    format::thread_entry thread;
    thread.uid = 1;
    thread.tid = static_cast<std::uint32_t>(getpid());
    constexpr std::string_view thread_name = "stub";
    std::copy(thread_name.begin(), thread_name.end(), thread.name.begin());
    out.thread(thread);
    const auto ranges = static_cast<std::uint32_t>(std::stoul(variable("STUB_RANGES", "1")));
    for (std::uint32_t i = 0; i < ranges; ++i) write_range(out, i);
    if (const std::uint64_t lost = std::stoul(variable("STUB_LOST", "0")); lost != 0) {
        const std::pair<drop_cause, std::uint64_t> drop(drop_cause::ring_full, lost);
        out.drops({&drop, 1});
    }
    out.end(format::end_reason::exited);
}

// By which prof run knows a libprof.so.
extern "C" [[gnu::visibility("default")]] const char* prof_version() { return "stub"; }

[[gnu::constructor]] void load() {
    const std::string wish = variable("STUB_LIBPROF");
    if (wish == "abort") std::abort();
    if (wish == "nothing" || variable("PROF_AUTOSTART") == "0" || variable("PROF_OUTPUT_DIR").empty()) return;
    const std::string stem = variable("PROF_OUTPUT_DIR") + "/stub." + variable("RANK", "0") + ".host-";
    const std::string path = stem + std::to_string(getpid()) + ".prof";
    if (!std::filesystem::exists(path)) write_capture(path);  // an exec keeps the pid
}

}  // namespace
}  // namespace prof
