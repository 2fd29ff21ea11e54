// SPDX-License-Identifier: Apache-2.0
// A simulated job that comes to a stand: after its steps each rank calls what the test says, none of which ends, and
// its recording ends some seconds later.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ranks/simulated_job.hpp"

namespace prof {

struct stopped_rank {
    struct call {
        collective_function function = collective_function::all_reduce;
        std::uint64_t sequence = 0;
        std::uint64_t bytes = 4 << 20;
    };
    std::vector<call> calls{};  // a millisecond apart, from the end of the steps on
    std::string range{};        // opened 5 ms after the end of the steps, and still open; "": none
    std::string line{};         // of a call in it: "file:number"
    double seconds = 12;        // from the end of the steps to the end of the recording
    std::uint32_t how = 9;      // 0: closed in good order; else killed by this signal
    bool has_exited = false;    // closed when its program returned
    std::uint32_t communicators = 1;
    bool is_numbered = true;  // else as NCCL's ranges have it: without communicator and number
};

class stopped_job {
public:
    explicit stopped_job(const job_plan& plan) : plan_(plan), job_(plan) { (void)job_.step_ns(); }

    std::uint64_t calls_before() const { return std::uint64_t{plan_.steps} * static_cast<std::uint64_t>(plan_.layers); }

    // `as`: by rank.
    std::vector<rank_summary> summaries(const std::map<std::uint32_t, stopped_rank>& as) const {
        std::vector<rank_summary> out;
        for (const auto& [rank, how] : as) {
            const timeline data = timeline_of(rank, how);
            out.push_back(summarize_rank(data, attribute(data)));
            out.back().path = "rank" + std::to_string(rank) + ".prof";
        }
        return out;
    }

    timeline timeline_of(std::uint32_t r, const stopped_rank& as) const {
        timeline data = job_.timeline_of(r);
        const auto at = [&](double after_ns) {
            return static_cast<std::int64_t>(std::llround(job_.on_clock(r, job_.end_ns() + after_ns)));
        };
        name_id next_name(1'000'000);
        const auto name = [&](std::string text) {
            data.name_table[++next_name] = std::move(text);
            return next_name;
        };
        const name_id kernel = name("ncclDevKernel_AllReduce");
        for (std::size_t i = 0; i < as.calls.size(); ++i) {
            const stopped_rank::call& is = as.calls[i];
            const std::int64_t called_ns = at(1e6 + 1e6 * static_cast<double>(i));
            timeline_api_call launch;
            launch.start_ns = called_ns + 2'000;
            launch.end_ns = called_ns + 5'000;
            launch.thread = thread_id(0);
            launch.kernel_name = kernel;
            launch.is_unfinished = true;
            collective_call call;
            call.time_ns = called_ns;
            call.function = is.function;
            call.sequence = is.sequence;
            call.bytes = is.bytes;
            call.call = data.api_calls.end_id();
            call.communicator = communicator_id(0);
            call.thread = thread_id(0);
            data.api_calls.push_back(launch);
            data.collectives.push_back(call);
        }
        data.end_ns = at(as.seconds * 1e9);
        data.windows.back().end_ns = data.end_ns;
        data.windows.back().is_open = as.how != 0;
        data.quality.died = as.how != 0;
        data.quality.how = as.how;
        data.quality.ended = as.how == 0;
        data.quality.has_exited = as.has_exited;
        if (!as.range.empty()) {
            timeline_range range;
            range.start_ns = at(5e6);
            range.end_ns = data.end_ns;
            range.name = name(as.range);
            range.thread = thread_id(0);
            range.open_at_end = true;
            data.ranges.push_back(range);
        }
        if (!as.line.empty()) {
            timeline_api_call call;
            call.start_ns = at(6e6);
            call.end_ns = at(7e6);
            call.thread = thread_id(0);
            call.kind = api_class::wait;
            const std::size_t colon = as.line.find(':');
            data.call_stacks.push_back({.call = data.api_calls.end_id(), .stack = data.code_stacks.end_id()});
            data.code_stacks.push_back({static_cast<std::uint32_t>(data.code_lines.size()), 1, 1});
            data.code_lines.push_back({.name = name("main\n" + as.line.substr(0, colon)),
                                       .line = static_cast<std::uint32_t>(std::stoul(as.line.substr(colon + 1)))});
            data.api_calls.push_back(call);
        }
        if (!as.is_numbered) {
            data.communicators.clear();
            for (collective_call& each : data.collectives) {
                each.communicator = npos;
                each.sequence = no_sequence;
                each.source = collective_source::nvtx;
            }
        }
        return data;
    }

private:
    job_plan plan_;
    simulated_job job_;
};

}  // namespace prof
