// SPDX-License-Identifier: Apache-2.0
// A program of which a part was compiled with PROF_DISABLE: that part has no ranges, and the other all of its own.
#include <gtest/gtest.h>

#include <prof/range.hpp>

#include <string>
#include <vector>

void make_disabled_range();

namespace prof::mixed_ranges_test {
namespace {

std::vector<std::string> observed;

int NVTX_API note_push(nvtxDomainHandle_t, const nvtxEventAttributes_t* event) {
    observed.emplace_back(event->message.ascii);
    return 0;
}

int NVTX_API attach_mixed(NvtxGetExportTableFunc_t get_export_table) {
    NvtxFunctionTable table = nullptr;
    unsigned size = 0;
    static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS))
        ->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size);
    *table[NVTX_CBID_CORE2_DomainRangePushEx] = reinterpret_cast<NvtxFunctionPointer>(note_push);
    return 1;
}

TEST(PartlyDisabledRanges, ComeOnlyFromPartsThatEnableThem) {
    InitializeInjectionNvtx2_fnptr = attach_mixed;
    make_disabled_range();
    { const scoped_range range("enabled"); }
    EXPECT_EQ(observed, std::vector<std::string>{"enabled"});
}

}  // namespace
}  // namespace prof::mixed_ranges_test
