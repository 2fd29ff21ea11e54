// SPDX-License-Identifier: Apache-2.0
// What the threads of a random program say of themselves: ranges, marks, and for whom they work.
#include "analysis/recompute/random_capture.hpp"

#include <bit>

namespace prof::test {
namespace {

using nlohmann::json;

const std::string range_names[] = {
    "iteration 1",
    "iteration 2",
    "forward",
    "layer 10",
    "layer 3",
    "a/b",
    "a",
    "q\"uote",
    "back\\slash",
    "tab\t\x01",
    "\xff\xfe",
    "\\x41",
    "caf\xC3\xA9",
    "",
    "conv1d",
    "conv2d",
    "fp16",
    "gemm_bf16",
    "adamw8bit",
    "step17",
    "x3fp16",
    "conv123d",
    "(no range)",
    "(ambiguous)",
    "NCCL:comm",
    "comm",
    "x, y",
    "line\nbreak",
    "\xED\xA0\x80",
    "\xC0\xAF",
    "\xF5\x80\x80\x80",
    "\xE0\x80\x80z",
    "###",
    "7",
};
const std::string operator_names[] = {
    "aten::mm",
    "aten::linear",
    "aten::detach",
    "detach",
    "AddmmBackward0",
    "Model::forward",
    "my own range 3",
    "aten::t",
    "c10d::allreduce",
    "autograd::engine::evaluate_function: "
    "AddmmBackward0",
};

}  // namespace

void random_capture::annotate(record& r, json& event, const std::string& name) {
    r.ticks = now_;
    r.name = capture_.name(name);
    event["name"] = bytes_text(name);
    event["domain"] = r.domain;
    if (one_in(4)) event["color"] = r.color = 0xFF000000U + below(0xFFFFFF);
    if (one_in(6)) event["category"] = r.category = 1 + below(3);
}

void random_capture::set_payload(record& r, json& event) {
    const std::uint64_t large[] = {3, 1'000'000, (std::uint64_t{1} << 53) + 1, std::uint64_t{1} << 63, UINT64_MAX};
    switch (below(12)) {
        case 0:
            r.value = any_of(large);
            r.flags = flags_of(payload_type::u64);
            event["payload"] = {"u64", r.value};
            break;
        case 1:
            r.value = any_of(large);
            r.flags = flags_of(payload_type::i64);
            event["payload"] = {"i64", static_cast<std::int64_t>(r.value)};
            break;
        case 2:
            r.value = std::bit_cast<std::uint64_t>(0.25 * below(100));
            r.flags = flags_of(payload_type::f64);
            event["payload"] = {"f64", std::bit_cast<double>(r.value)};
            break;
        case 3:
            r.value = 0x8000'0000U + below(1000);
            r.flags = flags_of(payload_type::i32);
            event["payload"] = {"i32", static_cast<std::int32_t>(static_cast<std::uint32_t>(r.value))};
            break;
        case 4:
        case 5:
            r.value = one_in(5) ? (std::uint64_t{1} << 54) + below(9) : below(1'000'000);
            r.flags = flags_of(payload_type::bytes);
            event["payload"] = {"bytes", r.value};
            break;
        default:
            break;
    }
}

void random_capture::push(std::uint32_t thread) {
    record r{.domain = static_cast<std::uint16_t>(one_in(3) ? below(5) : 0), .kind = record_kind::range_push};
    json& event = add_event(thread, "push");
    annotate(r, event, any_of(range_names));
    set_payload(r, event);
    put(thread, r);
}

// Numbers are few, so that several threads show the same. Those of nodes may be nobody's.
void random_capture::push_operator(std::uint32_t thread) {
    const std::string& name = any_of(operator_names);
    switch (below(5)) {
        case 0:  // the engine around a backward node
            push_observed(thread, "autograd::engine::evaluate_function: AddmmBackward0", -1);
            pass_time();
            return push_observed(thread, "AddmmBackward0", below(6));
        case 1:  // an operator that calls itself
            push_observed(thread, name, -1);
            pass_time();
            return push_observed(thread, name, -1);
        case 2:
        case 3:
            return push_observed(thread, name, below(5));
        default:
            push_observed(thread, name, -1);
    }
}

void random_capture::push_observed(std::uint32_t thread, const std::string& name, std::int64_t sequence) {
    record r{.ticks = now_, .value = next_id_++, .name = capture_.name(name), .kind = record_kind::range_push};
    json& event = add_event(thread, "push");
    event["name"] = name;
    event["domain"] = 0;
    event["payload"] = {"torch", r.value};
    r.flags = flags_of(payload_type::torch);
    if (sequence >= 0) {
        r.flags = flags_of(payload_type::torch_sequence);
        r.category = static_cast<std::uint32_t>(sequence);
        event["sequence"] = sequence;
    }
    put(thread, r);
}

void random_capture::pop(std::uint32_t thread) {
    record r{.ticks = now_, .kind = record_kind::range_pop};
    if (one_in(3)) r.domain = static_cast<std::uint16_t>(below(5));
    json& event = add_event(thread, "pop");
    event["domain"] = r.domain;
    if (one_in(10)) {
        r.value = below(5000);
        r.flags = flags_of(payload_type::bytes);
        event["bytes"] = r.value;
    }
    put(thread, r);
}

void random_capture::start(std::uint32_t thread) {
    record r{.value = next_id_++, .kind = record_kind::range_start};
    if (one_in(3)) r.domain = static_cast<std::uint16_t>(below(5));
    json& event = add_event(thread, "start");
    annotate(r, event, any_of(range_names));
    event["id"] = r.value;
    put(thread, r);
    started_.emplace_back(r.value, thread);
    // Its payload is a record of its own.
    record with{.ticks = now_, .kind = record_kind::payload};
    set_payload(with, event);
    if (with.flags != 0) put(thread, with);
}

void random_capture::end(std::uint32_t thread) {
    std::uint64_t id = 77'000'000;  // nobody's
    if (!ended_.empty() && one_in(10)) {
        id = any_of(ended_);
    } else if (!started_.empty() && !one_in(20)) {
        const std::uint32_t which = below(static_cast<std::uint32_t>(started_.size()));
        id = started_[which].first;
        if (!one_in(3)) thread = started_[which].second;
        started_.erase(started_.begin() + which);
        ended_.push_back(id);
    }
    add_event(thread, "end")["id"] = id;
    put(thread, {.ticks = now_, .value = id, .kind = record_kind::range_end});
}

// A service's requests, say: what begins and ends while its thread calls nothing.
void random_capture::idle_ranges(std::uint32_t thread) {
    const std::uint32_t count = 1000 + below(120);
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::string name = i % 3 == 0 ? "idle" : i % 3 == 1 ? "request 1" : "request 2";
        record r{.ticks = now_, .value = next_id_++, .name = capture_.name(name), .kind = record_kind::range_start};
        json& begin = add_event(thread, "start");
        begin["name"] = name;
        begin["domain"] = 0;
        begin["id"] = r.value;
        put(thread, r);
        ++now_;
        add_event(thread, "end")["id"] = r.value;
        put(thread, {.ticks = now_, .value = r.value, .kind = record_kind::range_end});
        ++now_;
    }
    start(thread);
    pass_time();
    launch(thread);
}

void random_capture::mark(std::uint32_t thread) {
    record r{.kind = record_kind::mark};
    if (one_in(3)) r.domain = static_cast<std::uint16_t>(below(5));
    json& event = add_event(thread, "mark");
    annotate(r, event, any_of(range_names));
    set_payload(r, event);
    put(thread, r);
}

void random_capture::here(std::uint32_t thread) {
    add_event(thread, "here")["place"] = ++places_;
    put(thread, {.ticks = now_, .value = places_, .kind = record_kind::parent_here});
}

void random_capture::adopt(std::uint32_t thread) {
    const bool is_known = places_ != 0 && !one_in(8);
    const std::uint64_t place = is_known ? 1 + below(static_cast<std::uint32_t>(places_)) : 1'000'000;
    add_event(thread, "adopt")["place"] = place;
    put(thread, {.ticks = now_, .value = place, .kind = record_kind::adopt_push});
}

void random_capture::leave(std::uint32_t thread) {
    add_event(thread, "leave");
    put(thread, {.ticks = now_, .kind = record_kind::adopt_pop});
}

}  // namespace prof::test
