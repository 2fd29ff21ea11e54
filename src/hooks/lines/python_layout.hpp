// SPDX-License-Identifier: Apache-2.0
// Where the interpreter's structs have what a thread's Python stack is read from: offsets in bytes, for each Python
// whose structs are known. Constants; found once, by the version that the interpreter in the process reports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "hooks/lines/line_table.hpp"

namespace prof {

struct python_layout {
    std::uint32_t minor = 0;  // of 3.x
    line_table_format lines = line_table_format::locations;
    bool has_frame_objects = false;  // each frame is an object (3.10)
    bool has_c_frame = false;        // the thread has its frame through a struct on the C stack (3.11, 3.12)
    std::uint16_t frame = 0;         // of the thread; with has_c_frame that struct
    std::uint16_t frame_of_c_frame = 0;
    std::uint16_t thread_id = 0;
    // Of a frame.
    std::uint16_t previous = 0;
    std::uint16_t code = 0;
    std::uint8_t code_tag = 0;      // bits of the pointer to the code that are no part of its address
    std::uint16_t instruction = 0;  // a pointer into the code; with frame objects the number of the instruction
    std::uint16_t owner = 0;
    // From this value of `owner` on the frame stands for the interpreter's own C code. 0: none does.
    std::uint8_t c_owner = 0;
    // Of a code object.
    std::uint16_t file = 0;
    std::uint16_t function = 0;
    std::uint16_t first_line = 0;
    std::uint16_t line_table = 0;
    std::uint16_t instructions = 0;  // where they begin; without frame objects
    // Of a str.
    std::uint16_t ascii_text = 0;  // where the text of an ASCII str is
    std::uint16_t text = 0;        // of another

    // Where the interpreter publishes the offsets of its structs at the begin of _PyRuntime, in words of 8 bytes: the
    // first that is read of a thread, a frame and a code object. 0: it does not.
    struct {
        std::uint8_t thread = 0;
        std::uint8_t frame = 0;
        std::uint8_t code = 0;
    } published{};
};

// Null: this version is not known. "3.11.7 (main, ...)" as Py_GetVersion() has it.
const python_layout* python_layout_of(std::string_view version) noexcept;

// Whether the offsets that Python publishes of itself, from 3.13 on, are those of the layout.
bool has_published_layout(const python_layout& layout, const void* runtime) noexcept;

// Python's functions and objects of which the reader needs the addresses. Null in a process without Python.
struct python_symbols {
    void* (*this_thread)() = nullptr;    // PyGILState_GetThisThreadState
    int (*is_initialized)() = nullptr;   // Py_IsInitialized
    const void* code_type = nullptr;     // PyCode_Type
    const void* text_type = nullptr;     // PyUnicode_Type
    const void* bytes_type = nullptr;    // PyBytes_Type
    const void* frame_type = nullptr;    // PyFrame_Type
    const void* runtime = nullptr;       // _PyRuntime
    const char* (*version)() = nullptr;  // Py_GetVersion
};

// What was found of the process's Python. Asks the dynamic linker, so never on the path of a hook.
struct found_python {
    python_symbols symbols{};
    const python_layout* layout = nullptr;  // null: there is none, or none whose lines can be read
    std::string why_not{};                  // "": there is no Python, or its lines can be read
};
found_python find_python();

}  // namespace prof
