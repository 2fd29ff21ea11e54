// SPDX-License-Identifier: Apache-2.0
#include "capture/recovery/seal.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "capture/codec.hpp"
#include "capture/opening.hpp"
#include "capture/reader.hpp"
#include "capture/recovery/process_state.hpp"
#include "ring/region_layout.hpp"

namespace prof {
namespace {

class locked_file {
public:
    // Stays closed if `path` is no such file. A capture may name a device as its rings, and opening a device may have
    // effects.
    locked_file(const std::string& path, int flags) noexcept {
        struct stat status {};
        if (lstat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode)) {
            errno = EINVAL;
            return;
        }
        descriptor_ = open(path.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        is_locked_ = descriptor_ >= 0 && flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
    }
    ~locked_file() {
        if (descriptor_ >= 0) close(descriptor_);
    }
    locked_file(const locked_file&) = delete;
    locked_file& operator=(const locked_file&) = delete;

    bool is_open() const noexcept { return descriptor_ >= 0; }
    bool is_locked() const noexcept { return is_locked_; }
    int descriptor() const noexcept { return descriptor_; }

private:
    int descriptor_ = -1;
    bool is_locked_ = false;
};

// The process of a capture, as the capture describes it.
struct process_of_capture {
    std::array<std::uint8_t, 16> id{};
    std::uint32_t number = 0;
    std::uint32_t pid = 0;
    std::uint64_t created_realtime_ns = 0;
    std::string start;
    std::string host;
    std::string rings_path;
};

process_of_capture read_process(const std::string& path) {
    capture_reader reader(path);
    const format::file_header& header = reader.header();
    const property_map properties = opening_properties(reader);
    const auto value = [&](const char* key) {
        const auto found = properties.find(key);
        return found == properties.end() ? std::string() : found->second;
    };
    return {header.id,         header.number,      header.pid, header.created_realtime_ns, value("process_start"),
            value("hostname"), value("rings_path")};
}

// The rings of a capture, and whether their process is still running.
class rings_of {
public:
    explicit rings_of(const process_of_capture& process)
        : path_(process.rings_path), file_(process.rings_path, O_RDWR) {
        std::array<char, 8> magic{};
        std::array<std::uint8_t, 16> id{};
        exist_ = file_.is_open() && read(magic, offsetof(region_header, magic)) && magic == region_magic &&
                 read(id, offsetof(region_header, id)) && id == process.id;
        std::uint32_t version = 0;
        is_of_this_version_ = exist_ && read(version, offsetof(region_header, version)) && version == region_version;
        std::uint32_t number = 0;
        are_its_own_ =
            is_of_this_version_ && read(number, offsetof(region_header, capture_number)) && number == process.number;
        runs_ = (exist_ && !file_.is_locked()) ||
                state_of_process(process.pid, process.start, process.created_realtime_ns, process.host) ==
                    process_state::running;
    }
    bool exist() const noexcept { return exist_; }
    bool can_be_read() const noexcept { return !exist_ || is_of_this_version_; }
    // What is in them belongs to this capture, not to a later one of the process.
    bool are_its_own() const noexcept { return are_its_own_; }
    bool process_runs() const noexcept { return runs_; }
    void remove() const noexcept { unlink(path_.c_str()); }

private:
    template <typename TField>
    bool read(TField& field, std::size_t offset) const noexcept {
        return pread(file_.descriptor(), &field, sizeof field, static_cast<off_t>(offset)) ==
               static_cast<ssize_t>(sizeof field);
    }

    const std::string& path_;
    locked_file file_;
    bool exist_ = false;
    bool is_of_this_version_ = false;
    bool are_its_own_ = false;
    bool runs_ = false;
};

// Appends chunks to a capture. If one cannot be written, the file is cut back to its previous size.
class appender {
public:
    appender(const std::string& path, int descriptor, const capture_reader::append_point& point)
        : path_(path),
          descriptor_(descriptor),
          begin_(point.offset),
          position_(point.offset),
          sequence_(point.sequence) {
        if (ftruncate(descriptor_, static_cast<off_t>(begin_)) != 0) fail();
    }
    void chunk(format::chunk_type type, std::uint64_t aux, std::span<const std::byte> payload) {
        format::chunk_header header;
        header.type = static_cast<std::uint32_t>(type);
        header.sequence = sequence_++;
        header.aux = aux;
        header.raw_bytes = header.stored_bytes = static_cast<std::uint32_t>(payload.size());
        header.payload_crc32 = crc32_of(payload);
        const auto bytes = std::as_bytes(std::span{&header, 1});
        header.header_crc32 = crc32_of(bytes.first(offsetof(format::chunk_header, header_crc32)));
        write(bytes);
        write(payload);
        constexpr std::array<std::byte, 8> zeros{};
        write(std::span{zeros}.first((8 - payload.size() % 8) % 8));
    }
    void property(std::string_view key, std::string_view value) {
        const std::array<std::uint32_t, 2> sizes = {static_cast<std::uint32_t>(key.size()),
                                                    static_cast<std::uint32_t>(value.size())};
        std::string payload(reinterpret_cast<const char*>(sizes.data()), sizeof sizes);
        payload.append(key).append(value);
        chunk(format::chunk_type::properties, 0, std::as_bytes(std::span{payload}));
    }

private:
    void write(std::span<const std::byte> bytes) {
        while (!bytes.empty()) {
            const ssize_t written = pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(position_));
            if (written < 0 && errno == EINTR) continue;
            if (written <= 0) fail();
            position_ += static_cast<std::uint64_t>(written);
            bytes = bytes.subspan(static_cast<std::size_t>(written));
        }
    }
    [[noreturn]] void fail() {
        const int failure = errno;
        (void)!ftruncate(descriptor_, static_cast<off_t>(begin_));
        throw error("cannot seal " + path_ + ": " + std::strerror(failure) + "; make room, then prof seal it");
    }

    const std::string& path_;
    int descriptor_;
    std::uint64_t begin_;
    std::uint64_t position_;
    std::uint32_t sequence_;
};

// Removes the files that the process was writing beside its captures when it died (copies, dumps, traces). Their names
// are used by nothing else: NAME….tmp-PID, where NAME.prof is the capture.
void remove_unfinished(const std::string& capture, std::uint32_t pid) {
    const std::filesystem::path path(capture);
    const std::string stem = path.stem().string() + ".";
    const std::string ending = ".tmp-" + std::to_string(pid);
    std::error_code failed;
    const auto directory = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
    std::filesystem::directory_iterator entries(directory, failed);
    for (; !failed && entries != std::filesystem::directory_iterator(); entries.increment(failed)) {
        const std::string name = entries->path().filename().string();
        if (name.starts_with(stem) && name.ends_with(ending)) unlink(entries->path().c_str());
    }
}

}  // namespace

sealing seal_capture(const std::string& path, std::uint32_t how) {
    const process_of_capture process = read_process(path);
    const locked_file file(path, O_RDWR);
    if (!file.is_open()) throw error("cannot seal " + path + ": " + std::strerror(errno));
    if (!file.is_locked()) return {seal_result::is_running, path + " is being sealed by another process"};
    const rings_of rings(process);
    if (rings.process_runs()) {
        return {seal_result::is_running, "process " + std::to_string(process.pid) + " of " + path + " still runs"};
    }

    capture_reader reader(path);
    chunk next;
    bool closed = false;
    while (!closed && reader.next(next) && !next.recovered) closed = next.type == format::chunk_type::end;
    if (closed) {
        if (rings.are_its_own()) rings.remove();
        if (is_this_host(process.host)) remove_unfinished(path, process.pid);
        return {seal_result::was_closed, path + " was closed already"};
    }
    if (!rings.can_be_read()) {
        throw error("cannot seal " + path + ": its rings are of another version of libprof; use the prof of that");
    }
    if (!rings.exist() && !is_this_host(process.host)) {
        throw error("cannot seal " + path + ": its process ran on " + process.host + ", and so must prof seal");
    }
    appender out(path, file.descriptor(), reader.where_to_append());
    for (bool more = next.recovered; more; more = reader.next(next)) out.chunk(next.type, next.aux, next.payload);
    out.property("recovery", reader.recovery_outcome());
    const format::end_entry end{format::end_reason::died, how, clock_ns(CLOCK_REALTIME)};
    out.chunk(format::chunk_type::end, 0, std::as_bytes(std::span{&end, 1}));
    if (rings.are_its_own()) rings.remove();
    remove_unfinished(path, process.pid);
    return {seal_result::sealed, reader.recovery_outcome()};
}

void remove_rings(const std::string& path) {
    const process_of_capture process = read_process(path);
    const rings_of rings(process);
    if (rings.process_runs()) return;
    if (rings.exist()) rings.remove();
    if (is_this_host(process.host)) remove_unfinished(path, process.pid);
}

}  // namespace prof
