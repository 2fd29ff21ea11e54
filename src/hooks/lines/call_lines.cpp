// SPDX-License-Identifier: Apache-2.0
#include "hooks/lines/call_lines.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <utility>

#include "base/clock.hpp"
#include "hooks/lines/native_stack.hpp"
#include "hooks/lines/python_stack.hpp"
#include "hooks/lines/stretch_samples.hpp"
#include "record/stack_bounds.hpp"
#include "ring/registry.hpp"

namespace prof {
namespace {

constexpr std::size_t most_folders = 32;
constexpr std::size_t most_folder_bytes = 2048;

// Written by record_lines() while no hook reads it: before the bounds are set for the first time, and then no more.
struct line_reader {
    python_stack stack{};
    std::uint64_t first_ticks = 0;
    std::uint64_t first_ns = 0;
    std::array<std::string_view, most_folders> folders{};
    std::size_t folder_count = 0;
    std::array<char, most_folder_bytes> folder_text{};
};
constinit line_reader reader{};
// The process is looked at once: a later window may open while the program holds the loader's lock.
enum class preparation : std::uint8_t { none, without_lines, done };
constinit preparation prepared = preparation::none;
constinit bool has_native = false;          // stacks of C++ code can be walked
constinit std::array<char, 160> problem{};  // why there are no lines of Python; a C string
// In ticks; the time in which a thread earns one stack.
constinit std::atomic<std::uint64_t> stack_ticks{UINT64_MAX};
constinit std::atomic<bool> has_rate{false};
// Walks that ended at something unknown. After a few of them no more lines are read.
constinit std::atomic<std::uint32_t> odd_walks{0};
constexpr std::uint32_t most_odd_walks = 8;

// What was found of instructions before: the upper part of each entry is the instruction's identity, then a bit for
// code of a library, then the line. An entry is one word, so that threads may read and write it at once.
constexpr std::size_t known_line_count = 4096;
constexpr std::uint64_t library_bit = std::uint64_t{1} << 23;
constexpr std::uint64_t line_mask = library_bit - 1;
constexpr std::uint64_t tag_mask = ~(library_bit | line_mask);
constinit std::array<std::atomic<std::uint64_t>, known_line_count> known_lines{};

void stop_lines() noexcept {
    bounds_of_lines.call.store(UINT64_MAX, std::memory_order_relaxed);
    bounds_of_lines.stretch.store(UINT64_MAX, std::memory_order_relaxed);
}

// `ticks_a_ns`: how fast the clock's ticks are.
void set_bounds(double ticks_a_ns) noexcept {
    const auto ticks = [&](std::uint64_t ns) {
        return static_cast<std::uint64_t>(static_cast<double>(ns) * ticks_a_ns);
    };
    constexpr std::uint64_t second_ns = 1'000'000'000;
    stack_ticks.store(ticks(second_ns / most_stacks_a_second), std::memory_order_relaxed);
    bounds_of_lines.call.store(ticks(stack_of_call_ns), std::memory_order_relaxed);
    bounds_of_lines.stretch.store(ticks(stack_before_call_ns), std::memory_order_relaxed);
}

// How fast a counter's ticks are shows after a while. Until then they count as at most that fast, so that what is not
// long may count as long.
[[gnu::cold]] void measure_rate(std::uint64_t now_ticks) noexcept {
    constexpr std::uint64_t long_enough_ns = 5'000'000;
    const std::uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
    if (now_ns - reader.first_ns < long_enough_ns) return;
    if (has_rate.exchange(true)) return;
    set_bounds(static_cast<double>(now_ticks - reader.first_ticks) / static_cast<double>(now_ns - reader.first_ns));
}

bool contains(std::string_view text, std::string_view part) noexcept {
    return memmem(text.data(), text.size(), part.data(), part.size()) != nullptr;
}

bool is_in_folders(std::string_view file) noexcept {
    return std::any_of(reader.folders.begin(),
                       reader.folders.begin() + static_cast<std::ptrdiff_t>(reader.folder_count),
                       [&](std::string_view folder) { return contains(file, folder); });
}

// Whether a file is no code of the program's own. What is typed in has names such as <stdin>.
bool is_of_library(std::string_view file) noexcept {
    if (file.empty()) return true;
    if (file.front() == '<') {
        return !file.starts_with("<stdin>") && !file.starts_with("<string>") && !file.starts_with("<ipython-input");
    }
    return is_in_folders(file);
}

// Libraries of which no code is the program's own, by the beginning of their file's name.
constexpr std::array<std::string_view, 36> native_libraries = {
    "ld-linux",    "libc.",       "libc10",    "libcaffe2", "libcublas",    "libcuda",
    "libcudnn",    "libcufft",    "libcufile", "libcupti",  "libcurand",    "libcusolver",
    "libcusparse", "libcutensor", "libdl.",    "libgcc_s",  "libgomp",      "libiomp",
    "libm.",       "libmpi",      "libnccl",   "libnpp",    "libnvJitLink", "libnvToolsExt",
    "libnvidia",   "libnvjpeg",   "libnvrtc",  "libomp",    "libprof.",     "libpthread",
    "libpython",   "libshm.",     "libstdc++", "libtorch",  "python3",      "xla_extension"};
constexpr std::array<std::string_view, 5> system_folders = {"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/",
                                                            "/usr/local/cuda"};

bool is_native_library(std::string_view path) noexcept {
    const std::string_view file = path.substr(path.rfind('/') + 1);
    const auto begins = [](std::string_view text) {
        return [text](std::string_view with) { return text.starts_with(with); };
    };
    return std::any_of(native_libraries.begin(), native_libraries.end(), begins(file)) ||
           std::any_of(system_folders.begin(), system_folders.end(), begins(path)) || file == "python" ||
           is_in_folders(path);
}

struct found_line {
    std::uint32_t line = 0;
    bool is_library = false;
};

found_line line_of(const python_frame& frame) noexcept {
    const std::uint64_t identity = reader.stack.identity_of(frame);
    std::atomic<std::uint64_t>& place = known_lines[identity % known_line_count];
    // relaxed, both: an entry is complete in itself.
    const std::uint64_t known = place.load(std::memory_order_relaxed);
    if (known != 0 && (known & tag_mask) == (identity & tag_mask)) {
        return {static_cast<std::uint32_t>(known & line_mask), (known & library_bit) != 0};
    }
    std::array<char, python_stack::most_text> text;
    const found_line out{reader.stack.line_of(frame), is_of_library(reader.stack.file_of(frame, text))};
    if (out.line <= line_mask) {
        const std::uint64_t entry = (identity & tag_mask) | (out.is_library ? library_bit : 0) | out.line;
        place.store(entry, std::memory_order_relaxed);
    }
    return out;
}

// Which of a thread's frames are recorded: the innermost ones; of the program's own code the innermost with the one
// that it has called, and the first few around it; and the outermost from which its own code calls a library's, as a
// training loop does.
struct frame_choice {
    static constexpr std::size_t innermost = 5;
    static constexpr std::size_t most_own = 3;

    std::array<std::uint8_t, most_recorded_frames> indexes{};
    std::array<found_line, most_recorded_frames> lines{};
    std::size_t count = 0;

    void add(std::size_t index, const found_line& line) noexcept {
        if (count == indexes.size() || (count != 0 && indexes[count - 1] >= index)) return;
        indexes[count] = static_cast<std::uint8_t>(index);
        lines[count++] = line;
    }
};
static_assert(python_stack::most_frames <= 256);

frame_choice choose(std::span<const python_frame> frames) noexcept {
    frame_choice out;
    std::size_t own = 0;
    std::size_t outermost = 0;  // the frame from which own code calls a library's
    found_line of_outermost;
    found_line inside;
    for (std::size_t i = 0; i < frames.size(); ++i) {
        const found_line line = line_of(frames[i]);
        if (i < frame_choice::innermost) {
            out.add(i, line);
        } else if (!line.is_library && own < frame_choice::most_own) {
            if (own == 0) out.add(i - 1, inside);
            out.add(i, line);
        }
        if (!line.is_library) {
            ++own;
            if (i == 0 || inside.is_library) {
                outermost = i;
                of_outermost = line;
            }
        }
        inside = line;
    }
    if (own != 0) out.add(outermost, of_outermost);
    return out;
}

// "function\nfile".
std::uint32_t name_of(producer& out, const python_frame& frame) noexcept {
    std::array<char, 2 * python_stack::most_text + 1> text;
    std::array<char, python_stack::most_text> part;
    std::size_t size = 0;
    const auto append = [&](std::string_view more) {
        std::copy(more.begin(), more.end(), text.begin() + static_cast<std::ptrdiff_t>(size));
        size += more.size();
    };
    append(reader.stack.function_of(frame, part));
    std::replace(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(size), '\n', ' ');
    text[size++] = '\n';
    append(reader.stack.file_of(frame, part));
    return out.intern({text.data(), size});
}

// What the drain thread saw of the stretch that began at `since` and ends now.
void note_sample(producer& out, sample_box& box, std::uint64_t key, std::uint64_t since, std::uint64_t now) noexcept {
    const stretch_sample* const sample = box.take(since);
    if (sample == nullptr) return;
    const std::uint64_t length = std::max<std::uint64_t>(now - since, 1);
    const std::uint64_t moment = std::min(sample->ticks - since, length);
    const auto position =
        static_cast<std::uint16_t>(static_cast<double>(moment) / static_cast<double>(length) * UINT16_MAX);
    if (sample->ticks <= now && out.has_much_room_for(sample->count)) {
        for (std::uint32_t i = 0; i < sample->count; ++i) {
            const sampled_line& line = sample->lines[i];
            record r;
            r.kind = record_kind::code_line;
            r.ticks = now;
            r.value = key;
            r.name = out.intern(line.name());
            r.color = line.line;
            r.category = line.index | sample->depth << 16;
            r.domain = position;
            r.flags = static_cast<std::uint8_t>(static_cast<std::uint8_t>(stack_role::during) |
                                                (line.is_library ? library_line : 0));
            out.write(r);
        }
    }
    const stretch_account& account = sample->account;
    if (sample->ticks <= now && account.looks != 0 && out.has_much_room_for(1)) {
        record r;
        r.kind = record_kind::thread_time;
        r.ticks = now;
        r.value = key;
        r.name = account.blocked_in[0] == 0 ? 0 : out.intern(account.blocked_in.data());
        r.color = account.ran | std::uint32_t{account.waited} << 16;
        r.category = account.looks;
        out.write(r);
    }
    box.release();
}

// A thread of a library's, as those of autograd, has none of the program's code on its stack: after a few walks in vain
// it is asked seldom.
struct walks_in_vain {
    static constexpr std::uint32_t many = 8, seldom = 256;

    std::uint32_t count = 0;

    bool skips() noexcept {
        if (count < many) return false;
        ++count;
        return count % seldom != 0;
    }
};
__thread walks_in_vain this_walks __attribute__((tls_model("initial-exec"))) = {};

// Lets libprof's thread look at this one while it runs other code, and takes what that has seen before this call.
// `python`: the interpreter's state of the thread; null: it runs none.
void offer_to_samples(producer& out, stack_role role, std::uint64_t key, std::uint64_t ticks, std::uint64_t length,
                      const void* python) noexcept {
    sample_box* const box = sample_box_of(this_thread.latest_call);
    if (box == nullptr) return;
    box->offer(python);
    if (role == stack_role::before) note_sample(out, *box, key, ticks - length, ticks);
}

// Whether the thread has Python frames. A function of its own: threads without any need no room for frames.
[[gnu::noinline]] bool note_python_lines(producer& out, stack_budget& budget, stack_role role, std::uint64_t key,
                                         std::uint64_t ticks, std::uint64_t length) noexcept {
    std::array<python_frame, python_stack::most_frames> frames;
    bool was_odd = false;
    const std::span<const python_frame> walked = reader.stack.walk(frames, was_odd);
    if (was_odd && odd_walks.fetch_add(1, std::memory_order_relaxed) + 1 >= most_odd_walks) stop_lines();
    if (role != stack_role::birth) {
        offer_to_samples(out, role, key, ticks, length, walked.empty() ? nullptr : reader.stack.this_python_thread());
    }
    if (walked.empty()) return false;
    const frame_choice chosen = choose(walked);
    if (!out.has_much_room_for(static_cast<std::uint32_t>(chosen.count))) {
        budget.leave_out();
        return true;
    }
    const std::uint16_t left_out = budget.take_left_out();
    for (std::size_t i = 0; i < chosen.count; ++i) {
        const python_frame& frame = walked[chosen.indexes[i]];
        record r;
        r.kind = record_kind::code_line;
        r.ticks = ticks;
        r.value = key;
        r.name = name_of(out, frame);
        r.color = chosen.lines[i].line;
        r.category = chosen.indexes[i] | static_cast<std::uint32_t>(walked.size()) << 16;
        r.domain = i == 0 ? left_out : 0;
        r.flags = static_cast<std::uint8_t>(static_cast<std::uint8_t>(role) |
                                            (chosen.lines[i].is_library ? library_line : 0));
        out.write(r);
    }
    return true;
}

// A frame of C++ code, as far as its role says no more.
record native_record(producer& out, const native_frame& frame, stack_role role, std::uint64_t key,
                     std::uint64_t ticks) noexcept {
    std::array<char, native_stack::most_text> text;
    record r;
    r.kind = record_kind::code_line;
    r.ticks = ticks;
    r.value = key;
    r.name = out.intern(native_stack::module_of(frame, text));
    r.color = static_cast<std::uint32_t>(std::min<std::uint64_t>(frame.offset, UINT32_MAX));
    r.flags = static_cast<std::uint8_t>(static_cast<std::uint8_t>(role) | native_line);
    return r;
}

// The stack of a thread without Python frames, if code of the program's own is in it.
[[gnu::noinline]] void note_native_lines(producer& out, stack_budget& budget, stack_role role, std::uint64_t key,
                                         std::uint64_t ticks) noexcept {
    if (this_walks.skips()) return;
    std::array<native_frame, native_stack::most_chosen> frames;
    std::uint32_t depth = 0;
    const std::span<const native_frame> walked = native_stack::walk(frames, depth);
    if (walked.empty()) {
        ++this_walks.count;
        return;
    }
    this_walks.count = 0;
    if (!out.has_much_room_for(static_cast<std::uint32_t>(walked.size()))) return budget.leave_out();
    std::uint16_t left_out = budget.take_left_out();
    for (const native_frame& frame : walked) {
        if (frame.offset > UINT32_MAX) continue;
        record r = native_record(out, frame, role, key, ticks);
        r.category = frame.index | std::min<std::uint32_t>(depth, UINT16_MAX) << 16;
        r.domain = std::exchange(left_out, std::uint16_t{0});
        if (frame.is_library) r.flags |= library_line;
        out.write(r);
    }
}

bool earns_stack(stack_budget& budget, std::uint64_t ticks, std::uint64_t length) noexcept {
    std::atomic_thread_fence(std::memory_order_acquire);
    if (!has_rate.load(std::memory_order_relaxed)) measure_rate(ticks);
    return budget.earns(ticks, length, stack_ticks.load(std::memory_order_relaxed));
}

void take_folders(std::string_view library_code) noexcept {
    const std::size_t bytes = std::min(library_code.size(), most_folder_bytes);
    std::copy_n(library_code.begin(), bytes, reader.folder_text.begin());
    for (std::string_view rest{reader.folder_text.data(), bytes}; !rest.empty();) {
        const std::size_t end = std::min(rest.find(':'), rest.size());
        if (end != 0 && reader.folder_count < most_folders) reader.folders[reader.folder_count++] = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
}

// Whether there is anything whose lines can be read.
bool prepare(std::string_view library_code) {
    take_folders(library_code);
    const found_python found = find_python();
    const bool has_python = found.layout != nullptr;
    if (!has_python && !found.why_not.empty()) {
        const std::string text = "lines of the program are not recorded: " + found.why_not;
        std::copy_n(text.begin(), std::min(text.size(), problem.size() - 1), problem.begin());
        return false;
    }
    if (has_python) {
        reader.stack = python_stack(found);
        set_sampled_python(found, is_of_library);
    }
    has_native = native_stack::prepare(is_native_library);
    reader.first_ticks = ticks_now();
    reader.first_ns = clock_ns(CLOCK_MONOTONIC);
    return has_python || has_native;
}

}  // namespace

std::string record_lines(bool is_on, std::string_view library_code) {
    if (!is_on) {
        stop_lines();
        return {};
    }
    if (prepared == preparation::none) {
        prepared = prepare(library_code) ? preparation::done : preparation::without_lines;
    }
    if (prepared == preparation::without_lines) return problem.data();
    std::atomic_thread_fence(std::memory_order_release);
    if (has_tick_counter()) {
        constexpr double slowest_usual = 1;  // ticks a nanosecond
        has_rate = false;
        set_bounds(slowest_usual);
    } else {
        has_rate = true;
        set_bounds(1);
    }
    return {};
}

bool is_long_launch(std::uint64_t ticks) noexcept { return ticks >= stack_ticks.load(std::memory_order_relaxed); }

void note_lines(producer& out, stack_role role, std::uint64_t key, std::uint64_t ticks, std::uint64_t length) noexcept {
    stack_budget& budget = out.stacks();
    if (!earns_stack(budget, ticks, length)) return;
    if (!reader.stack.is_known()) {
        offer_to_samples(out, role, key, ticks, length, nullptr);
    } else if (note_python_lines(out, budget, role, key, ticks, length)) {
        return;
    }
    if (has_native) return note_native_lines(out, budget, role, key, ticks);
    budget.give_back();
}

void note_birth(producer& out, std::uint64_t key, std::uint64_t ticks, bool is_large) noexcept {
    stack_budget& budget = out.birth_stacks();
    if (!is_large && !budget.earns_spare(ticks, stack_ticks.load(std::memory_order_relaxed))) return;
    if (is_large && !earns_stack(budget, ticks, 0)) return;
    if (reader.stack.is_known()) {
        if (!note_python_lines(out, budget, stack_role::birth, key, ticks, 0)) budget.give_back();
    } else if (has_native) {
        note_native_lines(out, budget, stack_role::birth, key, ticks);
    }
}

namespace {

// Libraries through which others call CUDA: by their functions, and by their names, since a process may have several
// copies of the runtime.
constinit std::array<std::atomic<const void*>, 4> cuda_modules{};

bool is_of_cuda(const void* module, std::string_view path) noexcept {
    // relaxed: an entry is complete in itself.
    const bool is_one = std::any_of(cuda_modules.begin(), cuda_modules.end(), [&](const auto& known) {
        return module != nullptr && known.load(std::memory_order_relaxed) == module;
    });
    if (is_one) return true;
    const std::string_view file = path.substr(path.rfind('/') + 1);
    return file.starts_with("libcuda.so") || file.starts_with("libcudart.so") || file.starts_with("libcupti.so");
}

}  // namespace

void note_cuda_functions(std::span<const void* const> functions) noexcept {
    if (!has_native) return;
    std::size_t count = 0;
    for (const void* const function : functions) {
        if (function == nullptr || count == cuda_modules.size()) continue;
        cuda_modules[count++].store(native_stack::module_at(function), std::memory_order_relaxed);
    }
}

void note_caller(producer& out, std::uint64_t key, std::uint64_t ticks) noexcept {
    native_frame frame;
    if (!has_native || !native_stack::find(frame, is_of_cuda) || !out.has_much_room_for(1)) return;
    record r = native_record(out, frame, stack_role::caller, key, ticks);
    r.category = 1U << 16;
    r.flags |= library_line;
    out.write(r);
}

}  // namespace prof
