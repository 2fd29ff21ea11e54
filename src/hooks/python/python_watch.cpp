// SPDX-License-Identifier: Apache-2.0
#include "hooks/python/python_watch.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/thread_object.hpp"

namespace prof {
namespace {

using call_function = void* (*)(void* callable, void* const* arguments, std::size_t count, void* names);
using builtin_function = void* (*)(void* self, void* arguments, void* named);
constexpr std::size_t count_flag = std::size_t{1} << (sizeof(std::size_t) * 8 - 1);  // PY_VECTORCALL_ARGUMENTS_OFFSET

// Python's PyMethodDef.
struct builtin_definition {
    const char* name;
    builtin_function call;
    int flags;
    const char* text;
};
constexpr int takes_tuple_and_dict = 0x1 | 0x2;  // METH_VARARGS | METH_KEYWORDS
constexpr int calling_convention = 0x1 | 0x2 | 0x4 | 0x8 | 0x80 | 0x200;

struct watched_function {
    void* function;
    void* code;
    std::uint32_t how;
    call_function original;
};

struct watched_builtin {
    void** place;
    void* code;
    std::uint32_t how;
    builtin_definition* original;
    builtin_definition ours;
};

struct awaited_code {
    void* code;
    bool has_end;
};

// Set before anything is watched, and lengthened only. The interpreter's lock orders it.
template <typename TEntry, std::size_t most>
struct table {
    std::array<TEntry, most> entries{};
    std::size_t count = 0;

    TEntry* begin() noexcept { return entries.data(); }
    TEntry* end() noexcept { return entries.data() + count; }
    bool add(const TEntry& entry) noexcept {
        if (count == most) return false;
        entries[count++] = entry;
        return true;
    }
};
constexpr std::size_t most_builtins = 12;
constinit table<watched_function, 64> functions_watched;
constinit table<watched_builtin, most_builtins> builtins_watched;
constinit table<awaited_code, 16> codes_awaited;
constinit bool is_watching = false;
constinit std::uint32_t watch_epoch = 0;
python_functions python{};
prof_python_fields fields{};
python_call_functions calls{};

// The arguments of the call whose beginning is being reported to Python.
struct given_arguments {
    void* code = nullptr;
    void* const* values = nullptr;
    std::size_t count = 0;
    void* names = nullptr;    // of the last of the values: a tuple, or null
    void* tuple = nullptr;    // of a builtin, which has no values
    void* by_name = nullptr;  // … and its dict, or null
};

// What watch_caller has begun and watch_end has not ended.
struct open_calls {
    static constexpr std::size_t most = 64;
    struct entry {
        void* witness;
        void* code;
    };
    std::array<entry, most> entries{};
    std::size_t count = 0;
    std::uint32_t epoch = 0;
};

constinit thread_local const given_arguments* arguments_of_thread = nullptr;

// Null if there is no memory.
open_calls* open_calls_here() noexcept {
    open_calls* const open = thread_object<open_calls>::here();
    if (open != nullptr && open->epoch != watch_epoch) {
        open->count = 0;
        open->epoch = watch_epoch;
    }
    return open;
}

// While it lives, libprof's functions are not seen by the program's trace and profile functions.
class untraced {
public:
    untraced() noexcept : thread_{python.thread()} {
        if (python.enter_tracing != nullptr) {
            python.enter_tracing(thread_);
        } else if (fields.tracing != 0) {
            ++field<int>(fields.tracing);
            set_use(0);
        }
    }
    ~untraced() {
        if (python.leave_tracing != nullptr) {
            python.leave_tracing(thread_);
        } else if (fields.tracing != 0) {
            int& depth = field<int>(fields.tracing);
            --depth;
            // After `cframe` come the C functions for profiling and for tracing.
            const bool is_traced = field<void*>(fields.cframe + sizeof(void*)) != nullptr ||
                                   field<void*>(fields.cframe + 2 * sizeof(void*)) != nullptr;
            set_use(depth == 0 && is_traced ? 255 : 0);
        }
    }
    untraced(const untraced&) = delete;
    untraced& operator=(const untraced&) = delete;
    untraced(untraced&&) = delete;
    untraced& operator=(untraced&&) = delete;

private:
    template <typename TField>
    TField& field(std::size_t offset) const noexcept {
        return *reinterpret_cast<TField*>(static_cast<char*>(thread_) + offset);
    }
    void set_use(int value) const noexcept { *static_cast<int*>(field<void*>(fields.cframe)) = value; }

    void* thread_;
};

// An exception that was raised by a call, and is set again at the end.
class raised_error {
public:
    raised_error() noexcept { python.fetch_error(&type_, &value_, &traceback_); }
    ~raised_error() { python.chain_error(type_, value_, traceback_); }
    // As an object, if it is one already or is Python's own StopIteration; else null.
    void* get() noexcept {
        if (type_ == calls.end_of_iteration) python.normalize_error(&type_, &value_, &traceback_);
        return value_;
    }
    raised_error(const raised_error&) = delete;
    raised_error& operator=(const raised_error&) = delete;
    raised_error(raised_error&&) = delete;
    raised_error& operator=(raised_error&&) = delete;

private:
    void* type_ = nullptr;
    void* value_ = nullptr;
    void* traceback_ = nullptr;
};

// An attribute of one of the interpreter's own objects: a new reference, or null.
void* attribute(void* object, const char* name) noexcept {
    void* const result = object == nullptr ? nullptr : python.attribute(object, name);
    if (result == nullptr) python.clear_error();
    return result;
}

bool is_of_libprof(void* traceback) noexcept {
    void* const frame = attribute(traceback, "tb_frame");
    void* const code = attribute(frame, "f_code");
    void* const file = attribute(code, "co_filename");
    const bool result = text_of(python, file).starts_with("<libprof/");
    for (void* owned : {file, code, frame}) {
        if (owned != nullptr) python.release(owned);
    }
    return result;
}

// The exception is a signal handler's: the functions of libprof in which the handler ran leave its traceback.
void take_own_frames_off() noexcept {
    void* type = nullptr;
    void* value = nullptr;
    void* traceback = nullptr;
    python.fetch_error(&type, &value, &traceback);
    while (traceback != nullptr && is_of_libprof(traceback)) {
        void* next = attribute(traceback, "tb_next");
        if (next == calls.none) {
            python.release(next);
            next = nullptr;
        }
        python.release(std::exchange(traceback, next));
    }
    python.restore_error(type, value, traceback);
}

bool check(void* result) noexcept {
    if (result == nullptr) {
        take_own_frames_off();
    } else {
        python.release(result);
    }
    return result != nullptr;
}

// Null of `arguments`: the call is its caller's. False: a signal handler has raised an exception, which is set.
bool begin(void* code, const given_arguments* arguments) noexcept {
    const given_arguments* const before = std::exchange(arguments_of_thread, arguments);
    void* const given[] = {code, nullptr};
    const untraced pause;
    const bool is_good = check(calls.start(nullptr, static_cast<void* const*>(given), 2));
    arguments_of_thread = before;
    return is_good;
}

void unwind(void* code) noexcept {
    const untraced pause;
    raised_error error;
    void* const given[] = {code, nullptr, error.get()};
    (void)check(calls.unwind(nullptr, static_cast<void* const*>(given), 3));
}

// Passes on the result of the call that ends, unless a signal handler raises an exception.
void* end(void* code, void* result) noexcept {
    if (result == nullptr) {
        unwind(code);
        return nullptr;
    }
    void* const given[] = {code};
    bool is_good = true;
    {
        const untraced pause;
        is_good = check(calls.end(nullptr, static_cast<void* const*>(given), 1));
    }
    if (is_good) return result;
    python.release(result);
    unwind(code);
    return nullptr;
}

const awaited_code* awaited_caller() noexcept {
    void* const frame = python.frame();
    if (frame == nullptr) return nullptr;
    void* const code = python.frame_code(frame);
    const auto* const found = std::find_if(codes_awaited.begin(), codes_awaited.end(),
                                           [code](const awaited_code& entry) { return entry.code == code; });
    python.release(code);  // the frame has a reference, too
    return found == codes_awaited.end() ? nullptr : found;
}

void* end_of_witness(void* witness, void* result) noexcept {
    open_calls* const open = open_calls_here();
    for (std::size_t index = open == nullptr ? 0 : open->count; index > 0; --index) {
        if (open->entries[index - 1].witness != witness) continue;
        open->count = index - 1;
        return end(open->entries[index - 1].code, result);
    }
    return result;
}

// Calls `original` around which calls begin and end. `code`: the function's own.
template <typename TOriginal>
void* call_between(std::uint32_t how, void* code, const given_arguments& arguments, void* first,
                   TOriginal original) noexcept {
    const bool is_call = (how & watch_call) != 0;
    if ((how & (watch_call | watch_event)) != 0 && code != nullptr && !begin(code, &arguments)) {
        if (is_call) unwind(code);
        return nullptr;
    }
    const awaited_code* const caller = (how & watch_caller) != 0 ? awaited_caller() : nullptr;
    if (caller != nullptr) {
        open_calls* const open = open_calls_here();
        const bool has_end = caller->has_end && open != nullptr && open->count < open_calls::most;
        if (has_end || !caller->has_end) {
            if (has_end) open->entries[open->count++] = {first, caller->code};
            if (!begin(caller->code, nullptr)) return has_end ? end_of_witness(first, nullptr) : nullptr;
        }
    }
    void* result = original();
    if (caller != nullptr && caller->has_end && result == nullptr) result = end_of_witness(first, result);
    if ((how & watch_end) != 0) result = end_of_witness(first, result);
    return is_call ? end(code, result) : result;
}

void* call_watched(void* function, void* const* arguments, std::size_t count, void* names) noexcept {
    const auto* const found =
        std::find_if(functions_watched.begin(), functions_watched.end(),
                     [function](const watched_function& watched) { return watched.function == function; });
    const call_function original = found->original;
    const std::size_t positional = count & ~count_flag;
    const auto call = [=] { return original(function, arguments, count, names); };
    return call_between(found->how, found->code, {found->code, arguments, positional, names},
                        positional == 0 ? nullptr : *arguments, call);
}

template <std::size_t index>
void* call_builtin(void* self, void* arguments, void* named) noexcept {
    watched_builtin& watched = builtins_watched.entries[index];
    const builtin_function original = watched.original->call;
    const auto call = [=] { return original(self, arguments, named); };
    return call_between(watched.how, watched.code, {watched.code, nullptr, 0, nullptr, arguments, named}, nullptr,
                        call);
}

template <std::size_t... indices>
constexpr std::array<builtin_function, sizeof...(indices)> make_calls(std::index_sequence<indices...>) {
    return {call_builtin<indices>...};
}
constexpr auto builtin_calls = make_calls(std::make_index_sequence<most_builtins>{});

// The field with the C function that calls a Python function.
call_function& caller_of(void* function) noexcept {
    return *reinterpret_cast<call_function*>(static_cast<char*>(function) + fields.call);
}

void set_function(const watched_function& watched, bool is_on) noexcept {
    call_function& field = caller_of(watched.function);
    if (is_on && field == watched.original) field = call_watched;
    if (!is_on && field == call_watched) field = watched.original;
}

void set_builtin(watched_builtin& watched, bool is_on) noexcept {
    if (is_on && *watched.place == watched.original) *watched.place = &watched.ours;
    if (!is_on && *watched.place == &watched.ours) *watched.place = watched.original;
}

int watch_function(void* function, void* code, std::uint32_t how) noexcept {
    auto* const found =
        std::find_if(functions_watched.begin(), functions_watched.end(),
                     [function](const watched_function& watched) { return watched.function == function; });
    if (found != functions_watched.end()) {
        found->how |= how;
        if (code != nullptr) found->code = code;
        return 1;
    }
    if (caller_of(function) == call_watched) return 0;
    const watched_function added{function, code, how, caller_of(function)};
    if (!functions_watched.add(added)) return 0;
    if (is_watching) set_function(added, true);
    return 1;
}

int watch_builtin(void** definition, void* code, std::uint32_t how) noexcept {
    for (watched_builtin& watched : builtins_watched) {
        if (watched.place == definition) {
            watched.how |= how;
            if (code != nullptr) watched.code = code;
            return 1;
        }
    }
    auto* const original = static_cast<builtin_definition*>(*definition);
    if ((original->flags & calling_convention) != takes_tuple_and_dict) return 0;
    watched_builtin added{definition, code, how, original, *original};
    if (builtins_watched.count == most_builtins) return 0;
    added.ours.call = builtin_calls[builtins_watched.count];
    (void)builtins_watched.add(added);
    if (is_watching) set_builtin(builtins_watched.end()[-1], true);
    return 1;
}

int await_code(void* code, int has_end) noexcept { return codes_awaited.add({code, has_end != 0}) ? 1 : 0; }

int set(int is_on) noexcept {
    is_watching = is_on != 0;
    ++watch_epoch;
    for (const watched_function& watched : functions_watched) set_function(watched, is_watching);
    for (watched_builtin& watched : builtins_watched) set_builtin(watched, is_watching);
    return 1;
}

void* new_reference(void* object) noexcept {
    if (object != nullptr) python.retain(object);
    return object;
}

long long number_attribute(void* object, const char* name) noexcept {
    void* const number = attribute(object, name);
    if (number == nullptr) return 0;
    const long long value = python.value(number);
    python.release(number);
    return value;
}

void* positional(const given_arguments& given, std::ptrdiff_t index) noexcept {
    if (given.tuple == nullptr) return index < static_cast<std::ptrdiff_t>(given.count) ? given.values[index] : nullptr;
    return index < python.count(given.tuple) ? python.element(given.tuple, index) : nullptr;
}

// The arguments from `first` on, as a tuple: a new reference.
void* tuple_of_rest(const given_arguments& given, std::ptrdiff_t first) noexcept {
    std::ptrdiff_t count = 0;
    while (positional(given, first + count) != nullptr) ++count;
    void* const values = python.make_tuple(count);
    if (values == nullptr) {
        python.clear_error();
        return nullptr;
    }
    for (std::ptrdiff_t index = 0; index < count; ++index)
        (void)python.fill_tuple(values, index, new_reference(positional(given, first + index)));
    return values;
}

// Of the arguments that are given by name: borrowed, or null.
void* named(const given_arguments& given, void* name) noexcept {
    const std::string_view text = text_of(python, name);
    if (given.by_name != nullptr) {
        void* const found = python.item(given.by_name, text.data());
        if (found == nullptr) python.clear_error();
        return found;
    }
    const std::ptrdiff_t count = given.names == nullptr ? 0 : python.count(given.names);
    for (std::ptrdiff_t index = 0; index < count; ++index) {
        if (text_of(python, python.element(given.names, index)) == text)
            return given.values[static_cast<std::ptrdiff_t>(given.count) + index];
    }
    return nullptr;
}

// Finds an argument by its place in the code's variables: parameters, those by name only, *arguments.
void* argument(const given_arguments& given, void* name) noexcept {
    constexpr long long has_rest = 0x04;  // CO_VARARGS
    void* const variables = attribute(given.code, "co_varnames");
    if (variables == nullptr) return nullptr;
    const std::ptrdiff_t parameters = number_attribute(given.code, "co_argcount");
    const std::ptrdiff_t rest = parameters + number_attribute(given.code, "co_kwonlyargcount");
    const std::ptrdiff_t count = python.count(variables);
    std::ptrdiff_t index = 0;
    while (index < count && python.element(variables, index) != name) ++index;
    python.release(variables);
    if (index == rest && index < count && (number_attribute(given.code, "co_flags") & has_rest) != 0)
        return tuple_of_rest(given, parameters);
    void* const value = index < parameters ? positional(given, index) : nullptr;
    return new_reference(value == nullptr && index < rest ? named(given, name) : value);
}

constexpr prof_python_watch_functions watch_functions{watch_function, watch_builtin, await_code, set};

}  // namespace

bool is_watched_call() noexcept { return arguments_of_thread != nullptr; }

void* watched_argument(void* name) noexcept { return argument(*arguments_of_thread, name); }

const prof_python_watch_functions* python_watch(const python_functions& given_python,
                                                const prof_python_fields& given_fields,
                                                const python_call_functions& given_calls) noexcept {
    python = given_python;
    fields = given_fields;
    calls = given_calls;
    return &watch_functions;
}

}  // namespace prof
