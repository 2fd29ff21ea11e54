// SPDX-License-Identifier: Apache-2.0
#include "ring/region.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "base/cancellation_guard.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/file_size_signal.hpp"
#include "base/mount_namespace.hpp"
#include "ring/storage.hpp"

namespace prof {
namespace {

constexpr std::size_t page = 4096;

constexpr std::size_t round_up(std::size_t value, std::size_t unit) noexcept {
    return (value + unit - 1) / unit * unit;
}

struct offsets {
    std::size_t passing_names = 0;
    std::size_t names = 0;
    std::size_t arena = 0;
    std::size_t passing_arena = 0;
    std::size_t labels = 0;
    std::size_t rings = 0;
    std::size_t writing = 0;
    std::size_t slots = 0;
    std::size_t buffers = 0;
    std::size_t total = 0;
};

std::uint32_t ring_count(const region_options& o) noexcept { return o.large_rings + o.medium_rings + o.small_rings; }

std::uint32_t ring_bytes(const region_options& o, std::uint32_t index) noexcept {
    if (index < o.large_rings) return o.large_ring_bytes;
    return index < o.large_rings + o.medium_rings ? o.medium_ring_bytes : o.small_ring_bytes;
}

std::size_t buffer_stride(const region_options& o) noexcept {
    return round_up(sizeof(buffer_header) + o.buffer_bytes, page);
}

// What needs storage from the start comes first: header, labels, ring headers, the writing area and the slots of the
// name tables. The names' arenas, the rings' slots and CUPTI's buffers follow; they get storage as they are used.
offsets plan(const region_options& o) noexcept {
    offsets places;
    places.labels = round_up(sizeof(region_header), 64);
    places.rings = round_up(places.labels + std::size_t{o.label_capacity} * sizeof(shared_label), 64);
    places.writing = round_up(places.rings + ring_count(o) * sizeof(ring_header), 64);
    places.passing_names =
        round_up(places.writing + (o.writing_bytes == 0 ? 0 : sizeof(writing_header) + o.writing_bytes), page);
    places.names = round_up(places.passing_names + passing_names::table_bytes(o.passing_name_slots), page);
    places.arena = places.names + name_table::arena_offset(o.name_slots);
    places.passing_arena = round_up(places.arena + o.name_bytes, page);
    places.slots = round_up(places.passing_arena + o.passing_name_bytes, page);
    places.buffers = places.slots;
    for (std::uint32_t i = 0; i < ring_count(o); ++i) places.buffers += ring_bytes(o, i);
    places.buffers = round_up(places.buffers, page);
    places.total = places.buffers + o.buffer_count * buffer_stride(o);
    return places;
}

std::string reason(const char* action, const std::string& where, int error_number) {
    return std::string{action} + " in " + where + ": " + std::strerror(error_number);
}

}  // namespace

region::region(const region_options& wanted) {
    region_options options = wanted;
    bytes_ = plan(options).total;

    char name[64];
    std::snprintf(name, sizeof name, "/libprof-%d-%02x%02x%02x%02x.rings", static_cast<int>(getpid()), options.id[0],
                  options.id[1], options.id[2], options.id[3]);
    path_ = name;

    bool mapped = false;
    if (options.place == "auto") {
        mapped = map_where_there_is_room(options);
    } else if (options.place != "memory") {
        mapped = map_file(options.place, true);
    }
    if (!mapped) {
        map_memory();
        if (options.place != "memory") {
            notice_ = "rings are in anonymous memory, what is in them is lost if the process is killed (" +
                      (notice_.empty() ? "no room in /dev/shm" : notice_) + "); PROF_RINGS names another directory";
        }
    } else if (options.buffer_count == wanted.buffer_count) {
        notice_.clear();
    } else {
        notice_ =
            "CUPTI's buffers are in anonymous memory (no room for them in /dev/shm): GPU records in them are lost "
            "if the process is killed; PROF_RINGS names another directory";
    }
    lay_out(options);
    if (notice_.empty()) notice_ = options.notice;
}

// Twice the size must be free, so that libprof does not fill up a small container's /dev/shm. If there is room for the
// rings alone, CUPTI's buffers are left out, and `options` is changed to match.
bool region::map_where_there_is_room(region_options& options) {
    region_options rings = options;
    rings.buffer_count = 0;
    for (const region_options& tried : {options, rings}) {
        bytes_ = plan(tried).total;
        if (!has_room("/dev/shm", 2 * bytes_) || !map_file("/dev/shm", false)) continue;
        options = tried;
        return true;
    }
    bytes_ = plan(options).total;
    return !options.fallback_directory.empty() && map_file(options.fallback_directory, false);
}

bool region::map_file(const std::string& directory, bool is_asked_for) {
    const std::string path = directory + path_.substr(path_.rfind('/'));
    int fd = open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    const bool nameless = fd >= 0;
    if (!nameless) fd = open(path.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0600);
    fd = above_standard_streams(fd);
    if (fd < 0) {
        notice_ = reason("cannot create a file", directory, errno);
        return false;
    }
    struct statfs status {};
    void* base = MAP_FAILED;
    const file_size_signal_guard guard;
    if (fstatfs(fd, &status) != 0 || !keeps_allocated_blocks(status.f_type, is_asked_for)) {
        notice_ = "on the file system of " + directory + " a write to mapped memory can fail";
    } else {
        if (ftruncate(fd, static_cast<off_t>(bytes_)) == 0) {
            base = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
        }
        if (base == MAP_FAILED) notice_ = reason("cannot map the rings", directory, errno);
    }
    if (base == MAP_FAILED) {
        if (!nameless) unlink(path.c_str());
        close(fd);
        return false;
    }
    fd_ = fd;
    // Held for as long as the file is open. A process that can take the lock exclusively can infer that this one is
    // gone. On a file system without locks the pid has to serve for that.
    (void)flock(fd, LOCK_SH | LOCK_NB);
    base_ = static_cast<std::byte*>(base);
    path_ = path;
    file_ = file_identity(fd);
    // relaxed: no other thread has the region yet.
    named_.store(!nameless, std::memory_order_relaxed);
    return true;
}

void region::map_memory() {
    void* base = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) throw error("no memory for the rings (" + std::to_string(bytes_) + " bytes)");
    base_ = static_cast<std::byte*>(base);
    path_.clear();
}

// Allocates storage for a part of the file, so that a write to it never raises SIGBUS. Returns 0, or an errno. For
// anonymous memory returns 0 at once. Not posix_fallocate(): on a file system without fallocate it writes to each block
// instead, which guarantees nothing for later writes.
int region::allocate(std::size_t offset, std::size_t bytes) noexcept {
    if (path_.empty()) return 0;
    const cancellation_guard guard;
    const int fd = fd_;
    const std::size_t begin = offset / page * page;
    const file_size_signal_guard signals;
    do {
        if (!file_.is_still(fd)) return EBADF;
        if (fallocate(fd, 0, static_cast<off_t>(begin), static_cast<off_t>(offset + bytes - begin)) == 0) return 0;
    } while (errno == EINTR);
    return errno;
}

void region::lay_out(const region_options& options) {
    const offsets places = plan(options);
    if (const int failure = allocate(0, places.arena); failure != 0) {
        notice_ = reason("no space for the rings", path_, failure);
        munmap(base_, bytes_);
        // relaxed: no other thread has the region yet.
        if (named_.load(std::memory_order_relaxed)) unlink(path_.c_str());
        close(fd_);
        fd_ = -1;
        map_memory();
        notice_ = "rings are in anonymous memory, what is in them is lost if the process is killed (" + notice_ +
                  "); PROF_RINGS names another directory";
    }
    header_ = ::new (base_) region_header;
    header_->version = region_version;
    header_->header_bytes = sizeof(region_header);
    header_->region_bytes = bytes_;
    header_->id = options.id;
    header_->pid = static_cast<std::uint32_t>(getpid());
    header_->mount_namespace = mount_namespace();
    header_->tick_source = static_cast<std::uint32_t>(active_tick_source);
    header_->names_offset = places.names;
    header_->names_bytes = places.passing_arena - places.names;
    header_->passing_names_offset = places.passing_names;
    header_->passing_arena_offset = places.passing_arena;
    header_->buffers_offset = places.buffers;
    header_->buffer_bytes = options.buffer_bytes;
    header_->buffer_stride = buffer_stride(options);
    header_->buffer_count = options.buffer_count;
    header_->labels_offset = places.labels;
    header_->label_capacity = options.label_capacity;
    header_->rings_offset = places.rings;
    header_->writing_offset = places.writing;
    header_->writing_bytes = options.writing_bytes;
    if (options.writing_bytes != 0) ::new (base_ + places.writing) writing_header;
    // relaxed: no other thread has the region yet.
    header_->domain_count.store(1, std::memory_order_relaxed);
    labels_ = reinterpret_cast<shared_label*>(base_ + places.labels);
    rings_ = reinterpret_cast<ring_header*>(base_ + places.rings);
    ring_count_ = ring_count(options);
    header_->ring_count = ring_count_;
    for (std::uint32_t i = 0; i < options.label_capacity; ++i) ::new (labels_ + i) shared_label;
    std::size_t slots = places.slots;
    for (std::uint32_t i = 0; i < ring_count_; ++i) {
        const std::uint32_t bytes = ring_bytes(options, i);
        auto* ring = ::new (rings_ + i) ring_header;
        ring->capacity = bytes / static_cast<std::uint32_t>(sizeof(record));
        ring->slots_offset = slots;
        slots += bytes;
    }
    names_ = name_table::create(base_ + places.names, options.name_slots, options.name_bytes);
    passing_ = passing_names::create(base_ + places.passing_names, options.passing_name_slots,
                                     base_ + places.passing_arena, options.passing_name_bytes);
    arena_file_offset_ = places.arena;
    passing_file_offset_ = places.passing_arena;
    extend_names();
    header_->magic = region_magic;  // last: a reader that sees it sees the whole header
}

region::~region() {
    munmap(base_, bytes_);
    remove_file();
}

void region::take_name_off() noexcept {
    if (named_.exchange(false)) unlink(path_.c_str());
}

void region::remove_file() noexcept {
    take_name_off();
    const int fd = fd_.exchange(-1);
    if (file_.is_still(fd)) close(fd);
}

void region::publish() noexcept {
    const int fd = fd_;
    if (!file_.is_still(fd) || named_.exchange(true)) return;
    char self[64];
    std::snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    // If this fails, only the recovery after a crash is lost.
    (void)linkat(AT_FDCWD, self, AT_FDCWD, path_.c_str(), AT_SYMLINK_FOLLOW);
}

std::uint32_t region::begin_capture() noexcept { return ++header_->capture_number; }

void region::set_capture_path(std::string_view path) noexcept {
    header_->capture_path = {};
    path.copy(header_->capture_path.data(), header_->capture_path.size());
}

void region::disown() noexcept {
    named_.store(false);
    remove_file();
}

ring_header* region::claim_ring(std::uint32_t tid) noexcept {
    for (std::uint32_t index = 0; index < ring_count_; ++index) {
        ring_header& ring = rings_[index];
        if (!claim(ring)) continue;
        // seq_cst: rare, and the drain thread should see the ring soon.
        std::uint32_t seen = rings_ever_claimed_.load();
        while (seen <= index && !rings_ever_claimed_.compare_exchange_weak(seen, index + 1)) {
        }
        // relaxed: only the thread that holds the claim reads or writes it.
        if (ring.has_storage.load(std::memory_order_relaxed) == 0) {
            if (allocate(ring.slots_offset, std::size_t{ring.capacity} * sizeof(record)) != 0) {
                set_free(ring);
                return nullptr;
            }
            ring.has_storage.store(1, std::memory_order_relaxed);
        }
        char name[16] = {};
        prctl(PR_GET_NAME, name);
        ring.name = {};
        std::memcpy(ring.name.data(), name, sizeof name);
        ring.tid.store(tid, std::memory_order_relaxed);
        // relaxed: a plain counter.
        set_owner(ring, header_->next_thread_uid.fetch_add(1, std::memory_order_relaxed));
        return &ring;
    }
    return nullptr;
}

void region::retire_ring(ring_header& ring) noexcept { retire(ring); }

void region::free_ring(ring_header& ring) noexcept { set_free(ring); }

std::span<ring_header> region::rings() noexcept { return {rings_, rings_ever_claimed_.load()}; }

record* region::slots(const ring_header& ring) noexcept { return reinterpret_cast<record*>(base_ + ring.slots_offset); }

std::span<std::byte> region::writing_area() noexcept {
    if (header_->writing_bytes == 0) return {};
    return {base_ + header_->writing_offset, sizeof(writing_header) + header_->writing_bytes};
}

buffer_area region::buffers() noexcept {
    return {base_ + header_->buffers_offset, header_->buffer_bytes, header_->buffer_stride, header_->buffer_count};
}

// Leaves the last free storage alone: other programs write there without allocating first, and a page without room
// would end them.
bool region::allocate_buffer(std::uint32_t index) noexcept {
    struct statfs status {};
    const int fd = fd_;
    if (!path_.empty() && fstatfs(fd, &status) == 0 && !has_room(status, 2 * header_->buffer_stride)) return false;
    return allocate(header_->buffers_offset + index * header_->buffer_stride, header_->buffer_stride) == 0;
}

void region::count_drop(drop_cause cause, std::uint64_t count) noexcept {
    // relaxed: a statistic.
    header_->drops[static_cast<std::size_t>(cause)].fetch_add(count, std::memory_order_relaxed);
}

drop_counts region::drops() const noexcept {
    drop_counts total{};
    for (std::size_t cause = 0; cause < drop_cause_count; ++cause) {
        // relaxed: statistics.
        total[cause] = header_->drops[cause].load(std::memory_order_relaxed);
        for (std::uint32_t i = 0; i < ring_count_; ++i) {
            total[cause] += rings_[i].drops[cause].load(std::memory_order_relaxed);
        }
    }
    return total;
}

}  // namespace prof
