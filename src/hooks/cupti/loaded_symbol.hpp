// SPDX-License-Identifier: Apache-2.0
// A function of a library that the process has loaded, found without the loader's lock. Another thread holds that lock
// while it loads a library and runs its initialisers, which may wait for the calling thread.
#pragma once

namespace prof {

// The function `name` of the first loaded object whose file is called `file` ("libcuda.so.1"); null if there is none.
// Reads the object's own tables (ELF, 64 bit). For functions without versions that no other object overrides. Any
// thread. The object must not be unloaded as long as the function is used.
void* loaded_symbol(const char* file, const char* name) noexcept;

}  // namespace prof
