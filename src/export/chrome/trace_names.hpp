// Names as JSON strings, made once for each name id however many events carry it. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "timeline/timeline.hpp"

namespace prof {

// api_name(), or "driver call N", "runtime call N" for an unknown one.
std::string api_call_name(api_domain domain, std::uint32_t callback_id);

class trace_names {
public:
    explicit trace_names(const timeline& data)
        : data_(data), has_driver_calls_only_(data.property("api_calls") == "driver") {}

    // Valid until the trace_names ends.
    std::string_view name(std::uint32_t id);
    std::string_view kernel(std::uint32_t id);  // demangled
    std::string_view api_call(api_domain domain, std::uint32_t callback_id);
    // By which tools know it: where only the driver's calls were observed, the runtime's function that it stands for.
    std::string_view shown_call(api_domain domain, std::uint32_t callback_id);
    std::string_view category(std::uint16_t domain, std::uint32_t category);
    std::string_view domain(std::uint16_t domain);

private:
    class cache {
    public:
        template <typename TMake>
        std::string_view get(std::uint64_t key, TMake&& make);

    private:
        std::deque<std::string> direct_;  // by key, the small ones; what is in it stays where it is
        std::unordered_map<std::uint64_t, std::string> others_;
    };

    const timeline& data_;
    // Where the runtime's calls were observed, too, a driver's call that is seen was made by no function of the
    // runtime.
    bool has_driver_calls_only_;
    cache names_;
    cache kernels_;
    cache api_calls_;
    cache shown_calls_;
    cache categories_;
    cache domains_;
};

}  // namespace prof
