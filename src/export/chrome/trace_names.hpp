// SPDX-License-Identifier: Apache-2.0
// Names as JSON strings, made once for each name id, however many events use it. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "analysis/projection/call_names.hpp"
#include "timeline/timeline.hpp"

namespace prof {

class trace_names {
public:
    explicit trace_names(const timeline& data) : data_(data), call_names_(data) {}

    // Results are valid as long as the trace_names exists.
    std::string_view name(std::uint32_t id);
    std::string_view kernel(std::uint32_t id);  // demangled
    std::string_view api_call(api_domain domain, std::uint32_t callback_id);
    // By call_names.
    std::string_view shown_call(const timeline_api_call& call);
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
    call_names call_names_;
    cache names_;
    cache kernels_;
    cache api_calls_;
    cache shown_calls_;
    cache categories_;
    cache domains_;
};

}  // namespace prof
