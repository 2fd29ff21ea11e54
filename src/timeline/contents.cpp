// SPDX-License-Identifier: Apache-2.0
#include "timeline/contents.hpp"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "capture/gpu_chunks.hpp"
#include "capture/payload.hpp"
#include "capture/recovery/process_state.hpp"
#include "timeline/read_ahead.hpp"

namespace prof {
namespace {

template <typename TElement>
void append(std::vector<TElement>& to, std::span<const std::byte> payload) {
    const std::span<const TElement> from = elements<TElement>(payload);
    to.insert(to.end(), from.begin(), from.end());
}

void add_records(std::vector<record_run>& runs, const chunk& added) {
    const record_block block = records_of(added.payload);
    runs.push_back({.thread_uid = added.aux,
                    .first_number = block.first_number,
                    .records = {block.records.begin(), block.records.end()},
                    .recovered = added.recovered,
                    .is_open = added.type == format::chunk_type::open});
}

void add_key_frame(capture_contents& contents, const chunk& added) {
    if (added.begins) {
        capture_contents anew;
        anew.ticks = contents.ticks;
        anew.created_realtime_ns = contents.created_realtime_ns;
        contents = std::move(anew);
        contents.begins = elements<format::key_frame_entry>(added.payload).front();
    }
    ++contents.key_frames;
}

}  // namespace

void collect_work(capture_contents& contents) {
    const auto collect = [&]<typename TRecord>(std::vector<TRecord>& records) {
        contents.work.of<TRecord>().ops.reserve(contents.work.of<TRecord>().ops.size() + records.size());
        for (const TRecord& r : records) contents.work.add(r);
        records = {};
    };
    collect(contents.kernels);
    collect(contents.transfers);
    collect(contents.graphs);
}

void add_chunk(capture_contents& contents, const chunk& added) {
    switch (added.type) {
        case format::chunk_type::properties:
            for_each_property(added.payload, [&](std::string_view key, std::string_view value) {
                contents.properties.insert_or_assign(std::string{key}, std::string{value});
            });
            break;
        case format::chunk_type::names:
            for_each_name(added.payload, [&](std::uint32_t id, std::string_view text) {
                contents.names.insert_or_assign(name_id(id), std::string{text});
            });
            break;
        case format::chunk_type::labels:
            append(contents.labels, added.payload);
            break;
        case format::chunk_type::thread:
            append(contents.threads, added.payload);
            break;
        case format::chunk_type::records:
            add_records(contents.runs, added);
            break;
        case format::chunk_type::graph_context:
            add_records(contents.graph_context, added);
            break;
        case format::chunk_type::clocks:
            append(contents.clocks, added.payload);
            break;
        case format::chunk_type::drops:
            // Counts only grow, so the largest is the latest, whatever the order of the chunks.
            for (const format::drop_entry& drop : elements<format::drop_entry>(added.payload)) {
                std::uint64_t& count = contents.drops[drop.cause];
                count = std::max(count, drop.count);
            }
            break;
        case format::chunk_type::windows:
            for (const format::window_entry& window : elements<format::window_entry>(added.payload)) {
                contents.windows.insert_or_assign(window.epoch, window);
            }
            break;
        case format::chunk_type::key_frame:
            add_key_frame(contents, added);
            break;
        // Only the first key frame's chunks are needed: at later ones the records have the same content.
        case format::chunk_type::open:
            if (contents.begins && contents.key_frames == 1) add_records(contents.runs, added);
            break;
        case format::chunk_type::known_graphs:
            if (contents.begins && contents.key_frames == 1) add_records(contents.graph_context, added);
            break;
        case format::chunk_type::kernels:
        case format::chunk_type::transfers:
        case format::chunk_type::graphs:
        case format::chunk_type::devices:
            with_gpu_record_of(added.type, [&]<typename TRecord>(std::type_identity<TRecord>) {
                append(contents.of<TRecord>(), added.payload);
            });
            break;
        case format::chunk_type::end:
            contents.ended = true;
            contents.end = elements<format::end_entry>(added.payload).front();
            break;
    }
}

namespace {

// Whether the chunk's GPU records went to `work`.
bool add_to_work(capture_contents& contents, const chunk& added) {
    bool is_work = false;
    with_gpu_record_of(added.type, [&]<typename TRecord>(std::type_identity<TRecord>) {
        if constexpr (gpu_chunk<TRecord>::is_work) {
            for (const TRecord& r : elements<TRecord>(added.payload)) contents.work.add(r);
            is_work = true;
        }
    });
    return is_work;
}

// Whether the chunk's records stay in the file.
bool leave_in_file(capture_contents& contents, const chunk& added) {
    if (added.type != format::chunk_type::records || !added.stored) return false;
    const record_block block = records_of(added.payload);
    if (block.records.empty()) return false;
    contents.runs.push_back({.thread_uid = added.aux,
                             .first_number = block.first_number,
                             .records = {},
                             .stored = stored_records{.payload = *added.stored,
                                                      .count = block.records.size(),
                                                      .first = block.records.front(),
                                                      .found = survey_of(block.records)}});
    return true;
}

// A smaller file is read faster than it pays.
constexpr std::uint64_t least_bytes_for_thread = 4U << 20;

// The number of records of the type, as the chunks' headers have it.
template <typename TRecord>
std::size_t count_of(const bytes_by_type& payloads) {
    const auto found = payloads.find(gpu_chunk<TRecord>::chunk);
    return found == payloads.end() ? 0 : found->second / sizeof(TRecord);
}

// Operations of the other types are appended to the kernels, so there is room for all of them.
void reserve_work(capture_contents& contents, const capture_reader& reader) {
    const bytes_by_type payloads = reader.payload_bytes_hints();
    std::size_t all = 0;
    contents.work.for_each([&]<typename TRecord>(gpu_work_of<TRecord>& work) {
        work.ops.reserve(count_of<TRecord>(payloads));
        all += work.ops.capacity();
    });
    contents.work.kernels.ops.reserve(all);
}

// `chunks`: the reader, or what reads it.
template <typename TChunks, typename TAdd>
capture_contents read_with(capture_reader& reader, TChunks& chunks, capture_contents contents,
                           progress_observer* progress, TAdd&& add) {
    contents.ticks = static_cast<tick_source>(reader.header().tick_source);
    contents.created_realtime_ns = reader.header().created_realtime_ns;
    chunk next;
    while (chunks.next(next)) {
        add(contents, next);
        if (progress != nullptr) progress->update(chunks.read_bytes(), reader.file_bytes());
    }
    contents.damage = reader.damage();
    contents.recovery = reader.recovery_outcome();
    const auto host = contents.properties.find("hostname");
    if (!contents.ended && host != contents.properties.end()) {
        const auto start = contents.properties.find("process_start");
        contents.process =
            state_of_process(reader.header().pid, start == contents.properties.end() ? "" : start->second,
                             contents.created_realtime_ns, host->second);
    }
    return contents;
}

}  // namespace

capture_contents read_contents(const std::string& path, progress_observer* progress) {
    capture_reader reader{path};
    capture_contents contents;
    contents.kernels.reserve(count_of<kernel_record>(reader.payload_bytes_hints()));
    return read_with(reader, reader, std::move(contents), progress, add_chunk);
}

capture_contents read_compactly(const std::string& path, progress_observer* progress, reading_thread thread) {
    const auto reader = std::make_shared<capture_reader>(path);
    capture_contents contents;
    reserve_work(contents, *reader);
    const auto add = [](capture_contents& to, const chunk& added) {
        if (!add_to_work(to, added) && !leave_in_file(to, added)) add_chunk(to, added);
    };
    if (thread == reading_thread::own && reader->file_bytes() >= least_bytes_for_thread) {
        read_ahead ahead(*reader);
        contents = read_with(*reader, ahead, std::move(contents), progress, add);
    } else {
        contents = read_with(*reader, *reader, std::move(contents), progress, add);
    }
    contents.reader = reader;
    return contents;
}

}  // namespace prof
