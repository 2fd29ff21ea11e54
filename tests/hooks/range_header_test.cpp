// SPDX-License-Identifier: Apache-2.0
// What <prof/range.hpp> passes to the tool, and when: to libprof while it records, to any other tool always.
#include <gtest/gtest.h>

#include <prof/range.hpp>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "hooks/nvtx/nvtx_hooks.hpp"
#include "hooks/nvtx/watched_ranges.hpp"
#include "hooks/written_records.hpp"
#include "record/label.hpp"
#include "ring/registry.hpp"

namespace prof::range_header_test {
namespace {

NvtxFunctionTable core2_table = nullptr;

// libprof's functions with a call count each: the ones that NVTX calls, and the ones that the header calls.
int pushes = 0;
int pops = 0;
int (*push_of_libprof)(nvtxDomainHandle_t, const nvtxEventAttributes_t*) = nullptr;
int (*pop_of_libprof)(nvtxDomainHandle_t) = nullptr;
nvtxResourceHandle_t (*answer_of_libprof)(nvtxDomainHandle_t, nvtxResourceAttributes_t*) = nullptr;
decltype(detail::tool::push) push_for_header = nullptr;
decltype(detail::tool::pop) pop_for_header = nullptr;

int counted_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
    ++pushes;
    return push_of_libprof(domain, event);
}
int counted_pop(nvtxDomainHandle_t domain) {
    ++pops;
    return pop_of_libprof(domain);
}
void counted_push_for_header(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) noexcept {
    ++pushes;
    push_for_header(domain, event);
}
void counted_pop_for_header(nvtxDomainHandle_t domain) noexcept {
    ++pops;
    pop_for_header(domain);
}

template <typename TFunction>
void count_instead(void* place, TFunction*& answered, TFunction* counted) {
    std::memcpy(&answered, place, sizeof answered);
    std::memcpy(place, &counted, sizeof counted);
}
nvtxResourceHandle_t counted_answer(nvtxDomainHandle_t domain, nvtxResourceAttributes_t* question) {
    void* const place = const_cast<void*>(question->identifier.pValue);
    const std::string_view name = question->message.ascii == nullptr ? "" : question->message.ascii;
    auto* const handle = answer_of_libprof(domain, question);
    if (question->identifierType != NVTX_RESOURCE_TYPE_GENERIC_POINTER) return handle;
    if (name == "libprof: push") count_instead(place, push_for_header, counted_push_for_header);
    if (name == "libprof: pop") count_instead(place, pop_for_header, counted_pop_for_header);
    return handle;
}

template <typename TFunction>
TFunction* replace_hook(int callback, TFunction* by) {
    auto* const before = reinterpret_cast<TFunction*>(*core2_table[callback]);
    *core2_table[callback] = reinterpret_cast<NvtxFunctionPointer>(by);
    return before;
}

int NVTX_API attach(NvtxGetExportTableFunc_t get_export_table) {
    if (!install_nvtx_hooks(get_export_table)) return 0;
    unsigned size = 0;
    static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS))
        ->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &core2_table, &size);
    push_of_libprof = replace_hook(NVTX_CBID_CORE2_DomainRangePushEx, counted_push);
    pop_of_libprof = replace_hook(NVTX_CBID_CORE2_DomainRangePop, counted_pop);
    answer_of_libprof = replace_hook(NVTX_CBID_CORE2_DomainResourceCreate, counted_answer);
    return 1;
}

nvtxResourceHandle_t null_resource(nvtxDomainHandle_t, nvtxResourceAttributes_t*) { return nullptr; }

struct RangeHeader : testing::Test {
    static region& where() {
        static region here{[] {
            region_options options;
            options.place = "memory";
            return options;
        }()};
        return here;
    }

    void SetUp() override {
        install_region(&where(), nullptr);
        InitializeInjectionNvtx2_fnptr = attach;  // NVTX looks at it once, at its first use
        (void)detail::tool_of<detail::ranges>();
        pushes = 0;
        pops = 0;
    }
    void TearDown() override { set_gate(recording_epoch, 0); }

    static std::uint64_t lone_pops() { return where().drops()[static_cast<std::size_t>(drop_cause::pop_without_push)]; }
};

void make_both_kinds() {
    PROF_RANGE("at its place");
    const scoped_range at_run_time("at run time");
}

TEST_F(RangeHeader, CallsLibprofOnlyWhileTheGateIsOpen) {
    make_both_kinds();
    EXPECT_EQ(pushes, 0);
    EXPECT_EQ(pops, 0);
    int calls = 0;
    for (const std::uint32_t open : {1U, watching_epoch, observed_epoch_bit | 1U}) {
        set_gate(recording_epoch, open);
        make_both_kinds();
        calls += 2;
        EXPECT_EQ(pushes, calls) << open;
        EXPECT_EQ(pops, calls) << open;
    }
    set_gate(recording_epoch, 0);
    make_both_kinds();
    EXPECT_EQ(pushes, calls);
    EXPECT_EQ(pops, calls);
}

// As for every other range: the end of a range that began earlier is counted, and a later end is not missed.
TEST_F(RangeHeader, ReportsTheEndOfARangeThatBeganUnrecorded) {
    const std::uint64_t before = lone_pops();
    {
        PROF_RANGE("begins before");
        set_gate(recording_epoch, 2);
    }
    EXPECT_EQ(pushes, 0);
    EXPECT_EQ(pops, 1);
    EXPECT_EQ(lone_pops(), before + 1);
    {
        PROF_RANGE("ends after");
        set_gate(recording_epoch, 0);
    }
    EXPECT_EQ(pushes, 1);
    EXPECT_EQ(pops, 1);
    EXPECT_EQ(lone_pops(), before + 1);
}

TEST_F(RangeHeader, AlwaysCallsAToolThatDoesNotAnswer) {
    EXPECT_FALSE(detail::tool{"prof"}.is_active());
    EXPECT_EQ(detail::tool{"prof"}.push, counted_push_for_header);
    EXPECT_EQ(detail::tool{"prof"}.pop, counted_pop_for_header);
    auto* const answer = replace_hook(NVTX_CBID_CORE2_DomainResourceCreate, null_resource);
    EXPECT_TRUE(detail::tool{"prof"}.is_active());
    EXPECT_EQ(detail::tool{"prof"}.push, detail::tool::push_by_nvtx);
    EXPECT_EQ(detail::tool{"prof"}.pop, detail::tool::pop_by_nvtx);
    replace_hook<decltype(null_resource)>(NVTX_CBID_CORE2_DomainResourceCreate, nullptr);  // no tool
    EXPECT_TRUE(detail::tool{"prof"}.is_active());
    replace_hook(NVTX_CBID_CORE2_DomainResourceCreate, answer);
}

// Both ways of the hook, and both functions: one is for ranges that have a name and nothing else.
TEST_F(RangeHeader, RecordsEveryAttributeOfARange) {
    using test::written_record;
    const auto domain = static_cast<std::uint16_t>(where().domain("prof"));
    const auto number = static_cast<std::uint8_t>(payload_type::u64);
    const written_record end{record_kind::range_pop, domain, "", 0, 0, 0, 0};
    const std::vector<written_record> expected{{record_kind::range_push, domain, "name", 0, 0, 0, 0},
                                               {record_kind::range_push, domain, "coloured", 0xFF76B900, 0, 0, 0},
                                               {record_kind::range_push, domain, "of a kind", 0, 7, 0, 0},
                                               {record_kind::range_push, domain, "with a number", 0, 0, 12, number},
                                               end,
                                               end,
                                               end,
                                               end};
    const auto make_all = [] {
        PROF_RANGE("name");
        PROF_RANGE("coloured", range_attributes{0xFF76B900});
        PROF_RANGE("of a kind", range_attributes{0, 7});
        PROF_RANGE("with a number", range_attributes{0, 0, true, 12});
    };
    set_gate(recording_epoch, 3);
    make_both_kinds();  // the first of the thread goes the long way, too: it attaches
    (void)test::drain_records(where());
    make_all();
    EXPECT_EQ(test::drain_records(where()), expected);
    watch_ranges({{range_use::step, range_name("coloured")}}, where(), [](range_use, bool) noexcept { return false; });
    make_all();
    EXPECT_EQ(test::drain_records(where()), expected);
    watch_ranges({}, where(), nullptr);
    make_all();
    EXPECT_EQ(test::drain_records(where()), expected);
}

// A step is marked as the program's own.
TEST_F(RangeHeader, PutsPhasesIntoTheirDomain) {
    using test::written_record;
    const auto domain = static_cast<std::uint16_t>(where().domain(phase_domain));
    const written_record end{record_kind::range_pop, domain, "", 0, 0, 0, 0};
    const std::vector<written_record> expected{{record_kind::range_push, domain, "step", 0, annotation_witness, 0, 0},
                                               {record_kind::range_push, domain, "forward", 0, 0, 0, 0},
                                               end,
                                               end};
    const auto make_both = [] {
        PROF_PHASE("step");
        PROF_PHASE("forward");
    };
    set_gate(recording_epoch, 3);
    make_both_kinds();
    (void)test::drain_records(where());
    make_both();
    EXPECT_EQ(test::drain_records(where()), expected);
}

// Names made at run time and payloads are those of each entry, also where one place makes many ranges.
TEST_F(RangeHeader, RecordsTheArgumentsOfEachEntry) {
    using test::written_record;
    const auto domain = static_cast<std::uint16_t>(where().domain("prof"));
    const auto natural = static_cast<std::uint8_t>(payload_type::u64);
    const auto integer = static_cast<std::uint8_t>(payload_type::i64);
    const auto real = static_cast<std::uint8_t>(payload_type::f64);
    const auto bits = [](double value) {
        std::uint64_t out = 0;
        std::memcpy(&out, &value, sizeof out);
        return out;
    };
    const written_record end{record_kind::range_pop, domain, "", 0, 0, 0, 0};
    const auto push = [&](const char* name, std::uint64_t value, std::uint8_t type) {
        return written_record{record_kind::range_push, domain, name, 0, 0, value, type};
    };
    const auto entry = [](const std::string& name, unsigned long tokens, int index, double loss) {
        { PROF_RANGE("literal", payload(tokens)); }
        { PROF_RANGE_DYNAMIC(name, payload(index)); }
        { PROF_RANGE_DYNAMIC(std::string_view(name).substr(1), payload(loss)); }
        { PROF_RANGE_DYNAMIC(name.c_str()); }
        { PROF_RANGE_FORMAT("%s: layer %d", name.c_str(), index); }
        { PROF_FUNCTION_RANGE(color(0), payload(tokens)); }
    };
    set_gate(recording_epoch, 3);
    make_both_kinds();
    (void)test::drain_records(where());
    entry("alpha", 100, -1, 0.5);
    entry("beta", 101, -2, 0.25);
    EXPECT_EQ(test::drain_records(where()),
              (std::vector<written_record>{push("literal", 100, natural),
                                           end,
                                           push("alpha", static_cast<std::uint64_t>(-1), integer),
                                           end,
                                           push("lpha", bits(0.5), real),
                                           end,
                                           push("alpha", 0, 0),
                                           end,
                                           push("alpha: layer -1", 0, 0),
                                           end,
                                           push("operator()", 100, natural),
                                           end,
                                           push("literal", 101, natural),
                                           end,
                                           push("beta", static_cast<std::uint64_t>(-2), integer),
                                           end,
                                           push("eta", bits(0.25), real),
                                           end,
                                           push("beta", 0, 0),
                                           end,
                                           push("beta: layer -2", 0, 0),
                                           end,
                                           push("operator()", 101, natural),
                                           end}));
}

TEST_F(RangeHeader, RecordsMarksAndCounters) {
    using test::written_record;
    const auto domain = static_cast<std::uint16_t>(where().domain("prof"));
    const auto counters = static_cast<std::uint16_t>(where().domain("prof.counters"));
    const auto natural = static_cast<std::uint8_t>(payload_type::u64);
    const auto integer = static_cast<std::uint8_t>(payload_type::i64);
    const auto mark_of = [](std::uint16_t of, const char* name, std::uint64_t value, std::uint8_t type) {
        return written_record{record_kind::mark, of, name, 0, 0, value, type};
    };
    const auto make_all = [] {
        PROF_MARK("mark", payload(7U));
        PROF_MARK_DYNAMIC(std::string("epoch"));
        PROF_MARK_FORMAT("epoch %d", 3);
        PROF_COUNTER("queue", 5);
        PROF_COUNTER_DYNAMIC(std::string_view("bytes"), std::uint64_t{1} << 40);
    };
    make_all();
    set_gate(recording_epoch, 3);
    make_both_kinds();
    (void)test::drain_records(where());
    make_all();
    EXPECT_EQ(test::drain_records(where()),
              (std::vector<written_record>{mark_of(domain, "mark", 7, natural), mark_of(domain, "epoch", 0, 0),
                                           mark_of(domain, "epoch 3", 0, 0), mark_of(counters, "queue", 5, integer),
                                           mark_of(counters, "bytes", std::uint64_t{1} << 40, natural)}));
}

// A text without a terminating zero is copied into 1,024 bytes; a null pointer is an empty text.
TEST_F(RangeHeader, CutsLongTextsAndTakesNoneForEmpty) {
    const std::string longest(1023, 'x');
    set_gate(recording_epoch, 3);
    make_both_kinds();
    (void)test::drain_records(where());
    const std::string longer = longest + "y";
    { PROF_RANGE_DYNAMIC(std::string_view(longest)); }
    { PROF_RANGE_DYNAMIC(std::string_view(longer)); }
    { PROF_RANGE_FORMAT("%sy", longest.c_str()); }
    { PROF_RANGE_DYNAMIC(longer); }
    { PROF_RANGE_DYNAMIC(static_cast<const char*>(nullptr)); }
    { PROF_RANGE_DYNAMIC(std::string_view()); }
    std::vector<std::string> names;
    for (const test::written_record& r : test::drain_records(where())) {
        if (std::get<record_kind>(r) == record_kind::range_push) names.push_back(std::get<std::string>(r));
    }
    EXPECT_EQ(names, (std::vector<std::string>{longest, longest, longest, longer, "", ""}));
}

// A pointer of the program's own is left alone, whatever its name.
TEST_F(RangeHeader, WritesOnlyToItsOwnResourcePointers) {
    for (const char* name : {"", "gate", "libprof: gat", "libprof: gate2", "libprof: pus", "libprof: pushes",
                             "libprof: po", "libprof: pops", static_cast<const char*>(nullptr)}) {
        for (const int type : {NVTX_RESOURCE_TYPE_GENERIC_POINTER, NVTX_RESOURCE_TYPE_GENERIC_HANDLE}) {
            const void* untouched = &pushes;
            nvtxResourceAttributes_t resource{};
            resource.version = NVTX_VERSION;
            resource.size = NVTX_RESOURCE_ATTRIB_STRUCT_SIZE;
            resource.identifierType = type;
            resource.identifier.pValue = &untouched;
            resource.messageType = NVTX_MESSAGE_TYPE_ASCII;
            resource.message.ascii = type == NVTX_RESOURCE_TYPE_GENERIC_POINTER ? name : "libprof: gate";
            nvtxDomainResourceCreate(detail::tool_of<detail::ranges>().domain, &resource);
            EXPECT_EQ(untouched, &pushes);
        }
    }
}

// Such a domain's ranges have no place and are counted; NVTX's own functions do that.
TEST_F(RangeHeader, GivesNoFunctionsToDomainsBeyondTheLimit) {
    auto* const beyond = reinterpret_cast<nvtxDomainHandle_t>(std::uintptr_t{domain_limit});
    for (const char* name : {"libprof: push", "libprof: pop"}) {
        const void* untouched = &pushes;
        nvtxResourceAttributes_t question{};
        question.identifierType = NVTX_RESOURCE_TYPE_GENERIC_POINTER;
        question.identifier.pValue = &untouched;
        question.messageType = NVTX_MESSAGE_TYPE_ASCII;
        question.message.ascii = name;
        answer_of_libprof(beyond, &question);
        EXPECT_EQ(untouched, &pushes) << name;
    }
}

}  // namespace
}  // namespace prof::range_header_test
