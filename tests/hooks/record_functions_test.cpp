// SPDX-License-Identifier: Apache-2.0
// The ranges that PyTorch's record functions become. libtorch's part is the stand-in of the Python tests.
#include "hooks/torch/record_functions.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "ring/gate.hpp"
#include "ring/region.hpp"
#include "ring/registry.hpp"
#include "ring/spsc_ring.hpp"

extern "C" {
void set_state(int type);
void* begin_record_function(const char* name, std::uint8_t scope, std::int64_t sequence);
void end_record_function(void* function);
}

namespace prof::record_functions_test {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

constexpr std::uint8_t node = 1;  // at::RecordScope::BACKWARD_FUNCTION
constexpr std::uint8_t user = 7;  // USER_SCOPE
constexpr int emit_nvtx = 3;      // ActiveProfilerType::NVTX

region& where() {
    static region here{[] {
        region_options options;
        options.place = "memory";
        return options;
    }()};
    return here;
}

torch_library libtorch() {
    const auto find = [](const char* name) { return static_cast<const void*>(dlsym(RTLD_DEFAULT, name)); };
    return {find("_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE"), find("_ZN2at14removeCallbackEm"),
            find("_ZNK2at14RecordFunction4nameEv"), find("_ZN5torch8profiler4impl12profilerTypeEv")};
}

bool is_never_ready() noexcept { return false; }

constexpr std::string_view end_mark = ")";

class RecordFunctions : public testing::Test {
protected:
    RecordFunctions() {
        install_region(&where(), nullptr);
        set_gate(recording_epoch, 1);
        (void)ranges();
    }
    ~RecordFunctions() override {
        leave_record_functions();
        set_gate(recording_epoch, 0);
    }

    static void observe() {
        ASSERT_TRUE(observe_record_functions(libtorch(), {1U << user, 1U << node}, is_never_ready));
    }

    // What each ring has: names of pushes, and end_mark for pops. Threads that end one after another share a ring.
    static std::vector<std::vector<std::string>> ranges() {
        std::vector<std::vector<std::string>> out;
        for_each_record([&](bool is_first, const record& r) {
            if (is_first) out.emplace_back();
            out.back().emplace_back(r.kind == record_kind::range_push ? where().name_text(r.name) : end_mark);
        });
        return out;
    }

    template <typename TVisit>
    static void for_each_record(TVisit visit) {
        for (ring_header& ring : where().rings()) {
            ring_consumer<record> consumer(&ring.counters, where().slots(ring), ring.capacity);
            const auto view = consumer.peek();
            bool is_first = true;
            for (const auto part : {view.first, view.second}) {
                for (const record& r : part) visit(std::exchange(is_first, false), r);
            }
            consumer.release(view.end);
        }
    }
};

void make(const char* name, std::uint8_t scope = user, std::int64_t sequence = -1) {
    end_record_function(begin_record_function(name, scope, sequence));
}

TEST_F(RecordFunctions, AreRangesOfTheScopesAskedFor) {
    observe();
    void* const outer = begin_record_function("outer", user, -1);
    make("aten::mm", 0, 4);
    make("MmBackward0", node, 4);
    end_record_function(outer);
    EXPECT_THAT(ranges(), ElementsAre(ElementsAre("outer", "MmBackward0", end_mark, end_mark)));
}

// Short names lie in the object, long ones elsewhere.
TEST_F(RecordFunctions, HaveTheirSequenceNumbersAndAreCounted) {
    observe();
    make("MmBackward0", node, 12);
    make("A name that is too long to be kept inside a string object", node, std::int64_t{1} << 33);
    make("a range", user, -1);
    make("without one", node, -1);
    std::vector<std::int64_t> sequences;
    std::vector<std::uint64_t> numbers;
    for_each_record([&](bool, const record& r) {
        if (r.kind != record_kind::range_push) return;
        const bool has_one = static_cast<payload_type>(r.flags) == payload_type::torch_sequence;
        sequences.push_back(has_one ? static_cast<std::int64_t>(std::uint64_t{r.color} << 32 | r.category) : -1);
        numbers.push_back(r.value);
        if (!has_one) {
            const bool is_user = where().name_text(r.name) == "a range";
            EXPECT_EQ(r.category, static_cast<std::uint32_t>(is_user ? torch_scope::user : torch_scope::function));
        }
    });
    EXPECT_THAT(sequences, ElementsAre(12, std::int64_t{1} << 33, -1, -1));
    EXPECT_THAT(numbers, ElementsAre(numbers[0], numbers[0] + 1, numbers[0] + 2, numbers[0] + 3));
}

TEST_F(RecordFunctions, AreTheProgramsWhileItPushesThemItself) {
    observe();
    void* const before = begin_record_function("before", user, -1);
    set_state(emit_nvtx);
    void* const within = begin_record_function("within", user, -1);
    end_record_function(before);
    set_state(0);
    end_record_function(within);
    make("after");
    EXPECT_THAT(ranges(), ElementsAre(ElementsAre("before", end_mark, "after", end_mark)));
}

TEST_F(RecordFunctions, EndOnTheirThreadIfAnotherOneEndsThem) {
    observe();
    void* const outer = begin_record_function("outer", user, -1);
    void* const sent = begin_record_function("sent", user, -1);
    std::thread([&] {
        void* const own = begin_record_function("own", user, -1);
        end_record_function(sent);
        end_record_function(own);
    }).join();
    make("after");
    end_record_function(outer);
    EXPECT_THAT(ranges(), UnorderedElementsAre(ElementsAre("outer", "sent", end_mark, "after", end_mark, end_mark),
                                               ElementsAre("own", end_mark)));
}

TEST_F(RecordFunctions, BegunWhileNothingIsRecordedAreNoRanges) {
    observe();
    set_gate(recording_epoch, 0);
    void* const open = begin_record_function("open", user, -1);
    set_gate(recording_epoch, 1);
    make("within");
    end_record_function(open);
    EXPECT_THAT(ranges(), ElementsAre(ElementsAre("within", end_mark)));
}

TEST_F(RecordFunctions, OpenAtTheLastCallEndStill) {
    observe();
    void* const open = begin_record_function("open", user, -1);
    leave_record_functions();
    make("unseen");
    end_record_function(open);
    observe();
    make("again");
    EXPECT_THAT(ranges(), ElementsAre(ElementsAre("open", end_mark, "again", end_mark)));
}

TEST_F(RecordFunctions, OfATrialAreNoRanges) {
    observe();
    begin_torch_trial();
    make("trial");
    end_torch_trial();
    make("range");
    EXPECT_THAT(ranges(), ElementsAre(ElementsAre("range", end_mark)));
}

TEST_F(RecordFunctions, AreNotObservedWithoutTheFunctions) {
    torch_library without = libtorch();
    without.name = nullptr;
    EXPECT_FALSE(observe_record_functions(without, {1U << user, 0}, is_never_ready));
    make("range");
    EXPECT_TRUE(ranges().empty());
}

// More threads than there are places for them; each has its ranges whole.
TEST_F(RecordFunctions, OfManyThreadsAreBalanced) {
    observe();
    constexpr int threads = 9000;
    for (int i = 0; i != threads; i += 2) {
        std::thread one{[] { make("one"); }};
        std::thread other{[] { make("other"); }};
        one.join();
        other.join();
    }
    std::size_t pushes = 0;
    for (const auto& of_ring : ranges()) {
        for (std::size_t i = 0; i != of_ring.size(); ++i) EXPECT_EQ(of_ring[i] == end_mark, i % 2 == 1) << i;
        pushes += of_ring.size() / 2;
    }
    EXPECT_GT(pushes, 0U);
}

}  // namespace
}  // namespace prof::record_functions_test
