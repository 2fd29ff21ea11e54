// SPDX-License-Identifier: Apache-2.0
// A model of a host and a GPU that executes small programs: what the tests of the replay compare its prices with. A
// program is executed, recorded as a capture and priced; then it is executed once more without the flaw. The model
// knows all durations and dependencies, and shares no code with src/diagnose.
//
// Times are nanoseconds. A program has one or more strands: lists of instructions, each executed by a thread of its
// own. A strand may go on in a helper thread for a while, as PyTorch's backward() does in autograd's thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "record/label.hpp"
#include "support/capture_builder.hpp"

namespace prof::diagnose_test {

inline constexpr std::int64_t us = 1'000;

enum class action : std::uint8_t {
    nothing,
    compute,        // the host, for `ns`
    launch,         // a kernel of `ns` in `stream`
    copy,           // an asynchronous copy to the GPU
    blocking_copy,  // the same, but the call returns when it is complete
    copy_back,      // a blocking copy to the host
    copy_back_async,
    wait,          // for all operations in `stream`
    wait_all,      // for all operations
    record_event,  // `event` stands for what was launched into `stream`
    stream_wait,   // what is launched into `stream` from here on waits for `event`
    wait_event,    // the host, for `event`
    allocate,      // memory; a call of `ns`
    free,          // memory; waits for all operations, and takes `ns` then
    step,          // begins a step
    push,          // a range, `name`
    pop,
    to_helper,
    from_helper,
};

struct instruction {
    action what = action::nothing;
    std::int64_t ns = 0;
    std::uint32_t stream = 0;
    std::string name{};
    bool is_pageable = false;
    std::uint64_t bytes = 1U << 20;
    std::uint64_t event = 0;
    std::uint32_t line = 0;  // of a wait: its line in "program.py"; of a launch: that of the host code before it
};
using code = std::vector<instruction>;

struct machine {
    std::int64_t latency_ns = 5'000;  // from the beginning of a launch to its operation, at least
    std::int64_t next_ns = 1'000;     // between two operations of a stream, at least
    std::int64_t launch_ns = 3'000;   // a call that launches a kernel
    std::int64_t copy_ns = 10'000;    // a call that copies, without waiting
    std::int64_t wait_ns = 2'000;     // a call that waits for nothing
    std::int64_t return_ns = 4'000;   // from the end of an operation to the return of the call that waited for it
    std::int64_t switch_ns = 12'000;  // to and from the helper
    std::size_t queue = 1'024;        // so many launches fit into a strand's queue; then a launch waits for the oldest
    std::int64_t hand_over_ns = 2'000;  // from an operation's end to one of another stream that waits for it, at least
    std::int64_t clock_skew_ns = 0;     // of the GPU's times in the capture
    bool records_syncs = true;          // events, and what a call waits for: else as in older captures
    bool records_waits = true;          // calls that wait for a stream or an event
};

// What an instruction did. Of a call, `correlation` is not 0; of an operation, op_end_ns is not.
struct execution {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::int64_t op_start_ns = 0;
    std::int64_t op_end_ns = 0;
    std::uint64_t correlation = 0;
};

inline constexpr cuda_function launch_kernel{api_domain::runtime, 211, api_class::launch};
inline constexpr cuda_function memcpy_async{api_domain::runtime, 41, api_class::launch};
inline constexpr cuda_function memcpy_blocking{api_domain::runtime, 31, api_class::blocking_launch};
inline constexpr cuda_function stream_synchronize{api_domain::runtime, 131, api_class::wait};
inline constexpr cuda_function event_synchronize{api_domain::runtime, 137, api_class::wait};
inline constexpr cuda_function device_synchronize{api_domain::runtime, 165, api_class::wait};
inline constexpr cuda_function malloc_blocking{api_domain::runtime, 20, api_class::blocking_allocation};
inline constexpr cuda_function free_blocking{api_domain::runtime, 22, api_class::blocking_allocation};

// Executes a program at once; the result is its capture, and what each instruction did.
class simulation {
public:
    explicit simulation(const std::vector<code>& program, const machine& on = {}) : on_(on) {
        domain_ = capture.domain("prof");
        phases_ = capture.domain(std::string(phase_domain));
        for (std::size_t i = 0; i < program.size(); ++i) {
            strand each{.of = &program[i]};
            each.main = &capture.thread("python");
            each.helper = &capture.thread("pt_autograd_0");
            each.current = each.main;
            strands_.push_back(each);
            executions.emplace_back(program[i].size());
        }
        while (execute_next()) {
        }
    }

    capture_builder capture;
    std::vector<std::vector<execution>> executions;  // by strand and instruction
    std::vector<std::int64_t> steps_ns;              // their beginnings

private:
    struct strand {
        const code* of = nullptr;
        std::size_t next = 0;
        std::int64_t now_ns = 1'000'000;
        thread_script* main = nullptr;
        thread_script* helper = nullptr;
        thread_script* current = nullptr;
        std::vector<std::int64_t> op_ends_ns{};
    };

    // The instruction that begins first.
    bool execute_next() {
        strand* first = nullptr;
        for (strand& each : strands_) {
            if (each.next == each.of->size()) continue;
            if (first == nullptr || each.now_ns < first->now_ns) first = &each;
        }
        if (first == nullptr) return false;
        const std::size_t index = first->next++;
        execution& did = executions[static_cast<std::size_t>(first - strands_.data())][index];
        execute(*first, (*first->of)[index], did);
        return true;
    }

    void execute(strand& in, const instruction& what, execution& did) {
        did.start_ns = in.now_ns;
        const auto now = static_cast<std::uint64_t>(in.now_ns);
        switch (what.what) {
            case action::nothing:
                break;
            case action::compute:
                in.now_ns += what.ns;
                break;
            case action::launch:
                launch(in, what, did, launch_kernel, on_.launch_ns);
                break;
            case action::copy:
            case action::copy_back_async:
                launch(in, what, did, memcpy_async, on_.copy_ns);
                break;
            case action::blocking_copy:
            case action::copy_back:
                launch(in, what, did, memcpy_blocking, on_.copy_ns);
                break;
            case action::wait:
                wait(in, what, did, stream_synchronize, sync_kind::host_stream, stream_free(what.stream));
                break;
            case action::wait_event:
                wait(in, what, did, event_synchronize, sync_kind::host_event, event_done(what.event));
                break;
            case action::record_event:
                events_[what.event] = {what.stream, stream_free(what.stream)};
                sync(in, what, sync_kind::event_record);
                break;
            case action::stream_wait:
                hold(what);
                sync(in, what, sync_kind::stream_wait);
                break;
            case action::wait_all:
                call(in, did, device_synchronize, wait_end(in.now_ns + on_.wait_ns, all_free()));
                break;
            case action::allocate:
                call(in, did, malloc_blocking, in.now_ns + what.ns);
                break;
            case action::free:
                call(in, did, free_blocking, std::max(in.now_ns, all_free()) + what.ns);
                break;
            case action::step:
                in.current->add({.ticks = now,
                                 .value = steps_ns.size(),
                                 .name = capture.name("step"),
                                 .domain = domain_,
                                 .kind = record_kind::mark,
                                 .flags = static_cast<std::uint8_t>(payload_type::u64)});
                steps_ns.push_back(in.now_ns);
                break;
            case action::push:
                in.current->push(now, what.name, phases_);
                break;
            case action::pop:
                in.current->pop(now, phases_);
                break;
            case action::to_helper:
                in.now_ns += on_.switch_ns;
                in.current = in.helper;
                break;
            case action::from_helper:
                in.now_ns += on_.switch_ns;
                in.current = in.main;
                break;
        }
        did.end_ns = in.now_ns;
    }

    static bool blocks(action what) { return what == action::blocking_copy || what == action::copy_back; }

    void launch(strand& in, const instruction& what, execution& did, const cuda_function& called, std::int64_t cost) {
        std::int64_t end_ns = in.now_ns + cost;
        if (in.op_ends_ns.size() >= on_.queue) {
            const std::int64_t oldest_ns = in.op_ends_ns[in.op_ends_ns.size() - on_.queue];
            if (oldest_ns > in.now_ns) end_ns = std::max(end_ns, oldest_ns + on_.return_ns);
        }
        did.op_start_ns = in.now_ns + on_.latency_ns;
        if (const auto latest = streams_.find(what.stream); latest != streams_.end()) {
            did.op_start_ns = std::max(did.op_start_ns, latest->second + on_.next_ns);
        }
        did.op_start_ns = std::max(did.op_start_ns, held_until_[what.stream]);
        did.op_end_ns = did.op_start_ns + what.ns;
        streams_[what.stream] = did.op_end_ns;
        in.op_ends_ns.push_back(did.op_end_ns);
        if (blocks(what.what)) end_ns = std::max(end_ns, did.op_end_ns + on_.return_ns);
        if (what.line != 0) add_line(in, what, correlation_ + 1, stack_role::before);
        call(in, did, called, end_ns, what.what == action::launch ? "kernel" : "");
        record_op(what, did);
    }

    void record_op(const instruction& what, const execution& did) {
        const auto start = static_cast<std::uint64_t>(did.op_start_ns + on_.clock_skew_ns);
        const auto end = static_cast<std::uint64_t>(did.op_end_ns + on_.clock_skew_ns);
        const placement where{.stream = what.stream + 7};
        if (what.what == action::launch) {
            capture.kernel(did.correlation, start, end, where, what.name.empty() ? "kernel" : what.name);
            return;
        }
        transfer_record t = transfer_between(transfer_kind::memcpy, start, end, did.correlation, what.bytes, where);
        const bool is_back = what.what == action::copy_back || what.what == action::copy_back_async;
        const std::uint8_t host = what.is_pageable ? 1 : 2;  // CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE, _PINNED
        t.copy_kind = is_back ? 2 : 1;
        t.source_kind = is_back ? 3 : host;
        t.destination_kind = is_back ? host : 3;
        capture.transfer(t);
    }

    void call(strand& in, execution& did, const cuda_function& called, std::int64_t end_ns,
              const std::string& kernel = {}) {
        did.correlation = ++correlation_;
        in.current->call(static_cast<std::uint64_t>(in.now_ns), static_cast<std::uint64_t>(end_ns), did.correlation,
                         called, kernel);
        in.now_ns = end_ns;
    }

    void wait(strand& in, const instruction& what, execution& did, const cuda_function& called, sync_kind kind,
              std::int64_t free_ns) {
        const std::int64_t end_ns = wait_end(in.now_ns + on_.wait_ns, free_ns);
        if (!on_.records_waits) {
            in.now_ns = end_ns;
            return;
        }
        if (!on_.records_syncs) return call(in, did, called, end_ns);
        did.correlation = ++correlation_;
        if (what.line != 0) {
            in.current->add(enter_record(static_cast<std::uint64_t>(in.now_ns), did.correlation, called, 0));
            sync(in, what, kind);
            in.now_ns = end_ns;
            add_line(in, what, did.correlation, stack_role::call);
            in.current->exit(static_cast<std::uint64_t>(end_ns), did.correlation);
            return;
        }
        in.current->wait_for(static_cast<std::uint64_t>(in.now_ns), static_cast<std::uint64_t>(end_ns), did.correlation,
                             called, kind, what.event, {.stream = what.stream + 7});
        in.now_ns = end_ns;
    }

    void add_line(const strand& in, const instruction& what, std::uint64_t correlation, stack_role role) {
        in.current->add({.ticks = static_cast<std::uint64_t>(in.now_ns),
                         .value = correlation,
                         .name = capture.name("train\nprogram.py"),
                         .color = what.line,
                         .category = 1U << 16,
                         .kind = record_kind::code_line,
                         .flags = static_cast<std::uint8_t>(role)});
    }

    void sync(const strand& in, const instruction& what, sync_kind kind) {
        if (!on_.records_syncs) return;
        in.current->sync(static_cast<std::uint64_t>(in.now_ns), kind, what.event, {.stream = what.stream + 7});
    }

    // A stream is in order anyway.
    void hold(const instruction& what) {
        const auto found = events_.find(what.event);
        if (found == events_.end() || found->second.first == what.stream) return;
        std::int64_t& held_ns = held_until_[what.stream];
        held_ns = std::max(held_ns, found->second.second + on_.hand_over_ns);
    }

    std::int64_t event_done(std::uint64_t event) const {
        const auto found = events_.find(event);
        return found == events_.end() ? 0 : found->second.second;
    }
    std::int64_t stream_free(std::uint32_t stream) const {
        const auto found = streams_.find(stream);
        return found == streams_.end() ? 0 : found->second;
    }
    std::int64_t all_free() const {
        std::int64_t latest_ns = 0;
        for (const auto& [stream, end_ns] : streams_) latest_ns = std::max(latest_ns, end_ns);
        return latest_ns;
    }
    std::int64_t wait_end(std::int64_t at_once_ns, std::int64_t free_ns) const {
        return free_ns <= at_once_ns - on_.wait_ns ? at_once_ns : std::max(at_once_ns, free_ns + on_.return_ns);
    }

    machine on_;
    std::uint16_t domain_ = 0;
    std::uint16_t phases_ = 0;
    std::uint64_t correlation_ = 0;
    std::vector<strand> strands_;
    std::map<std::uint32_t, std::int64_t> streams_;                           // the end of the latest operation
    std::map<std::uint64_t, std::pair<std::uint32_t, std::int64_t>> events_;  // stream, and when it is complete
    std::map<std::uint32_t, std::int64_t> held_until_;                        // by an event
};

// How long the steps from `first_step` to the last beginning of a step take in `now`, by the definition of replay.hpp:
// until the host is done, or from the last operation before them to the last one that was launched in these steps of
// `recorded`, if that is more.
inline std::int64_t length_of(const simulation& recorded, const simulation& now, std::size_t first_step = 1) {
    const std::int64_t from_ns = recorded.steps_ns[first_step];
    const std::int64_t to_ns = recorded.steps_ns.back();
    std::int64_t before_ns = now.steps_ns[first_step];
    std::int64_t last_ns = before_ns;
    for (std::size_t strand = 0; strand < recorded.executions.size(); ++strand) {
        for (std::size_t i = 0; i < recorded.executions[strand].size(); ++i) {
            const execution& did = recorded.executions[strand][i];
            if (did.op_end_ns == 0 || did.start_ns >= to_ns) continue;
            std::int64_t& latest_ns = did.start_ns < from_ns ? before_ns : last_ns;
            latest_ns = std::max(latest_ns, now.executions[strand][i].op_end_ns);
        }
    }
    return std::max(now.steps_ns.back() - now.steps_ns[first_step], last_ns - before_ns);
}

}  // namespace prof::diagnose_test
