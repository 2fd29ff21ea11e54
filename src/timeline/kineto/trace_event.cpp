// SPDX-License-Identifier: Apache-2.0
#include "timeline/kineto/trace_event.hpp"

#include <charconv>
#include <cmath>
#include <system_error>
#include <unordered_map>

#include "base/number.hpp"

namespace prof {
namespace {

constexpr std::int64_t time_limit_ns = 2'000'000'000'000'000'000;

// The names that PyTorch's profilers have used since 1.8.
trace_category category_of(std::string_view name) {
    using enum trace_category;
    // Never destroyed: a thread may still use it while the process ends.
    static const auto& known = *new const std::unordered_map<std::string_view, trace_category>{
        {"", none},
        {"kernel", kernel},
        {"Kernel", kernel},
        {"gpu_memcpy", gpu_memcpy},
        {"Memcpy", gpu_memcpy},
        {"gpu_memset", gpu_memset},
        {"Memset", gpu_memset},
        {"cuda_runtime", runtime_call},
        {"Runtime", runtime_call},
        {"hip_runtime", runtime_call},
        {"xpu_runtime", runtime_call},
        {"cuda_driver", driver_call},
        {"Driver", driver_call},
        {"hip_driver", driver_call},
        {"xpu_driver", driver_call},
        {"cpu_op", cpu_op},
        {"Operator", cpu_op},
        {"user_annotation", user_annotation},
        {"module", trace_category::module},
        {"python_function", python_function},
        {"overhead", overhead},
        {"gpu_user_annotation", derived},
        {"Trace", derived},
        {"ac2g", derived},
        {"async_cpu_to_gpu", derived},
        {"async", derived},
        {"async_gpu", derived},
        {"fwdbwd", derived},
        {"forward_backward", derived},
        {"libprof", derived},
        {"cpu_instant_event", not_used},
        {"cuda_sync", not_used},
    };
    const auto found = known.find(name);
    return found == known.end() ? unknown : found->second;
}

template <typename TNumber>
void take(json_scanner& in, TNumber& out) {
    const char next = in.peek();
    if (next == '{' || next == '[') return in.skip();
    std::string_view text = next == '"' ? in.string() : in.word();
    // Python writes whole numbers of other types with a fraction of zero.
    if (text.ends_with(".0")) text.remove_suffix(2);
    if (const auto number = parse_number<TNumber>(text)) out = *number;
}

void take_text(json_scanner& in, std::string& out) {
    if (in.peek() == '"') {
        out = in.string();
    } else {
        in.skip();
    }
}

void take_scalar(json_scanner& in, std::string& out) {
    const char next = in.peek();
    if (next == '{' || next == '[') return in.skip();
    out = next == '"' ? in.string() : in.word();
}

void take_flag(json_scanner& in, bool& out) {
    const char next = in.peek();
    if (next == '"' || next == '{' || next == '[') return in.skip();
    out = in.word() == "true";
}

void take_triple(json_scanner& in, std::uint32_t (&out)[3]) {
    if (in.peek() != '[') return in.skip();
    in.begin('[');
    for (std::size_t i = 0; in.next_element(); ++i) {
        if (i < 3) {
            take(in, out[i]);
        } else {
            in.skip();
        }
    }
}

void take_time(json_scanner& in, std::optional<std::int64_t>& out) {
    const char next = in.peek();
    if (next == '{' || next == '[') return in.skip();
    out = nanoseconds(next == '"' ? in.string() : in.word());
}

// More arguments or dimensions than operators have, and longer values.
constexpr std::size_t most_inputs = 32;
constexpr std::size_t most_dims = 8;
constexpr std::size_t longest_value = 64;

// Calls `take_one` for each element of a list about the arguments of an operator that multiplies.
template <typename TTake>
void take_inputs(json_scanner& in, trace_args& out, TTake&& take_one) {
    if (!out.multiplies || in.peek() != '[') return in.skip();
    in.begin('[');
    for (std::size_t i = 0; in.next_element(); ++i) {
        if (i >= most_inputs) {
            in.skip();
            continue;
        }
        if (i >= out.inputs.size()) out.inputs.emplace_back();
        take_one(out.inputs[i]);
    }
}

// Of a list of tensors: one dimension of -1, which no tensor has.
void take_dims(json_scanner& in, std::vector<std::int64_t>& out) {
    if (in.peek() != '[') return in.skip();
    in.begin('[');
    bool is_odd = false;
    while (in.next_element()) {
        std::int64_t size = -1;
        take(in, size);
        is_odd = is_odd || size < 0 || out.size() >= most_dims;
        if (!is_odd) out.push_back(size);
    }
    if (is_odd) out.assign(1, -1);
}

void take_value(json_scanner& in, std::string& out) {
    take_scalar(in, out);
    if (out.size() > longest_value) out.clear();
}

// `text`: what stands before the number, if the row has a text.
void take_row(json_scanner& in, std::int64_t& out, std::string* text) {
    if (in.peek() != '"') return take(in, out);
    const std::string_view row = in.string();
    if (const auto number = parse_number<std::int64_t>(row)) {
        out = *number;
        return;
    }
    const std::size_t last = row.find_last_of(' ');
    const auto number =
        last == std::string_view::npos ? std::nullopt : parse_number<std::int64_t>(row.substr(last + 1));
    if (number) out = *number;
    if (text != nullptr) *text = number ? row.substr(0, last) : row;
}

collective_arguments& collective_of(trace_args& args) {
    if (!args.collective) args.collective.emplace();
    return *args.collective;
}

using take_arg = void (*)(json_scanner&, trace_args&);

const std::unordered_map<std::string_view, take_arg>& known_args() {
    // Never destroyed: a thread may still use it while the process ends.
    static const auto& known = *new const std::unordered_map<std::string_view, take_arg>{
        {"correlation", [](json_scanner& in, trace_args& a) { take(in, a.correlation); }},
        {"bytes", [](json_scanner& in, trace_args& a) { take(in, a.bytes); }},
        {"graph id", [](json_scanner& in, trace_args& a) { take(in, a.graph_id); }},
        {"graph node id", [](json_scanner& in, trace_args& a) { take(in, a.graph_node_id); }},
        {"Record function id",
         [](json_scanner& in, trace_args& a) {
             a.has_record_function = true;
             take(in, a.record_function_id);
         }},
        {"queued", [](json_scanner& in, trace_args& a) { take(in, a.queued); }},
        {"registers per thread", [](json_scanner& in, trace_args& a) { take(in, a.registers); }},
        {"shared memory", [](json_scanner& in, trace_args& a) { take(in, a.shared_bytes); }},
        {"cbid", [](json_scanner& in, trace_args& a) { take(in, a.cbid); }},
        {"device", [](json_scanner& in, trace_args& a) { take(in, a.device); }},
        {"stream", [](json_scanner& in, trace_args& a) { take(in, a.stream); }},
        {"context", [](json_scanner& in, trace_args& a) { take(in, a.context); }},
        {"fromDevice", [](json_scanner& in, trace_args& a) { take(in, a.from_device); }},
        {"toDevice", [](json_scanner& in, trace_args& a) { take(in, a.to_device); }},
        {"Sequence number", [](json_scanner& in, trace_args& a) { take(in, a.sequence); }},
        {"next sequence number", [](json_scanner& in, trace_args& a) { take(in, a.next_sequence); }},
        {"Fwd thread id", [](json_scanner& in, trace_args& a) { take(in, a.forward_thread); }},
        {"grid",
         [](json_scanner& in, trace_args& a) {
             a.has_grid = true;
             take_triple(in, a.grid);
         }},
        {"block", [](json_scanner& in, trace_args& a) { take_triple(in, a.block); }},
        {"cluster", [](json_scanner& in, trace_args& a) { take_triple(in, a.cluster); }},
        {"source",
         [](json_scanner& in, trace_args& a) {
             a.has_source = true;
             in.skip();
         }},
        {"returned", [](json_scanner& in, trace_args& a) { take_flag(in, a.has_returned); }},
        {"open at end", [](json_scanner& in, trace_args& a) { take_flag(in, a.is_open_at_end); }},
        {"payload", [](json_scanner& in, trace_args& a) { take_scalar(in, a.payload); }},
        {"value", [](json_scanner& in, trace_args& a) { take_scalar(in, a.payload); }},
        {"name", [](json_scanner& in, trace_args& a) { take_text(in, a.name); }},
        {"domain", [](json_scanner& in, trace_args& a) { take_text(in, a.domain); }},
        {"Collective name", [](json_scanner& in, trace_args& a) { take_text(in, collective_of(a).name); }},
        {"Process Group Name", [](json_scanner& in, trace_args& a) { take_scalar(in, collective_of(a).group); }},
        {"dtype", [](json_scanner& in, trace_args& a) { take_text(in, collective_of(a).type); }},
        {"communicator", [](json_scanner& in, trace_args& a) { take_text(in, collective_of(a).communicator); }},
        {"algorithm", [](json_scanner& in, trace_args& a) { take_text(in, collective_of(a).algorithm); }},
        {"protocol", [](json_scanner& in, trace_args& a) { take_text(in, collective_of(a).protocol); }},
        {"Seq", [](json_scanner& in, trace_args& a) { take(in, collective_of(a).sequence); }},
        {"In msg nelems", [](json_scanner& in, trace_args& a) { take(in, collective_of(a).in_count); }},
        {"Out msg nelems", [](json_scanner& in, trace_args& a) { take(in, collective_of(a).out_count); }},
        {"Group size", [](json_scanner& in, trace_args& a) { take(in, collective_of(a).ranks); }},
        {"Rank", [](json_scanner& in, trace_args& a) { take(in, collective_of(a).rank); }},
        {"Src Rank", [](json_scanner& in, trace_args& a) { take(in, collective_of(a).source); }},
        {"Dst Rank", [](json_scanner& in, trace_args& a) { take(in, collective_of(a).destination); }},
        {"root", [](json_scanner& in, trace_args& a) { take(in, collective_of(a).root); }},
        {"channels", [](json_scanner& in, trace_args& a) { take(in, collective_of(a).channels); }},
        {"Input Dims",
         [](json_scanner& in,
            trace_args& a) { take_inputs(in, a, [&](operator_argument& of) { take_dims(in, of.dims); }); }},
        {"Input type",
         [](json_scanner& in,
            trace_args& a) { take_inputs(in, a, [&](operator_argument& of) { take_value(in, of.type); }); }},
        {"Concrete Inputs",
         [](json_scanner& in,
            trace_args& a) { take_inputs(in, a, [&](operator_argument& of) { take_value(in, of.value); }); }},
        {"call", [](json_scanner& in, trace_args& a) { take_text(in, a.call); }},
        {"kernel", [](json_scanner& in, trace_args& a) { take_text(in, a.kernel); }},
    };
    return known;
}

void read_args(json_scanner& in, trace_args& out) {
    if (in.peek() != '{') return in.skip();
    in.begin('{');
    for (std::string_view key; in.next_member(key);) {
        const auto found = known_args().find(key);
        if (found == known_args().end()) {
            in.skip();
        } else {
            found->second(in, out);
        }
    }
}

void clear(trace_event& event) {
    // The texts keep their memory.
    std::string texts[] = {std::move(event.other_category), std::move(event.name),       std::move(event.process),
                           std::move(event.args.payload),   std::move(event.args.name),  std::move(event.args.domain),
                           std::move(event.args.call),      std::move(event.args.kernel)};
    event = {};
    std::string* const places[] = {&event.other_category, &event.name,        &event.process,   &event.args.payload,
                                   &event.args.name,      &event.args.domain, &event.args.call, &event.args.kernel};
    for (std::size_t i = 0; i < std::size(texts); ++i) {
        texts[i].clear();
        *places[i] = std::move(texts[i]);
    }
}

}  // namespace

std::optional<std::int64_t> nanoseconds(std::string_view microseconds) noexcept {
    std::string_view rest = microseconds;
    const bool is_negative = rest.starts_with('-');
    if (is_negative) rest.remove_prefix(1);
    const auto whole = take_number<std::int64_t>(rest, 0, time_limit_ns / 1000);
    if (!whole) return std::nullopt;
    std::int64_t ns = *whole * 1000;
    if (rest.starts_with('.')) {
        rest.remove_prefix(1);
        for (std::int64_t unit = 100; !rest.empty() && rest.front() >= '0' && rest.front() <= '9'; unit /= 10) {
            if (unit > 0) ns += unit * (rest.front() - '0');
            if (unit == 0) {
                ns += rest.front() >= '5' ? 1 : 0;
                const std::size_t end = rest.find_first_not_of("0123456789");
                rest.remove_prefix(std::min(end, rest.size()));
                break;
            }
            rest.remove_prefix(1);
        }
    }
    if (!rest.empty()) {  // with an exponent
        const auto value = parse_number<double>(microseconds, -static_cast<double>(time_limit_ns) / 1000,
                                                static_cast<double>(time_limit_ns) / 1000);
        if (!value) return std::nullopt;
        return std::llround(*value * 1000);
    }
    return is_negative ? -ns : ns;
}

void read_event(json_scanner& in, trace_event& out) {
    clear(out);
    in.begin('{');
    for (std::string_view key; in.next_member(key);) {
        if (key == "ph") {
            std::string_view phase = in.peek() == '"' ? in.string() : in.word();
            out.phase = phase.size() == 1 ? phase.front() : '\0';
        } else if (key == "cat") {
            take_text(in, out.other_category);
            out.category = category_of(out.other_category);
        } else if (key == "name") {
            take_text(in, out.name);
        } else if (key == "pid") {
            take_row(in, out.at.pid, &out.process);
        } else if (key == "tid") {
            take_row(in, out.at.tid, nullptr);
        } else if (key == "ts") {
            take_time(in, out.time_ns);
        } else if (key == "dur") {
            take_time(in, out.duration_ns);
        } else if (key == "id") {
            take(in, out.id);
        } else if (key == "args") {
            if (out.category == trace_category::cpu_op) out.args.multiplies = matrix_operator_of(out.name);
            read_args(in, out.args);
        } else {
            in.skip();
        }
    }
}

}  // namespace prof
