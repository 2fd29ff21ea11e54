// SPDX-License-Identifier: Apache-2.0
// Any bytes as a trace of torch.profiler: refused in a line, or a timeline that is whole, with self times that add up.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "analysis/attribution/attribution.hpp"
#include "analysis/projection/projection.hpp"
#include "base/error.hpp"
#include "capture/capture_files.hpp"
#include "timeline/build.hpp"
#include "timeline/kineto/read_trace.hpp"
#include "timeline/timeline.hpp"

namespace {

void check(bool holds) {
    if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    using namespace prof;
    static const test::memory_file file;
    file.hold(test::byte_string(bytes, bytes + size));
    try {
        const timeline data = build_timeline(read_trace(file.path()));
        std::uint64_t total = 0;
        for (const gpu_op& op : data.ops) {
            check(op.end_ns >= op.start_ns);
            total += static_cast<std::uint64_t>(op.end_ns - op.start_ns);
        }
        for (const timeline_range& range : data.ranges) {
            check(range.parent == npos ||
                  (range.parent < data.ranges.size() && data.ranges[range.parent].start_ns <= range.start_ns));
        }
        std::uint64_t self = 0;
        for (const projection_row& row : project(data, attribute(data, {}), {}).rows) {
            self += static_cast<std::uint64_t>(row.gpu_self_ns);
        }
        check(self == total);
    } catch (const error& refusal) {
        check(std::string_view(refusal.what()).find('\n') == std::string_view::npos);
    }
    return 0;
}
