// SPDX-License-Identifier: Apache-2.0
// Names as JSON strings, made once for each name id, however many events use it. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "timeline/timeline.hpp"

namespace prof {

// The api_name(), or "driver call N" or "runtime call N" for an unknown id.
std::string api_call_name(api_domain domain, std::uint32_t callback_id);

// The name by which tools recognise a call in this capture's trace: if only driver calls were observed, the runtime
// function that made it; else its api_call_name().
std::function<std::string(api_domain, std::uint32_t)> traced_call_namer(const timeline& data);

class trace_names {
public:
    explicit trace_names(const timeline& data)
        : data_(data),
          has_driver_calls_only_(data.property("api_calls") == "driver"),
          shown_name_(traced_call_namer(data)) {}

    // Results are valid as long as the trace_names exists.
    std::string_view name(std::uint32_t id);
    std::string_view kernel(std::uint32_t id);  // demangled
    std::string_view api_call(api_domain domain, std::uint32_t callback_id);
    // The name from traced_call_namer().
    std::string_view shown_call(api_domain domain, std::uint32_t callback_id);
    std::string_view category(std::uint16_t domain, std::uint32_t category);
    std::string_view domain(std::uint16_t domain);

private:
    class cache {
    public:
        template <typename TMake>
        std::string_view get(std::uint64_t key, TMake&& make);

    private:
        std::deque<std::string> direct_;  // by key, for small keys; elements keep their addresses
        std::unordered_map<std::uint64_t, std::string> others_;
    };

    const timeline& data_;
    // If runtime calls were observed too, a driver call in the trace was not made by a runtime function.
    bool has_driver_calls_only_;
    std::function<std::string(api_domain, std::uint32_t)> shown_name_;
    cache names_;
    cache kernels_;
    cache api_calls_;
    cache shown_calls_;
    cache categories_;
    cache domains_;
};

}  // namespace prof
