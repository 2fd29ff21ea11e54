// SPDX-License-Identifier: Apache-2.0
#include "capture/writer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "capture/chunk_header.hpp"
#include "capture/codec.hpp"
#include "capture/gpu_chunks.hpp"
#include "capture/payload.hpp"
#include "capture/trimmable_file.hpp"
#include "capture/write_buffer.hpp"

namespace prof {
namespace {

constexpr std::size_t smallest_buffer_bytes = 4096;

std::byte* append(std::byte* position, const void* bytes, std::size_t count) noexcept {
    if (count != 0) std::memcpy(position, bytes, count);
    return position + count;
}

constexpr std::size_t head_bytes = 2 * sizeof(std::uint32_t);  // of a property: the sizes of its key and its value

std::span<const std::byte> bytes_of(std::string_view text) noexcept { return std::as_bytes(std::span{text}); }

std::uint32_t narrow(std::size_t bytes) noexcept { return static_cast<std::uint32_t>(bytes); }

// Space for one entry: the id, the length, and the text padded to a multiple of four.
std::size_t name_bytes(std::size_t text_bytes) noexcept {
    constexpr std::size_t word = sizeof(std::uint32_t);
    return 2 * word + (text_bytes + word - 1) / word * word;
}

}  // namespace

struct capture_writer::state {
    state(const std::string& path, const capture_writer_options& options)
        : file_path(path),
          buffer(options.shared_memory,
                 std::clamp<std::size_t>(options.buffer_bytes, smallest_buffer_bytes,
                                         sizeof(format::chunk_header) + format::largest_chunk_bytes),
                 smallest_buffer_bytes),
          file(path, options.write != nullptr ? options.write : &::write,
               options.punch != nullptr ? options.punch : &::fallocate, options.longest_file) {
        try {
            begin(options);
        } catch (...) {
            ::unlink(path.c_str());
            throw;
        }
    }

    void begin(const capture_writer_options& options) {
        failure.reserve(file_path.size() + 256);
        if (options.deflate) {
            deflate.emplace();
            deflated.resize(largest_payload());
        }
        options.copy_of == nullptr ? write_header(options) : copy(options.copy_of->state_->file, options.copied);
    }

    std::size_t largest_payload() const noexcept { return buffer.size() - sizeof(format::chunk_header); }

    void write_header(const capture_writer_options& options);
    void copy(const trimmable_file& source, const capture_extent& copied);
    void write_first(std::span<const std::byte> bytes);
    void property(std::string_view key, std::string_view value) noexcept;
    std::byte* open_chunk(std::size_t payload_bytes) noexcept;
    void close_chunk(format::chunk_type type, std::uint64_t aux, std::size_t payload_bytes) noexcept;
    void write_at_once(format::chunk_type type, std::span<const std::span<const std::byte>> parts) noexcept;
    void write_out() noexcept;
    void write_whole(std::span<const std::byte> bytes) noexcept;
    void name(const capture_writer::name_entry& entry) noexcept;
    bool may_try_again(int reason) noexcept;
    void give_up(std::size_t written, int reason) noexcept;

    // Writes one chunk or several. If `number` is given, each begins with the number of its first element.
    template <typename TElement>
    void write_array(format::chunk_type type, std::uint64_t aux, std::span<const TElement> items,
                     std::optional<std::uint64_t> number = std::nullopt) noexcept;

    const std::string file_path;
    // Chunks stand at its beginning, `used` bytes; the rest is free. Declared before `file`, since its constructor may
    // throw.
    write_buffer buffer;
    trimmable_file file;
    const pid_t owner = ::getpid();
    std::size_t used = 0;
    std::optional<deflater> deflate;
    std::vector<std::byte> deflated;
    std::uint32_t sequence = 0;
    std::string failure;
    std::uint64_t records_lost = 0;
    std::function<bool()> wait_for_room;
    std::recursive_mutex* front = nullptr;
};

// Written at once, so that the rings of a process that dies early find their capture.
void capture_writer::state::write_header(const capture_writer_options& options) {
    format::file_header header;
    header.magic = format::magic;
    header.version = format::version;
    header.header_bytes = sizeof header;
    header.pid = static_cast<std::uint32_t>(owner);
    header.tick_source = static_cast<std::uint32_t>(active_tick_source);
    header.created_realtime_ns = clock_ns(CLOCK_REALTIME);
    header.id = options.id;
    header.number = options.number;
    header.crc32 = crc32_of(std::as_bytes(std::span{&header, 1}).first(offsetof(format::file_header, crc32)));
    std::memcpy(buffer.data(), &header, sizeof header);
    used = sizeof header;
    const auto& [key, value] = options.first_property;
    if (!key.empty() && key.size() + value.size() < smallest_buffer_bytes / 2) property(key, value);
    const std::size_t bytes = std::exchange(used, 0);
    write_first(buffer.first(bytes));
    buffer.begin(options.number);
}

void capture_writer::state::write_first(std::span<const std::byte> bytes) {
    const int problem = file.write_all(bytes).error;
    if (problem == 0) return;
    give_up(0, problem);
    throw error(failure);
}

void capture_writer::state::copy(const trimmable_file& source, const capture_extent& copied) {
    const auto append = [&](std::span<const std::byte> part) {
        write_first(part);
        return 0;
    };
    if (const int problem = source.copy(copied.bytes, append); problem != 0) {
        const std::string reason =
            problem == EBADF ? "the program closed it" : std::generic_category().message(problem);
        throw error("cannot read the capture that " + file_path + " is to be a copy of: " + reason);
    }
    sequence = copied.next_sequence;
}

// Returns the place for the payload; null once the capture has failed. `payload_bytes` is at most largest_payload().
std::byte* capture_writer::state::open_chunk(std::size_t payload_bytes) noexcept {
    if (!buffer.may_be_written()) return nullptr;
    if (sizeof(format::chunk_header) + payload_bytes > buffer.size() - used) write_out();
    return failure.empty() ? buffer.data() + used + sizeof(format::chunk_header) : nullptr;
}

void capture_writer::state::close_chunk(format::chunk_type type, std::uint64_t aux,
                                        std::size_t payload_bytes) noexcept {
    std::byte* const begin = buffer.data() + used;
    std::byte* const payload = begin + sizeof(format::chunk_header);
    format::chunk_header header;
    header.type = static_cast<std::uint32_t>(type);
    header.sequence = sequence++;
    header.aux = aux;
    header.raw_bytes = narrow(payload_bytes);
    header.stored_bytes = header.raw_bytes;
    if (deflate && payload_bytes > 0) {
        const std::size_t smaller = (*deflate)({payload, payload_bytes}, std::span{deflated}.first(payload_bytes - 1));
        if (smaller != 0) {
            std::memcpy(payload, deflated.data(), smaller);
            header.flags = format::chunk_deflated;
            header.stored_bytes = narrow(smaller);
        }
    }
    header.payload_crc32 = crc32_of({payload, header.stored_bytes});
    header.header_crc32 =
        crc32_of(std::as_bytes(std::span{&header, 1}).first(offsetof(format::chunk_header, header_crc32)));
    std::memcpy(begin, &header, sizeof header);
    // The buffer's size and every chunk's place are multiples of 8, so the padding always fits.
    const std::size_t padded = chunk_place(header.stored_bytes);
    std::memset(payload + header.stored_bytes, 0, padded - header.stored_bytes);
    used += sizeof header + padded;
    buffer.set_unwritten(used);
}

void capture_writer::state::write_out() noexcept {
    if (::getpid() != owner) {
        used = 0;
        return;
    }
    if (used == 0 || !failure.empty()) return;
    write_whole(buffer.first(used));
    buffer.set_unwritten(0);
    used = 0;
}

void capture_writer::state::write_whole(std::span<const std::byte> bytes) noexcept {
    output_file::outcome result;
    std::size_t written = 0;
    do {
        result = file.write_all(bytes.subspan(written));
        written += result.written;
    } while (may_try_again(result.error));
    if (result.error != 0) give_up(written, result.error);
}

// A chunk that does not fit the buffer. If the process dies meanwhile, the file ends inside the chunk.
void capture_writer::state::write_at_once(format::chunk_type type,
                                          std::span<const std::span<const std::byte>> parts) noexcept {
    write_out();
    if (!failure.empty() || ::getpid() != owner) return;
    format::chunk_header header;
    header.type = static_cast<std::uint32_t>(type);
    header.sequence = sequence++;
    for (const std::span<const std::byte> part : parts) {
        header.raw_bytes += narrow(part.size());
        header.payload_crc32 = crc32_after(header.payload_crc32, part);
    }
    header.stored_bytes = header.raw_bytes;
    const auto bytes = std::as_bytes(std::span{&header, 1});
    header.header_crc32 = crc32_of(bytes.first(offsetof(format::chunk_header, header_crc32)));
    write_whole(bytes);
    for (const std::span<const std::byte> part : parts) {
        if (failure.empty()) write_whole(part);
    }
    constexpr std::array<std::byte, chunk_alignment> zeros{};
    if (failure.empty()) write_whole(std::span{zeros}.first(chunk_place(header.raw_bytes) - header.raw_bytes));
}

// A full disk may get room again. A file that must not become longer can be replaced, unless its front is in use.
bool capture_writer::state::may_try_again(int reason) noexcept {
    bool waits = reason == ENOSPC || reason == EDQUOT;
    if (reason == EFBIG) {
        std::unique_lock<std::recursive_mutex> lock;
        if (front != nullptr) lock = std::unique_lock(*front, std::try_to_lock);
        waits = front != nullptr && !lock.owns_lock();
        if (!waits) return file.shorten() == 0;
    }
    return waits && wait_for_room && wait_for_room();
}

// `written` bytes of the buffer are in the file. The chunks after them are lost, including the one that was cut.
void capture_writer::state::give_up(std::size_t written, int reason) noexcept {
    for (std::size_t position = 0; position < used;) {
        format::chunk_header chunk;
        std::memcpy(&chunk, buffer.data() + position, sizeof chunk);
        const std::size_t end_of_payload = position + sizeof chunk + chunk.stored_bytes;
        if (end_of_payload > written) {
            records_lost += records_in(static_cast<format::chunk_type>(chunk.type), chunk.raw_bytes);
        }
        position = chunk_place(end_of_payload);
    }
    // The capacity was reserved, so nothing is allocated here.
    char text[128];
    failure.assign("cannot write capture ");
    failure.append(file_path);
    failure.append(": ");
    failure.append(reason == EBADF ? "the program closed it" : strerror_r(reason, text, sizeof text));
    failure.append("; what comes after is not kept");
}

// Whether elements of that type count among a capture's records.
template <typename TElement>
constexpr bool is_counted() {
    if constexpr (gpu_record_type<TElement>) return gpu_chunk<TElement>::is_work;
    return std::is_same_v<TElement, record>;
}

template <typename TElement>
void capture_writer::state::write_array(format::chunk_type type, std::uint64_t aux, std::span<const TElement> items,
                                        std::optional<std::uint64_t> number) noexcept {
    const std::size_t prefix_bytes = number ? sizeof *number : 0;
    const std::size_t most = (largest_payload() - prefix_bytes) / sizeof(TElement);
    while (!items.empty()) {
        const auto part = items.first(std::min(items.size(), most));
        const std::size_t payload_bytes = prefix_bytes + part.size_bytes();
        std::byte* position = open_chunk(payload_bytes);
        if (position == nullptr) {
            if constexpr (is_counted<TElement>()) records_lost += items.size();
            return;
        }
        if (number) {
            position = append(position, &*number, sizeof *number);
            *number += part.size();
        }
        append(position, part.data(), part.size_bytes());
        close_chunk(type, aux, payload_bytes);
        items = items.subspan(part.size());
    }
}

capture_writer::capture_writer(const std::string& path, const capture_writer_options& options)
    : state_(std::make_unique<state>(path, options)) {}

capture_writer::~capture_writer() { state_->write_out(); }

void capture_writer::state::property(std::string_view key, std::string_view value) noexcept {
    constexpr std::size_t room = format::largest_chunk_bytes - head_bytes;
    key = key.substr(0, room);
    value = value.substr(0, room - key.size());
    const std::array<std::uint32_t, 2> head = {narrow(key.size()), narrow(value.size())};
    const std::size_t payload_bytes = head_bytes + key.size() + value.size();
    if (payload_bytes > largest_payload()) {
        const std::span<const std::byte> parts[] = {std::as_bytes(std::span{head}), bytes_of(key), bytes_of(value)};
        return write_at_once(format::chunk_type::properties, parts);
    }
    if (std::byte* position = open_chunk(payload_bytes)) {
        position = append(position, head.data(), sizeof head);
        position = append(position, key.data(), key.size());
        append(position, value.data(), value.size());
        close_chunk(format::chunk_type::properties, 0, payload_bytes);
    }
}

void capture_writer::property(std::string_view key, std::string_view value) noexcept { state_->property(key, value); }

// A name that has a chunk of its own.
void capture_writer::state::name(const capture_writer::name_entry& entry) noexcept {
    const std::string_view text = entry.second.substr(0, format::largest_chunk_bytes - name_bytes(0));
    const std::array<std::uint32_t, 2> head = {entry.first, narrow(text.size())};
    constexpr std::array<std::byte, sizeof(std::uint32_t)> zeros{};
    const std::span<const std::byte> parts[] = {
        std::as_bytes(std::span{head}), bytes_of(text),
        std::span{zeros}.first(name_bytes(text.size()) - sizeof head - text.size())};
    write_at_once(format::chunk_type::names, parts);
}

void capture_writer::names(std::span<const name_entry> entries) noexcept {
    const std::size_t largest = state_->largest_payload();
    while (!entries.empty()) {
        std::size_t count = 0;
        std::size_t payload_bytes = 0;
        while (count < entries.size()) {
            const std::size_t more = name_bytes(entries[count].second.size());
            if (payload_bytes + more > largest) break;
            payload_bytes += more;
            ++count;
        }
        if (count == 0) {
            state_->name(entries.front());
            entries = entries.subspan(1);
            continue;
        }
        std::byte* position = state_->open_chunk(payload_bytes);
        if (position == nullptr) return;
        for (const auto& [id, text] : entries.first(count)) {
            const std::uint32_t head[2] = {id, narrow(text.size())};
            constexpr std::uint32_t zeros = 0;
            position = append(position, head, sizeof head);
            position = append(position, text.data(), text.size());
            position = append(position, &zeros, name_bytes(text.size()) - sizeof head - text.size());
        }
        state_->close_chunk(format::chunk_type::names, 0, payload_bytes);
        entries = entries.subspan(count);
    }
}

void capture_writer::labels(std::span<const label> entries) noexcept {
    state_->write_array(format::chunk_type::labels, 0, entries);
}

void capture_writer::thread(const format::thread_entry& entry) noexcept {
    state_->write_array(format::chunk_type::thread, 0, std::span{&entry, 1});
}

void capture_writer::records(std::uint64_t thread_uid, std::uint64_t first_number,
                             std::span<const record> records) noexcept {
    state_->write_array(format::chunk_type::records, thread_uid, records, first_number);
}

void capture_writer::graph_context(std::uint64_t thread_uid, std::uint64_t first_number,
                                   std::span<const record> records, format::chunk_type as) noexcept {
    state_->write_array(as, thread_uid, records, first_number);
}

template <typename TRecord>
void capture_writer::gpu(std::span<const TRecord> records, std::uint64_t buffer) noexcept {
    state_->write_array(gpu_chunk<TRecord>::chunk, buffer, records);
}
template void capture_writer::gpu(std::span<const kernel_record>, std::uint64_t) noexcept;
template void capture_writer::gpu(std::span<const transfer_record>, std::uint64_t) noexcept;
template void capture_writer::gpu(std::span<const graph_record>, std::uint64_t) noexcept;
template void capture_writer::gpu(std::span<const device_record>, std::uint64_t) noexcept;

void capture_writer::gpu(const gpu_records& all, std::uint64_t buffer) noexcept {
    all.for_each([&]<typename TRecord>(const std::vector<TRecord>& records) {
        if (!records.empty()) gpu<TRecord>(records, buffer);
    });
}

void capture_writer::clocks(std::span<const clock_snapshot> snapshots) noexcept {
    state_->write_array(format::chunk_type::clocks, 0, snapshots);
}

void capture_writer::drops(std::span<const std::pair<drop_cause, std::uint64_t>> counts) noexcept {
    // At most one chunk, since there is one count for each cause.
    std::array<format::drop_entry, drop_cause_count> entries;
    const std::size_t count = std::min(counts.size(), entries.size());
    for (std::size_t i = 0; i < count; ++i) {
        entries[i] = {static_cast<std::uint32_t>(counts[i].first), 0, counts[i].second};
    }
    state_->write_array(format::chunk_type::drops, 0, std::span<const format::drop_entry>{entries}.first(count));
}

void capture_writer::window(const format::window_entry& entry) noexcept {
    state_->write_array(format::chunk_type::windows, 0, std::span{&entry, 1});
}

void capture_writer::key_frame(const format::key_frame_entry& entry) noexcept {
    state_->write_array(format::chunk_type::key_frame, 0, std::span{&entry, 1});
}

void capture_writer::open(std::uint64_t thread_uid, std::uint64_t next_number,
                          std::span<const record> records) noexcept {
    constexpr std::size_t at_a_time = 64;  // fits any buffer; each chunk carries the same number
    for (; !records.empty() && !failed(); records = records.subspan(std::min(records.size(), at_a_time))) {
        state_->write_array(format::chunk_type::open, thread_uid, records.first(std::min(records.size(), at_a_time)),
                            next_number);
    }
}

void capture_writer::end(format::end_reason reason) noexcept {
    const format::end_entry entry{reason, 0, clock_ns(CLOCK_REALTIME)};
    state_->write_array(format::chunk_type::end, 0, std::span{&entry, 1});
    flush();
    state_->buffer.release();
    if (state_->failure.empty() && state_->file.is_removed()) {
        state_->failure.assign("capture " + state_->file_path + " was removed while it was written: all of it is lost");
    }
}

void capture_writer::flush() noexcept { state_->write_out(); }

void capture_writer::set_wait_for_room(std::function<bool()> wait) noexcept { state_->wait_for_room = std::move(wait); }

void capture_writer::set_front(std::recursive_mutex& front) noexcept { state_->front = &front; }

capture_extent capture_writer::extent() const noexcept { return {state_->file.bytes(), state_->sequence}; }

std::uint64_t capture_writer::position() const noexcept { return state_->file.position() + state_->used; }

int capture_writer::trim(std::uint64_t position) noexcept {
    return ::getpid() == state_->owner ? state_->file.trim(position) : 0;
}

bool capture_writer::failed() const noexcept { return !state_->failure.empty(); }

const std::string& capture_writer::failure() const noexcept { return state_->failure; }

std::uint64_t capture_writer::records_lost() const noexcept { return state_->records_lost; }

std::uint64_t capture_writer::bytes_written() const noexcept { return state_->file.bytes(); }

}  // namespace prof
