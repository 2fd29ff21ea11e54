// SPDX-License-Identifier: Apache-2.0
#include "export/layout/gpu_rows.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "export/layout/row_layout.hpp"

namespace prof {
namespace {

// The projected ranges of each stream. A range normally uses few streams. In a damaged capture it may be on any number
// of them; entries beyond the limit are left out.
struct projection_list {
    struct entry {
        projected_range projected;
        std::uint32_t stream = 0;  // index into the streams
    };
    static constexpr std::size_t entries_for_all = 1U << 18;
    static constexpr std::size_t entries_a_record = 16;

    std::vector<entry> entries;
    std::unordered_map<std::uint64_t, std::uint32_t> known;  // (range or replayed range) << 32 | stream → entry
    std::size_t most_entries = 0;

    // Null if the limit is reached. `list`: index of the range; indexes of replayed ranges follow those of ranges.
    projected_range* of(std::size_t list, const projected_range& wanted, std::uint32_t stream) {
        const std::uint64_t key = std::uint64_t{list} << 32 | stream;
        const auto found = known.find(key);
        if (found != known.end()) return &entries[found->second].projected;
        if (entries.size() == most_entries) return nullptr;
        known.emplace(key, static_cast<std::uint32_t>(entries.size()));
        entries.push_back({wanted, stream});
        return &entries.back().projected;
    }
};

void project_op(const timeline& data, const attribution& att, op_id index, std::uint32_t stream,
                projection_list& lists) {
    const gpu_op& op = data.ops[index];
    const auto count_for = [&](projected_range* projected) {
        if (projected == nullptr) return;
        if (projected->ops == 0) projected->start_ns = op.start_ns;  // operations come in order of start
        projected->end_ns = std::max(projected->end_ns, op.end_ns);
        projected->gpu_sum_ns += op.end_ns - op.start_ns;
        ++projected->ops;
    };
    for_each_open_range(data, att, index,
                        [&](range_id range) { count_for(lists.of(range, {.range = range}, stream)); });
    for_each_replayed_range(att, index, [&](replayed_id i) {
        count_for(lists.of(data.ranges.size() + i, {.range = att.replayed[i].range, .replayed = i}, stream));
    });
}

std::uint32_t depth_of(const attribution& att, const projected_range& projected) {
    return projected.replayed == npos ? att.depth[projected.range] : att.replayed[projected.replayed].depth;
}

void lay_out_ops(const timeline& data, gpu_stream_rows& stream) {
    disjoint_rows rows;
    stream.op_row.reserve(stream.ops.size());
    for (const std::uint32_t op : stream.ops) {
        stream.op_row.push_back(rows.place(data.ops[op].start_ns, data.ops[op].end_ns));
    }
    stream.op_row_count = rows.row_count() - 1;
}

// The operations on the stream's own row, which are disjoint and have different starts.
class own_row_ops {
public:
    own_row_ops(const timeline& data, const gpu_stream_rows& stream) {
        for (std::size_t i = 0; i < stream.ops.size(); ++i) {
            if (stream.op_row[i] != 0) continue;
            const gpu_op& op = data.ops[stream.ops[i]];
            spans_.emplace_back(op.start_ns, op.end_ns);
        }
    }

    // Whether each operation is either outside [start, end] or inside it.
    bool leave_room_for(std::int64_t start_ns, std::int64_t end_ns) const {
        return ends_by(start_ns, start_ns, end_ns) && ends_by(end_ns, start_ns, end_ns);
    }

private:
    // Checks the last operation that began at or before `time_ns`.
    bool ends_by(std::int64_t time_ns, std::int64_t start_ns, std::int64_t end_ns) const {
        const auto after = std::upper_bound(spans_.begin(), spans_.end(), std::pair{time_ns, INT64_MAX});
        if (after == spans_.begin()) return true;
        const auto [op_start_ns, op_end_ns] = *std::prev(after);
        const bool is_apart = op_end_ns <= start_ns || op_start_ns >= end_ns;
        const bool is_inside = op_start_ns >= start_ns && op_end_ns <= end_ns;
        return is_inside || (is_apart && op_start_ns != start_ns);
    }

    std::vector<std::pair<std::int64_t, std::int64_t>> spans_;
};

void lay_out_ranges(const timeline& data, const attribution& att, gpu_stream_rows& stream) {
    std::sort(stream.ranges.begin(), stream.ranges.end(), [&](const projected_range& a, const projected_range& b) {
        if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
        if (a.end_ns != b.end_ns) return a.end_ns > b.end_ns;
        return std::tuple{depth_of(att, a), a.range, a.replayed} < std::tuple{depth_of(att, b), b.range, b.replayed};
    });
    const own_row_ops own(data, stream);
    nesting_rows rows;
    for (projected_range& range : stream.ranges) {
        const bool has_room = own.leave_room_for(range.start_ns, range.end_ns);
        range.row = rows.place(range.start_ns, range.end_ns, has_room ? 0 : 1);
    }
    stream.range_row_count = std::max<std::size_t>(rows.row_count(), 1) - 1;
    for (std::size_t& row : stream.op_row) {
        if (row != 0) row += stream.range_row_count;
    }
}

// Contexts use the same stream numbers. Streams of the first context keep their numbers. If a later context's number is
// taken, it gets the next one above all numbers of its GPU. `streams` are sorted by device, context and stream.
void number_streams(std::vector<gpu_stream_rows>& streams) {
    for (auto first = streams.begin(); first != streams.end();) {
        const auto last = std::find_if(first, streams.end(),
                                       [&](const gpu_stream_rows& other) { return other.device != first->device; });
        const auto shares = [&](const gpu_stream_rows& other) { return other.context != first->context; };
        const bool shares_device = std::any_of(first, last, shares);
        std::uint64_t largest = 0;
        for (auto at = first; at != last; ++at) largest = std::max<std::uint64_t>(largest, at->stream);
        std::unordered_set<std::uint64_t> taken;
        for (; first != last; ++first) {
            first->shares_device = shares_device;
            first->number = taken.insert(first->stream).second ? first->stream : ++largest;
        }
    }
}

}  // namespace

std::vector<gpu_stream_rows> lay_out_gpu(const timeline& data, const attribution& att) {
    std::vector<std::uint32_t> stream_of(data.places.size(), npos);
    for (const gpu_op& op : data.ops) stream_of[op.place] = 0;
    std::map<gpu_place, std::uint32_t> used;  // place → its index
    for (std::uint32_t i = 0; i < stream_of.size(); ++i) {
        if (stream_of[i] != npos) used.emplace(data.places[i], i);
    }
    std::vector<gpu_stream_rows> streams;
    for (const auto& [place, index] : used) {
        stream_of[index] = static_cast<std::uint32_t>(streams.size());
        gpu_stream_rows& stream = streams.emplace_back();
        stream.device = place.device;
        stream.context = place.context;
        stream.stream = place.stream;
    }
    number_streams(streams);

    projection_list lists;
    lists.most_entries =
        projection_list::entries_for_all + projection_list::entries_a_record * (data.ops.size() + data.ranges.size());
    for (const op_id i : data.ops.ids()) {
        const std::uint32_t stream = stream_of[data.ops[i].place];
        streams[stream].ops.push_back(i);
        project_op(data, att, i, stream, lists);
    }
    for (const projection_list::entry& entry : lists.entries) streams[entry.stream].ranges.push_back(entry.projected);

    for (gpu_stream_rows& stream : streams) {
        lay_out_ops(data, stream);
        lay_out_ranges(data, att, stream);
    }
    return streams;
}

}  // namespace prof
