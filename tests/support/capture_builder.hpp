// SPDX-License-Identifier: Apache-2.0
// The one way in which tests put captures together: what threads did and what the GPU did, at times in nanoseconds.
//
//     capture_builder capture;
//     thread_script& main = capture.thread("python");
//     main.push(0, "forward").launch(1, /*correlation=*/1).pop(5);
//     capture.kernel(/*correlation=*/1, 10, 20);
//     const timeline data = capture.build();
//
// Ticks are nanoseconds, and so are GPU times: the timeline shows the values that were given. write_contents() makes a
// file of a capture. A test that writes records one by one, because it needs every byte or more records than fit into
// memory, uses the functions that make single records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "capture/writer.hpp"
#include "timeline/build.hpp"
#include "timeline/contents.hpp"

namespace prof {

// --- single records ---------------------------------------------------------------------------------------------

// A function of CUDA's, by CUPTI's callback id, and how the host sees a call of it.
struct cuda_function {
    api_domain domain = api_domain::none;
    std::uint32_t cbid = 0;
    api_class kind = api_class::launch;
};

// `symbol`: the kernel's name, as an id of the name table.
record enter_record(std::uint64_t ns, std::uint64_t correlation, const cuda_function& called, std::uint32_t symbol = 0);
record exit_record(std::uint64_t ns, std::uint64_t correlation);
record node_record(std::uint64_t ns, std::uint64_t node);
// A copy of `original`. With `flags` of replaces_what_it_was: a node that existed before and now stands for `original`.
record clone_record(std::uint64_t ns, std::uint64_t node, std::uint64_t original, std::uint8_t flags = 0);

// A name that is too long for an entry is cut.
format::thread_entry thread_entry_of(std::uint64_t uid, std::uint32_t tid, std::string_view name);

// Where a GPU operation ran.
struct placement {
    std::uint32_t stream = 7;
    std::uint32_t device = 0;
    std::uint32_t context = 1;
    std::uint64_t graph_node = 0;
    std::uint32_t graph = 0;
};

kernel_record kernel_between(std::uint64_t start_ns, std::uint64_t end_ns, std::uint64_t correlation,
                             std::uint32_t symbol, const placement& on);
transfer_record transfer_between(transfer_kind kind, std::uint64_t start_ns, std::uint64_t end_ns,
                                 std::uint64_t correlation, std::uint64_t bytes, const placement& on);

// --- whole captures ---------------------------------------------------------------------------------------------

class capture_builder;

// What one thread did, in the order of the calls.
class thread_script {
public:
    thread_script(capture_builder& capture, std::uint64_t uid) : capture_(&capture), uid_(uid) {}

    thread_script& push(std::uint64_t ns, const std::string& name, std::uint16_t domain = 0);
    thread_script& pop(std::uint64_t ns, std::uint16_t domain = 0);
    thread_script& start(std::uint64_t ns, const std::string& name, std::uint64_t id, std::uint16_t domain = 0);
    thread_script& end(std::uint64_t ns, std::uint64_t id);
    thread_script& mark(std::uint64_t ns, const std::string& name);
    // The mark of a step that begins, as prof_step makes it. `domain`: the one of the name "prof".
    thread_script& step(std::uint64_t ns, std::uint64_t number, std::uint16_t domain);
    thread_script& counter(std::uint64_t ns, const std::string& name, double value);

    // A kernel launch that returns after one nanosecond.
    thread_script& launch(std::uint64_t ns, std::uint64_t correlation, const std::string& kernel = "kernel");
    thread_script& enter(std::uint64_t ns, std::uint64_t correlation, const std::string& kernel = {});
    thread_script& exit(std::uint64_t ns, std::uint64_t correlation);
    // A call of `called` from `ns` to `until_ns`.
    thread_script& call(std::uint64_t ns, std::uint64_t until_ns, std::uint64_t correlation,
                        const cuda_function& called, const std::string& kernel = {});
    // A call that waits, from `ns` to `until_ns`.
    thread_script& wait(std::uint64_t ns, std::uint64_t until_ns, std::uint64_t correlation,
                        api_class kind = api_class::wait);

    // An event, or a wait for one. Of the host's waits: right after the enter record of the call.
    thread_script& sync(std::uint64_t ns, sync_kind kind, std::uint64_t event, const placement& on = {});
    // A call that waits, with the record of what it waits for.
    thread_script& wait_for(std::uint64_t ns, std::uint64_t until_ns, std::uint64_t correlation,
                            const cuda_function& called, sync_kind kind, std::uint64_t event, const placement& on = {});

    // The launch of a graph whose instantiated graph has this id.
    thread_script& launch_graph(std::uint64_t ns, std::uint64_t correlation, std::uint32_t graph);
    // The call that begins a graph capture, and the nodes that CUPTI reports during it.
    thread_script& begin_capture(std::uint64_t ns, std::uint64_t correlation);
    thread_script& node(std::uint64_t ns, std::uint64_t id);
    thread_script& copy(std::uint64_t ns, std::uint64_t id, std::uint64_t original);
    // An existing node stands for `by` from now on.
    thread_script& update(std::uint64_t ns, std::uint64_t id, std::uint64_t by);

    // Explicit parents: a place under which other threads work, and work for such a place.
    thread_script& here(std::uint64_t ns, std::uint64_t place);
    thread_script& adopt(std::uint64_t ns, std::uint64_t place);
    thread_script& leave(std::uint64_t ns);

    thread_script& add(const record& r) {
        records_.push_back(r);
        return *this;
    }

    std::uint64_t uid() const { return uid_; }
    const std::vector<record>& records() const { return records_; }

private:
    capture_builder* capture_;
    std::uint64_t uid_;
    std::vector<record> records_;
};

class capture_builder {
public:
    capture_builder();

    // The reference is valid as long as the builder.
    thread_script& thread(const std::string& system_name);
    thread_script& thread_at(std::size_t index) { return threads_.at(index); }

    capture_builder& kernel(std::uint64_t correlation, std::uint64_t start_ns, std::uint64_t end_ns,
                            const placement& on = {}, const std::string& symbol = "kernel");
    capture_builder& graph(std::uint64_t correlation, std::uint64_t start_ns, std::uint64_t end_ns, std::uint32_t id,
                           const placement& on = {});
    capture_builder& transfer(const transfer_record& t);
    // A GPU with the properties of an H200.
    capture_builder& h200();

    // The id of a name or of a domain; a domain is a new one at each call.
    std::uint32_t name(const std::string& text);
    std::uint16_t domain(const std::string& text);

    // May be changed freely before contents() is called, which adds the threads' records.
    capture_contents& parts() { return contents_; }

    // Each thread's records are in runs of at most `run_records`.
    capture_contents contents(std::size_t run_records = SIZE_MAX) const;
    timeline build() const { return build_timeline(contents()); }

private:
    capture_contents contents_;
    std::deque<thread_script> threads_;
    std::map<std::string, std::uint32_t> ids_;
    std::uint16_t domains_ = 0;
};

// A device's properties, which do not include its name.
device_record h200_properties();

// Everything except the end chunk.
void write_contents(capture_writer& out, const capture_contents& contents);

}  // namespace prof
