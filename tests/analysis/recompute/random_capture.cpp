// SPDX-License-Identifier: Apache-2.0
#include "analysis/recompute/random_capture.hpp"

#include <iterator>
#include <utility>

namespace prof::test {
namespace {

using nlohmann::json;

const int window_counts[] = {2, 3, 3, 4, 5, 7};

}  // namespace

std::string bytes_text(const std::string& bytes) {
    std::string text;
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x80) {
            text += c;
        } else {
            text += static_cast<char>(0xC0 | byte >> 6);
            text += static_cast<char>(0x80 | (byte & 0x3F));
        }
    }
    return text;
}

random_capture::random_capture(std::uint32_t seed) : random_(seed) {
    emitted_ = {{"seed", seed},
                {"threads", json::array()},
                {"events", json::array()},
                {"ops", json::array()},
                {"windows", json::array()}};
    draw_traits();
    // Nearly all captures count from 1970; some begin with the clock.
    now_ = one_in(4) ? 100 : 1'764'000'000'000'000'000;
    emitted_["begin"] = now_;
    make_domains();
    make_threads();
    run();
}

void random_capture::draw_traits() {
    has_.adopts = below(2) != 0;
    has_.autograd = below(3) != 0;
    has_.graphs = below(2) != 0;
    has_.operators = one_in(4);
    has_.steps = below(3) != 0;
    has_.runtime_calls = one_in(3);
    has_.many_idle = one_in(12);
    has_.dies = one_in(4);
    has_.windows = one_in(2) ? 1 : any_of(window_counts);
    auto& properties = capture_.parts().properties;
    properties["pid"] = one_in(4) ? "1" : "4711";
    if (has_.operators) properties["pytorch"] = "ops";
    if (has_.runtime_calls) properties["api_calls"] = "runtime";
    emitted_["pid"] = std::stoi(properties["pid"]);
    emitted_["operators"] = has_.operators;
}

void random_capture::make_domains() {
    for (const char* name : {"prof", "NCCL", "cu,x", "caf\xC3\xA9/\\"}) {
        capture_.domain(name);
        domains_.emplace_back(name);
    }
    emitted_["domains"] = json::array();
    for (const std::string& name : domains_) emitted_["domains"].push_back(bytes_text(name));
}

void random_capture::make_threads() {
    const auto add = [&](const std::string& name) {
        threads_.push_back(&capture_.thread(name));
        emitted_["threads"].push_back({{"tid", 1000 + threads_.size()}, {"name", name}});
        window_of_.push_back(1);
        is_in_call_.push_back(false);
    };
    add("python");
    for (std::uint32_t i = below(3); i > 0; --i) add("trainer " + std::to_string(i));
    if (has_.autograd) {
        for (std::uint32_t i = 1 + below(2); i > 0; --i) add("pt_autograd_" + std::to_string(i));
    }
    if (has_.adopts) {
        for (std::uint32_t i = 1 + below(2); i > 0; --i) add("pool " + std::to_string(i));
    }
}

void random_capture::run() {
    for (int window = 1; window <= has_.windows; ++window) {
        begin_window(static_cast<std::uint32_t>(window));
        const std::uint32_t events = 20 + below(260 / static_cast<std::uint32_t>(has_.windows));
        const std::uint32_t every = 8 + below(20);
        for (std::uint32_t i = 0; i < events; ++i) {
            if (has_.steps && i % every == every - 1) step_mark();
            happen();
        }
        end_window();
        step_ += below(10);
    }
    emitted_["last"] = now_;
    // Work whose launch was not recorded.
    for (std::uint32_t i = below(4); i > 0; --i) {
        add_kernel(SIZE_MAX, correlation_key(epoch_, 1'000'000 + i), some_stream(), any_of(kernel_symbols));
    }
    if (one_in(3)) {
        kernel_record r;
        r.correlation = correlation_key(epoch_, 999'999);
        r.name = capture_.name("kernel");
        capture_.parts().kernels.push_back(r);
        emitted_["untimed"] = 1;
    }
    if (has_.steps && !one_in(4)) {
        capture_.parts().properties["steps"] = std::to_string(step_ + 1);
        emitted_["steps"] = step_ + 1;
    }
}

void random_capture::begin_window(std::uint32_t number) {
    epoch_ = number;
    calls_in_epoch_.push_back(0);
    window_ = {};
    window_.epoch = epoch_;
    window_.begin_ticks = now_;
    window_.first_step = step_;
    if (has_.steps && below(4) != 0) {
        window_.drawn_among = 20 + below(40);
        window_.drawn_first = step_ > 5 ? step_ - below(5) : step_;
    }
    pass_time();
}

void random_capture::end_window() {
    pass_time();
    const bool is_last = static_cast<int>(epoch_) == has_.windows;
    const bool is_cut = is_last && has_.dies;
    window_.end_ticks = is_cut ? 0 : now_;
    // The last step may have begun without being recorded.
    if (has_.steps && one_in(5)) ++step_;
    window_.last_step = step_;
    window_.ends_with_step = has_.steps && !is_cut && !one_in(3) ? 1 : 0;
    capture_.parts().windows[epoch_] = window_;
    emitted_["windows"].push_back({{"begin", window_.begin_ticks},
                                   {"end", window_.end_ticks},
                                   {"first_step", window_.first_step},
                                   {"last_step", window_.last_step},
                                   {"drawn_first", window_.drawn_first},
                                   {"drawn_among", window_.drawn_among},
                                   {"ends_with_step", window_.ends_with_step != 0}});
    now_ += 500 + below(1000);
    if (!is_last) return;
    emitted_["ending"] = !has_.dies ? "exited" : one_in(2) ? "died" : "none";
}

void random_capture::step_mark() {
    pass_time();
    // Now and then one is missing: what is between the two is no step.
    step_ += one_in(12) ? 2 : 1;
    record r{.ticks = now_, .value = step_, .domain = 1, .kind = record_kind::mark};
    r.flags = flags_of(payload_type::u64);
    json& event = add_event(0, "mark");
    event["domain"] = 1;
    event["payload"] = {"u64", step_};
    r.name = capture_.name("step");
    event["name"] = "step";
    put(0, r);
}

json& random_capture::add_event(std::uint32_t thread, const char* what) {
    return emitted_["events"].emplace_back(json{{"t", now_}, {"thread", thread}, {"do", what}});
}

void random_capture::put(std::uint32_t thread, const record& r) {
    if (window_of_[thread] != epoch_) {
        threads_[thread]->add({.ticks = r.ticks, .value = epoch_, .kind = record_kind::window});
        window_of_[thread] = epoch_;
        is_in_call_[thread] = false;
    }
    threads_[thread]->add(r);
}

void random_capture::happen() {
    const auto thread = below(static_cast<std::uint32_t>(threads_.size()));
    const std::uint32_t kind = below(40);
    // A call may begin in the nanosecond in which a range of the process begins or ends.
    const bool is_call = (kind > 18 && kind < 25) || kind > 32;
    const bool is_at_once = is_call && after_start_or_end_ && one_in(2);
    after_start_or_end_ = kind > 13 && kind < 18;
    if (!is_at_once) pass_time();
    if (kind < 8) return has_.operators && one_in(2) ? push_operator(thread) : push(thread);
    if (kind < 14) return pop(thread);
    if (kind < 16) return start(thread);
    if (kind < 18) return end(thread);
    if (kind == 18) return mark(thread);
    if (kind < 21) return wait(thread);
    if (kind < 24) return launch_copy(thread);
    if (kind == 24) return launch_graph(thread);
    if (kind < 28 && has_.adopts) return kind == 25 ? here(thread) : kind == 26 ? adopt(thread) : leave(thread);
    if (kind < 32 && has_.graphs) {
        if (nodes_.empty() || kind == 28) return begin_graph_capture(thread);
        if (kind == 29) return one_in(5) ? update_node(thread) : capture_node(thread);
        return launch_nodes(thread);
    }
    if (kind == 32 && has_.many_idle && one_in(3)) return idle_ranges(thread);
    launch(thread);
}

}  // namespace prof::test
