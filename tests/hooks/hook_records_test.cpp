// SPDX-License-Identifier: Apache-2.0
// The records that NVTX's calls become: the same on the short way, which nearly all take, and on the long one, which is
// that of every push while some range is watched.
#include <gtest/gtest.h>
#include <nvtx3/nvToolsExt.h>

#include <vector>

#include "hooks/nvtx/nvtx_hooks.hpp"
#include "hooks/nvtx/watched_ranges.hpp"
#include "hooks/nvtx_event.hpp"
#include "hooks/written_records.hpp"
#include "ring/registry.hpp"

namespace prof::hook_records_test {
namespace {

using test::event_of;
using fields = test::written_record;

constexpr auto push = record_kind::range_push;
constexpr auto pop = record_kind::range_pop;

int NVTX_API attach(NvtxGetExportTableFunc_t get_export_table) { return install_nvtx_hooks(get_export_table) ? 1 : 0; }

region& where() {
    static region here{[] {
        region_options options;
        options.place = "memory";
        return options;
    }()};
    return here;
}

std::vector<fields> drain() { return test::drain_records(where()); }

// Each push's level is what NVTX promises: 0 for the outermost of its domain.
void make_ranges(nvtxDomainHandle_t domain, nvtxStringHandle_t registered) {
    nvtxEventAttributes_t plain = event_of(nullptr);
    plain.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    plain.message.registered = registered;
    nvtxEventAttributes_t colored = plain;
    colored.colorType = NVTX_COLOR_ARGB;
    colored.color = 0xFF76B900;
    colored.category = 7;
    nvtxEventAttributes_t no_color = colored;
    no_color.colorType = NVTX_COLOR_UNKNOWN;
    nvtxEventAttributes_t paid = colored;
    paid.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    paid.payload.llValue = -2;
    nvtxEventAttributes_t short_event = plain;
    short_event.size = 8;
    const nvtxEventAttributes_t text = event_of("text");

    EXPECT_EQ(nvtxDomainRangePushEx(domain, &plain), 0);
    EXPECT_EQ(nvtxDomainRangePushEx(domain, &colored), 1);
    EXPECT_EQ(nvtxRangePushEx(&no_color), 0);
    EXPECT_EQ(nvtxDomainRangePushEx(domain, &paid), 2);
    EXPECT_EQ(nvtxDomainRangePushEx(domain, &text), 3);
    EXPECT_EQ(nvtxDomainRangePushEx(domain, &short_event), 4);
    EXPECT_EQ(nvtxDomainRangePushEx(domain, nullptr), 5);
    for (int level = 5; level >= 0; --level) EXPECT_EQ(nvtxDomainRangePop(domain), level);
    EXPECT_EQ(nvtxRangePushA("narrow"), 1);
    EXPECT_EQ(nvtxRangePushW(L"wide"), 2);
    EXPECT_EQ(nvtxRangePushA(nullptr), 3);
    for (int level = 3; level >= 0; --level) EXPECT_EQ(nvtxRangePop(), level);
}

TEST(HookRecords, KeepNoXlaStringsBesideNames) {
    install_region(&where(), nullptr);
    InitializeInjectionNvtx2_fnptr = attach;
    nvtxDomainHandle_t xla = nvtxDomainCreateA("TSL");
    nvtxDomainHandle_t other = nvtxDomainCreateA("other");
    const std::string hlo = "%fusion.1 = f32[16,128]{1,0} fusion(%p.0), kind=kLoop";
    const std::uint32_t before = where().names().used_bytes();
    EXPECT_EQ(nvtxDomainRegisterStringA(xla, hlo.c_str()), nullptr);
    EXPECT_EQ(nvtxDomainRegisterStringA(xla, "\n[0] train.py:12[train_step]"), nullptr);
    EXPECT_EQ(where().names().used_bytes(), before);
    EXPECT_NE(nvtxDomainRegisterStringA(xla, "Thunk:#name=jit(f)/a = b,hlo_op=fusion.1,unique_hlo_op_id=7#"), nullptr);
    EXPECT_NE(nvtxDomainRegisterStringA(xla, "jit_train_step"), nullptr);
    EXPECT_NE(nvtxDomainRegisterStringA(other, hlo.c_str()), nullptr);
    EXPECT_NE(nvtxDomainRegisterStringA(nullptr, hlo.c_str()), nullptr);
}

TEST(HookRecords, AreTheSameOnTheFastAndTheSlowPath) {
    install_region(&where(), nullptr);
    InitializeInjectionNvtx2_fnptr = attach;
    nvtxDomainHandle_t domain = nvtxDomainCreateA("app");
    nvtxStringHandle_t registered = nvtxDomainRegisterStringA(domain, "registered");
    const auto app = static_cast<std::uint16_t>(where().domain("app"));
    ASSERT_NE(app, 0);

    const fields app_end{pop, app, "", 0, 0, 0, 0};
    const fields end{pop, 0, "", 0, 0, 0, 0};
    const std::vector<fields> expected{
        {push, app, "registered", 0, 0, 0, 0},
        {push, app, "registered", 0xFF76B900, 7, 0, 0},
        {push, 0, "registered", 0, 7, 0, 0},
        {push, app, "registered", 0xFF76B900, 7, static_cast<std::uint64_t>(-2),
         static_cast<std::uint8_t>(payload_type::i64)},
        {push, app, "text", 0, 0, 0, 0},
        {push, app, "", 0, 0, 0, 0},
        {push, app, "", 0, 0, 0, 0},
        app_end,
        app_end,
        app_end,
        app_end,
        app_end,
        app_end,
        {push, 0, "narrow", 0, 0, 0, 0},
        {push, 0, "wide", 0, 0, 0, 0},
        {push, 0, "", 0, 0, 0, 0},
        end,
        end,
        end,
        end,
    };
    set_gate(recording_epoch, 1);
    make_ranges(domain, registered);  // the first of the thread goes the long way, too: it attaches
    EXPECT_EQ(drain(), expected);
    make_ranges(domain, registered);
    EXPECT_EQ(drain(), expected);
    watch_ranges({{range_use::step, range_name("no range's name")}}, where(),
                 [](range_use, bool) noexcept { return false; });
    make_ranges(domain, registered);
    EXPECT_EQ(drain(), expected);
    watch_ranges({}, where(), nullptr);

    // A domain that found no place; and what is no domain at all.
    for (const std::uintptr_t number : {std::uintptr_t{domain_limit}, std::uintptr_t{0x7FFFFFFF}}) {
        auto* const none = reinterpret_cast<nvtxDomainHandle_t>(number);
        const nvtxEventAttributes_t text = event_of("text");
        EXPECT_LT(nvtxDomainRangePushEx(none, &text), 0);
        EXPECT_LT(nvtxDomainRangePop(none), 0);
    }
    EXPECT_EQ(where().drops()[static_cast<std::size_t>(drop_cause::domains_full)], 2U);
    set_gate(recording_epoch, 0);
    EXPECT_LT(nvtxDomainRangePop(domain), 0);
    EXPECT_TRUE(drain().empty());
}

}  // namespace
}  // namespace prof::hook_records_test
