// SPDX-License-Identifier: Apache-2.0
#include "hooks/lines/stretch_samples.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/clock.hpp"
#include "hooks/lines/frame_reader.hpp"
#include "hooks/lines/line_bounds.hpp"
#include "hooks/lines/python_stack.hpp"
#include "ring/registry.hpp"

namespace prof {
namespace {

constexpr std::size_t box_count = 32;
constinit std::array<sample_box, box_count> boxes{};

struct sampled_python {
    python_symbols symbols{};
    const python_layout* layout = nullptr;
    bool (*is_of_library)(std::string_view) noexcept = nullptr;
};
constinit sampled_python sampled{};
constinit std::atomic<bool> can_sample{false};

}  // namespace

// The memory of this process, as the kernel reads it.
class own_memory_reader {
public:
    // So many bytes were read; fewer if the address is none or memory ends before.
    std::size_t read(const std::byte* source, void* copy, std::size_t size) noexcept {
        const iovec local{copy, size};
        const iovec remote{const_cast<std::byte*>(source), size};
        const ssize_t done = process_vm_readv(own_, &local, 1, &remote, 1, 0);
        return done < 0 ? 0 : static_cast<std::size_t>(done);
    }
    const std::byte* bytes(const std::byte* address, std::size_t size) noexcept {
        if (size > copy_.size() || read(address, copy_.data(), size) != size) return nullptr;
        return copy_.data();
    }

private:
    pid_t own_ = getpid();
    alignas(8) std::array<std::byte, 256> copy_{};
};

class stretch_sampler {
public:
    void visit(sample_box& box) noexcept {
        const auto* const latest_call = box.latest_call_.load(std::memory_order_acquire);
        const auto* const thread = static_cast<const std::byte*>(box.python_thread_.load(std::memory_order_relaxed));
        if (latest_call == nullptr) return;
        std::uint64_t since = 0;
        const auto* const place = reinterpret_cast<const std::byte*>(latest_call);
        if (memory_.read(place, &since, sizeof since) != sizeof since) return;
        const std::uint64_t now = ticks_now();
        if (since > now || !is_long_stretch(now - since)) return;
        sample_box::phase empty = sample_box::phase::empty;
        sample_box::phase full = sample_box::phase::full;
        if (!box.phase_.compare_exchange_strong(empty, sample_box::phase::being_written) &&
            !box.phase_.compare_exchange_strong(full, sample_box::phase::being_written)) {
            return;
        }
        stretch_sample& sample = box.sample_;
        account(box, since);
        sample.count = sample.depth = 0;
        const bool has_lines = thread != nullptr && can_sample.load(std::memory_order_acquire) &&
                               look(thread, box.thread_.load(std::memory_order_relaxed), sample);
        if (!has_lines) sample.count = 0;
        sample.ticks = now;
        const bool is_found = has_lines || sample.account.looks != 0;
        box.phase_.store(is_found ? sample_box::phase::full : sample_box::phase::empty, std::memory_order_release);
    }

private:
    static void account(sample_box& box, std::uint64_t since) noexcept {
        constexpr std::uint64_t least_pause_ns = 1'000'000;
        stretch_account& found = box.sample_.account;
        if (clock_ns(CLOCK_MONOTONIC) - box.accountant_.latest_ns() < least_pause_ns) return;
        thread_look look;
        std::array<char, 64> text;
        found = {};
        if (look_at_thread(box.tid_.load(std::memory_order_relaxed), look, text))
            found = box.accountant_.add(since, look);
    }

    bool look(const std::byte* thread, std::uint64_t number, stretch_sample& out) noexcept {
        frame_reader<own_memory_reader> reader(sampled.symbols, *sampled.layout, memory_);
        const std::byte* frame = reader.first(thread, number);
        out.count = out.depth = 0;
        std::size_t own = 0;
        constexpr std::size_t most_own = 3, innermost = 4;
        for (std::uint32_t visited = 0; frame != nullptr && visited < 2 * python_stack::most_frames; ++visited) {
            frame_head head{};
            if (!reader.read_frame(frame, head)) break;
            frame = head.previous;
            if (head.code == nullptr) continue;
            const std::uint32_t index = out.depth++;
            if (own == most_own || out.count == stretch_sample::most_lines) continue;
            sampled_line& line = out.lines[out.count];
            if (!read_line(head, line)) break;
            line.index = static_cast<std::uint16_t>(index);
            if (!line.is_library) ++own;
            if (index < innermost || !line.is_library) ++out.count;
        }
        return out.count != 0 && own != 0;
    }

    bool read_line(const frame_head& head, sampled_line& out) noexcept {
        const python_layout& layout = *sampled.layout;
        std::array<std::byte, 256> code{};
        if (!is_plausible_address(head.code) || memory_.read(head.code, code.data(), code.size()) != code.size() ||
            value_at<const void*>(code.data(), python_type_offset) != sampled.symbols.code_type) {
            return false;
        }
        out.size = 0;
        if (!append_text(value_at<const std::byte*>(code.data(), layout.function), out)) return false;
        std::replace(out.text.begin(), out.text.begin() + out.size, '\n', ' ');
        if (out.size == out.text.size()) --out.size;
        out.text[out.size++] = '\n';
        const std::size_t before = out.size;
        if (!append_text(value_at<const std::byte*>(code.data(), layout.file), out)) return false;
        out.is_library = sampled.is_of_library(out.name().substr(before));
        const auto* const table = value_at<const std::byte*>(code.data(), layout.line_table);
        constexpr std::size_t head_size = python_stack::bytes_offset;
        const std::byte* const table_head = is_plausible_address(table) ? memory_.bytes(table, head_size) : nullptr;
        if (table_head == nullptr ||
            value_at<const void*>(table_head, python_type_offset) != sampled.symbols.bytes_type) {
            return false;
        }
        const auto size = value_at<std::int64_t>(table_head, python_stack::size_offset);
        if (size <= 0) return false;
        const std::size_t wanted = std::min(static_cast<std::size_t>(size), table_.size());
        if (memory_.read(table + head_size, table_.data(), wanted) != wanted) return false;
        out.line = line_of_instruction(layout.lines, {table_.data(), wanted},
                                       value_at<std::int32_t>(code.data(), layout.first_line), head.unit);
        return out.line != 0;
    }

    // Appends a str as far as there is room.
    bool append_text(const std::byte* text, sampled_line& out) noexcept {
        alignas(8) std::array<std::byte, 1024> object{};
        if (!is_plausible_address(text)) return false;
        if (memory_.read(text, object.data(), object.size()) < 128) {
            // Memory ends behind it.
            if (memory_.read(text, object.data(), 128) < 64) return false;
        }
        std::array<char, sampled_line::most_text> buffer{};
        const std::string_view found = text_of_str(*sampled.layout, sampled.symbols.text_type, object, buffer);
        if (found.empty()) return false;
        const std::size_t size = std::min(found.size(), out.text.size() - out.size);
        std::copy_n(found.begin(), size, out.text.begin() + out.size);
        out.size = static_cast<std::uint16_t>(out.size + size);
        return true;
    }

    own_memory_reader memory_;
    std::array<std::uint8_t, 32'768> table_{};
};

const stretch_sample* sample_box::take(std::uint64_t since) noexcept {
    phase full = phase::full;
    if (!phase_.compare_exchange_strong(full, phase::being_read)) return nullptr;
    if (sample_.ticks > since) return &sample_;
    release();
    return nullptr;
}

sample_box* sample_box_of(const std::uint64_t& latest_call) noexcept {
    for (sample_box& box : boxes) {
        const std::uint64_t* free = nullptr;
        const bool is_mine = box.latest_call_.load(std::memory_order_relaxed) == &latest_call ||
                             box.latest_call_.compare_exchange_strong(free, &latest_call);
        if (!is_mine) continue;
        // relaxed: the drain thread checks that such a thread exists, and that its latest call is this.
        if (const std::uint64_t number = number_of_this_thread();
            box.number_.load(std::memory_order_relaxed) != number) {
            box.number_.store(number, std::memory_order_relaxed);
            box.tid_.store(static_cast<pid_t>(syscall(SYS_gettid)), std::memory_order_relaxed);
        }
        box.thread_.store(static_cast<std::uint64_t>(pthread_self()), std::memory_order_relaxed);
        return &box;
    }
    return nullptr;
}

void sample_stretches() noexcept {
    if (bounds_of_lines.stretch.load(std::memory_order_relaxed) == UINT64_MAX) return;
    stretch_sampler sampler;
    for (sample_box& box : boxes) sampler.visit(box);
}

void set_sampled_python(const found_python& found, bool (*is_of_library)(std::string_view) noexcept) noexcept {
    sampled = {found.symbols, found.layout, is_of_library};
    can_sample.store(true, std::memory_order_release);
}

}  // namespace prof
