// SPDX-License-Identifier: Apache-2.0
#include "hooks/torch/record_functions.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "hooks/nvtx/nvtx_hooks.hpp"
#include "ring/registry.hpp"

namespace prof {
namespace {

// at::RecordFunction. Only its address is known here.
struct record_function;

// at::ObserverContext: what the begin of a record function hands to its end. PyTorch owns it by a std::unique_ptr, and
// destroys it by the second function of its table of virtual functions. One stands for a thread; destroying it has no
// effect, since it is never freed.
struct thread_context {
    const void* const* virtual_functions;
    std::atomic<std::uint32_t> ended_elsewhere{0};  // ranges that this thread began, and another thread has ended
};
void keep(thread_context*) noexcept {}
const std::array<const void*, 2> context_functions{reinterpret_cast<const void*>(&keep),
                                                   reinterpret_cast<const void*>(&keep)};

// The contexts of threads, in the order of their first ranges. A thread beyond the last takes the place of an earlier
// one, except of the first, which is the program's main thread as a rule. If both are alive, a range that ends on
// another thread may end a range of the wrong one of them.
struct context_table {
    static constexpr std::uint32_t limit = 4096;
    std::array<thread_context, limit> contexts;
    std::atomic<std::uint32_t> count{0};
};
constinit context_table threads{};
__thread thread_context* context_of_thread __attribute__((tls_model("initial-exec"))) = nullptr;

thread_context* context_here() noexcept {
    if (context_of_thread != nullptr) [[likely]]
        return context_of_thread;
    // relaxed: only has to be unique.
    const std::uint32_t number = threads.count.fetch_add(1, std::memory_order_relaxed);
    thread_context& context =
        threads.contexts[number < context_table::limit ? number : 1 + number % (context_table::limit - 1)];
    context.virtual_functions = context_functions.data();
    context.ended_elsewhere.store(0, std::memory_order_relaxed);
    context_of_thread = &context;
    return &context;
}

// std::unique_ptr<at::ObserverContext>, which is returned in memory because its destructor is not trivial.
class owned_context {
public:
    explicit owned_context(thread_context* context) noexcept : context_(context) {}
    owned_context(const owned_context&) = delete;
    owned_context& operator=(const owned_context&) = delete;
    ~owned_context() {}  // NOLINT(modernize-use-equals-default): a defaulted one is trivial, and changes the return

private:
    [[maybe_unused]] thread_context* context_;
};
static_assert(sizeof(owned_context) == sizeof(void*));

using begin_function = owned_context (*)(const record_function&);
using end_function = void (*)(const record_function&, thread_context*);

// at::RecordFunctionCallback. Behind the bits of its scopes PyTorch has three more of the same size (whether the
// callback needs inputs, outputs, numbers). Where they begin depends on the number of scopes: all bits that are not
// asked for are 0, and the struct is longer than PyTorch's, which reads from its beginning.
struct callback_arguments {
    begin_function begin;
    end_function end;
    double sampling_probability = 1;
    std::array<bool, 64> scopes{};
};

struct torch_functions {
    std::uint64_t (*add_global_callback)(callback_arguments);
    void (*remove_callback)(std::uint64_t);
    const char* (*name)(const record_function*);
    std::uint8_t (*profiler_type)();
    readiness_function is_ready;
    std::array<std::uint64_t, 2> handles{};
};
// Written before the callbacks are added, and never changed to another PyTorch: a process has one.
torch_functions torch{};

std::atomic<bool> is_trial{false};
std::atomic<std::uint64_t> next_number{1};

// Where in a record function its sequence number lies; 0: not known yet; no_place: it was not found.
constexpr std::uint32_t no_place = UINT32_MAX;
std::atomic<std::uint32_t> sequence_place{0};

template <typename TValue>
TValue read(const std::byte* source) noexcept {
    TValue value;
    std::memcpy(&value, source, sizeof value);
    return value;
}

// A record function holds its name as a std::variant of a std::string and the schema of an operator; the sequence
// number follows. The string is found by the address of its text. Its other words show which of the two layouts of
// libstdc++ PyTorch was compiled with: {text, length, room or text} or {text}, whose length lies before it. Null: the
// name is not held as a string, or has another layout.
const std::byte* find_sequence(const std::byte* object, const char* text) noexcept {
    constexpr std::size_t searched = 240;  // a record function has more behind the string that is looked for
    constexpr std::size_t word = sizeof(void*);
    const std::size_t length = std::strlen(text);
    for (std::size_t offset = word; offset < searched; offset += word) {
        if (read<const char*>(object + offset) != text) continue;
        const bool is_inside = text == reinterpret_cast<const char*>(object + offset + 2 * word);
        if (read<std::size_t>(object + offset + word) == length &&
            (is_inside || read<std::size_t>(object + offset + 2 * word) >= length))
            return object + offset + 5 * word;
        // The word behind is the variant's index: 0.
        if (read<std::uint8_t>(object + offset + word) == 0 &&
            read<std::size_t>(reinterpret_cast<const std::byte*>(text) - 3 * word) == length)
            return object + offset + 2 * word;
        return nullptr;
    }
    return nullptr;
}

std::int64_t sequence_of(const record_function& function, const char* name) noexcept {
    const auto* const object = reinterpret_cast<const std::byte*>(&function);
    // relaxed: a plain number; every thread finds the same.
    std::uint32_t place = sequence_place.load(std::memory_order_relaxed);
    if (place == no_place) return -1;
    if (place == 0) {
        const std::byte* const found = find_sequence(object, name);
        if (found == nullptr) return -1;
        place = static_cast<std::uint32_t>(found - object);
        sequence_place.store(place, std::memory_order_relaxed);
    }
    constexpr std::int64_t most = std::int64_t{1} << 40;
    const auto sequence = read<std::int64_t>(object + place);
    if (sequence >= -1 && sequence < most) return sequence;
    sequence_place.store(no_place, std::memory_order_relaxed);
    return -1;
}

// emit_nvtx makes NVTX ranges of the same record functions.
bool is_pushed_by_program() noexcept {
    constexpr std::uint8_t nvtx = 3;  // torch::profiler::impl::ActiveProfilerType
    return torch.profiler_type != nullptr && torch.profiler_type() == nvtx;
}

void end_those_ended_elsewhere(thread_context& context) noexcept {
    if (context.ended_elsewhere.load(std::memory_order_relaxed) == 0) [[likely]]
        return;
    for (std::uint32_t left = context.ended_elsewhere.exchange(0, std::memory_order_relaxed); left != 0; --left) {
        pop_plain();
    }
}

bool records() noexcept {
    if (installed_region() == nullptr && !torch.is_ready()) return false;
    return !gate_is_shut() && !is_pushed_by_program();
}

owned_context begin(const record_function& function, torch_scope scope) noexcept {
    // relaxed: a plain flag; no other data depends on it.
    if (is_trial.load(std::memory_order_relaxed)) [[unlikely]] {
        if (const char* const name = torch.name(&function)) (void)sequence_of(function, name);
        return owned_context{nullptr};
    }
    if (!records()) return owned_context{nullptr};
    const char* const name = torch.name(&function);
    if (name == nullptr) return owned_context{nullptr};
    const std::int64_t sequence = scope == torch_scope::user ? -1 : sequence_of(function, name);
    thread_context* const context = context_here();
    end_those_ended_elsewhere(*context);
    // relaxed: only has to be unique.
    const std::uint64_t number = next_number.fetch_add(1, std::memory_order_relaxed);
    return owned_context{push_torch(name, scope, number, sequence) ? context : nullptr};
}

owned_context begin_range(const record_function& function) noexcept { return begin(function, torch_scope::user); }
owned_context begin_function_of_torch(const record_function& function) noexcept {
    return begin(function, torch_scope::function);
}

void end(const record_function&, thread_context* context) noexcept {
    if (context == nullptr) return;
    if (context != context_of_thread) {
        context->ended_elsewhere.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    end_those_ended_elsewhere(*context);
    pop_plain();
}

// 0: none is asked for.
std::uint64_t add(begin_function begin, std::uint64_t scopes) noexcept {
    if (scopes == 0) return 0;
    callback_arguments arguments{.begin = begin, .end = end};
    for (std::size_t scope = 0; scope != arguments.scopes.size(); ++scope) {
        arguments.scopes[scope] = (scopes >> scope & 1) != 0;
    }
    return torch.add_global_callback(arguments);
}

template <typename TFunction>
void set(TFunction& function, const void* address) noexcept {
    function = reinterpret_cast<TFunction>(const_cast<void*>(address));
}

}  // namespace

bool observe_record_functions(const torch_library& library, torch_scopes scopes, readiness_function is_ready) noexcept {
    if (library.add_global_callback == nullptr || library.remove_callback == nullptr || library.name == nullptr) {
        return false;
    }
    if (torch.handles != std::array<std::uint64_t, 2>{}) return true;
    set(torch.add_global_callback, library.add_global_callback);
    set(torch.remove_callback, library.remove_callback);
    set(torch.name, library.name);
    set(torch.profiler_type, library.profiler_type);
    torch.is_ready = is_ready;
    torch.handles = {add(begin_range, scopes.ranges), add(begin_function_of_torch, scopes.functions)};
    return true;
}

void leave_record_functions() noexcept {
    for (std::uint64_t& handle : torch.handles) {
        if (handle != 0) torch.remove_callback(handle);
        handle = 0;
    }
}

void begin_torch_trial() noexcept { is_trial.store(true, std::memory_order_relaxed); }
void end_torch_trial() noexcept { is_trial.store(false, std::memory_order_relaxed); }

}  // namespace prof
