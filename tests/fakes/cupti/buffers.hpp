// SPDX-License-Identifier: Apache-2.0
// The client's activity buffers: records are reserved in them in order of launch, completed as operations end, and
// handed back when all of a buffer's records are complete.
//
// Every buffer comes back from the worker thread: when it is full, or for a flush, which waits for that. The client's
// callbacks are called with no lock held. Any thread may call anything but reset().
#pragma once

#include <cupti.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "fakes/cupti/records.hpp"
#include "fakes/fake_cupti.h"

namespace fake {

class activity_buffers {
public:
    void register_callbacks(CUpti_BuffersCallbackRequestFunc on_request, CUpti_BuffersCallbackCompleteFunc on_complete);

    // A record that is complete as it stands.
    void append(const record& contents);
    // A record that complete() will fill; the ticket is 0 if it had to be dropped. `journal_index`: the operation's.
    std::uint64_t reserve(const record& contents, std::uint64_t journal_index);
    void complete(std::uint64_t ticket, const record& contents);

    void flush(bool is_forced);
    std::size_t take_dropped();

    void set_per_thread(bool on);
    void set_client_zeroes(bool on);

    void drop_next(std::size_t records);
    void hold();
    void release(fake_cupti_order order);
    std::size_t buffers_held() const;
    void wait_until_delivered();

    // Lets go of every buffer without handing it back, and of the callbacks.
    void clear();

    // The calling thread ends: its buffer will not grow any more.
    void leave_thread(std::uint64_t thread);

private:
    struct buffer {
        std::uint8_t* data = nullptr;
        std::size_t size = 0;
        std::size_t max_records = 0;
        std::size_t used = 0;
        std::size_t records = 0;
        std::size_t incomplete = 0;
        bool is_closed = false;                                  // no more records
        std::vector<std::pair<std::uint64_t, bool>> operations;  // journal index, is complete
    };
    struct place {
        std::shared_ptr<buffer> in;
        std::size_t offset;
        std::size_t operation;  // index in in->operations
    };
    using lock = std::unique_lock<std::mutex>;

    std::uint64_t add(const record& contents, std::optional<std::uint64_t> journal_index);
    std::shared_ptr<buffer> with_room(lock& held, std::size_t bytes);
    std::shared_ptr<buffer> ask_client(CUpti_BuffersCallbackRequestFunc on_request, bool is_zeroed);
    void close(const std::shared_ptr<buffer>& full);
    std::shared_ptr<buffer> next_to_deliver();
    void deliver(const buffer& done);
    void start_worker();
    void stop_worker();
    void work();

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    CUpti_BuffersCallbackRequestFunc on_request_ = nullptr;
    CUpti_BuffersCallbackCompleteFunc on_complete_ = nullptr;
    bool is_per_thread_ = true;
    bool client_zeroes_ = false;
    std::map<std::uint64_t, std::shared_ptr<buffer>> open_;  // by thread; 0 where all share one
    std::vector<std::shared_ptr<buffer>> closed_;            // full, some record incomplete
    std::deque<std::shared_ptr<buffer>> ready_;              // full and complete
    std::deque<std::shared_ptr<buffer>> flushed_;            // a flush waits for these, held or not
    std::map<std::uint64_t, place> places_;                  // by ticket
    std::uint64_t last_ticket_ = 0;
    std::size_t dropped_ = 0;
    std::size_t drop_next_ = 0;
    bool is_held_ = false;

    std::thread worker_;
    bool worker_stops_ = false;
    std::size_t being_delivered_ = 0;
};

}  // namespace fake
