// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "analysis/projection/segment.hpp"
#include "analysis/quality/ending.hpp"
#include "report/makers.hpp"
#include "report/tables/nsight_columns.hpp"

namespace prof {
namespace {

// Open until the capture's last moment: not one that a window, or a gap in the records, cut.
bool is_open_at_the_end(const timeline& data, const timeline_range& range) noexcept {
    return range.open_at_end && range.takes_part() && range.end_ns >= data.windows.back().end_ns;
}

// Something that had not ended.
struct unfinished {
    const char* what;
    std::optional<std::uint32_t> tid;  // none: not known
    std::string thread, path, kernel;
    std::uint64_t count;
    std::int64_t before_end_ns;
};

class unfinished_things {
public:
    explicit unfinished_things(const report_input& input)
        : input_(input),
          data_(input.data),
          made_(input.att == nullptr ? std::optional(attribute(input.data, input.projected.attribution))
                                     : std::nullopt),
          att_(made_ ? *made_ : *input.att),
          segment_of_(input.data) {}

    std::vector<unfinished> take() {
        add_open_ranges();
        add_unfinished_launches();
        return std::move(out_);
    }

private:
    void add_open_ranges() {
        for (const range_id i : data_.ranges.ids()) {
            const timeline_range& range = data_.ranges[i];
            if (!is_open_at_the_end(data_, range) || att_.hidden.contains(range)) continue;
            add("open range", range.thread, path_of(i), {}, 1, range.start_ns);
        }
    }

    void add_unfinished_launches() {
        struct group {
            std::uint64_t count = 0;
            std::int64_t first_ns = 0;
        };
        text_ids kernels;  // several symbols may have one name
        std::map<std::tuple<std::uint32_t, std::string, std::uint32_t>, group> groups;
        for (const timeline_api_call& call : data_.api_calls) {  // by start_ns
            if (!call.is_unfinished) continue;
            const std::uint32_t kernel =
                kernels.of(call.kernel_name, [&] { return kernel_name(data_.name(call.kernel_name), input_.names); });
            group& of = groups[{call.thread, path_of(att_.hidden.innermost_kept(data_, call.open)), kernel}];
            if (of.count++ == 0) of.first_ns = call.start_ns;
        }
        for (const auto& [key, of] : groups) {
            const auto& [thread, path, kernel] = key;
            add("unfinished launch", thread, path, kernels.text(kernel), of.count, of.first_ns);
        }
    }

    // As gpu-projection has it, but that digits are not folded.
    std::string path_of(range_id range) {
        std::vector<range_id> unknown;
        range_id above = range;
        for (; is_range(above) && !paths_.contains(above); above = att_.parent[above]) unknown.push_back(above);
        std::string path = is_range(above)            ? paths_.at(above)
                           : above == owner_ambiguous ? std::string{ambiguous_text}
                                                      : std::string();
        for (auto next = unknown.rbegin(); next != unknown.rend(); ++next) {
            path = texts_.of(path_below(path, segment_of_(data_.ranges[*next], false)));
            paths_.emplace(*next, path);
        }
        return path;
    }

    void add(const char* what, std::uint32_t index, const std::string& path, const std::string& kernel,
             std::uint64_t count, std::int64_t since_ns) {
        const timeline_thread* const thread = index < data_.threads.size() ? &data_.threads[index] : nullptr;
        out_.push_back({what, thread == nullptr ? std::nullopt : std::optional(thread->tid),
                        thread == nullptr ? std::string() : thread->name, path, kernel, count,
                        data_.end_ns - since_ns});
    }

    const report_input& input_;
    const timeline& data_;
    std::optional<attribution> made_;
    const attribution& att_;
    path_segments segment_of_;
    text_budget texts_;
    std::unordered_map<range_id, std::string> paths_;  // by range
    std::vector<unfinished> out_;
};

}  // namespace

table death_report(const report_input& input) {
    const report_columns<unfinished> columns = {
        {{"what", "What"}, &unfinished::what},
        {{"tid", "TID", quantity::identity, 2}, &unfinished::tid},
        {{"thread", "Thread", quantity::text, 1}, &unfinished::thread},
        {{"range", "Range"}, &unfinished::path},
        {{"kernel", "Kernel"}, &unfinished::kernel},
        {{"count", "Count", quantity::count}, &unfinished::count},
        {{"before_end_ns", "Before end", quantity::time_ns}, &unfinished::before_end_ns}};
    table out =
        make_table("death", "How it ended: " + how_it_ended(input.data), columns, unfinished_things(input).take());
    out.totals = {{"ended", how_it_ended(input.data)},
                  {"launches_without_completion", input.data.quality.launches_without_completion}};
    return out;
}

}  // namespace prof
