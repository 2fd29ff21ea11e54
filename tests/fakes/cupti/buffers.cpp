// SPDX-License-Identifier: Apache-2.0
#include "fakes/cupti/buffers.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <iterator>
#include <utility>

#include "fakes/cupti/activity.hpp"
#include "fakes/cupti/entry.hpp"
#include "fakes/gpu/simulated_gpu.hpp"

namespace fake {
namespace {

constexpr std::size_t record_alignment = 8;
// How often the worker checks for operations that have ended by the real clock.
constexpr auto settle_period = std::chrono::milliseconds{1};

thread_local bool in_client_callback = false;

struct thread_identity {
    std::uint64_t id = next()++;
    ~thread_identity() { cupti().buffers.leave_thread(id); }

    static std::atomic<std::uint64_t>& next() {
        static std::atomic<std::uint64_t> next_id{1};
        return next_id;
    }
};

// Each byte equals the one before it. By the C library: a thread is to be here for a short time, as in the real one.
bool is_zero(const std::uint8_t* data, std::size_t bytes) {
    return bytes == 0 || (data[0] == 0 && std::memcmp(data, data + 1, bytes - 1) == 0);
}

std::uint64_t this_thread() {
    thread_local const thread_identity identity;
    return identity.id;
}

}  // namespace

void activity_buffers::register_callbacks(CUpti_BuffersCallbackRequestFunc on_request,
                                          CUpti_BuffersCallbackCompleteFunc on_complete) {
    const std::scoped_lock held{mutex_};
    on_request_ = on_request;
    on_complete_ = on_complete;
    start_worker();
}

void activity_buffers::append(const record& contents) { add(contents, std::nullopt); }

std::uint64_t activity_buffers::reserve(const record& contents, std::uint64_t journal_index) {
    return add(contents, journal_index);
}

std::uint64_t activity_buffers::add(const record& contents, std::optional<std::uint64_t> journal_index) {
    simulated_gpu& gpu = simulated_gpu::instance();
    lock held{mutex_};
    std::shared_ptr<buffer> into;
    if (drop_next_ > 0) {
        --drop_next_;
    } else {
        into = with_room(held, contents.size);
    }
    if (into == nullptr) {
        ++dropped_;
        if (journal_index) {
            gpu.set_record_state(*journal_index, FAKE_GPU_RECORD_DROPPED);
        }
        return 0;
    }
    std::memcpy(into->data + into->used, contents.bytes.data(), contents.size);
    const std::size_t offset = std::exchange(into->used, into->used + contents.size);
    ++into->records;
    if (!journal_index) {
        return 0;
    }
    ++into->incomplete;
    into->operations.emplace_back(*journal_index, false);
    places_[++last_ticket_] = {into, offset, into->operations.size() - 1};
    gpu.set_record_state(*journal_index, FAKE_GPU_RECORD_PENDING);
    gpu.at(FAKE_GPU_IN_RECORD);
    changed_.notify_all();  // the worker starts to look for its end
    return last_ticket_;
}

std::shared_ptr<activity_buffers::buffer> activity_buffers::with_room(lock& held, std::size_t bytes) {
    const std::uint64_t owner = is_per_thread_ ? this_thread() : 0;
    const auto fits = [bytes](const buffer& candidate) {
        return candidate.used + bytes <= candidate.size &&
               (candidate.max_records == 0 || candidate.records < candidate.max_records);
    };
    if (const auto current = open_.find(owner); current != open_.end()) {
        if (fits(*current->second)) {
            return current->second;
        }
        close(current->second);
        open_.erase(current);
    }
    if (on_request_ == nullptr) {
        return nullptr;
    }
    const auto on_request = on_request_;
    const bool is_zeroed = client_zeroes_;
    held.unlock();
    std::shared_ptr<buffer> fresh = ask_client(on_request, is_zeroed);
    held.lock();
    if (fresh == nullptr) {
        return nullptr;
    }
    // Where threads share, another one may have installed a buffer meanwhile.
    if (auto& current = open_[owner]; current != nullptr) {
        close(std::exchange(current, fresh));
    } else {
        current = fresh;
    }
    return fits(*fresh) ? fresh : nullptr;
}

std::shared_ptr<activity_buffers::buffer> activity_buffers::ask_client(CUpti_BuffersCallbackRequestFunc on_request,
                                                                       bool is_zeroed) {
    auto fresh = std::make_shared<buffer>();
    in_client_callback = true;
    on_request(&fresh->data, &fresh->size, &fresh->max_records);
    simulated_gpu::instance().at(FAKE_GPU_GETTING_BUFFER);
    in_client_callback = false;
    if (fresh->data == nullptr) {
        if (cupti_version() < cuda_12_9) {
            die("the client returned no buffer, which crashes CUPTI before 12.9");
        }
        return nullptr;
    }
    if (reinterpret_cast<std::uintptr_t>(fresh->data) % record_alignment != 0) {
        die("the client returned a buffer that is not aligned to 8 bytes");
    }
    if (!is_zeroed) {
        std::memset(fresh->data, 0, fresh->size);
    } else if (!is_zero(fresh->data, fresh->size)) {
        die("the client promised zeroed buffers and returned one that is not");
    }
    return fresh;
}

void activity_buffers::complete(std::uint64_t ticket, const record& contents) {
    const std::scoped_lock held{mutex_};
    const auto found = places_.find(ticket);
    if (found == places_.end()) {
        return;  // a forced flush has delivered it already, or finalize forgot it
    }
    const place where = found->second;
    places_.erase(found);
    // The kind stays what it was at launch, whatever was enabled since.
    constexpr std::size_t kind_bytes = sizeof(CUpti_ActivityKind);
    std::memcpy(where.in->data + where.offset + kind_bytes, contents.bytes.data() + kind_bytes,
                contents.size - kind_bytes);
    where.in->operations[where.operation].second = true;
    --where.in->incomplete;
    if (where.in->is_closed && where.in->incomplete == 0) {
        std::erase(closed_, where.in);
        ready_.push_back(where.in);
        changed_.notify_all();
    }
}

void activity_buffers::close(const std::shared_ptr<buffer>& full) {
    full->is_closed = true;
    if (full->incomplete > 0) {
        closed_.push_back(full);
    } else {
        ready_.push_back(full);
        changed_.notify_all();
    }
}

void activity_buffers::flush(bool is_forced) {
    if (in_client_callback) {
        die("cuptiActivityFlushAll called from a buffer callback, which deadlocks CUPTI");
    }
    simulated_gpu::instance().settle();
    lock held{mutex_};
    if (!worker_.joinable()) {
        return;  // no callbacks, hence no buffers
    }
    if (!is_held_ || is_forced) {
        std::ranges::move(ready_, std::back_inserter(flushed_));
        ready_.clear();
        std::erase_if(open_, [&](const auto& each) {
            const buffer& candidate = *each.second;
            const bool is_taken = candidate.records > 0 && (is_forced || candidate.incomplete == 0);
            if (is_taken) {
                flushed_.push_back(each.second);
            }
            return is_taken;
        });
    }
    if (is_forced) {
        std::ranges::move(closed_, std::back_inserter(flushed_));
        closed_.clear();
        std::erase_if(places_, [](const auto& each) {
            return each.second.in->incomplete > 0;  // all of these are in `flushed_`
        });
    }
    changed_.notify_all();
    changed_.wait(held, [this] { return flushed_.empty() && being_delivered_ == 0; });
}

void activity_buffers::deliver(const buffer& done) {
    CUpti_BuffersCallbackCompleteFunc on_complete = nullptr;
    {
        const std::scoped_lock held{mutex_};
        on_complete = on_complete_;
    }
    for (const auto& [index, is_complete] : done.operations) {
        simulated_gpu::instance().set_record_state(
            index, is_complete ? FAKE_GPU_RECORD_DELIVERED : FAKE_GPU_RECORD_INCOMPLETE);
    }
    if (on_complete != nullptr) {
        in_client_callback = true;
        on_complete(nullptr, 0, done.data, done.size, done.used);
        simulated_gpu::instance().at(FAKE_GPU_RETURNING_BUFFER);
        in_client_callback = false;
    }
}

std::size_t activity_buffers::take_dropped() {
    const std::scoped_lock held{mutex_};
    return std::exchange(dropped_, 0);
}

void activity_buffers::set_per_thread(bool on) {
    const std::scoped_lock held{mutex_};
    is_per_thread_ = on;
}

void activity_buffers::set_client_zeroes(bool on) {
    const std::scoped_lock held{mutex_};
    client_zeroes_ = on;
}

void activity_buffers::drop_next(std::size_t records) {
    const std::scoped_lock held{mutex_};
    drop_next_ = records;
}

void activity_buffers::hold() {
    const std::scoped_lock held{mutex_};
    is_held_ = true;
}

void activity_buffers::release(fake_cupti_order order) {
    {
        const std::scoped_lock held{mutex_};
        is_held_ = false;
        if (order == FAKE_CUPTI_REVERSED) {
            std::ranges::reverse(ready_);
        }
        changed_.notify_all();
    }
    wait_until_delivered();
}

std::size_t activity_buffers::buffers_held() const {
    const std::scoped_lock held{mutex_};
    return open_.size() + closed_.size() + ready_.size() + flushed_.size();
}

void activity_buffers::wait_until_delivered() {
    lock held{mutex_};
    if (worker_.joinable()) {
        changed_.wait(held,
                      [this] { return (ready_.empty() || is_held_) && flushed_.empty() && being_delivered_ == 0; });
    }
}

void activity_buffers::leave_thread(std::uint64_t thread) {
    const std::scoped_lock held{mutex_};
    if (const auto left = open_.find(thread); left != open_.end()) {
        close(left->second);
        open_.erase(left);
    }
}

void activity_buffers::clear() {
    if (in_client_callback) {
        die("CUPTI taken down from a buffer callback");
    }
    stop_worker();
    const std::scoped_lock held{mutex_};
    on_request_ = nullptr;
    on_complete_ = nullptr;
    is_per_thread_ = true;
    client_zeroes_ = false;
    open_.clear();
    closed_.clear();
    ready_.clear();
    flushed_.clear();
    places_.clear();
    dropped_ = 0;
    drop_next_ = 0;
    is_held_ = false;
    changed_.notify_all();  // a flush on another thread has nothing to wait for any more
}

// --- the worker ---------------------------------------------------------------------------------

void activity_buffers::start_worker() {
    if (!worker_.joinable()) {
        worker_stops_ = false;
        worker_ = std::thread{[this] { work(); }};
    }
}

void activity_buffers::stop_worker() {
    std::thread stopping;
    {
        const std::scoped_lock held{mutex_};
        worker_stops_ = true;
        changed_.notify_all();
        stopping = std::move(worker_);
    }
    if (stopping.joinable()) {
        stopping.join();
    }
}

std::shared_ptr<activity_buffers::buffer> activity_buffers::next_to_deliver() {
    auto& queue = flushed_.empty() && !is_held_ ? ready_ : flushed_;
    if (queue.empty()) {
        return nullptr;
    }
    std::shared_ptr<buffer> next = queue.front();
    queue.pop_front();
    return next;
}

void activity_buffers::work() {
    simulated_gpu& gpu = simulated_gpu::instance();
    lock held{mutex_};
    while (!worker_stops_) {
        if (const std::shared_ptr<buffer> done = next_to_deliver()) {
            ++being_delivered_;
            held.unlock();
            deliver(*done);
            held.lock();
            --being_delivered_;
            changed_.notify_all();
            continue;
        }
        const bool is_time_passing = !places_.empty() && !gpu.clock.is_virtual();
        if (!is_time_passing) {
            changed_.wait(held);
            continue;
        }
        held.unlock();
        gpu.settle();
        held.lock();
        if (flushed_.empty() && (ready_.empty() || is_held_)) {
            changed_.wait_for(held, settle_period);
        }
    }
}

}  // namespace fake
