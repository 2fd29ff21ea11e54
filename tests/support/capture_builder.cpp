// SPDX-License-Identifier: Apache-2.0
#include "support/capture_builder.hpp"

#include <algorithm>
#include <utility>

namespace prof {

record enter_record(std::uint64_t ns, std::uint64_t correlation, const cuda_function& called, std::uint32_t symbol) {
    return {.ticks = ns,
            .value = correlation,
            .name = symbol,
            .category = called.cbid,
            .domain = static_cast<std::uint16_t>(called.domain),
            .kind = record_kind::api_enter,
            .flags = static_cast<std::uint8_t>(called.kind)};
}

record exit_record(std::uint64_t ns, std::uint64_t correlation) {
    return {.ticks = ns, .value = correlation, .kind = record_kind::api_exit};
}

record node_record(std::uint64_t ns, std::uint64_t node) {
    return {.ticks = ns, .value = node, .kind = record_kind::graph_node};
}

record clone_record(std::uint64_t ns, std::uint64_t node, std::uint64_t original, std::uint8_t flags) {
    return {.ticks = ns,
            .value = node,
            .name = static_cast<std::uint32_t>(original),
            .color = static_cast<std::uint32_t>(original >> 32),
            .kind = record_kind::graph_clone,
            .flags = flags};
}

format::thread_entry thread_entry_of(std::uint64_t uid, std::uint32_t tid, std::string_view name) {
    format::thread_entry entry;
    entry.uid = uid;
    entry.tid = tid;
    name.copy(entry.name.data(), entry.name.size() - 1);
    return entry;
}

kernel_record kernel_between(std::uint64_t start_ns, std::uint64_t end_ns, std::uint64_t correlation,
                             std::uint32_t symbol, const placement& on) {
    kernel_record k;
    k.start_ns = start_ns;
    k.end_ns = end_ns;
    k.correlation = correlation;
    k.name = symbol;
    k.device = on.device;
    k.context = on.context;
    k.stream = on.stream;
    k.graph_node_id = on.graph_node;
    k.graph_id = on.graph;
    return k;
}

transfer_record transfer_between(transfer_kind kind, std::uint64_t start_ns, std::uint64_t end_ns,
                                 std::uint64_t correlation, std::uint64_t bytes, const placement& on) {
    transfer_record t;
    t.kind = kind;
    t.start_ns = start_ns;
    t.end_ns = end_ns;
    t.correlation = correlation;
    t.bytes = bytes;
    t.graph_node_id = on.graph_node;
    t.device = on.device;
    t.context = on.context;
    t.stream = on.stream;
    return t;
}

device_record h200_properties() {
    device_record d;
    d.global_memory_bytes = 150'000'000'000;
    d.compute_capability_major = 9;
    d.multiprocessors = 132;
    d.max_threads_per_block = 1024;
    d.max_threads_per_multiprocessor = 2048;
    d.max_blocks_per_multiprocessor = 32;
    d.registers_per_block = 65536;
    d.registers_per_multiprocessor = 65536;
    d.shared_bytes_per_block = 49152;
    d.shared_bytes_per_multiprocessor = 233472;
    d.warp_size = 32;
    return d;
}

void write_contents(capture_writer& out, const capture_contents& contents) {
    for (const auto& [key, value] : contents.properties) out.property(key, value);
    const std::vector<capture_writer::name_entry> names(contents.names.begin(), contents.names.end());
    out.names(names);
    out.labels(contents.labels);
    for (const format::thread_entry& thread : contents.threads) out.thread(thread);
    out.clocks(contents.clocks);
    out.gpu<device_record>(contents.devices);
    for (const auto& [epoch, window] : contents.windows) out.window(window);
    for (const record_run& run : contents.runs) out.records(run.thread_uid, run.first_number, run.records);
    out.gpu<kernel_record>(contents.kernels);
    out.gpu<transfer_record>(contents.transfers);
    out.gpu<graph_record>(contents.graphs);
    for (const auto& [cause, count] : contents.drops) {
        const std::pair<drop_cause, std::uint64_t> entry{static_cast<drop_cause>(cause), count};
        out.drops({&entry, 1});
    }
}

// --- thread_script ----------------------------------------------------------------------------------------------

thread_script& thread_script::push(std::uint64_t ns, const std::string& name, std::uint16_t domain) {
    return add({.ticks = ns, .name = capture_->name(name), .domain = domain, .kind = record_kind::range_push});
}
thread_script& thread_script::pop(std::uint64_t ns, std::uint16_t domain) {
    return add({.ticks = ns, .domain = domain, .kind = record_kind::range_pop});
}
thread_script& thread_script::start(std::uint64_t ns, const std::string& name, std::uint64_t id, std::uint16_t domain) {
    return add(
        {.ticks = ns, .value = id, .name = capture_->name(name), .domain = domain, .kind = record_kind::range_start});
}
thread_script& thread_script::end(std::uint64_t ns, std::uint64_t id) {
    return add({.ticks = ns, .value = id, .kind = record_kind::range_end});
}
thread_script& thread_script::mark(std::uint64_t ns, const std::string& name) {
    return add({.ticks = ns, .name = capture_->name(name), .kind = record_kind::mark});
}

thread_script& thread_script::step(std::uint64_t ns, std::uint64_t number, std::uint16_t domain) {
    return add({.ticks = ns,
                .value = number,
                .name = capture_->name("step"),
                .domain = domain,
                .kind = record_kind::mark,
                .flags = static_cast<std::uint8_t>(payload_type::u64)});
}

thread_script& thread_script::counter(std::uint64_t ns, const std::string& name, double value) {
    return add({.ticks = ns,
                .value = std::bit_cast<std::uint64_t>(value),
                .name = capture_->name(name),
                .domain = capture_->domain(std::string(counter_domain)),
                .kind = record_kind::mark,
                .flags = static_cast<std::uint8_t>(payload_type::f64)});
}

thread_script& thread_script::launch(std::uint64_t ns, std::uint64_t correlation, const std::string& kernel) {
    return call(ns, ns + 1, correlation, {}, kernel);
}
thread_script& thread_script::enter(std::uint64_t ns, std::uint64_t correlation, const std::string& kernel) {
    return add(enter_record(ns, correlation, {}, capture_->name(kernel)));
}
thread_script& thread_script::exit(std::uint64_t ns, std::uint64_t correlation) {
    return add(exit_record(ns, correlation));
}
thread_script& thread_script::call(std::uint64_t ns, std::uint64_t until_ns, std::uint64_t correlation,
                                   const cuda_function& called, const std::string& kernel) {
    return add(enter_record(ns, correlation, called, capture_->name(kernel))).exit(until_ns, correlation);
}
thread_script& thread_script::wait(std::uint64_t ns, std::uint64_t until_ns, std::uint64_t correlation,
                                   api_class kind) {
    return call(ns, until_ns, correlation, {.kind = kind});
}

thread_script& thread_script::sync(std::uint64_t ns, sync_kind kind, std::uint64_t event, const placement& on) {
    const bool has_stream = kind != sync_kind::host_event;
    return add({.ticks = ns,
                .value = event,
                .name = has_stream ? on.stream : 0,
                .color = has_stream ? on.context : 0,
                .kind = record_kind::stream_sync,
                .flags = static_cast<std::uint8_t>(kind)});
}
thread_script& thread_script::wait_for(std::uint64_t ns, std::uint64_t until_ns, std::uint64_t correlation,
                                       const cuda_function& called, sync_kind kind, std::uint64_t event,
                                       const placement& on) {
    return add(enter_record(ns, correlation, called, 0)).sync(ns, kind, event, on).exit(until_ns, correlation);
}

thread_script& thread_script::launch_graph(std::uint64_t ns, std::uint64_t correlation, std::uint32_t graph) {
    return add({.ticks = ns, .value = correlation, .color = graph, .kind = record_kind::api_enter})
        .exit(ns + 1, correlation);
}
thread_script& thread_script::begin_capture(std::uint64_t ns, std::uint64_t correlation) {
    return call(ns, ns, correlation, {.kind = api_class::begins_graph_capture});
}
thread_script& thread_script::node(std::uint64_t ns, std::uint64_t id) { return add(node_record(ns, id)); }
thread_script& thread_script::copy(std::uint64_t ns, std::uint64_t id, std::uint64_t original) {
    return node(ns, id).add(clone_record(ns, id, original));
}
thread_script& thread_script::update(std::uint64_t ns, std::uint64_t id, std::uint64_t by) {
    return add(clone_record(ns, id, by, replaces_what_it_was));
}

thread_script& thread_script::here(std::uint64_t ns, std::uint64_t place) {
    return add({.ticks = ns, .value = place, .kind = record_kind::parent_here});
}
thread_script& thread_script::adopt(std::uint64_t ns, std::uint64_t place) {
    return add({.ticks = ns, .value = place, .kind = record_kind::adopt_push});
}
thread_script& thread_script::leave(std::uint64_t ns) { return add({.ticks = ns, .kind = record_kind::adopt_pop}); }

// --- capture_builder --------------------------------------------------------------------------------------------

capture_builder::capture_builder() {
    contents_.ticks = tick_source::monotonic_ns;
    contents_.ended = true;
    contents_.clocks.push_back({});
}

thread_script& capture_builder::thread(const std::string& system_name) {
    const std::uint64_t uid = threads_.size() + 1;
    contents_.threads.push_back(thread_entry_of(uid, static_cast<std::uint32_t>(1000 + uid), system_name));
    return threads_.emplace_back(*this, uid);
}

capture_builder& capture_builder::kernel(std::uint64_t correlation, std::uint64_t start_ns, std::uint64_t end_ns,
                                         const placement& on, const std::string& symbol) {
    contents_.kernels.push_back(kernel_between(start_ns, end_ns, correlation, name(symbol), on));
    return *this;
}
capture_builder& capture_builder::graph(std::uint64_t correlation, std::uint64_t start_ns, std::uint64_t end_ns,
                                        std::uint32_t id, const placement& on) {
    contents_.graphs.push_back({start_ns, end_ns, correlation, id, on.device, on.context, on.stream});
    return *this;
}
capture_builder& capture_builder::transfer(const transfer_record& t) {
    contents_.transfers.push_back(t);
    return *this;
}
capture_builder& capture_builder::h200() {
    device_record device = h200_properties();
    device.name = name("NVIDIA H200");
    contents_.devices.push_back(device);
    return *this;
}

std::uint32_t capture_builder::name(const std::string& text) {
    if (text.empty()) return 0;
    const auto id = static_cast<std::uint32_t>(ids_.size() + 1);
    const auto [found, added] = ids_.emplace(text, id);
    if (added) contents_.names.emplace(id, text);
    return found->second;
}
std::uint16_t capture_builder::domain(const std::string& text) {
    contents_.labels.push_back({label_kind::domain, name(text), ++domains_});
    return domains_;
}

capture_contents capture_builder::contents(std::size_t run_records) const {
    capture_contents all = contents_;
    for (const thread_script& thread : threads_) {
        const std::vector<record>& records = thread.records();
        for (std::size_t first = 0; first < records.size();) {
            const std::size_t count = std::min(run_records, records.size() - first);
            const auto begin = records.begin() + static_cast<std::ptrdiff_t>(first);
            all.runs.push_back({thread.uid(), first, {begin, begin + static_cast<std::ptrdiff_t>(count)}});
            first += count;
        }
    }
    return all;
}

}  // namespace prof
