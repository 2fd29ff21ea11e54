// SPDX-License-Identifier: Apache-2.0
// A host with its own fmt, zlib and libstdc++, each a shared library: with libprof preloaded, its calls still reach
// them, and exceptions, streams, run-time types and threads work as without it.
#include <dlfcn.h>
#include <fmt/format.h>
#include <zlib.h>

#include <nvtx3/nvToolsExt.h>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <typeinfo>
#include <vector>

namespace {

int failures = 0;

void expect(bool holds, const char* what) {
    if (!holds) {
        std::fprintf(stderr, "not so: %s\n", what);
        ++failures;
    }
}

bool comes_from(const char* symbol, const char* library) {
    void* const address = dlsym(RTLD_DEFAULT, symbol);
    Dl_info info{};
    return address != nullptr && dladdr(address, &info) != 0 && std::strstr(info.dli_fname, library) != nullptr;
}

struct shape {
    virtual ~shape() = default;
};
struct circle : shape {};

void use_libstdcxx() {
    try {
        std::vector<int> none;
        (void)none.at(3);
        expect(false, "at() throws");
    } catch (const std::out_of_range& e) {
        expect(typeid(e) == typeid(std::out_of_range), "the exception has the host's type");
    }
    const circle c;
    const shape* const s = &c;
    expect(dynamic_cast<const circle*>(s) != nullptr, "dynamic_cast finds the class");
    std::ostringstream out;
    out.imbue(std::locale::classic());
    out << 1.5 << ' ' << std::hex << 255;
    expect(out.str() == "1.5 ff", "a stream formats");
    std::once_flag once;
    int calls = 0;
    std::thread([&] { std::call_once(once, [&] { ++calls; }); }).join();
    std::call_once(once, [&] { ++calls; });
    expect(calls == 1, "call_once calls once");
}

void use_zlib() {
    const std::string text(1000, 'x');
    std::vector<Bytef> packed(compressBound(text.size()));
    uLongf packed_bytes = packed.size();
    compress(packed.data(), &packed_bytes, reinterpret_cast<const Bytef*>(text.data()), text.size());
    std::string unpacked(text.size(), '\0');
    uLongf unpacked_bytes = unpacked.size();
    uncompress(reinterpret_cast<Bytef*>(unpacked.data()), &unpacked_bytes, packed.data(), packed_bytes);
    expect(unpacked == text, "what was compressed comes back");
}

}  // namespace

int main() {
    nvtxRangePushA("undisturbed");
    use_libstdcxx();
    use_zlib();
    expect(fmt::format("{:>5}|{:.2f}", 42, 1.0) == "   42|1.00", "fmt formats");
    nvtxRangePop();

    expect(comes_from("deflate", "libz.so"), "deflate is libz's");
    expect(comes_from("__cxa_throw", "libstdc++.so"), "__cxa_throw is libstdc++'s");
    // fmt::v9::vformat(fmt::string_view, fmt::format_args), and its like in other versions.
    const char* const vformat =
        "_ZN3fmt2v97vformatB5cxx11ENS0_17basic_string_viewIcEENS0_17basic_format_argsINS0_20basic_format_contextI"
        "NS0_8appenderEcEEEE";
    if (FMT_VERSION / 10000 == 9) expect(comes_from(vformat, "libfmt.so"), "vformat is libfmt's");
    return failures;
}
