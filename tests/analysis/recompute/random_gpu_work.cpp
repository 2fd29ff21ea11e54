// SPDX-License-Identifier: Apache-2.0
// What the threads of a random program launch, and when the GPUs carry it out; and the file of it all.
#include "analysis/recompute/random_capture.hpp"

#include <algorithm>

namespace prof::test {
namespace {

using nlohmann::json;

struct function {
    api_domain domain;
    std::uint32_t cbid;
    const char* name;
};
const function functions[] = {
    {api_domain::driver, 307, "launch"},
    {api_domain::driver, 442, "launch"},
    {api_domain::runtime, 211, "launch"},
    {api_domain::runtime, 214, "launch"},
    {api_domain::driver, 277, "copy"},
    {api_domain::runtime, 41, "copy"},
    {api_domain::driver, 278, "blocking copy"},
    {api_domain::runtime, 31, "blocking copy"},
    {api_domain::driver, 216, "set"},
    {api_domain::runtime, 51, "set"},
    {api_domain::driver, 17, "wait"},
    {api_domain::runtime, 165, "wait"},
    {api_domain::driver, 243, "allocate"},
    {api_domain::runtime, 20, "allocate"},
    {api_domain::driver, 598, "allocate in stream"},
    {api_domain::runtime, 373, "allocate in stream"},
    {api_domain::driver, 514, "graph"},
    {api_domain::runtime, 311, "graph"},
    {api_domain::driver, 539, "begin"},
    {api_domain::runtime, 315, "begin"},
};

}  // namespace

std::size_t random_capture::enter(std::uint32_t thread, api_class kind, const char* what, const std::string& kernel) {
    std::vector<const function*> fitting;
    for (const function& f : functions) {
        const bool is_recorded = f.domain == api_domain::driver || has_.runtime_calls;
        if (is_recorded && std::string_view{f.name} == what) fitting.push_back(&f);
    }
    const function& called = *any_of(fitting);
    const std::size_t call = correlations_.size();
    const std::uint32_t id = ++calls_in_epoch_.back();
    correlations_.push_back(correlation_key(epoch_, id));
    json& event = add_event(thread, "call");
    event["call"] = call;
    event["function"] = {called.domain == api_domain::driver ? "driver" : "runtime", called.cbid};
    event["correlation"] = correlations_.back();
    event["waits"] =
        kind == api_class::wait || kind == api_class::blocking_launch || kind == api_class::blocking_allocation;
    event["begins_graph_capture"] = kind == api_class::begins_graph_capture;
    event["kernel"] = kernel;
    put(thread, enter_record(now_, correlations_.back(), {called.domain, called.cbid, kind}, capture_.name(kernel)));
    return call;
}

void random_capture::leave_call(std::uint32_t thread, std::size_t call) {
    pass_time();
    if (one_in(25)) {  // it is not seen to return
        is_in_call_[thread] = true;
        return;
    }
    add_event(thread, "return")["call"] = call;
    put(thread, exit_record(now_, correlations_[call]));
}

placement random_capture::some_stream() {
    const std::uint32_t device = one_in(3) ? 1 : 0;
    return {.stream = 7 + below(3), .device = device, .context = 1 + device + (one_in(6) ? 10 : 0)};
}

// Mostly soon and short, so that work overlaps, and now and then of no length.
std::pair<std::uint64_t, std::uint64_t> random_capture::some_time() {
    const std::uint64_t start = now_ + below(60);
    return {start, start + (one_in(12) ? 0 : below(one_in(20) ? 4000 : 40))};
}

json& random_capture::add_op(const char* kind, std::size_t call, std::uint64_t correlation, const placement& on) {
    json op = {{"kind", kind},          {"correlation", correlation}, {"device", on.device},
               {"context", on.context}, {"stream", on.stream},        {"node", on.graph_node}};
    op["call"] = call == SIZE_MAX ? json{} : json(call);
    return emitted_["ops"].emplace_back(std::move(op));
}

void random_capture::add_kernel(std::size_t call, std::uint64_t correlation, const placement& on,
                                const std::string& symbol) {
    const auto [start, end] = some_time();
    capture_.kernel(correlation, start, end, on, symbol);
    kernel_record& r = capture_.parts().kernels.back();
    r.grid[0] = 1 + below(200);
    r.block[0] = 32 * (1 + below(8));
    r.grid[1] = r.grid[2] = r.block[1] = r.block[2] = 1;
    const auto found = std::find(std::begin(kernel_symbols), std::end(kernel_symbols), symbol);
    r.registers_per_thread = static_cast<std::uint16_t>(16 + 8 * (found - std::begin(kernel_symbols)));
    json& op = add_op("kernel", call, correlation, on);
    op["start"] = start;
    op["end"] = end;
    op["name"] = symbol;
    op["registers"] = r.registers_per_thread;
    op["grid"] = r.grid;
    op["block"] = r.block;
}

void random_capture::add_transfer(std::size_t call, std::uint64_t correlation, const placement& on, bool is_set) {
    const auto [start, end] = some_time();
    const transfer_kind of = is_set ? transfer_kind::memset : transfer_kind::memcpy;
    transfer_record t = transfer_between(of, start, end, correlation, below(1'000'000), on);
    const std::uint8_t directions[] = {1, 2, 8, 9};
    t.copy_kind = is_set ? std::uint8_t{0} : any_of(directions);
    t.source_kind = static_cast<std::uint8_t>(is_set ? 0 : 1 + below(3));
    t.destination_kind = static_cast<std::uint8_t>(1 + below(3));
    capture_.transfer(t);
    json& op = add_op(is_set ? "memset" : "memcpy", call, correlation, on);
    op["start"] = start;
    op["end"] = end;
    op["bytes"] = t.bytes;
    op["direction"] = t.copy_kind;
    op["from"] = t.source_kind;
    op["to"] = t.destination_kind;
}

void random_capture::launch(std::uint32_t thread) {
    const std::string& symbol = any_of(kernel_symbols);
    const std::size_t call = enter(thread, api_class::launch, "launch", symbol);
    if (!one_in(6)) add_kernel(call, correlations_[call], some_stream(), symbol);
    leave_call(thread, call);
}

void random_capture::launch_copy(std::uint32_t thread) {
    const bool is_set = one_in(3);
    const bool blocks = !is_set && one_in(2);
    const std::size_t call = enter(thread, blocks ? api_class::blocking_launch : api_class::launch,
                                   is_set   ? "set"
                                   : blocks ? "blocking copy"
                                            : "copy");
    if (!one_in(8)) add_transfer(call, correlations_[call], some_stream(), is_set);
    leave_call(thread, call);
}

void random_capture::wait(std::uint32_t thread) {
    const std::uint32_t kind = below(3);
    const std::size_t call = kind == 0   ? enter(thread, api_class::wait, "wait")
                             : kind == 1 ? enter(thread, api_class::blocking_allocation, "allocate")
                                         : enter(thread, api_class::allocation, "allocate in stream");
    now_ += below(80);
    // A call may make another, with a correlation id of its own.
    if (kind == 0 && one_in(3)) {
        pass_time();
        const std::size_t inner = enter(thread, api_class::allocation, "allocate in stream");
        ++now_;
        add_event(thread, "return")["call"] = inner;
        put(thread, exit_record(now_, correlations_[inner]));
    }
    leave_call(thread, call);
}

void random_capture::begin_graph_capture(std::uint32_t thread) {
    const std::size_t call = enter(thread, api_class::begins_graph_capture, "begin");
    leave_call(thread, call);
    pass_time();
    capture_node(thread);
}

// Often the launch that is captured instead of being carried out makes it.
void random_capture::capture_node(std::uint32_t thread) {
    // Which call makes it is known for sure.
    const bool is_launch = one_in(2) || is_in_call_[thread];
    std::size_t call = 0;
    if (is_launch) {
        call = enter(thread, api_class::launch, "launch", any_of(kernel_symbols));
        ++now_;
    }
    node_id id = (std::uint64_t{7} << 32) + next_id_++;
    add_event(thread, "node")["node"] = id;
    put(thread, node_record(now_, id));
    if (is_launch) leave_call(thread, call);
    for (std::uint32_t copies = is_in_call_[thread] ? 0 : below(3); copies > 0; --copies) {
        const node_id copy = (std::uint64_t{9} << 32) + next_id_++;
        pass_time();
        json& event = add_event(thread, "copy node");
        event["node"] = copy;
        event["of"] = id;
        put(thread, node_record(now_, copy));
        put(thread, clone_record(now_, copy, id));
        id = copy;
    }
    nodes_.push_back(id);
}

void random_capture::update_node(std::uint32_t thread) {
    const node_id id = any_of(nodes_);
    const node_id by = any_of(nodes_);
    if (id >> 32 != 9 || id == by || by >> 32 != 7) return launch(thread);
    json& event = add_event(thread, "update node");
    event["node"] = id;
    event["of"] = by;
    put(thread, clone_record(now_, id, by, replaces_what_it_was));
}

void random_capture::launch_nodes(std::uint32_t thread) {
    const std::size_t call = enter(thread, api_class::launch, "graph");
    for (std::uint32_t ops = below(5); ops > 0; --ops) {
        placement on = some_stream();
        on.graph_node = one_in(10) ? (std::uint64_t{11} << 32) + 12'345 : any_of(nodes_);
        on.graph = on.graph_node == 0 ? 0 : 3;
        if (one_in(4)) {
            add_transfer(call, correlations_[call], on, one_in(2));
        } else {
            add_kernel(call, correlations_[call], on, any_of(kernel_symbols));
        }
    }
    leave_call(thread, call);
}

void random_capture::launch_graph(std::uint32_t thread) {
    const std::size_t call = enter(thread, api_class::launch, "graph");
    const placement on = some_stream();
    const auto [start, end] = some_time();
    const std::uint32_t graph = 1 + below(3);
    capture_.graph(correlations_[call], start, end, graph, on);
    json& op = add_op("graph", call, correlations_[call], on);
    op["start"] = start;
    op["end"] = end;
    op["graph"] = graph;
    leave_call(thread, call);
}

void random_capture::write(const std::string& path) const {
    capture_writer writer(path, {.deflate = emitted_["seed"].get<std::uint32_t>() % 2 == 0});
    capture_contents all = capture_.contents(40);
    // Ticks are nanoseconds, whatever the clock.
    const std::uint64_t begin = emitted_["begin"].get<std::uint64_t>();
    all.clocks = {{begin, begin, begin, begin, 0}, {now_, now_, now_, now_, 0}};
    write_contents(writer, all);
    if (emitted_["ending"] == "exited") writer.end(format::end_reason::exited);
    if (emitted_["ending"] == "died") writer.end(format::end_reason::died);
}

}  // namespace prof::test
