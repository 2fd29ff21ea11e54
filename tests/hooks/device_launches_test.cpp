// SPDX-License-Identifier: Apache-2.0
// Modules whose kernels can launch kernels: ELF files made here, as nvcc makes them in what matters, whole and cut
// short.
#include "hooks/cupti/device_launches.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "hooks/cupti/tracer.hpp"
#include "hooks/module_image.hpp"
#include "hooks/one_ring.hpp"

namespace prof::device_launches_test {
namespace {

using test::module_with;
using test::symbols_with_launches;
using test::symbols_without;

bool of(const std::vector<char>& image) { return can_launch_kernels(image.data(), image.size()); }

TEST(DeviceLaunches, RecognizesModulesLinkedWithTheDeviceLaunchFunction) {
    EXPECT_FALSE(of(module_with(symbols_without)));
    EXPECT_TRUE(of(module_with(symbols_with_launches)));
    EXPECT_TRUE(of(module_with(std::string("\0cudaLaunchDevice\0", 18)))) << "before CUDA 12";
}

TEST(DeviceLaunches, IgnoresImagesThatAreNoModule) {
    EXPECT_FALSE(can_launch_kernels(nullptr, 0));
    EXPECT_FALSE(can_launch_kernels(nullptr, 100));
    std::vector<char> image = module_with(symbols_with_launches);
    image[1] = 'F';
    EXPECT_FALSE(of(image));
}

// Each in memory of its own, so that a sanitizer finds what is read beside it.
TEST(DeviceLaunches, ReadsNothingBeyondTheImagesEnd) {
    const std::vector<char> whole = module_with(symbols_with_launches);
    for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
        EXPECT_FALSE(of({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes)})) << bytes;
    }
    for (std::size_t at = 0; at < whole.size(); ++at) {
        std::vector<char> image = whole;
        image[at] = static_cast<char>(0xFF);
        (void)of(image);
    }
}

TEST(DeviceLaunches, ReportsDeviceLaunchesWhenAModuleIsLoaded) {
    region rings{test::one_ring()};
    cupti_tracer tracer{rings, {.library = PROF_TEST_FAKE_CUPTI, .buffer_bytes = 4096, .buffer_count = 8}};
    ASSERT_EQ(tracer.attach(1).message(), "");
    const auto load = [](const std::vector<char>& image) {
        CUmodule module = nullptr;
        EXPECT_EQ(cuModuleLoadData(&module, image.data()), CUDA_SUCCESS);
        return cupti_tracer::kernels_may_launch();
    };
    EXPECT_FALSE(load(module_with(symbols_without)));
    EXPECT_TRUE(load(module_with(symbols_with_launches)));
    EXPECT_TRUE(load(module_with(symbols_without))) << "the other is still there";
    tracer.detach(true);
}

}  // namespace
}  // namespace prof::device_launches_test
