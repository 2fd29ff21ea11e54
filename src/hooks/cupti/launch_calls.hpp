// The API calls that put work on a GPU: those that CUPTI is asked to call us back for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "record/record.hpp"

namespace prof {

enum class launch_kind : std::uint8_t { kernel, transfer, graph };

struct launch_call {
    api_domain domain;
    std::uint32_t cbid;
    launch_kind kind;
};

inline constexpr launch_call launch_calls[] = {
#include "hooks/cupti/launch_calls.inc"
};

// Only for these does CUPTI's callback data hold a symbol name.
inline bool is_kernel_launch(api_domain domain, std::uint32_t cbid) noexcept {
    constexpr std::size_t limit = 1024;
    static constexpr auto table = [] {
        std::array<std::array<bool, limit>, 3> is_kernel{};
        for (const launch_call& call : launch_calls) {
            is_kernel[static_cast<std::size_t>(call.domain)][call.cbid] = call.kind == launch_kind::kernel;
        }
        return is_kernel;
    }();
    return cbid < limit && table[static_cast<std::size_t>(domain)][cbid];
}

}  // namespace prof
