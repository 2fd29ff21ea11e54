// SPDX-License-Identifier: Apache-2.0
#include "timeline/warmup.hpp"

#include <algorithm>
#include <unordered_set>
#include <vector>

namespace prof {
namespace {

// Ids ascend and wrap after 2^32. 0 is the id of work in a graph's body that has no launch in the capture.
bool is_no_later(std::uint64_t key, std::uint32_t than) {
    return static_cast<std::uint32_t>(key) == 0 ||
           static_cast<std::int32_t>(static_cast<std::uint32_t>(key) - than) <= 0;
}

bool is_of_warmup(const capture_contents& contents, std::uint64_t key) {
    const auto window = contents.windows.find(static_cast<std::uint32_t>(key >> 32));
    if (window == contents.windows.end()) return !contents.windows.empty();
    return window->second.warmup_calls != 0 && is_no_later(key, window->second.warmup_calls);
}

// Whether any operation may be of a warm-up.
bool has_warmup(capture_contents& contents) {
    bool any = std::any_of(contents.windows.begin(), contents.windows.end(),
                           [](const auto& window) { return window.second.warmup_calls != 0; });
    std::uint64_t known_epoch = 0;  // of the operation before
    contents.work.for_each([&](auto& work) {
        for (const gpu_op& op : work.ops) {
            if (any || op.correlation >> 32 == known_epoch) continue;
            known_epoch = op.correlation >> 32;
            any = !contents.windows.empty() && !contents.windows.contains(static_cast<std::uint32_t>(known_epoch));
        }
    });
    return any;
}

bool is_of_trimmed_part(const capture_contents& contents, std::uint64_t key) {
    if (!contents.begins || contents.begins->latest_call == 0) return false;
    const std::uint64_t epoch = contents.begins->latest_call >> 32;
    return key >> 32 != epoch ? key >> 32 < epoch
                              : is_no_later(key, static_cast<std::uint32_t>(contents.begins->latest_call));
}

}  // namespace

std::uint64_t leave_out_launched_before(capture_contents& contents, const timeline& data) {
    const bool any = contents.begins || has_warmup(contents);
    if (!any) return 0;
    const auto is_before = [&](std::uint64_t key) {
        return is_of_trimmed_part(contents, key) || is_of_warmup(contents, key);
    };
    // Recording does not begin on all threads at once, so a launch this early may be recorded on one of them.
    std::unordered_set<std::uint64_t> recorded;
    for (const timeline_api_call& call : data.api_calls) {
        if (is_before(call.correlation)) recorded.insert(call.correlation);
    }
    std::uint64_t trim = 0;
    contents.work.for_each([&](auto& work) {
        std::erase_if(work.ops, [&](const gpu_op& op) {
            if (!is_before(op.correlation) || recorded.contains(op.correlation)) return false;
            trim += is_of_trimmed_part(contents, op.correlation) ? 1 : 0;
            return true;
        });
    });
    return trim;
}

}  // namespace prof
