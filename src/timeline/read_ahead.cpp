// SPDX-License-Identifier: Apache-2.0
#include "timeline/read_ahead.hpp"

#include <cstring>
#include <utility>

#include "base/own_memory.hpp"

namespace prof {

void read_ahead::batch::clear() noexcept {
    chunks_.clear();
    used_ = 0;
}

bool read_ahead::batch::is_full() const noexcept {
    constexpr std::size_t words = (256U << 10) / sizeof(std::uint64_t);
    constexpr std::size_t most_chunks = 1024;
    return used_ >= words || chunks_.size() == most_chunks;
}

void read_ahead::batch::add(const chunk& added, std::uint64_t read_bytes) {
    const std::size_t bytes = added.payload.size();
    const std::size_t end = used_ + (bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
    if (end > words_.size()) words_.resize(end);
    if (bytes != 0) std::memcpy(words_.data() + used_, added.payload.data(), bytes);
    chunks_.push_back({added, used_, bytes, read_bytes});
    chunks_.back().what.payload = {};
    used_ = end;
}

chunk read_ahead::batch::at(std::size_t index) const {
    const held_chunk& held = chunks_[index];
    chunk out = held.what;
    out.payload = std::as_bytes(std::span{words_}.subspan(held.first)).first(held.bytes);
    return out;
}

read_ahead::read_ahead(capture_reader& reader)
    : reader_(reader), thread_([this, is_own = takes_own_memory] {
          takes_own_memory = is_own;
          read_all();
      }) {}

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
    changed_.wait(lock, [&] { return !is_wanted_ || filled_ - emptied_ < batches_.size(); });
    return is_wanted_;
}

void read_ahead::hand_over() {
    {
        const std::lock_guard lock(mutex_);
        ++filled_;
    }
    changed_.notify_all();
}

void read_ahead::read_all() {
    std::exception_ptr failure;
    try {
        bool goes_on = true;
        while (goes_on && wait_for_room()) {
            batch& to = batches_[filled_ % batches_.size()];  // only this thread changes filled_
            to.clear();
            try {
                chunk next;
                while (!to.is_full() && (goes_on = reader_.next(next))) to.add(next, reader_.read_bytes());
            } catch (...) {
                failure = std::current_exception();
                goes_on = false;
            }
            if (to.size() != 0) hand_over();
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
    if (held_ == nullptr || next_ == held_->size()) {
        std::unique_lock lock(mutex_);
        if (std::exchange(held_, nullptr) != nullptr) {
            ++emptied_;
            changed_.notify_all();
        }
        changed_.wait(lock, [&] { return is_over_ || filled_ != emptied_; });
        if (filled_ == emptied_) {
            if (failure_) std::rethrow_exception(failure_);
            return false;
        }
        held_ = &batches_[emptied_ % batches_.size()];
        next_ = 0;
    }
    out = held_->at(next_);
    read_bytes_ = held_->read_bytes(next_);
    ++next_;
    return true;
}

}  // namespace prof
