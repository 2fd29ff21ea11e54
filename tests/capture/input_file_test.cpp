#include "capture/input_file.hpp"

#include <gtest/gtest.h>

#include <initializer_list>

#include "capture/capture_files.hpp"

namespace prof {
namespace {

using namespace prof::test;

class InputFile : public ::testing::Test {
protected:
    InputFile() : bytes_(3'000'001) {
        for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<unsigned char>(i % 251);
        file_.hold(bytes_);
    }
    bool shows(std::span<const std::byte> view, std::size_t offset) const {
        return std::memcmp(view.data(), bytes_.data() + offset, view.size()) == 0;
    }

    byte_string bytes_;
    memory_file file_;
};

TEST_F(InputFile, ShowsAnyPartInAnyOrder) {
    input_file in(file_.path());
    EXPECT_EQ(in.size(), bytes_.size());
    for (const std::size_t offset :
         std::initializer_list<std::size_t>{0, 2'000'000, 7, 1'048'570, 1'048'576, 2'999'000, 0}) {
        for (const std::size_t size : std::initializer_list<std::size_t>{1, 40, 1000}) {
            const auto view = in.view(offset, size);
            ASSERT_EQ(view.size(), size);
            EXPECT_TRUE(shows(view, offset)) << offset;
        }
    }
    EXPECT_TRUE(shows(in.view(5, 2'900'000), 5));
}

TEST_F(InputFile, AlignsInMemoryWhatIsAlignedInTheFile) {
    input_file in(file_.path());
    for (const std::size_t offset : std::initializer_list<std::size_t>{3, 8, 1'500'001, 1'500'008}) {
        const auto address = reinterpret_cast<std::uintptr_t>(in.view(offset, 16).data());
        EXPECT_EQ(address % 8, offset % 8);
    }
}

TEST_F(InputFile, ShowsLessAtItsEndAndNothingBeyond) {
    input_file in(file_.path());
    EXPECT_EQ(in.view(3'000'000, 100).size(), 1U);
    EXPECT_EQ(in.view(3'000'001, 100).size(), 0U);
    EXPECT_EQ(in.view(UINT64_MAX, 100).size(), 0U);
    EXPECT_EQ(in.view(0, SIZE_MAX).size(), bytes_.size());
}

TEST_F(InputFile, ShowsWhatIsLeftOfAFileThatShrank) {
    input_file in(file_.path());
    file_.hold(byte_string(100));
    EXPECT_EQ(in.view(90, 50).size(), 10U);
    EXPECT_EQ(in.view(2'000'000, 50).size(), 0U);
}

}  // namespace
}  // namespace prof
