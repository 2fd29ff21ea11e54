// SPDX-License-Identifier: Apache-2.0
#include "session/process/properties.hpp"

#include <unistd.h>

#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/short_file.hpp"
#include "base/version.hpp"
#include "hooks/allocator/torch_allocator.hpp"
#include "options/plans.hpp"
#include "session/process/earlier_nvtx.hpp"
#include "session/process/injections.hpp"

namespace prof {

namespace {

std::string lines_of(const std::vector<std::string>& texts) {
    std::string out;
    for (const std::string& text : texts) out += (out.empty() ? "" : "\n") + text;
    return out;
}

}  // namespace

std::string driver_version() {
    const std::string text = text_of_file("/sys/module/nvidia/version");
    return text.substr(0, text.find('\n'));
}

property_list capture_properties(const session_options& options, const process_facts& facts, const region& rings,
                                 const std::string& driver, const std::string& start) {
    property_list out;
    const auto put = [&](const char* key, const std::string& value) {
        if (!value.empty()) out.emplace_back(key, value);
    };
    put("libprof_version", library_version);
    put("name", facts.name);
    put("hostname", facts.hostname);
    put("pid", std::to_string(getpid()));
    put("ppid", std::to_string(getppid()));
    put("process_start", start);
    put("rank", facts.rank);
    put("world_size", facts.world_size);
    put("local_rank", facts.local_rank);
    put("command", facts.command);
    put("executable", facts.executable);
    put("cwd", facts.working_directory);
    put("start_realtime_ns", std::to_string(clock_ns(CLOCK_REALTIME)));
    put("tick_source", active_tick_source == tick_source::tsc ? "tsc" : "monotonic_ns");
    put("driver_version", driver);
    put("rings_path", rings.path());
    put("rings_notice", rings.notice());
    put("nvtx_notice", earlier_nvtx_notice());
    put("nccl_notice", options.nccl ? nccl_notice() : "");
    put("allocations", options.allocations ? "on" : "");
    put("cuda_memory", options.allocations ? "on" : "");  // of calls of CUDA, beside an allocator's
    put("allocator", options.allocations && was_torch_allocator_followed() ? "pytorch" : "");
    put("pytorch", text_of(options, "pytorch"));
    put("modules", options.modules ? text_of(options, "modules") : "");
    put("lines", text_of(options, "lines"));
    put("plan", plan_text(options));
    put("activities", options.activities.text);
    put("keep", options.keep.text);
    put("communication", lines_of(options.communication));
    put("run_id", options.run_id);  // last: `prof run` reads up to this one
    return out;
}

}  // namespace prof
