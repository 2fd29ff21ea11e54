// The API calls that put work on a GPU, and those that begin the capture of a graph: those that CUPTI is asked to call
// us back for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "record/record.hpp"

namespace prof {

enum class launch_kind : std::uint8_t { kernel, transfer, graph, capture };

struct launch_call {
    api_domain domain;
    std::uint32_t cbid;
    launch_kind kind;
};

inline constexpr launch_call launch_calls[] = {
#include "hooks/cupti/launch_calls.inc"
};

template <launch_kind wanted>
bool is_call_of(api_domain domain, std::uint32_t cbid) noexcept {
    constexpr std::size_t limit = 1024;
    static constexpr auto table = [] {
        std::array<std::array<bool, limit>, 3> is_wanted{};
        for (const launch_call& call : launch_calls) {
            is_wanted[static_cast<std::size_t>(call.domain)][call.cbid] = call.kind == wanted;
        }
        return is_wanted;
    }();
    return cbid < limit && table[static_cast<std::size_t>(domain)][cbid];
}

// Only for these does CUPTI's callback data hold a symbol name.
inline bool is_kernel_launch(api_domain domain, std::uint32_t cbid) noexcept {
    return is_call_of<launch_kind::kernel>(domain, cbid);
}
inline bool begins_capture(api_domain domain, std::uint32_t cbid) noexcept {
    return is_call_of<launch_kind::capture>(domain, cbid);
}

}  // namespace prof
