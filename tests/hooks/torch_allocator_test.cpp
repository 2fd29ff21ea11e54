// SPDX-License-Identifier: Apache-2.0
// The import tables of the allocator's libraries, of both kinds of binding: replaced, and as they were before once the
// allocator is left. What is recorded: tests/session/torch_allocator_test.cpp.
#include "hooks/allocator/torch_allocator.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "fakes/torch/fake_c10.h"
#include "hooks/loaded_symbol.hpp"

namespace prof::torch_allocator_test {
namespace {

struct allocator_library {
    explicit allocator_library(const char* path) : handle(dlopen(path, RTLD_LAZY | RTLD_LOCAL)) {
        EXPECT_NE(handle, nullptr) << dlerror();
        allocate = reinterpret_cast<decltype(allocate)>(dlsym(handle, "fake_c10_allocate"));
        free = reinterpret_cast<decltype(free)>(dlsym(handle, "fake_c10_free"));
    }
    void use() const { free(allocate(1000, 0), 0); }

    void* handle;
    decltype(&fake_c10_allocate) allocate;
    decltype(&fake_c10_free) free;
};

// Of the page, such as "r--p".
std::string access_to(const void* place) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        std::istringstream in(line);
        std::uintptr_t begin = 0, end = 0;
        char dash = 0;
        std::string access;
        in >> std::hex >> begin >> dash >> end >> access;
        const auto address = reinterpret_cast<std::uintptr_t>(place);
        if (address >= begin && address < end) return access;
    }
    return {};
}

struct table_state {
    std::vector<void*> values;
    std::vector<std::string> access;
    bool operator==(const table_state&) const = default;
};
table_state state_of_tables() {
    table_state out;
    for (const char* const name : {"_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE",
                                   "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE"}) {
        std::array<import_entry, 8> found{};
        const std::size_t count = find_imports("libc10_", name, found);
        EXPECT_EQ(count, 2U);
        for (std::size_t i = 0; i < count; ++i) {
            out.values.push_back(*found[i].place);
            out.access.push_back(access_to(found[i].place));
        }
    }
    return out;
}

TEST(TorchAllocator, LeavesTheImportTablesAsTheyWere) {
    follow_torch_allocator(true);
    EXPECT_FALSE(was_torch_allocator_followed()) << "no such library is loaded";
    const allocator_library at_once(PROF_TEST_NOW);
    const allocator_library later(PROF_TEST_LAZY);
    for (const bool is_bound : {false, true}) {
        if (is_bound) later.use();
        const table_state before = state_of_tables();
        follow_torch_allocator(true);
        EXPECT_TRUE(was_torch_allocator_followed());
        const table_state during = state_of_tables();
        for (std::size_t i = 0; i < before.values.size(); ++i) EXPECT_NE(before.values[i], during.values[i]);
        follow_torch_allocator(true);
        EXPECT_EQ(state_of_tables(), during);

        const std::size_t reports = fake_c10_reports();
        at_once.use();
        later.use();
        EXPECT_EQ(fake_c10_reports(), reports + 4) << "PyTorch's own function is called each time";
        EXPECT_EQ(state_of_tables(), during);

        leave_torch_allocator();
        EXPECT_EQ(state_of_tables(), before);
        at_once.use();
    }
    follow_torch_allocator(false);
    later.use();
}

}  // namespace
}  // namespace prof::torch_allocator_test
