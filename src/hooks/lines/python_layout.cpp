// SPDX-License-Identifier: Apache-2.0
#include "hooks/lines/python_layout.hpp"

#include <dlfcn.h>

#include <array>
#include <charconv>
#include <cstring>
#include <utility>

namespace prof {
namespace {

// Of CPython on 64-bit Linux, with the interpreter's lock.
constexpr std::array<python_layout, 5> layouts = {{
    {.minor = 10,
     .lines = line_table_format::pairs,
     .has_frame_objects = true,
     .frame = 24,
     .thread_id = 176,
     .previous = 24,
     .code = 32,
     .instruction = 96,
     .file = 104,
     .function = 112,
     .first_line = 40,
     .line_table = 120,
     .ascii_text = 48,
     .text = 72},
    {.minor = 11,
     .has_c_frame = true,
     .frame = 56,
     .frame_of_c_frame = 8,
     .thread_id = 152,
     .previous = 48,
     .code = 32,
     .instruction = 56,
     .owner = 69,
     .file = 112,
     .function = 128,
     .first_line = 72,
     .line_table = 136,
     .instructions = 184,
     .ascii_text = 48,
     .text = 72},
    {.minor = 12,
     .has_c_frame = true,
     .frame = 56,
     .frame_of_c_frame = 0,
     .thread_id = 136,
     .previous = 8,
     .code = 0,
     .instruction = 56,
     .owner = 70,
     .c_owner = 3,
     .file = 112,
     .function = 128,
     .first_line = 68,
     .line_table = 136,
     .instructions = 192,
     .ascii_text = 40,
     .text = 56},
    {.minor = 13,
     .frame = 72,
     .thread_id = 152,
     .previous = 8,
     .code = 0,
     .instruction = 56,
     .owner = 70,
     .c_owner = 3,
     .file = 112,
     .function = 128,
     .first_line = 68,
     .line_table = 136,
     .instructions = 200,
     .ascii_text = 40,
     .text = 56,
     .published = {.thread = 23, .frame = 29, .code = 35}},
    {.minor = 14,
     .frame = 72,
     .thread_id = 152,
     .previous = 8,
     .code = 0,
     .code_tag = 3,
     .instruction = 56,
     .owner = 74,
     .c_owner = 3,
     .file = 112,
     .function = 128,
     .first_line = 68,
     .line_table = 136,
     .instructions = 208,
     .ascii_text = 40,
     .text = 56,
     .published = {.thread = 26, .frame = 32, .code = 40}},
}};

template <typename TSymbol>
void find(TSymbol& symbol, const char* name) noexcept {
    void* const found = dlsym(RTLD_DEFAULT, name);
    static_assert(sizeof found == sizeof symbol);
    std::memcpy(&symbol, &found, sizeof symbol);
}

}  // namespace

const python_layout* python_layout_of(std::string_view version) noexcept {
    if (!version.starts_with("3.")) return nullptr;
    if (version.find("free-threading") != std::string_view::npos) return nullptr;
    version.remove_prefix(2);
    std::uint32_t minor = 0;
    const auto [end, failure] = std::from_chars(version.data(), version.data() + version.size(), minor);
    if (failure != std::errc{} || end == version.data() + version.size() || *end != '.') return nullptr;
    // A version that is not final yet ("3.13.0rc1") may have another layout.
    std::string_view rest{end, static_cast<std::size_t>(version.data() + version.size() - end)};
    rest.remove_prefix(1);
    const std::size_t digits = rest.find_first_not_of("0123456789");
    if (digits == 0 || (digits != std::string_view::npos && rest[digits] != ' ' && rest[digits] != '+')) return nullptr;
    for (const python_layout& layout : layouts) {
        if (layout.minor == minor) return &layout;
    }
    return nullptr;
}

bool has_published_layout(const python_layout& layout, const void* runtime) noexcept {
    if (layout.published.code == 0) return true;
    if (runtime == nullptr || std::memcmp(runtime, "xdebugpy", 8) != 0) return false;
    constexpr std::size_t version = 1, free_threaded = 2;
    const auto [thread, frame, code] = layout.published;
    const std::pair<std::size_t, std::size_t> published[] = {
        {thread, layout.frame},
        {thread + 1U, layout.thread_id},
        {frame, layout.previous},
        {frame + 1U, layout.code},
        {frame + 2U, layout.instruction},
        {frame + 4U, layout.owner},
        {code, layout.file},
        {code + 2U, layout.function},
        {code + 3U, layout.line_table},
        {code + 4U, layout.first_line},
        {code + 8U, layout.instructions},
    };
    std::array<std::uint64_t, 49> words{};
    std::memcpy(words.data(), runtime, sizeof words);
    // PY_VERSION_HEX
    if (words[version] >> 16 != (3U << 8 | layout.minor) || words[free_threaded] != 0) return false;
    for (const auto& [word, offset] : published) {
        if (words[word] != offset) return false;
    }
    return true;
}

found_python find_python() {
    found_python out;
    python_symbols& symbols = out.symbols;
    find(symbols.version, "Py_GetVersion");
    if (symbols.version == nullptr) return out;
    const std::string version = symbols.version();
    const std::string number = version.substr(0, version.find(' '));
    out.layout = python_layout_of(version);
    if (out.layout == nullptr) {
        const bool is_free_threaded = version.find("free-threading") != std::string::npos;
        out.why_not = "Python " + number + (is_free_threaded ? ", free-threaded" : "");
        return out;
    }
    find(symbols.this_thread, "PyGILState_GetThisThreadState");
    find(symbols.is_initialized, "Py_IsInitialized");
    find(symbols.code_type, "PyCode_Type");
    find(symbols.text_type, "PyUnicode_Type");
    find(symbols.bytes_type, "PyBytes_Type");
    find(symbols.frame_type, "PyFrame_Type");
    find(symbols.runtime, "_PyRuntime");
    const bool has_all = symbols.this_thread != nullptr && symbols.is_initialized != nullptr &&
                         symbols.code_type != nullptr && symbols.text_type != nullptr &&
                         symbols.bytes_type != nullptr && symbols.frame_type != nullptr;
    if (!has_all || !has_published_layout(*out.layout, symbols.runtime)) {
        out.layout = nullptr;
        out.why_not = "Python " + number + " is built in a way that is not known";
    }
    return out;
}

}  // namespace prof
