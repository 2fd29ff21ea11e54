// libprof: ranges for C++ and CUDA C++ sources. Header-only, C++17, over NVTX 3.
//
//     #include <prof/range.hpp>
//
//     void train_step() {
//         PROF_RANGE("train_step");       // until the end of this block
//         { PROF_RANGE("forward"); … }
//         { PROF_RANGE("backward"); … }
//     }
//
// PROF_PHASE("forward") is a range that reports count as a part of a step (docs/guide/phases.md).
//
// Ranges are NVTX push/pop ranges in the domain "prof". So Nsight shows them, too, and no link to libprof is needed.
// Any thread; the ranges of one thread nest.
//
// Cost of a PROF_RANGE, enter and leave together: one or two nanoseconds without a tool in the process, or if libprof
// is there but not recording. While it records: two clock reads and a few nanoseconds (docs/reference/overhead.md).
// -DPROF_DISABLE compiles every range to nothing.
#pragma once

#include <cstdint>
#include <cstring>

#if !defined(PROF_DISABLE)
#include <nvtx3/nvToolsExt.h>
#endif

#if defined(PROF_LINKED) && !defined(PROF_DISABLE)
// The CMake target prof::prof and pkg-config define PROF_LINKED. A program that only annotates refers to nothing in
// libprof, so a linker run with --as-needed would drop the library. detail::keep_libprof is a reference that prevents
// this.
extern "C" const char* prof_version(void);
#endif

namespace prof {

// The linker takes a function that is not inlined (-O0) from the first object that has it. So objects compiled with
// PROF_DISABLE, or with a version of this header in which the classes differ, must have them under other names. The
// number here changes with each change of a class's members.
#if defined(PROF_DISABLE)
inline namespace no_ranges {
#else
inline namespace ranges_3 {
#endif

// What a range may have besides its name. 0 means none, for color and category.
struct range_attributes {
    std::uint32_t color = 0;     // 0xAARRGGBB
    std::uint32_t category = 0;  // named with name_category()
    bool has_payload = false;
    std::uint64_t payload = 0;  // a number of the program's: bytes, tokens, an index
};

#if !defined(PROF_DISABLE)

namespace detail {

#if defined(PROF_LINKED)
[[gnu::used, gnu::visibility("hidden")]] inline const char* (*const keep_libprof)(void) = &prof_version;
#endif

// Hidden, like the functions below: symbols shared by all shared objects (GNU's unique symbols) would keep the first of
// these objects from being unloaded.
[[gnu::visibility("hidden")]] inline constexpr std::uint32_t heard_always = 1;
[[gnu::visibility("hidden")]] inline constexpr std::uint32_t heard_never = 0;

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
    [[gnu::visibility("hidden")]] explicit tool(const char* domain_name = "prof") noexcept
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
    // relaxed: if the gate is open, the tool is called and reads it again.
    bool hears() const noexcept { return __atomic_load_n(gate, __ATOMIC_RELAXED) != 0; }

    nvtxDomainHandle_t domain;
    const std::uint32_t* gate = &heard_always;
    void (*push)(nvtxDomainHandle_t, const nvtxEventAttributes_t*) noexcept = &push_by_nvtx;
    void (*pop)(nvtxDomainHandle_t) noexcept = &pop_by_nvtx;
};

[[gnu::visibility("hidden")]] inline const tool& the_tool() noexcept {
    static const tool found("prof");
    return found;
}
[[gnu::visibility("hidden")]] inline const tool& tool_of_phases() noexcept {
    static const tool found("prof.phases");
    return found;
}

inline nvtxEventAttributes_t event(const range_attributes& attributes) noexcept {
    nvtxEventAttributes_t e{};
    e.version = NVTX_VERSION;
    e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    e.category = attributes.category;
    if (attributes.color != 0) {
        e.colorType = NVTX_COLOR_ARGB;
        e.color = attributes.color;
    }
    if (attributes.has_payload) {
        e.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
        e.payload.ullValue = attributes.payload;
    }
    return e;
}

// The attributes of a phase. The category of a step means that the program itself marks it (prof_step_witness).
inline range_attributes phase(const char* name) noexcept {
    range_attributes out;
    if (std::strcmp(name, "step") == 0) out.category = 3;
    return out;
}

}  // namespace detail

// The constant part of a range, created once per place in the source. Its name is registered with the tool, so that
// entering the range later does not read the text.
class range_site {
public:
    explicit range_site(const char* name, const range_attributes& attributes = {}) noexcept
        : range_site(name, attributes, detail::the_tool()) {}
    range_site(const char* name, const range_attributes& attributes, const detail::tool& tool) noexcept
        : event_(detail::event(attributes)), tool_(tool) {
        event_.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
        event_.message.registered = nvtxDomainRegisterStringA(tool_.domain, name);
        if (event_.category != 0 || event_.color != 0 || attributes.has_payload)
            tool_.push = &detail::tool::push_by_nvtx;
        // A tool that gave no handle for the name or the domain could not identify the range: so there is no tool.
        const bool has_handle = event_.message.registered != nullptr || tool_.domain != nullptr;
        if (!has_handle && tool_.gate == &detail::heard_always) tool_.gate = &detail::heard_never;
    }
    const nvtxEventAttributes_t& event() const noexcept { return event_; }
    const detail::tool& tool() const noexcept { return tool_; }

private:
    nvtxEventAttributes_t event_;
    detail::tool tool_;  // a copy: saves a load in each range
};

// A range from its construction to its destruction. Both must happen on the same thread, innermost first. Mostly no
// tool is active, so __builtin_expect keeps only the check in the fast path; recording takes many times as long.
class scoped_range {
public:
    // REQUIRES: `site` outlives the range.
    explicit scoped_range(const range_site& site) noexcept : tool_(site.tool()), has_site_(true) {
        if (__builtin_expect(tool_.hears(), 0)) tool_.push(tool_.domain, &site.event());
    }
    explicit scoped_range(const range_site&&) = delete;

    // For names made at run time. If a tool is active, `name` is copied (one hash of it); the caller may free it at
    // once.
    explicit scoped_range(const char* name, const range_attributes& attributes = {}) noexcept
        : tool_(detail::the_tool()), has_site_(false) {
        if (!tool_.hears()) return;
        nvtxEventAttributes_t e = detail::event(attributes);
        e.messageType = NVTX_MESSAGE_TYPE_ASCII;
        e.message.ascii = name;
        nvtxDomainRangePushEx(tool_.domain, &e);
    }
    // The pop is sent even if the push was not: libprof counts a pop without a push.
    ~scoped_range() {
        if (__builtin_expect(!tool_.hears(), 1)) return;
        has_site_ ? tool_.pop(tool_.domain) : detail::tool::pop_by_nvtx(tool_.domain);
    }

    scoped_range(const scoped_range&) = delete;
    scoped_range& operator=(const scoped_range&) = delete;

private:
    const detail::tool& tool_;
    const bool has_site_;  // a constant for the compiler after inlining
};

// A range of the process, not of a thread. It may overlap others, and may end on another thread.
class process_range {
public:
    explicit process_range(const char* name, const range_attributes& attributes = {}) noexcept {
        nvtxEventAttributes_t e = detail::event(attributes);
        e.messageType = NVTX_MESSAGE_TYPE_ASCII;
        e.message.ascii = name;
        id_ = nvtxDomainRangeStartEx(detail::the_tool().domain, &e);
    }
    ~process_range() { end(); }
    void end() noexcept {
        if (id_ != 0) nvtxDomainRangeEnd(detail::the_tool().domain, id_);
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

// An instant with a name.
inline void mark(const char* name, const range_attributes& attributes = {}) noexcept {
    const detail::tool& tool = detail::the_tool();
    if (!tool.hears()) return;
    nvtxEventAttributes_t e = detail::event(attributes);
    e.messageType = NVTX_MESSAGE_TYPE_ASCII;
    e.message.ascii = name;
    nvtxDomainMarkEx(tool.domain, &e);
}

// Gives a category of the domain "prof" its name.
inline void name_category(std::uint32_t category, const char* name) noexcept {
    nvtxDomainNameCategoryA(detail::the_tool().domain, category, name);
}

#define PROF_JOIN_(a, b) a##b
#define PROF_JOIN(a, b) PROF_JOIN_(a, b)
#define PROF_RANGE_AT_(id, ...)                                             \
    static const ::prof::range_site PROF_JOIN(prof_site_, id){__VA_ARGS__}; \
    const ::prof::scoped_range PROF_JOIN(prof_range_, id) { PROF_JOIN(prof_site_, id) }

// PROF_RANGE("name"); or PROF_RANGE("name", prof::range_attributes{0xFF76B900}); a range until the end of the block.
// The arguments are evaluated once, when the block is first entered.
#define PROF_RANGE(...) PROF_RANGE_AT_(__COUNTER__, __VA_ARGS__)
#define PROF_FUNCTION_RANGE() PROF_RANGE(__func__)

// PROF_PHASE("forward"); a phase until the end of the block: a range in the domain "prof.phases", from which the
// reports' line on the parts of a step is made. Enclose a whole step in PROF_PHASE("step"). Cost and threads are those
// of a PROF_RANGE.
#define PROF_PHASE_AT_(id, name)                                                                 \
    static const ::prof::range_site PROF_JOIN(prof_site_, id){name, ::prof::detail::phase(name), \
                                                              ::prof::detail::tool_of_phases()}; \
    const ::prof::scoped_range PROF_JOIN(prof_range_, id) { PROF_JOIN(prof_site_, id) }
#define PROF_PHASE(name) PROF_PHASE_AT_(__COUNTER__, name)

#else  // PROF_DISABLE

class scoped_range {
public:
    explicit scoped_range(const char*, const range_attributes& = {}) noexcept {}
    ~scoped_range() {}  // not trivial, so that an unused range causes no warning here either
    scoped_range(const scoped_range&) = delete;
    scoped_range& operator=(const scoped_range&) = delete;
};

class process_range {
public:
    explicit process_range(const char*, const range_attributes& = {}) noexcept {}
    void end() noexcept {}
    process_range(process_range&&) noexcept = default;
    process_range& operator=(process_range&&) noexcept = default;
};

inline void mark(const char*, const range_attributes& = {}) noexcept {}
inline void name_category(std::uint32_t, const char*) noexcept {}

#define PROF_RANGE(...) static_cast<void>(0)
#define PROF_FUNCTION_RANGE() static_cast<void>(0)
#define PROF_PHASE(name) static_cast<void>(0)

#endif

}  // inline namespace
}  // namespace prof
