// SPDX-License-Identifier: Apache-2.0
// A host whose own zlib, fmt and operator new end the process: libprof, preloaded, must call none of them. All are
// exported (-rdynamic), so the dynamic linker would hand them to any library that asks.
#include <nvtx3/nvToolsExt.h>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace {

// Set once the host itself is past everything that may allocate.
std::atomic<bool> armed{false};

[[noreturn]] void poison(const char* symbol) {
    std::fprintf(stderr, "libprof called the host's %s\n", symbol);
    std::_Exit(99);
}

}  // namespace

void* operator new(std::size_t bytes) {
    if (armed) poison("operator new");
    if (void* const p = std::malloc(bytes)) return p;
    throw std::bad_alloc();
}
void operator delete(void* p) noexcept {
    if (armed && p != nullptr) poison("operator delete");
    std::free(p);
}
void operator delete(void* p, std::size_t) noexcept { operator delete(p); }

extern "C" {
void deflate() { poison("deflate"); }
void deflateInit_() { poison("deflateInit_"); }
void deflateInit2_() { poison("deflateInit2_"); }
void inflate() { poison("inflate"); }
void inflateInit_() { poison("inflateInit_"); }
void inflateInit2_() { poison("inflateInit2_"); }
void compress2() { poison("compress2"); }
void uncompress() { poison("uncompress"); }
void crc32() { poison("crc32"); }
void crc32_z() { poison("crc32_z"); }
void adler32() { poison("adler32"); }
}

// The names that a library built on fmt 9 asks for; what they take is of no matter here.
#define POISON_FMT(function, mangled)            \
    extern "C" void function() __asm__(mangled); \
    extern "C" void function() { poison("fmt"); }
POISON_FMT(fmt_vformat,
           "_ZN3fmt2v97vformatB5cxx11ENS0_17basic_string_viewIcEENS0_17basic_format_argsINS0_20basic_format_contextI"
           "NS0_8appenderEcEEEE")
POISON_FMT(
    fmt_vformat_to,
    "_ZN3fmt2v96detail10vformat_toIcEEvRNS1_6bufferIT_EENS0_17basic_string_viewIS4_EENS0_17basic_format_argsI"
    "NS0_20basic_format_contextINSt11conditionalIXsrSt7is_sameINS0_13type_identityIS4_E4typeEcE5valueENS0_8appenderE"
    "St20back_insert_iteratorINS3_ISF_EEEE4typeESF_EEEENS1_10locale_refE")

int main() {
    armed = true;
    for (int i = 0; i < 1000; ++i) {
        nvtxRangePushA("poisoned");
        nvtxRangePop();
    }
    // libprof writes its capture, compressed, while the process ends; the host is silent by then.
}
