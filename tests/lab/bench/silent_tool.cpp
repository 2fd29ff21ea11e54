// SPDX-License-Identifier: Apache-2.0
// The least that a tool of NVTX's can do: it gives out handles, and does nothing when a range begins or ends. What a
// client does beside that because there is a tool is not the tool's cost; python_range_cost.py compares libprof with
// it. As libclock_tool.so it reads the clock once at each beginning and end, which is the least that a profiler can do.
#include <nvtx3/nvToolsExt.h>

#include <cstdint>

#include "base/clock.hpp"

namespace {

int handle() noexcept {
#if defined(PROF_BENCH_READS_CLOCK)
    asm volatile("" : : "r"(prof::ticks_now()) : "memory");
#endif
    return 0;
}

template <typename THandle>
THandle some_handle() noexcept {
    static char thing;
    return reinterpret_cast<THandle>(&thing);
}

int NVTX_API on_push_a(const char*) noexcept { return handle(); }
int NVTX_API on_push_ex(const nvtxEventAttributes_t*) noexcept { return handle(); }
int NVTX_API on_pop() noexcept { return handle(); }
int NVTX_API on_domain_push_ex(nvtxDomainHandle_t, const nvtxEventAttributes_t*) noexcept { return handle(); }
int NVTX_API on_domain_pop(nvtxDomainHandle_t) noexcept { return handle(); }
nvtxDomainHandle_t NVTX_API on_domain_create(const char*) noexcept { return some_handle<nvtxDomainHandle_t>(); }
nvtxStringHandle_t NVTX_API on_register(nvtxDomainHandle_t, const char*) noexcept {
    return some_handle<nvtxStringHandle_t>();
}

}  // namespace

extern "C" [[gnu::visibility("default")]] int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table) {
    const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS));
    const auto fill = [&](NvtxCallbackModule module, int callback, auto* function) {
        NvtxFunctionTable table = nullptr;
        unsigned count = 0;
        if (callbacks->GetModuleFunctionTable(module, &table, &count) == 0) return;
        if (static_cast<unsigned>(callback) < count) {
            *table[callback] = reinterpret_cast<NvtxFunctionPointer>(function);
        }
    };
    fill(NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangePushA, on_push_a);
    fill(NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangePushEx, on_push_ex);
    fill(NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangePop, on_pop);
    fill(NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRangePushEx, on_domain_push_ex);
    fill(NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRangePop, on_domain_pop);
    fill(NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainCreateA, on_domain_create);
    fill(NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRegisterStringA, on_register);
    return 1;
}

// Called by the driver when it is initialised. residue.py measures the cost of its presence.
extern "C" [[gnu::visibility("default")]] int InitializeInjection() { return 1; }
