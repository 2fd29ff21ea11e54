// SPDX-License-Identifier: Apache-2.0
#include "timeline/read_ahead.hpp"

#include <cstring>
#include <utility>

namespace prof {

read_ahead::read_ahead(capture_reader& reader) : reader_(reader), thread_([this] { read_all(); }) {}

read_ahead::~read_ahead() {
    {
        const std::lock_guard lock(mutex_);
        is_wanted_ = false;
    }
    changed_.notify_all();
    thread_.join();
}

bool read_ahead::wait_for_room() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !is_wanted_ || filled_ - emptied_ < slots_.size(); });
    return is_wanted_;
}

void read_ahead::read_all() {
    std::exception_ptr failure;
    try {
        chunk next;
        while (wait_for_room() && reader_.next(next)) {
            slot& to = slots_[filled_ % slots_.size()];  // only this thread changes filled_
            to.what = next;
            to.payload.resize((next.payload.size() + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
            if (!next.payload.empty()) std::memcpy(to.payload.data(), next.payload.data(), next.payload.size());
            to.what.payload = std::as_bytes(std::span{to.payload}).first(next.payload.size());
            to.read_bytes = reader_.read_bytes();
            {
                const std::lock_guard lock(mutex_);
                ++filled_;
            }
            changed_.notify_all();
        }
    } catch (...) {
        failure = std::current_exception();
    }
    {
        const std::lock_guard lock(mutex_);
        is_over_ = true;
        failure_ = std::move(failure);
    }
    changed_.notify_all();
}

bool read_ahead::next(chunk& out) {
    std::unique_lock lock(mutex_);
    if (std::exchange(holds_slot_, false)) {
        ++emptied_;
        changed_.notify_all();
    }
    changed_.wait(lock, [&] { return is_over_ || filled_ != emptied_; });
    if (filled_ == emptied_) {
        if (failure_) std::rethrow_exception(failure_);
        return false;
    }
    const slot& from = slots_[emptied_ % slots_.size()];
    out = from.what;
    read_bytes_ = from.read_bytes;
    holds_slot_ = true;
    return true;
}

}  // namespace prof
