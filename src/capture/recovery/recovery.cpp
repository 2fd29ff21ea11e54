// SPDX-License-Identifier: Apache-2.0
#include "capture/recovery/recovery.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <span>
#include <unordered_set>

#include "base/error.hpp"
#include "capture/gpu_chunks.hpp"
#include "capture/input_file.hpp"
#include "capture/payload.hpp"
#include "capture/recovery/gpu_recovery.hpp"
#include "capture/recovery/name_recovery.hpp"
#include "capture/recovery/payload_builder.hpp"
#include "capture/recovery/unwritten.hpp"
#include "record/drop.hpp"
#include "record/label.hpp"
#include "record/name_table.hpp"
#include "record/passing_names.hpp"
#include "record/record.hpp"
#include "ring/region_layout.hpp"

namespace prof {
namespace {

constexpr std::string_view trouble_follows = ", then ";  // in the outcome
constexpr std::uint64_t chunk_bytes = 1U << 20;          // most names and records put into one chunk

// Limits above those of any region; a file that exceeds them is not a region.
constexpr std::uint32_t most_rings = 1U << 16;
constexpr std::uint32_t most_labels = 1U << 20;
constexpr std::uint64_t largest_buffer_bytes = 1U << 28;
constexpr std::uint32_t most_buffers = 1U << 12;

// GPU work of a capture lies between its clock snapshots, or at most this far outside.
constexpr std::uint64_t day_ns = 86'400'000'000'000;

template <typename TField>
TField field(std::span<const std::byte> bytes, std::size_t offset) noexcept {
    TField value{};
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

// The oldest position of a ring that is intact and is not being overwritten. The thread does not write a slot until the
// tail has passed it. After that, the slot at head may be half written.
std::uint64_t oldest_whole(std::span<const std::byte> ring) noexcept {
    const auto capacity = field<std::uint32_t>(ring, offsetof(ring_header, capacity));
    const auto head = field<std::uint64_t>(ring, offsetof(ring_header, counters.head));
    const auto tail = field<std::uint64_t>(ring, offsetof(ring_header, counters.tail));
    if (head < capacity) return 0;
    return tail <= head - capacity ? head - capacity : head - capacity + 1;
}

recovered_chunk thread_chunk(std::span<const std::byte> ring) {
    format::thread_entry thread;
    thread.uid = field<std::uint64_t>(ring, offsetof(ring_header, thread_uid));
    thread.tid = field<std::uint32_t>(ring, offsetof(ring_header, tid));
    thread.name = field<std::array<char, 32>>(ring, offsetof(ring_header, name));
    payload_builder payload;
    payload.append(&thread, sizeof thread);
    return payload.finish(format::chunk_type::thread, 0);
}

// The file of one region. Its numbers are checked when they are used: every read is bounded by the file.
class rings_file {
public:
    rings_file(const recovery_basis& contents, const std::array<std::uint8_t, 16>& id,
               const std::function<void()>& copied)
        : file_(contents.rings_path), copied_(copied) {
        const auto header = bytes_at(0, sizeof(region_header));
        if (field<std::array<char, 8>>(header, offsetof(region_header, magic)) != region_magic ||
            field<std::uint32_t>(header, offsetof(region_header, version)) != region_version ||
            field<std::uint32_t>(header, offsetof(region_header, header_bytes)) != sizeof(region_header)) {
            throw error("it is not of this version's kind");
        }
        if (field<std::array<std::uint8_t, 16>>(header, offsetof(region_header, id)) != id) {
            throw error("it belongs to another capture");
        }
        expect_number(contents.number);
        names_offset_ = field<std::uint64_t>(header, offsetof(region_header, names_offset));
        passing_names_offset_ = field<std::uint64_t>(header, offsetof(region_header, passing_names_offset));
        passing_arena_offset_ = field<std::uint64_t>(header, offsetof(region_header, passing_arena_offset));
        labels_offset_ = field<std::uint64_t>(header, offsetof(region_header, labels_offset));
        rings_offset_ = field<std::uint64_t>(header, offsetof(region_header, rings_offset));
        ring_count_ = field<std::uint32_t>(header, offsetof(region_header, ring_count));
        label_count_ = std::min(field<std::uint32_t>(header, offsetof(region_header, labels_reserved)),
                                field<std::uint32_t>(header, offsetof(region_header, label_capacity)));
        if (ring_count_ > most_rings || label_count_ > most_labels) throw error("its header is damaged");
        add_drops(header, offsetof(region_header, drops));
    }

    // Throws if what is in the rings now belongs to another capture of the process.
    void expect_number(std::uint32_t number) const;
    void unwritten(recovery_basis& contents, recovery& found);
    void names(recovery& found);
    void labels(recovery& found);
    void ring(std::uint32_t index, const recovery_basis& contents, recovery& found);
    void drops(const recovery_basis& contents, recovery& found) const;
    void gpu_buffers(const recovery_basis& contents, recovery& found);

    std::uint32_t ring_count() const noexcept { return ring_count_; }
    std::uint64_t records() const noexcept { return records_; }
    std::uint64_t gpu_records() const noexcept { return gpu_records_; }

private:
    // Exactly `bytes` bytes, or throws.
    std::span<const std::byte> bytes_at(std::uint64_t offset, std::size_t bytes) {
        const auto found = file_.view(offset, bytes);
        if (found.size() < bytes) throw error("it ends too early");
        return found;
    }

    // The same, but the present content, not what was read ahead.
    void read_now(std::uint64_t offset, std::span<std::byte> destination) const {
        if (file_.read(offset, destination) < destination.size()) throw error("it ends too early");
    }

    void keep(recovered_chunk&& made, recovery& found) {
        kept_bytes_ += made.bytes;
        if (kept_bytes_ > largest_recovery_bytes) throw error("it says that it holds more than a gigabyte");
        // The file has each record and name once; a recovered chunk adds only a few bytes to them.
        if (kept_bytes_ > chunk_bytes + 2 * file_.size()) throw error("it says that it holds more than it can");
        found.chunks.push_back(std::move(made));
    }

    std::vector<std::byte> arena(std::uint64_t offset, std::uint64_t bytes) const;
    void keep_names(const std::vector<recovered_name>& read, std::uint64_t from_position, recovery& found);
    void gpu_buffer(std::uint64_t offset, std::uint64_t bytes, const gpu_buffer_rules& rules,
                    const recovery_basis& contents, recovery& found);
    // Keeps the items beyond the first `known`.
    template <typename TElement>
    void keep_array(format::chunk_type type, std::uint64_t aux, const std::vector<TElement>& items, std::uint64_t known,
                    recovery& found) {
        constexpr std::size_t most = chunk_bytes / sizeof(TElement);
        for (std::size_t first = known; first < items.size(); first += most) {
            payload_builder payload;
            payload.append(items.data() + first, std::min(most, items.size() - first) * sizeof(TElement));
            keep(payload.finish(type, aux), found);
        }
    }

    void add_drops(std::span<const std::byte> bytes, std::size_t offset) noexcept {
        for (std::size_t cause = 0; cause < drop_cause_count; ++cause) {
            drops_[cause] += field<std::uint64_t>(bytes, offset + cause * sizeof(std::uint64_t));
        }
    }

    input_file file_;
    const std::function<void()>& copied_;
    std::uint64_t names_offset_ = 0;
    std::uint64_t passing_names_offset_ = 0;
    std::uint64_t passing_arena_offset_ = 0;
    std::unordered_set<std::uint32_t> names_found_;  // name ids
    std::uint64_t labels_offset_ = 0;
    std::uint64_t rings_offset_ = 0;
    std::uint32_t ring_count_ = 0;
    std::uint32_t label_count_ = 0;
    std::array<std::uint64_t, drop_cause_count> drops_{};
    std::uint64_t records_ = 0;
    std::uint64_t gpu_records_ = 0;
    std::size_t kept_bytes_ = 0;
};

void rings_file::expect_number(std::uint32_t number) const {
    std::uint32_t now = 0;
    read_now(offsetof(region_header, capture_number), std::as_writable_bytes(std::span{&now, 1}));
    if (now != number) throw error("the process has gone on to another capture with them");
}

// Chunks that the process had assembled and the file lacks. They come before the rings' records.
void rings_file::unwritten(recovery_basis& contents, recovery& found) {
    unwritten_chunks unwritten = read_unwritten(file_, contents);
    found.has_next_chunk = unwritten.has_next;
    for (recovered_chunk& made : unwritten.chunks) {
        const chunk added = made.view();
        contents.add(added);
        const std::uint64_t records = records_in(added.type, added.payload.size());
        if (added.type == format::chunk_type::records) {
            records_ += records;
        } else if (added.type != format::chunk_type::graph_context) {
            gpu_records_ += records;
        }
        keep(std::move(made), found);
    }
}

void rings_file::gpu_buffers(const recovery_basis& contents, recovery& found) {
    const auto header = bytes_at(0, sizeof(region_header));
    const auto offset = field<std::uint64_t>(header, offsetof(region_header, buffers_offset));
    const auto bytes = field<std::uint64_t>(header, offsetof(region_header, buffer_bytes));
    const auto stride = field<std::uint64_t>(header, offsetof(region_header, buffer_stride));
    const auto count = field<std::uint32_t>(header, offsetof(region_header, buffer_count));
    if (count == 0) return;
    if (count > most_buffers || bytes > largest_buffer_bytes || stride < bytes || stride > 2 * largest_buffer_bytes ||
        offset > UINT64_MAX / 2) {
        throw error("its header is damaged");
    }
    gpu_buffer_rules rules;
    rules.version = field<std::uint32_t>(header, offsetof(region_header, cupti_version));
    rules.epoch = field<std::uint32_t>(header, offsetof(region_header, cupti_epoch));
    rules.since_ns = field<std::uint64_t>(header, offsetof(region_header, cupti_since_ns));
    if (contents.first_gpu_ns > day_ns) rules.earliest_ns = contents.first_gpu_ns - day_ns;
    if (contents.last_gpu_ns != 0) rules.latest_ns = std::min(contents.last_gpu_ns, UINT64_MAX - day_ns) + day_ns;
    for (std::uint32_t i = 0; i < count; ++i) gpu_buffer(offset + i * stride, bytes, rules, contents, found);
}

// Records that are in CUPTI's buffers, or were handed back, and that the file lacks.
void rings_file::gpu_buffer(std::uint64_t offset, std::uint64_t bytes, const gpu_buffer_rules& rules,
                            const recovery_basis& contents, recovery& found) {
    std::array<std::byte, sizeof(buffer_header)> header;
    read_now(offset, header);
    const auto state = field<std::uint32_t>(header, offsetof(buffer_header, state));
    const auto number = field<std::uint64_t>(header, offsetof(buffer_header, number));
    if (state != static_cast<std::uint32_t>(buffer_state::taken) &&
        state != static_cast<std::uint32_t>(buffer_state::completed)) {
        return;
    }
    if (offset > file_.size() || bytes > file_.size() - offset) throw error("it ends too early");
    std::vector<std::byte> copied(bytes);
    read_now(offset + sizeof(buffer_header), copied);
    if (copied_) copied_();

    // In a running process the buffer may have been cleared and reused in the meantime.
    std::atomic_thread_fence(std::memory_order_acquire);  // orders the copy before the check
    read_now(offset, header);
    if (field<std::uint64_t>(header, offsetof(buffer_header, number)) != number ||
        field<std::uint32_t>(header, offsetof(buffer_header, state)) ==
            static_cast<std::uint32_t>(buffer_state::free)) {
        return;
    }
    const prof::gpu_records read = read_gpu_buffer(copied, rules);
    const auto in_file = contents.buffers.find(number);
    read.for_each([&]<typename TRecord>(const std::vector<TRecord>& records) {
        constexpr format::chunk_type chunk = gpu_chunk<TRecord>::chunk;
        std::uint64_t known = 0;
        if (in_file != contents.buffers.end()) {
            if (const auto of_type = in_file->second.find(chunk); of_type != in_file->second.end()) {
                known = of_type->second;
            }
        }
        if (gpu_chunk<TRecord>::is_work)
            gpu_records_ += records.size() - std::min<std::uint64_t>(records.size(), known);
        keep_array(chunk, number, records, known, found);
    });
}

std::vector<std::byte> rings_file::arena(std::uint64_t offset, std::uint64_t bytes) const {
    if (offset > file_.size() || bytes > std::min<std::uint64_t>(file_.size() - offset, largest_recovery_bytes)) {
        throw error("it ends too early");
    }
    std::vector<std::byte> copied(bytes);
    read_now(offset, copied);
    return copied;
}

// The kept names and the passing names.
void rings_file::names(recovery& found) {
    std::array<std::byte, sizeof(name_table_header)> header;
    read_now(names_offset_, header);
    const auto slot_count = field<std::uint32_t>(header, offsetof(name_table_header, slot_count));
    const auto used = std::min(field<std::uint32_t>(header, offsetof(name_table_header, used)),
                               field<std::uint32_t>(header, offsetof(name_table_header, arena_bytes)));
    const auto kept = arena(names_offset_ + name_table::arena_offset(slot_count), used);
    keep_names(read_kept_names(kept), 0, found);

    std::array<std::byte, sizeof(passing_names_header)> before;
    read_now(passing_names_offset_, before);
    const auto passing =
        arena(passing_arena_offset_, field<std::uint32_t>(before, offsetof(passing_names_header, arena_bytes)));
    std::atomic_thread_fence(std::memory_order_acquire);  // orders the copy before the check
    std::array<std::byte, sizeof(passing_names_header)> after;
    read_now(passing_names_offset_, after);
    // In a running process, names before `freed` may have been overwritten in the meantime.
    const auto freed = field<std::uint64_t>(after, offsetof(passing_names_header, freed));
    keep_names(read_passing_names(passing, field<std::uint64_t>(before, offsetof(passing_names_header, end))), freed,
               found);
}

void rings_file::keep_names(const std::vector<recovered_name>& read, std::uint64_t from_position, recovery& found) {
    payload_builder names;
    for (const recovered_name& name : read) {
        if (name.position < from_position || !names_found_.insert(name.id).second) continue;
        constexpr std::size_t longest = format::largest_chunk_bytes - 2 * chunk_bytes;
        const std::string_view text = std::string_view{name.text}.substr(0, longest);
        const std::uint32_t head[2] = {name.id, static_cast<std::uint32_t>(text.size())};
        constexpr std::uint32_t zeros = 0;
        names.append(head, sizeof head);
        names.append(text.data(), text.size());
        names.append(&zeros, (4 - text.size() % 4) % 4);
        if (names.size() >= chunk_bytes) keep(names.finish(format::chunk_type::names, 0), found);
    }
    if (names.size() != 0) keep(names.finish(format::chunk_type::names, 0), found);
}

void rings_file::labels(recovery& found) {
    payload_builder labels;
    for (std::uint32_t i = 0; i < label_count_; ++i) {
        const auto entry = field<label>(bytes_at(labels_offset_ + i * sizeof(label), sizeof(label)), 0);
        if (entry.kind != label_kind::none) labels.append(&entry, sizeof entry);
    }
    if (labels.size() != 0) keep(labels.finish(format::chunk_type::labels, 0), found);
}

// The records of one ring that the file lacks, preceded by its thread.
void rings_file::ring(std::uint32_t index, const recovery_basis& contents, recovery& found) {
    const std::uint64_t header_offset = rings_offset_ + index * sizeof(ring_header);
    std::array<std::byte, sizeof(ring_header)> header;
    read_now(header_offset, header);
    add_drops(header, offsetof(ring_header, drops));
    const auto uid = field<std::uint64_t>(header, offsetof(ring_header, thread_uid));
    const auto state = field<std::uint32_t>(header, offsetof(ring_header, state));
    const auto capacity = field<std::uint32_t>(header, offsetof(ring_header, capacity));
    if (uid == 0 || state == static_cast<std::uint32_t>(ring_state::free) || capacity == 0 ||
        (capacity & (capacity - 1)) != 0) {
        return;
    }
    const auto head = field<std::uint64_t>(header, offsetof(ring_header, counters.head));
    const auto tail = field<std::uint64_t>(header, offsetof(ring_header, counters.tail));
    const auto slots = field<std::uint64_t>(header, offsetof(ring_header, slots_offset));
    if (tail > head || head - tail > capacity) return;
    // The drain thread moves the tail once the records before it are in the file. For a thread that the file has,
    // continue after its last record: in a running process, records drained since the file was read may still be intact
    // in the ring.
    const auto known = contents.next_number.find(uid);
    std::uint64_t position = known == contents.next_number.end() ? tail : std::max(known->second, oldest_whole(header));
    if (position < head && !contents.threads.contains(uid)) keep(thread_chunk(header), found);
    while (position < head) {
        // One stretch that does not wrap and fits a chunk.
        const std::uint64_t slot = position & (capacity - 1);
        std::vector<record> copied(
            std::min<std::uint64_t>({head - position, capacity - slot, chunk_bytes / sizeof(record)}));
        read_now(slots + slot * sizeof(record), std::as_writable_bytes(std::span{copied}));
        if (copied_) copied_();

        // In a running process the thread has gone on writing. Records that it may have overwritten are left out. If
        // the ring has changed hands all are, since its header was not read in one instant.
        std::atomic_thread_fence(std::memory_order_acquire);  // orders the copy before the check
        read_now(header_offset, header);
        if (field<std::uint64_t>(header, offsetof(ring_header, thread_uid)) != uid) return;
        const std::uint64_t whole_from = oldest_whole(header);
        const std::uint64_t overwritten =
            whole_from > position ? std::min<std::uint64_t>(whole_from - position, copied.size()) : 0;
        const auto kept = std::span{copied}.subspan(overwritten);
        if (!kept.empty()) {
            const std::uint64_t number = position + overwritten;
            payload_builder payload;
            payload.append(&number, sizeof number);
            payload.append(kept.data(), kept.size_bytes());
            keep(payload.finish(format::chunk_type::records, uid), found);
            records_ += kept.size();
        }
        position += copied.size();
    }
}

// Drop counts only grow, so the higher of two is the later.
void rings_file::drops(const recovery_basis& contents, recovery& found) const {
    payload_builder payload;
    for (std::size_t cause = 0; cause < drop_cause_count; ++cause) {
        format::drop_entry entry{static_cast<std::uint32_t>(cause), 0, drops_[cause]};
        if (const auto before = contents.drops_before.find(entry.cause); before != contents.drops_before.end()) {
            entry.count -= std::min(entry.count, before->second);
        }
        const auto known = contents.drops.find(entry.cause);
        if (entry.count > (known == contents.drops.end() ? 0 : known->second)) payload.append(&entry, sizeof entry);
    }
    if (payload.size() != 0) found.chunks.push_back(payload.finish(format::chunk_type::drops, 0));
}

}  // namespace

bool is_whole_recovery(std::string_view outcome) noexcept {
    return outcome.find(" recovered from its rings, ") != std::string_view::npos &&
           outcome.find("nothing was recovered") == std::string_view::npos &&
           outcome.find(trouble_follows) == std::string_view::npos;
}

recovery recover_rings(const std::array<std::uint8_t, 16>& id, const recovery_basis& contents,
                       const std::function<void()>& copied) {
    recovery found;
    if (contents.rings_path.empty()) {
        found.outcome = "the capture was not closed, and names no rings to recover from";
        return found;
    }
    const std::string not_closed = "the capture was not closed; ";
    std::string counts;
    std::string trouble;
    recovery_basis known = contents;
    try {
        rings_file rings(contents, id, copied);
        rings.unwritten(known, found);
        // Names are read both before and after the records. After, because in a running process the names of new
        // records exist by then. Before, because names of records that are drained meanwhile may be freed.
        try {
            rings.names(found);
            for (std::uint32_t i = 0; i < rings.ring_count(); ++i) {
                rings.ring(i, known, found);
            }
            rings.names(found);
            rings.labels(found);
            rings.gpu_buffers(known, found);
        } catch (const error& problem) {
            trouble = std::string{trouble_follows} + problem.what();
        }
        rings.drops(known, found);
        rings.expect_number(contents.number);  // a running process may have gone on meanwhile
        counts = std::to_string(rings.records()) + " records";
        if (rings.gpu_records() != 0) counts += " and " + std::to_string(rings.gpu_records()) + " GPU records";
    } catch (const error& problem) {
        found = {};
        found.outcome =
            not_closed + "nothing was recovered from its rings, " + contents.rings_path + ": " + problem.what();
        return found;
    }
    found.outcome = not_closed + counts + " were recovered from its rings, " + contents.rings_path + trouble;
    return found;
}

}  // namespace prof
