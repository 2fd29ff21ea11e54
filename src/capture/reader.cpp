// SPDX-License-Identifier: Apache-2.0
#include "capture/reader.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "capture/chunk_header.hpp"
#include "capture/codec.hpp"
#include "capture/input_file.hpp"
#include "capture/payload.hpp"
#include "capture/recovery/recovery.hpp"

namespace prof {
namespace {

constexpr std::size_t search_stride_bytes = 64U << 10;  // step of the search for a chunk after damage

bool is_key_frame(const format::chunk_header& header) noexcept {
    return header.type == static_cast<std::uint32_t>(format::chunk_type::key_frame);
}

// Whether these last bytes of the file, too few for a chunk header, may be the beginning of one.
bool may_begin_chunk(std::span<const std::byte> bytes) noexcept {
    return std::memcmp(bytes.data(), &format::chunk_magic, std::min(bytes.size(), sizeof format::chunk_magic)) == 0;
}

}  // namespace

struct capture_reader::state {
    explicit state(const std::string& path) : file(path) { read_header(path); }

    void read_header(const std::string& path);
    void start_over();
    bytes_by_type payload_bytes_hints();
    bool next_in_file(chunk& out);
    bool next_recovered(chunk& out);
    bool take(const format::chunk_header& found, chunk& out);
    const char* inflate(std::uint32_t raw_bytes, std::span<const std::byte>& payload);
    std::uint64_t next_chunk();
    void search_chunk(const char* what_is_wrong);
    void end_inside_chunk(std::uint32_t sequence);
    bool skip_trimmed();
    bool begins_with(const format::chunk_header& found) const noexcept;
    void begin_here(const format::chunk_header& found);
    capture_damage damage_of_header() const;
    void pass_over(std::uint64_t bytes, const char* what_is_wrong);

    input_file file;
    format::file_header header;
    bool header_is_intact = false;
    std::uint64_t first_chunk = sizeof(format::file_header);
    std::uint64_t offset = 0;
    std::uint32_t expected_sequence = 0;
    std::uint64_t trim_up_to = 0;  // end of the zeros that stand where a chunk should begin
    bool wants_key_frame = false;  // the key frame after the zeros is damaged: the capture begins with the next one
    std::optional<append_point> cut_off;  // place of the chunk that the end of the file cuts off
    capture_damage damage;
    std::vector<std::uint64_t> inflated;  // in words: the payload is aligned
    std::uint64_t inflated_bytes = 0;     // total of all chunks so far
    recovery_basis contents;
    std::optional<recovery> recovered;  // set once the file has ended without an end chunk
    std::size_t recovered_given = 0;
};

void capture_reader::state::read_header(const std::string& path) {
    const auto bytes = file.view(0, sizeof header);
    if (bytes.size() < sizeof header || std::memcmp(bytes.data(), format::magic.data(), format::magic.size()) != 0) {
        throw error("cannot read " + path + ": it is " + (file.size() == 0 ? "empty" : "not a libprof capture"));
    }
    std::memcpy(&header, bytes.data(), sizeof header);
    header_is_intact = header.crc32 == crc32_of(bytes.first(offsetof(format::file_header, crc32)));
    if (!header_is_intact) {
        return;  // the version itself may be damaged, so go on to the chunks
    }
    if (header.version != format::version) {
        throw error("cannot read " + path + ": its format is version " + std::to_string(header.version) +
                    ", this build reads version " + std::to_string(format::version) + "; use the prof that wrote it");
    }
    if (header.header_bytes < sizeof header || header.header_bytes % chunk_alignment != 0) {
        throw error("cannot read " + path + ": its header says that it has " + std::to_string(header.header_bytes) +
                    " bytes");
    }
    first_chunk = header.header_bytes;
}

void capture_reader::state::start_over() {
    damage = damage_of_header();
    inflated_bytes = 0;
    expected_sequence = 0;
    trim_up_to = 0;
    wants_key_frame = false;
    cut_off.reset();
    recovered_given = 0;
    offset = first_chunk;
}

capture_damage capture_reader::state::damage_of_header() const {
    if (header_is_intact) return {};
    return {.bytes = first_chunk, .first = "at byte 0: the file's header fails its checksum"};
}

void capture_reader::state::pass_over(std::uint64_t bytes, const char* what_is_wrong) {
    if (damage.first.empty()) damage.first = "at byte " + std::to_string(offset) + ": " + what_is_wrong;
    damage.bytes += bytes;
    offset += bytes;
}

// The next place after `offset` with an intact chunk header, or the end of the file.
std::uint64_t capture_reader::state::next_chunk() {
    std::uint64_t position = offset + chunk_alignment;
    for (;;) {
        const auto bytes = file.view(position, search_stride_bytes);
        if (bytes.size() < sizeof(format::chunk_header)) return file.size();
        std::size_t i = 0;
        while (i + sizeof(format::chunk_header) <= bytes.size() && !chunk_header_in(bytes.subspan(i))) {
            i += chunk_alignment;
        }
        position += i;
        if (i + sizeof(format::chunk_header) <= bytes.size()) return position;
    }
}

void capture_reader::state::search_chunk(const char* what_is_wrong) { pass_over(next_chunk() - offset, what_is_wrong); }

// The kernel cuts a write in the middle when it kills the process. So an unclosed capture may end with part of a chunk,
// and nothing can follow that part.
void capture_reader::state::end_inside_chunk(std::uint32_t sequence) {
    if (!cut_off) cut_off = {offset, sequence};
    const std::uint64_t position = next_chunk();
    if (position == file.size() && !contents.closed) {
        damage.cut_off_bytes += position - offset;
        offset = position;
        return;
    }
    ++damage.chunks;
    pass_over(position - offset, "the file ends inside a chunk");
}

// Skips zeros where a chunk should begin, up to the key frame behind them, if there is one.
bool capture_reader::state::skip_trimmed() {
    const std::uint64_t position = file.skip_zeros(offset);
    if (position == offset || position == file.size()) return false;
    const auto found = chunk_header_in(file.view(position, sizeof(format::chunk_header)));
    const bool is_trimmed = found && is_key_frame(*found);
    if (is_trimmed || offset == first_chunk) trim_up_to = position;
    wants_key_frame = !is_trimmed && offset == first_chunk;
    if (is_trimmed) offset = position;
    return is_trimmed;
}

// Whether the capture begins with this chunk: a key frame after a trimmed part, or at the very front, where a capture
// that was not trimmed has chunk 0.
bool capture_reader::state::begins_with(const format::chunk_header& found) const noexcept {
    return is_key_frame(found) && (wants_key_frame || offset == trim_up_to || offset == first_chunk);
}

// Damage in the part that has been trimmed since then no longer counts.
void capture_reader::state::begin_here(const format::chunk_header& found) {
    damage = damage_of_header();
    if (wants_key_frame) {
        damage.bytes += offset - trim_up_to;
        ++damage.chunks;
        if (damage.first.empty()) damage.first = "at byte " + std::to_string(trim_up_to) + ": no key frame begins here";
    }
    wants_key_frame = false;
    expected_sequence = std::max(expected_sequence, found.sequence);
}

// Replaces a deflated payload by its inflated bytes. Returns null, or what is wrong with it.
const char* capture_reader::state::inflate(std::uint32_t raw_bytes, std::span<const std::byte>& payload) {
    constexpr std::uint64_t most_per_stored_byte = 1100;  // zlib's own limit is 1032
    if (raw_bytes > most_per_stored_byte * payload.size()) return "a chunk gives a size that it cannot inflate to";
    inflated_bytes += raw_bytes;
    if (inflated_bytes > format::most_inflated_bytes(file.size()))
        return "the chunks inflate to more than any capture's";
    inflated.resize(chunk_place(raw_bytes) / chunk_alignment);
    const auto target = std::as_writable_bytes(std::span{inflated}).first(raw_bytes);
    if (!inflate_exactly(payload, target)) return "a chunk does not inflate to the size it gives";
    payload = target;
    return nullptr;
}

// Reads the chunk with the intact header `found` at `offset`, and moves past it. True if the chunk is delivered.
bool capture_reader::state::take(const format::chunk_header& found, chunk& out) {
    const std::uint64_t left = file.size() - offset - sizeof found;
    const std::uint64_t whole = std::min(sizeof found + chunk_place(found.stored_bytes), sizeof found + left);
    const bool begins = begins_with(found);
    if (begins) begin_here(found);
    if (found.sequence < expected_sequence) {
        pass_over(whole, "a chunk comes a second time");
        return false;
    }
    damage.chunks += found.sequence - expected_sequence;
    expected_sequence = found.sequence + 1;

    // A wrong length does not lead to the next chunk, so it is searched for.
    if (!has_possible_lengths(found)) {
        ++damage.chunks;
        search_chunk("a chunk has an invalid length");
        return false;
    }
    if (found.stored_bytes > left) {
        cut_off.reset();
        end_inside_chunk(found.sequence);
        return false;
    }

    const auto type = static_cast<format::chunk_type>(found.type);
    auto payload = file.view(offset + sizeof found, found.stored_bytes);
    std::optional<stored_payload> stored;
    if (found.flags == 0) stored = {offset + sizeof found, found.stored_bytes, found.payload_crc32};
    const char* wrong = nullptr;
    if (payload.size() < found.stored_bytes) {
        wrong = "a chunk cannot be read from the disk";
    } else if (crc32_of(payload) != found.payload_crc32) {
        wrong = "a chunk fails its checksum";
    } else if (!is_known(type) || (found.flags & ~format::chunk_deflated) != 0) {
        ++damage.unknown_chunks;
        offset += whole;
        return false;
    } else if ((found.flags & format::chunk_deflated) != 0) {
        wrong = inflate(found.raw_bytes, payload);
    }
    if (wrong == nullptr && !well_formed(type, payload)) wrong = "a chunk does not have the form of its type";
    if (wrong != nullptr) {
        if (begins) {
            wants_key_frame = true;
            trim_up_to = offset;
        }
        ++damage.chunks;
        pass_over(whole, wrong);
        return false;
    }
    out = {type, found.aux, payload, false, begins, stored};
    if (begins) contents = {};
    contents.add(out);
    cut_off.reset();
    offset += whole;
    return true;
}

bool capture_reader::state::next_in_file(chunk& out) {
    while (offset < file.size()) {
        const auto found = chunk_header_in(file.view(offset, sizeof(format::chunk_header)));
        if (!found && skip_trimmed()) continue;
        if (found) {
            if (take(*found, out)) return true;
            continue;
        }
        const auto rest = file.view(offset, sizeof(format::chunk_header));
        if (rest.size() < sizeof(format::chunk_header) && may_begin_chunk(rest)) {
            end_inside_chunk(expected_sequence);
        } else {
            if (rest.size() < sizeof(format::chunk_header) && !cut_off) cut_off = {offset, expected_sequence};
            search_chunk("no chunk begins here");
        }
    }
    return false;
}

bool capture_reader::state::next_recovered(chunk& out) {
    if (contents.closed) return false;
    if (!recovered) {
        contents.number = header.number;
        contents.next_sequence = cut_off ? cut_off->sequence : expected_sequence;
        recovered = recover_rings(header.id, contents);
    }
    if (recovered->has_next_chunk) damage.cut_off_bytes = 0;
    if (recovered_given == recovered->chunks.size()) return false;
    out = recovered->chunks[recovered_given++].view();
    return true;
}

bytes_by_type capture_reader::state::payload_bytes_hints() {
    bytes_by_type out;
    format::chunk_header next;
    for (std::uint64_t position = file.skip_zeros(first_chunk); position < file.size();
         position += sizeof next + chunk_place(next.stored_bytes)) {
        const auto into = std::as_writable_bytes(std::span{&next, 1});
        if (file.read(position, into) < sizeof next || !chunk_header_in(into) || !has_possible_lengths(next)) break;
        const auto type = static_cast<format::chunk_type>(next.type);
        if (is_known(type)) out[type] += next.raw_bytes;
    }
    for (auto& [type, bytes] : out) bytes = std::min(bytes, 4 * file.size());
    return out;
}

capture_reader::capture_reader(const std::string& path) : state_(std::make_unique<state>(path)) {
    state_->start_over();
}

capture_reader::~capture_reader() = default;

const format::file_header& capture_reader::header() const noexcept { return state_->header; }

bool capture_reader::next(chunk& out) { return state_->next_in_file(out) || state_->next_recovered(out); }

bytes_by_type capture_reader::payload_bytes_hints() const { return state_->payload_bytes_hints(); }

bool capture_reader::read_again(const stored_payload& payload, std::span<std::byte> destination) const noexcept {
    return state_->file.read(payload.offset, destination) == payload.bytes && crc32_of(destination) == payload.crc32;
}

capture_reader::append_point capture_reader::where_to_append() const noexcept {
    return state_->cut_off.value_or(append_point{chunk_place(state_->file.size()), state_->expected_sequence});
}

std::uint64_t capture_reader::read_bytes() const noexcept { return state_->offset; }

std::uint64_t capture_reader::file_bytes() const noexcept { return state_->file.size(); }

void capture_reader::rewind() { state_->start_over(); }

const capture_damage& capture_reader::damage() const noexcept { return state_->damage; }

const std::string& capture_reader::recovery_outcome() const noexcept {
    // Never destroyed: a thread may still use it while the process ends.
    // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): once, some 30 bytes
    static const auto& none = *new const std::string;
    return state_->recovered ? state_->recovered->outcome : none;
}

}  // namespace prof
