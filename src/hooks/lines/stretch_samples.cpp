// SPDX-License-Identifier: Apache-2.0
#include "hooks/lines/stretch_samples.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/clock.hpp"
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
    template <typename TValue>
    bool read(const std::byte* source, TValue& copy) noexcept {
        return is_plausible(source) && read(source, &copy, sizeof copy) == sizeof copy;
    }
    static bool is_plausible(const std::byte* address) noexcept {
        const auto number = reinterpret_cast<std::uintptr_t>(address);
        return number >= 1U << 16 && number < std::uintptr_t{1} << 47 && number % 8 == 0;
    }

private:
    pid_t own_ = getpid();
};

class stretch_sampler {
public:
    void visit(sample_box& box) noexcept {
        const auto* const latest_call = box.latest_call_.load(std::memory_order_acquire);
        const auto* const thread = static_cast<const std::byte*>(box.python_thread_.load(std::memory_order_relaxed));
        if (latest_call == nullptr) return;
        std::uint64_t since = 0;
        if (!memory_.read(reinterpret_cast<const std::byte*>(latest_call), since)) return;
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
        stretch_account& to = box.sample_.account;
        if (clock_ns(CLOCK_MONOTONIC) - box.accountant_.latest_ns() < least_pause_ns) return;
        thread_look look;
        std::array<char, 64> text;
        to = {};
        if (look_at_thread(box.tid_.load(std::memory_order_relaxed), look, text)) to = box.accountant_.add(since, look);
    }

    using bytes = std::array<std::byte, 256>;

    template <typename TValue>
    static TValue at(const bytes& object, std::size_t offset) noexcept {
        TValue value;
        std::memcpy(&value, object.data() + offset, sizeof value);
        return value;
    }

    bool look(const std::byte* thread, std::uint64_t id, stretch_sample& out) noexcept {
        const python_layout& layout = *sampled.layout;
        bytes object{};
        if (sampled.symbols.is_initialized() == 0 || !memory_.read(thread, object)) return false;
        if (at<std::uint64_t>(object, layout.thread_id) != id) return false;
        const auto* frame = at<const std::byte*>(object, layout.frame);
        if (layout.has_c_frame && !memory_.read(frame + layout.frame_of_c_frame, frame)) return false;
        out.count = out.depth = 0;
        std::size_t own = 0;
        constexpr std::size_t most_own = 3, innermost = 4;
        for (std::uint32_t visited = 0; frame != nullptr && visited < 2 * python_stack::most_frames; ++visited) {
            frame_head head{};
            if (!read_frame(frame, head)) break;
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

    struct frame_head {
        const std::byte* previous = nullptr;
        const std::byte* code = nullptr;  // null: it stands for C code of the interpreter
        std::int64_t instruction = 0;
    };

    bool read_frame(const std::byte* frame, frame_head& out) noexcept {
        const python_layout& layout = *sampled.layout;
        std::array<std::byte, 112> object{};
        if (!memory_.read(frame, object)) return false;
        const auto field = [&](std::size_t offset, auto& value) {
            std::memcpy(&value, object.data() + offset, sizeof value);
        };
        field(layout.previous, out.previous);
        if (layout.has_frame_objects) {
            const void* type = nullptr;
            field(type_offset, type);
            if (type != sampled.symbols.frame_type) return false;
            std::int32_t number = 0;
            field(layout.instruction, number);
            out.instruction = number;
        } else {
            std::uint8_t owner = 0;
            field(layout.owner, owner);
            if (layout.c_owner != 0 && owner == layout.c_owner) return true;
            field(layout.instruction, out.instruction);
        }
        field(layout.code, out.code);
        return out.code != nullptr;
    }

    bool read_line(const frame_head& head, sampled_line& out) noexcept {
        const python_layout& layout = *sampled.layout;
        bytes code{};
        if (!memory_.read(head.code, code) || at<const void*>(code, type_offset) != sampled.symbols.code_type)
            return false;
        std::int64_t unit = head.instruction;
        if (!layout.has_frame_objects) {
            const auto begin =
                static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(head.code)) + layout.instructions;
            unit = head.instruction < begin ? -1 : (head.instruction - begin) / 2;
        }
        out.size = 0;
        if (!append_text(at<const std::byte*>(code, layout.function), out)) return false;
        std::replace(out.text.begin(), out.text.begin() + out.size, '\n', ' ');
        if (out.size == out.text.size()) --out.size;
        out.text[out.size++] = '\n';
        const std::size_t before = out.size;
        if (!append_text(at<const std::byte*>(code, layout.file), out)) return false;
        out.is_library = sampled.is_of_library(out.name().substr(before));
        bytes head_of_table{};
        const auto* const table = at<const std::byte*>(code, layout.line_table);
        constexpr std::size_t head_size = python_stack::bytes_offset;
        if (!own_memory_reader::is_plausible(table) ||
            memory_.read(table, head_of_table.data(), head_size) != head_size ||
            at<const void*>(head_of_table, type_offset) != sampled.symbols.bytes_type) {
            return false;
        }
        const auto size = at<std::int64_t>(head_of_table, python_stack::size_offset);
        if (size <= 0 || unit > INT32_MAX) return false;
        const std::size_t wanted = std::min(static_cast<std::size_t>(size), table_.size());
        if (memory_.read(table + head_size, table_.data(), wanted) != wanted) return false;
        out.line = line_of_instruction(layout.lines, {table_.data(), wanted}, at<std::int32_t>(code, layout.first_line),
                                       static_cast<std::int32_t>(unit));
        return out.line != 0;
    }

    // Appends a str as far as there is room.
    bool append_text(const std::byte* text, sampled_line& out) noexcept {
        alignas(8) std::array<std::byte, 1024> object{};
        if (!own_memory_reader::is_plausible(text)) return false;
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

    static constexpr std::size_t type_offset = python_stack::type_offset;
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
