// SPDX-License-Identifier: Apache-2.0
// libprof: ranges, marks and counters for C++ and CUDA C++ sources. Header-only, C++17, over NVTX 3.
//
//     #include <prof/range.hpp>
//
//     void train_step(const batch& input) {
//         PROF_RANGE("train_step");                                    // until the end of this block
//         { PROF_RANGE("forward", prof::payload(input.tokens)); … }    // a number of this entry
//         for (const layer& each : layers) { PROF_RANGE_DYNAMIC(each.name()); … }
//         PROF_COUNTER("loss", loss);
//     }
//
// The macros, each a statement. "name" is a string literal, and anything else does not compile. `text` is made at run
// time: a const char*, std::string or std::string_view, copied if a tool is active. Any number of attributes may
// follow: prof::payload(number), prof::color(0xAARRGGBB), prof::category(number). All arguments but "name" are
// evaluated at each entry.
//
//     PROF_RANGE("name", attributes…)             a range until the end of the block
//     PROF_RANGE_DYNAMIC(text, attributes…)
//     PROF_RANGE_FORMAT("layer %d", i)            printf's format; the text is made only if a tool is active
//     PROF_FUNCTION_RANGE(attributes…)            named after the function
//     PROF_PHASE("forward")                       a range that reports count as a part of a step (docs/guide/phases.md)
//     PROF_MARK("name", attributes…)              an instant; also PROF_MARK_DYNAMIC, PROF_MARK_FORMAT
//     PROF_COUNTER("name", value)                 a value over time; also PROF_COUNTER_DYNAMIC
//     auto r = PROF_RANGE_START("name", attributes…);    a range of the process; also PROF_RANGE_START_DYNAMIC
//     PROF_RANGE_END(r);                                 on any thread
//
// Ranges are NVTX push/pop ranges in the domain "prof". So Nsight shows them, too, and no link to libprof is needed.
// A counter is an NVTX mark with a payload, in the domain "prof.counters". Any thread; the ranges of one thread nest.
// In signal handlers only after the process has made its first range or mark outside of one: that loads the tool. (The
// macros _FORMAT call vsnprintf, which no handler may.)
//
// Cost of a PROF_RANGE, enter and leave together: one or two nanoseconds without a tool in the process, or if libprof
// is there but not recording. While it records: two clock reads and a few nanoseconds (docs/reference/overhead.md).
// With -DPROF_DISABLE the same sources compile, evaluate no argument of a macro, and leave no code.
#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <type_traits>
#include <utility>

#include <prof/version.h>

#if !defined(PROF_DISABLE)
#include <nvtx3/nvToolsExt.h>
#include <sched.h>
#endif

namespace prof {

// The linker takes a function that is not inlined (-O0) from the first object that has it. So objects compiled with
// PROF_DISABLE, or with another version of this header, must have them under other names.
#if defined(PROF_DISABLE)
inline namespace disabled {
#endif
inline namespace PROF_INLINE_NAMESPACE {

// --- attributes ------------------------------------------------------------------------------------------------------

struct color {
    explicit constexpr color(std::uint32_t value) noexcept : argb(value) {}
    std::uint32_t argb;  // 0xAARRGGBB; 0: none
};

struct category {
    explicit constexpr category(std::uint32_t value) noexcept : number(value) {}
    std::uint32_t number;  // named with name_category(); 0: none
};

// A number of the program's: bytes, tokens, an index, a ratio.
struct payload {
    enum class type : std::uint8_t { none, u64, i64, f64 };

    payload() noexcept = default;  // none
    template <typename TNumber, typename = std::enable_if_t<std::is_arithmetic_v<TNumber>>>
    explicit payload(TNumber number) noexcept {
        if constexpr (std::is_floating_point_v<TNumber>) {
            set(type::f64, static_cast<double>(number));
        } else if constexpr (std::is_signed_v<TNumber>) {
            set(type::i64, static_cast<std::int64_t>(number));
        } else {
            set(type::u64, static_cast<std::uint64_t>(number));
        }
    }

    type kind = type::none;
    std::uint64_t bits = 0;  // of the number, as `kind` says

private:
    template <typename TNumber>
    void set(type of, TNumber number) noexcept {
        static_assert(sizeof number == sizeof bits);
        kind = of;
        std::memcpy(&bits, &number, sizeof bits);
    }
};

// All that a range, a mark or a counter may have besides its name. It may itself stand where an attribute does.
struct range_attributes {
    std::uint32_t color = 0;     // 0xAARRGGBB; 0: none
    std::uint32_t category = 0;  // 0: none
    bool has_payload = false;
    std::uint64_t payload = 0;
};

struct formatted_t {};
inline constexpr formatted_t formatted{};

namespace detail {

struct attributes {
    std::uint32_t color = 0;
    std::uint32_t category = 0;
    prof::payload number;

    void add(prof::color one) noexcept { color = one.argb; }
    void add(prof::category one) noexcept { category = one.number; }
    void add(prof::payload one) noexcept { number = one; }
    void add(const range_attributes& all) noexcept {
        if (all.color != 0) color = all.color;
        if (all.category != 0) category = all.category;
        if (all.has_payload) number = prof::payload(all.payload);
    }
    void add(const attributes& all) noexcept { *this = all; }
    bool has_any() const noexcept { return color != 0 || category != 0 || number.kind != prof::payload::type::none; }
};

template <typename... TAttributes>
attributes all_of(const TAttributes&... each) noexcept {
    attributes out;
    (out.add(each), ...);
    return out;
}

// A text made at run time: const char* (null: an empty text), what has a c_str(), or what has data() and size().
class text {
    template <typename TString>
    using if_c_str = decltype(static_cast<const char*>(std::declval<const TString&>().c_str()));
    template <typename TString>
    using if_view = decltype(static_cast<const char*>(std::declval<const TString&>().data()),
                             static_cast<std::size_t>(std::declval<const TString&>().size()));
    template <typename TString, typename = void>
    struct has_c_str : std::false_type {};
    template <typename TString>
    struct has_c_str<TString, std::void_t<if_c_str<TString>>> : std::true_type {};

public:
    text(const char* terminated) noexcept : data_(terminated == nullptr ? "" : terminated) {}
    template <typename TString, std::enable_if_t<has_c_str<TString>::value, int> = 0>
    text(const TString& string) noexcept : data_(string.c_str()) {}
    template <typename TString, std::enable_if_t<!has_c_str<TString>::value, int> = 0, typename = if_view<TString>>
    text(const TString& view) noexcept : data_(view.data()), size_(view.size()), is_terminated_(false) {}

    // Calls `action` with the text and a terminating zero. One without that zero is cut after 1,023 bytes.
    template <typename TAction>
    void with_c_str(TAction&& action) const {
        if (is_terminated_) {
            action(data_);
        } else {
            with_copy(action);
        }
    }

private:
    template <typename TAction>
    [[gnu::noinline]] void with_copy(TAction& action) const {
        char copy[1024];
        const std::size_t kept = size_ < sizeof copy ? size_ : sizeof copy - 1;
        if (kept != 0) std::memcpy(copy, data_, kept);
        copy[kept] = 0;
        action(static_cast<const char*>(copy));
    }

    const char* data_;
    std::size_t size_ = 0;
    bool is_terminated_ = true;
};

// A macro's place in the source: THere is a type that the macro defines there (an enumeration: it is nothing to C).
template <typename THere, typename TDomain>
struct place {};

// The domains of this header.
struct ranges {
    static constexpr const char* name = "prof";
};
struct phases {
    static constexpr const char* name = "prof.phases";
};
struct counters {
    static constexpr const char* name = "prof.counters";
};

}  // namespace detail

#if !defined(PROF_DISABLE)

namespace detail {

// A value that the first thread to need it finds out. No lock is held while `find` runs, as it would be for a static
// variable that is initialized at its first use: a child forked meanwhile would wait for that for ever, and so would a
// signal handler. Instead, of threads that come at the same time each finds the value, and the first to have it stores
// it.
template <typename TValue>
class [[gnu::visibility("hidden")]] found_once {
public:
    constexpr found_once() noexcept = default;

    // `find(value)` returns false if there is no value yet. Then the result is TValue::none(), and a later call tries
    // again.
    template <typename TFind>
    const TValue& get(TFind find) noexcept {
        if (__builtin_expect(__atomic_load_n(&state_, __ATOMIC_ACQUIRE) != stored, 0)) return store(find);
        return value_;
    }

private:
    enum state : std::uint32_t { unknown, being_stored, stored };

    // Only the copy is made by one thread alone. That thread may be missing all the same: it was about to store when
    // the process was forked, or it waits for the signal handler that this is in. So the wait for it has an end.
    template <typename TFind>
    [[gnu::noinline, gnu::cold]] const TValue& store(TFind find) noexcept {
        static constexpr TValue none = TValue::none();
        TValue found;
        if (!find(found)) return none;
        std::uint32_t expected = unknown;
        if (!__atomic_compare_exchange_n(&state_, &expected, std::uint32_t{being_stored}, false, __ATOMIC_ACQUIRE,
                                         __ATOMIC_ACQUIRE)) {
            for (int i = 0; i < longest_wait && expected != stored; ++i) {
                sched_yield();
                expected = __atomic_load_n(&state_, __ATOMIC_ACQUIRE);
            }
            if (expected == stored) return value_;
        }
        value_ = found;
        __atomic_store_n(&state_, std::uint32_t{stored}, __ATOMIC_RELEASE);
        return value_;
    }

    static constexpr int longest_wait = 10'000;  // calls of sched_yield
    TValue value_{};
    std::uint32_t state_ = unknown;
};

// Hidden, like the functions below: symbols shared by all shared objects (GNU's unique symbols) would keep the first of
// these objects from being unloaded.
[[gnu::visibility("hidden")]] inline constexpr std::uint32_t gate_open = 1;
[[gnu::visibility("hidden")]] inline constexpr std::uint32_t gate_shut = 0;

// The tool that NVTX found, if any.
//
// Ranges need not be passed to the tool while the word at `gate` is 0. ask() requests the address of that word from
// libprof through NVTX: it creates a resource of this name whose identifier is the place for the address. For any other
// tool this is a pointer with a name, and that tool gets all ranges. libprof's hooks read the same word first, so this
// only saves the calls and changes no result.
//
// In the same way ask() requests two functions to call instead of NVTX's. `push` takes only events with a registered
// name and nothing else, so that it need not check them. Neither returns the level, which is not used here.
struct tool {
    constexpr tool() noexcept = default;
    static constexpr tool none() noexcept {
        tool out;
        out.gate = &gate_shut;
        return out;
    }
    [[gnu::visibility("hidden")]] explicit tool(const char* domain_name) noexcept
        : domain(nvtxDomainCreateA(domain_name)) {
        ask("libprof: gate", &gate);
        ask("libprof: push", &push);
        ask("libprof: pop", &pop);
    }
    [[gnu::visibility("hidden")]] static void push_by_nvtx(nvtxDomainHandle_t domain,
                                                           const nvtxEventAttributes_t* event) noexcept {
        nvtxDomainRangePushEx(domain, event);
    }
    [[gnu::visibility("hidden")]] static void pop_by_nvtx(nvtxDomainHandle_t domain) noexcept {
        nvtxDomainRangePop(domain);
    }
    void ask(const char* name, const void* answer) const noexcept {
        nvtxResourceAttributes_t question{};
        question.version = NVTX_VERSION;
        question.size = NVTX_RESOURCE_ATTRIB_STRUCT_SIZE;
        question.identifierType = NVTX_RESOURCE_TYPE_GENERIC_POINTER;
        question.identifier.pValue = answer;
        question.messageType = NVTX_MESSAGE_TYPE_ASCII;
        question.message.ascii = name;
        nvtxDomainResourceCreate(domain, &question);
    }
    // False if libprof could not give the domain a number: in a signal handler while libprof starts. A tool without
    // handles does not set the gate.
    bool has_domain() const noexcept { return domain != nullptr || gate == &gate_open; }
    // relaxed: if the gate is open, the tool is called and reads it again.
    bool is_active() const noexcept { return __atomic_load_n(gate, __ATOMIC_RELAXED) != 0; }

    nvtxDomainHandle_t domain = nullptr;
    const std::uint32_t* gate = &gate_open;
    void (*push)(nvtxDomainHandle_t, const nvtxEventAttributes_t*) noexcept = &push_by_nvtx;
    void (*pop)(nvtxDomainHandle_t) noexcept = &pop_by_nvtx;
};

template <typename TDomain>
[[gnu::visibility("hidden")]] const tool& tool_of() noexcept {
    static found_once<tool> found;
    return found.get([](tool& out) noexcept {
        out = tool(TDomain::name);
        return out.has_domain();
    });
}

inline nvtxEventAttributes_t event(const attributes& of) noexcept {
    nvtxEventAttributes_t e{};
    e.version = NVTX_VERSION;
    e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    e.category = of.category;
    if (of.color != 0) {
        e.colorType = NVTX_COLOR_ARGB;
        e.color = of.color;
    }
    constexpr std::int32_t types[] = {NVTX_PAYLOAD_UNKNOWN, NVTX_PAYLOAD_TYPE_UNSIGNED_INT64, NVTX_PAYLOAD_TYPE_INT64,
                                      NVTX_PAYLOAD_TYPE_DOUBLE};
    e.payloadType = types[static_cast<unsigned>(of.number.kind)];
    std::memcpy(&e.payload, &of.number.bits, sizeof of.number.bits);
    return e;
}

inline nvtxEventAttributes_t event(const attributes& of, const char* name) noexcept {
    nvtxEventAttributes_t e = event(of);
    e.messageType = NVTX_MESSAGE_TYPE_ASCII;
    e.message.ascii = name;
    return e;
}

// A text by printf's format, cut after 1,023 bytes; empty if the format has an error.
class formatted_text {
public:
    [[gnu::format(printf, 2, 0)]] formatted_text(const char* format, std::va_list arguments) noexcept {
        if (std::vsnprintf(text_, sizeof text_, format, arguments) < 0) text_[0] = 0;
    }
    const char* c_str() const noexcept { return text_; }

private:
    char text_[1024];
};

// The constant attributes of a range that a macro makes. The category of a phase "step" means that the program itself
// marks it (prof_step_witness).
template <typename TDomain>
range_attributes constant_attributes(const char* name) noexcept {
    range_attributes out;
    if (std::is_same_v<TDomain, phases> && std::strcmp(name, "step") == 0) out.category = 3;
    return out;
}

}  // namespace detail

// The constant part of a range, for a place in the source. Its name is registered with the tool, so that entering the
// range later does not read the text. PROF_RANGE makes one as a static variable.
class range_site {
public:
    explicit range_site(const char* name, const range_attributes& attributes = {}) noexcept
        : range_site(name, attributes, detail::tool_of<detail::ranges>()) {}
    constexpr range_site() noexcept = default;  // to be assigned to
    static constexpr range_site none() noexcept {
        range_site out;
        out.tool_ = detail::tool::none();
        return out;
    }
    range_site(const char* name, const range_attributes& attributes, const detail::tool& tool) noexcept
        : event_(detail::event(detail::all_of(attributes))), tool_(tool) {
        event_.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
        event_.message.registered = nvtxDomainRegisterStringA(tool_.domain, name);
        if (detail::all_of(attributes).has_any()) tool_.push = &detail::tool::push_by_nvtx;
        // A tool that gave no handle for the name or the domain could not identify the range: so there is no tool.
        const bool has_handle = event_.message.registered != nullptr || tool_.domain != nullptr;
        if (!has_handle && tool_.gate == &detail::gate_open) tool_.gate = &detail::gate_shut;
    }
    const nvtxEventAttributes_t& event() const noexcept { return event_; }
    const detail::tool& tool() const noexcept { return tool_; }

private:
    nvtxEventAttributes_t event_{};
    detail::tool tool_;  // a copy: saves a load in each range
};

namespace detail {

// The site of a macro, which defines the type THere beside it. The static variable is of a hidden class: one of an
// inline function would be a unique symbol, and would keep a shared object from being unloaded.
template <typename THere, typename TDomain>
struct [[gnu::visibility("hidden")]] site_at {
    static const range_site& get(const char* name) noexcept {
        static found_once<range_site> site;
        return site.get([name](range_site& out) noexcept {
            const tool& of = tool_of<TDomain>();
            if (of.has_domain()) out = range_site(name, constant_attributes<TDomain>(name), of);
            return of.has_domain();
        });
    }
};

}  // namespace detail

// A range from its construction to its destruction. Both must happen on the same thread, innermost first. Mostly no
// tool is active, so __builtin_expect keeps only the check in the fast path; recording takes many times as long.
class [[nodiscard]] scoped_range {
public:
    // REQUIRES: `site` outlives the range. `attributes` replace those of the site.
    template <typename... TAttributes>
    [[nodiscard]] explicit scoped_range(const range_site& site, const TAttributes&... attributes) noexcept
        : tool_(site.tool()), has_site_(true) {
        if (!__builtin_expect(tool_.is_active(), 0)) return;
        if constexpr (sizeof...(attributes) == 0) {
            tool_.push(tool_.domain, &site.event());
        } else {
            push_with(site, detail::all_of(attributes...));
        }
    }
    template <typename... TAttributes>
    [[nodiscard]] explicit scoped_range(const range_site&& site, const TAttributes&... attributes) = delete;

    // For the macros.
    template <typename THere, typename TDomain, typename... TAttributes>
    [[nodiscard]] explicit scoped_range(detail::place<THere, TDomain>, const char* name,
                                        const TAttributes&... attributes) noexcept
        : scoped_range(detail::site_at<THere, TDomain>::get(name), attributes...) {}
    template <typename THere, typename TDomain>
    [[nodiscard]] explicit scoped_range(detail::place<THere, TDomain>, const detail::attributes& attributes,
                                        const char* name) noexcept
        : scoped_range(detail::site_at<THere, TDomain>::get(name), attributes) {}

    // For names made at run time. If a tool is active, the text is copied (one hash of it).
    template <typename... TAttributes>
    [[nodiscard]] explicit scoped_range(detail::text name, const TAttributes&... attributes) noexcept
        : tool_(detail::tool_of<detail::ranges>()), has_site_(false) {
        if (!tool_.is_active()) return;
        name.with_c_str([&](const char* terminated) { push_text(terminated, detail::all_of(attributes...)); });
    }

    // printf's format. The text is made only if a tool is active, and is cut after 1,023 bytes.
    [[nodiscard, gnu::format(printf, 3, 4)]] explicit scoped_range(formatted_t, const char* format, ...) noexcept
        : tool_(detail::tool_of<detail::ranges>()), has_site_(false) {
        if (!tool_.is_active()) return;
        std::va_list arguments;
        va_start(arguments, format);
        push_text(detail::formatted_text(format, arguments).c_str(), {});
        va_end(arguments);
    }

    // The pop is sent even if the push was not: libprof counts a pop without a push.
    ~scoped_range() {
        if (__builtin_expect(!tool_.is_active(), 1)) return;
        has_site_ ? tool_.pop(tool_.domain) : detail::tool::pop_by_nvtx(tool_.domain);
    }

    scoped_range(const scoped_range&) = delete;
    scoped_range& operator=(const scoped_range&) = delete;

private:
    void push_with(const range_site& site, const detail::attributes& attributes) const noexcept {
        nvtxEventAttributes_t e = detail::event(attributes);
        e.messageType = site.event().messageType;
        e.message = site.event().message;
        nvtxDomainRangePushEx(tool_.domain, &e);
    }
    void push_text(const char* name, const detail::attributes& attributes) const noexcept {
        const nvtxEventAttributes_t e = detail::event(attributes, name);
        nvtxDomainRangePushEx(tool_.domain, &e);
    }

    const detail::tool& tool_;
    const bool has_site_;  // a constant for the compiler after inlining
};

// A range of the process, not of a thread. It may overlap others, and may end on another thread.
class [[nodiscard]] process_range {
public:
    process_range() noexcept = default;  // none
    template <typename... TAttributes>
    [[nodiscard]] explicit process_range(detail::text name, const TAttributes&... attributes) noexcept {
        name.with_c_str([&](const char* terminated) {
            const nvtxEventAttributes_t e = detail::event(detail::all_of(attributes...), terminated);
            id_ = nvtxDomainRangeStartEx(detail::tool_of<detail::ranges>().domain, &e);
        });
    }
    ~process_range() { end(); }
    void end() noexcept {
        if (id_ != 0) nvtxDomainRangeEnd(detail::tool_of<detail::ranges>().domain, id_);
        id_ = 0;
    }

    process_range(process_range&& other) noexcept : id_(other.id_) { other.id_ = 0; }
    process_range& operator=(process_range&& other) noexcept {
        if (this != &other) {
            end();
            id_ = other.id_;
            other.id_ = 0;
        }
        return *this;
    }

private:
    nvtxRangeId_t id_ = 0;
};

namespace detail {

template <typename TDomain, typename... TAttributes>
void put_mark(text name, const TAttributes&... attributes) noexcept {
    const tool& tool = tool_of<TDomain>();
    if (!tool.is_active()) return;
    name.with_c_str([&](const char* terminated) {
        const nvtxEventAttributes_t e = event(all_of(attributes...), terminated);
        nvtxDomainMarkEx(tool.domain, &e);
    });
}

}  // namespace detail

// An instant with a name.
template <typename... TAttributes>
void mark(detail::text name, const TAttributes&... attributes) noexcept {
    detail::put_mark<detail::ranges>(name, attributes...);
}
[[gnu::format(printf, 2, 3)]] inline void mark(formatted_t, const char* format, ...) noexcept {
    if (!detail::tool_of<detail::ranges>().is_active()) return;
    std::va_list arguments;
    va_start(arguments, format);
    detail::put_mark<detail::ranges>(detail::formatted_text(format, arguments));
    va_end(arguments);
}

// The value of a counter from now on.
template <typename TNumber>
void counter(detail::text name, TNumber value) noexcept {
    detail::put_mark<detail::counters>(name, payload(value));
}

// Gives a category of the domain "prof" its name.
inline void name_category(std::uint32_t category, const char* name) noexcept {
    nvtxDomainNameCategoryA(detail::tool_of<detail::ranges>().domain, category, name);
}

#define PROF_ARGUMENTS_(...) __VA_ARGS__

#else  // PROF_DISABLE

namespace detail {

// What stands in place of a macro's arguments.
struct skip {};
template <typename... TArguments>
skip ignore(const TArguments&...) noexcept {
    return {};
}

}  // namespace detail

class range_site {
public:
    explicit range_site(const char*, const range_attributes& = {}) noexcept {}
};

// The destructors are not trivial, so that an unused range causes no warning here either.
class [[nodiscard]] scoped_range {
public:
    explicit scoped_range(detail::skip) noexcept {}
    template <typename... TAttributes>
    [[nodiscard]] explicit scoped_range(const range_site&, const TAttributes&...) noexcept {}
    template <typename... TAttributes>
    [[nodiscard]] explicit scoped_range(const range_site&&, const TAttributes&...) = delete;
    template <typename... TAttributes>
    [[nodiscard]] explicit scoped_range(detail::text, const TAttributes&...) noexcept {}
    [[nodiscard, gnu::format(printf, 3, 4)]] explicit scoped_range(formatted_t, const char*, ...) noexcept {}
    ~scoped_range() {}
    scoped_range(const scoped_range&) = delete;
    scoped_range& operator=(const scoped_range&) = delete;
};

class [[nodiscard]] process_range {
public:
    process_range() noexcept = default;
    [[nodiscard]] explicit process_range(detail::skip) noexcept {}
    template <typename... TAttributes>
    [[nodiscard]] explicit process_range(detail::text, const TAttributes&...) noexcept {}
    ~process_range() {}
    void end() noexcept {}
    process_range(process_range&&) noexcept {}
    process_range& operator=(process_range&&) noexcept { return *this; }
};

inline void mark(detail::skip) noexcept {}
template <typename... TAttributes>
void mark(detail::text, const TAttributes&...) noexcept {}
[[gnu::format(printf, 2, 3)]] inline void mark(formatted_t, const char*, ...) noexcept {}
inline void counter(detail::skip) noexcept {}
template <typename TNumber>
void counter(detail::text, TNumber) noexcept {}
inline void name_category(std::uint32_t, const char*) noexcept {}

// The arguments are compiled, so that they count as used, and not evaluated.
#define PROF_ARGUMENTS_(...) \
    false ? ::prof::detail::ignore(__VA_ARGS__) : ::prof::detail::skip {}

#endif

}  // namespace PROF_INLINE_NAMESPACE
#if defined(PROF_DISABLE)
}  // inline namespace
#endif
}  // namespace prof

#define PROF_JOIN_TWICE_(a, b) a##b
#define PROF_JOIN_(a, b) PROF_JOIN_TWICE_(a, b)
// Braces: in parentheses, PROF_RANGE_DYNAMIC(std::string_view(name)) would declare a function.
#define PROF_SCOPED_(id, ...) \
    const ::prof::scoped_range PROF_JOIN_(prof_range_, id) { PROF_ARGUMENTS_(__VA_ARGS__) }
// Two declarations, so that a range alone after an if does not compile: it would end at once.
#define PROF_PLACED_(id, domain, ...)                                      \
    enum class [[gnu::visibility("hidden")]] PROF_JOIN_(prof_here_, id){}; \
    PROF_SCOPED_(id, ::prof::detail::place<PROF_JOIN_(prof_here_, id), ::prof::detail::domain>{}, __VA_ARGS__)

#define PROF_RANGE(...) PROF_PLACED_(__COUNTER__, ranges, "" __VA_ARGS__)
#define PROF_RANGE_DYNAMIC(...) PROF_SCOPED_(__COUNTER__, __VA_ARGS__)
#define PROF_RANGE_FORMAT(...) PROF_SCOPED_(__COUNTER__, ::prof::formatted, __VA_ARGS__)
#define PROF_FUNCTION_RANGE(...) PROF_PLACED_(__COUNTER__, ranges, ::prof::detail::all_of(__VA_ARGS__), __func__)
#define PROF_PHASE(name) PROF_PLACED_(__COUNTER__, phases, "" name)

#define PROF_RANGE_START(...) ::prof::process_range(PROF_ARGUMENTS_("" __VA_ARGS__))
#define PROF_RANGE_START_DYNAMIC(...) ::prof::process_range(PROF_ARGUMENTS_(__VA_ARGS__))
#define PROF_RANGE_END(range) (range).end()

#define PROF_MARK(...) ::prof::mark(PROF_ARGUMENTS_("" __VA_ARGS__))
#define PROF_MARK_DYNAMIC(...) ::prof::mark(PROF_ARGUMENTS_(__VA_ARGS__))
#define PROF_MARK_FORMAT(...) ::prof::mark(PROF_ARGUMENTS_(::prof::formatted, __VA_ARGS__))

#define PROF_COUNTER(...) ::prof::counter(PROF_ARGUMENTS_("" __VA_ARGS__))
#define PROF_COUNTER_DYNAMIC(...) ::prof::counter(PROF_ARGUMENTS_(__VA_ARGS__))
