// SPDX-License-Identifier: Apache-2.0
#include "capture/write_buffer.hpp"

#include <algorithm>

namespace prof {
namespace {

constexpr std::size_t whole_words(std::size_t bytes) noexcept {
    return bytes / sizeof(std::uint64_t) * sizeof(std::uint64_t);
}

}  // namespace

write_buffer::write_buffer(std::span<std::byte> shared, std::size_t bytes, std::size_t least) {
    if (shared.size() >= sizeof(writing_header) + least) {
        auto* const header = reinterpret_cast<writing_header*>(shared.data());
        if (header->in_use.exchange(1) == 0) shared_ = header;
    }
    if (shared_ == nullptr) {
        own_.resize(whole_words(bytes));
        bytes_ = own_;
        return;
    }
    const auto behind = shared.subspan(sizeof(writing_header));
    bytes_ = behind.first(whole_words(std::min(bytes, behind.size())));
    begin(0);
}

void write_buffer::begin(std::uint32_t capture_number) noexcept {
    if (shared_ == nullptr) return;
    set_unwritten(0);
    // release: a reader that sees this number also sees that the previous capture's chunks are gone.
    shared_->capture_number.store(capture_number, std::memory_order_release);
}

void write_buffer::set_unwritten(std::size_t bytes) noexcept {
    // release: the bytes become visible before their number.
    if (shared_ != nullptr) shared_->bytes.store(bytes, std::memory_order_release);
}

void write_buffer::release() noexcept {
    if (shared_ == nullptr || !may_be_written()) return;
    set_unwritten(0);
    shared_->in_use.store(0);
    shared_ = nullptr;
    bytes_ = {};
}

}  // namespace prof
