// SPDX-License-Identifier: Apache-2.0
// A host with a C++ runtime of its own inside (static libstdc++ and libgcc), which meets libprof in the ways that might
// mix the two up: linked, with libprof's refusals thrown as exceptions of the host, or opened with RTLD_DEEPBIND.
//
//   own_runtime_linked                    calls prof::session
//   own_runtime_deepbind <libprof.so>     opens the library
#include <dlfcn.h>

#include <cstdio>
#include <prof/range.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

#if defined(LIBPROF_IS_LINKED)
#include <prof/session.hpp>
#else
#include <prof/prof.h>
#endif

namespace {

int failures = 0;

void expect(bool holds, const std::string& what) {
    if (!holds) {
        std::fprintf(stderr, "not so: %s\n", what.c_str());
        ++failures;
    }
}

struct own_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Thrown in a range on another thread, caught on this side of it, formatted with a stream.
void throw_and_catch() {
    std::string caught;
    std::thread([&] {
        try {
            PROF_RANGE("throws");
            std::ostringstream line;
            line << "step " << 7 << ", loss " << 0.125;
            throw own_error(line.str());
        } catch (const std::runtime_error& e) {
            caught = e.what();
        }
    }).join();
    expect(caught == "step 7, loss 0.125", "the host's exception is caught whole: " + caught);
}

#if defined(LIBPROF_IS_LINKED)
void record() {
    std::string refusal;
    try {
        const prof::session session{{{"export", "pictures"}}};
    } catch (const prof::session_error& e) {
        refusal = e.what();
    }
    expect(refusal.find("pictures") != std::string::npos, "a bad option is thrown with its name: " + refusal);

    prof::session session{{{"export", "none"}}};
    throw_and_catch();
    refusal.clear();
    try {
        session.start();
    } catch (const std::runtime_error& e) {
        refusal = e.what();
    }
    expect(!refusal.empty(), "a second start is thrown");
    expect(session.summary().dropped == 0, "nothing is dropped");
    session.stop();
    expect(!session.capture_path().empty(), "the recording has a capture");
}
#else
void record(const char* path) {
    void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    expect(library != nullptr, "libprof opens with RTLD_DEEPBIND");
    if (library == nullptr) return;
    const auto start = reinterpret_cast<decltype(&prof_start)>(dlsym(library, "prof_start"));
    const auto stop = reinterpret_cast<decltype(&prof_stop)>(dlsym(library, "prof_stop"));
    const auto last_error = reinterpret_cast<decltype(&prof_last_error)>(dlsym(library, "prof_last_error"));
    const char* const bad[] = {"export=pictures", nullptr};
    expect(start(bad) == PROF_INVALID_ARGUMENT, "a bad option is refused");
    expect(std::string(last_error()).find("pictures") != std::string::npos, "the refusal names it");
    const char* const good[] = {"export=none", nullptr};
    expect(start(good) == PROF_OK, std::string("a recording starts: ") + last_error());
    throw_and_catch();
    expect(stop() == PROF_OK, std::string("a recording stops: ") + last_error());
    const auto capture_path = reinterpret_cast<decltype(&prof_capture_path)>(dlsym(library, "prof_capture_path"));
    expect(capture_path(nullptr, 0) != 0, "the recording has a capture");
}
#endif

}  // namespace

int main([[maybe_unused]] int argc, [[maybe_unused]] char** argv) {
#if defined(LIBPROF_IS_LINKED)
    record();
#else
    if (argc != 2) return 2;
    record(argv[1]);
#endif
    throw_and_catch();  // while nothing is recorded
    return failures;
}
