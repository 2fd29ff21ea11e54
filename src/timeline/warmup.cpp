#include "timeline/warmup.hpp"

#include <algorithm>
#include <unordered_set>
#include <vector>

namespace prof {
namespace {

// Ids are given in turn and wrap after 2^32.
bool is_of_warmup(const capture_contents& contents, std::uint64_t key) {
    const auto window = contents.windows.find(static_cast<std::uint32_t>(key >> 32));
    if (window == contents.windows.end() || window->second.warmup_calls == 0) return false;
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(key) - window->second.warmup_calls) <= 0;
}

}  // namespace

void leave_out_warmup(capture_contents& contents, const timeline& data) {
    const bool any = std::any_of(contents.windows.begin(), contents.windows.end(),
                                 [](const auto& window) { return window.second.warmup_calls != 0; });
    if (!any) return;
    // Of two threads one may have been recorded already when the other was not.
    std::unordered_set<std::uint64_t> recorded;
    for (const timeline_api_call& call : data.api_calls) {
        if (is_of_warmup(contents, call.correlation)) recorded.insert(call.correlation);
    }
    const auto leave_out = [&](auto& records) {
        std::erase_if(records, [&](const auto& r) {
            return is_of_warmup(contents, r.correlation) && !recorded.contains(r.correlation);
        });
    };
    leave_out(contents.kernels);
    leave_out(contents.transfers);
    leave_out(contents.graphs);
}

}  // namespace prof
