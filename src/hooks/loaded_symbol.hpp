// SPDX-License-Identifier: Apache-2.0
// A function of a library that the process has loaded, and the entries of import tables that lead to it, found without
// the loader's lock. Another thread holds that lock while it loads a library and runs its initialisers, which may wait
// for the calling thread.
#pragma once

#include <cstddef>
#include <span>

namespace prof {

// The function `name` of the first loaded object whose file is called `file` ("libcuda.so.1"); null if there is none.
// Reads the object's own tables (ELF, 64 bit). For functions without versions that no other object overrides. Any
// thread. The object must not be unloaded as long as the function is used.
void* loaded_symbol(const char* file, const char* name) noexcept;
// The same of the first loaded object that has it: as a rule the one that calls of it lead to.
void* first_loaded_symbol(const char* name) noexcept;

// An entry of an object's import table (GOT): calls of a function of another object go through it.
struct import_entry {
    void** place = nullptr;
    // The object that has the table: an entry that leads there is bound at the function's first call.
    const void* object_begin = nullptr;
    const void* object_end = nullptr;
    bool is_protected = false;  // the loader makes the entry read-only once it is bound (RELRO)
};

// Fills `out` with the entries for the function `name` of all loaded objects whose file names begin with `file_prefix`,
// and returns how many there are, of which `out` may have room for fewer. Any thread. Cost: the relocations of these
// objects. An object that another thread is loading may be among them, with entries that are not bound yet.
std::size_t find_imports(const char* file_prefix, const char* name, std::span<import_entry> out) noexcept;

}  // namespace prof
