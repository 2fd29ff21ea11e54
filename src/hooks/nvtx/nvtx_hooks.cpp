// SPDX-License-Identifier: Apache-2.0
#include "hooks/nvtx/nvtx_hooks.hpp"

#include <atomic>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "hooks/nvtx/event.hpp"
#include "hooks/nvtx/torch_text.hpp"
#include "hooks/nvtx/write_ranges.hpp"
#include "hooks/stream_names.hpp"
#include "record/label.hpp"
#include "ring/registry.hpp"

namespace prof {
namespace {

std::atomic<bool> torch_texts_are_split{false};

void set_torch_numbers(record& r, torch_scope scope, std::uint64_t number, std::int64_t sequence) noexcept {
    r.value = number;
    if (sequence < 0) {
        r.flags = static_cast<std::uint8_t>(payload_type::torch);
        r.category = static_cast<std::uint32_t>(scope);
        return;
    }
    r.flags = static_cast<std::uint8_t>(payload_type::torch_sequence);
    r.category = static_cast<std::uint32_t>(sequence);
    r.color = static_cast<std::uint32_t>(sequence >> 32);
}

// A name from PyTorch's observer, with the numbers separated from it.
auto torch_message(const char* text) noexcept {
    return [text](producer& out, record& r) {
        const torch_text split = split_torch_text(text);
        if (split.op_id == 0) {
            r.name = out.name_of(text);
            return;
        }
        r.name = out.intern(split.name);
        set_torch_numbers(r, torch_scope::unknown, split.op_id, split.sequence);
    };
}

template <typename TText>
auto message(const TText* text) noexcept {
    return [text](producer& out, record& r) { r.name = name_of(out, text); };
}

auto attributes(const nvtxEventAttributes_t* event) noexcept {
    return [event](producer& out, record& r) {
        if (event != nullptr) fill_from_attributes(out, *event, r);
    };
}

// Whether an event has a registered name and no payload. Such a record is filled without a call.
bool is_plain(const nvtxEventAttributes_t* event) noexcept {
    return event != nullptr && event->size >= sizeof *event && event->messageType == NVTX_MESSAGE_TYPE_REGISTERED &&
           event->payloadType == NVTX_PAYLOAD_UNKNOWN;
}
auto plain_attributes(const nvtxEventAttributes_t* event) noexcept {
    return [event](producer&, record& r) {
        r.name = number_of(event->message.registered);
        r.category = event->category;
        if (event->colorType == NVTX_COLOR_ARGB) r.color = event->color;
    };
}
[[gnu::noinline]] int push_other_event(std::uint32_t domain, const nvtxEventAttributes_t* event) noexcept {
    return push_range(domain, attributes(event), event);
}

int push_event(std::uint32_t domain, const nvtxEventAttributes_t* event) noexcept {
    int level = 0;
    if (domain < domain_limit && is_plain(event) && push_at_once(domain, plain_attributes(event), level)) [[likely]]
        return level;
    return gate_is_shut() ? no_level : push_other_event(domain, event);
}

auto payloads(const nvtxPayloadData_t* data, std::size_t count) noexcept {
    return [data, count](producer& out, record& r) { fill_from_payloads(&out, data, count, r); };
}

template <typename TText>
void name_category(std::uint32_t domain, std::uint32_t category, const TText* name) noexcept {
    region* where = region_for_names();
    if (where == nullptr || domain >= domain_limit) return;
    where->add_label(label_kind::category, (std::uint64_t{domain} << 32) | category, keep_text(*where, name));
}

template <typename TText>
void name_thread(std::uint32_t tid, const TText* name) noexcept {
    region* where = region_for_names();
    if (where != nullptr) prof::name_thread(*where, tid, keep_text(*where, name));
}

template <typename TText>
void name_stream(void* stream, const TText* name) noexcept {
    region* where = region_for_names();
    auto* key_of = stream_key_lookup.load();
    std::uint64_t key = 0;
    if (where == nullptr || key_of == nullptr || !key_of(stream, key)) return;
    where->add_label(label_kind::stream, key, keep_text(*where, name));
}

std::atomic<std::uint32_t> xla_domain{0};

template <typename TText>
nvtxDomainHandle_t create_domain(const TText* name) noexcept {
    region* where = region_for_names();
    if (where == nullptr || name == nullptr) return nullptr;
    const std::string_view text = where->names().text(keep_text(*where, name));
    const std::uint32_t number = where->domain(text);
    // relaxed: a plain number; no other data depends on it.
    if (text == "TSL") xla_domain.store(number, std::memory_order_relaxed);
    return handle_of<nvtxDomainHandle_t>(number);
}

// XLA registers a second text with the name of each operation: the operation's HLO text and source lines. (The name
// itself ends with '#'.) Those texts are for payloads that libprof does not record. They are hundreds of times as long
// as the names, and would use up their memory.
bool is_detail_of_xla(nvtxDomainHandle_t domain, const char* text) noexcept {
    const std::uint32_t number = xla_domain.load(std::memory_order_relaxed);
    if (number == 0 || text == nullptr || number_of(domain) != number) return false;
    const std::string_view all = text;
    return !all.ends_with('#') &&
           (all.find('\n') != std::string_view::npos || all.find(" = ") != std::string_view::npos);
}

template <typename TText>
nvtxStringHandle_t register_string(const TText* text) noexcept {
    region* where = region_for_names();
    return where == nullptr ? nullptr : handle_of<nvtxStringHandle_t>(intern_text(*where, text));
}

// <prof/range.hpp> calls these instead of NVTX's functions, with a domain below the limit, and with an event that has a
// registered name and nothing else. So they check neither.
[[gnu::noinline]] void pop_own_late(std::uint32_t domain) noexcept { pop_range(domain); }
[[gnu::aligned(64)]] void push_own(nvtxDomainHandle_t handle, const nvtxEventAttributes_t* event) noexcept {
    const auto domain = reinterpret_cast<std::uintptr_t>(handle);
    if (domain >= domain_limit) __builtin_unreachable();
    const auto name = [event](producer&, record& r) { set_name_alone(r, number_of(event->message.registered)); };
    int level = 0;
    if (!push_at_once(domain, name, level)) [[unlikely]]
        push_other_event(number_of(handle), event);
}
[[gnu::aligned(64)]] void pop_own(nvtxDomainHandle_t handle) noexcept {
    const auto domain = reinterpret_cast<std::uintptr_t>(handle);
    if (domain >= domain_limit) __builtin_unreachable();
    int level = 0;
    if (!pop_at_once(
            domain, [](record&) {}, level)) [[unlikely]]
        pop_own_late(number_of(handle));
}

// Answers the requests of <prof/range.hpp>. It requests the address of the gate, to read it before each call, and the
// two functions above. (The header declares the gate for itself, as a plain word of 32 bits.)
void answer(nvtxDomainHandle_t domain, const nvtxResourceAttributes_t& question) noexcept {
    using gate_word = std::remove_reference_t<decltype(recording_epoch)>;
    static_assert(sizeof(gate_word) == sizeof(std::uint32_t) && gate_word::is_always_lock_free);
    const std::string_view name = question.message.ascii;
    const bool has_place = number_of(domain) < domain_limit;
    const void* found = nullptr;
    if (name == "libprof: gate") {
        found = &recording_epoch;
    } else if (has_place && name == "libprof: push") {
        found = reinterpret_cast<const void*>(&push_own);
    } else if (has_place && name == "libprof: pop") {
        found = reinterpret_cast<const void*>(&pop_own);
    } else {
        return;
    }
    std::memcpy(const_cast<void*>(question.identifier.pValue), &found, sizeof found);
}

// --- the functions that NVTX calls: one line each --------------------------------------------------------------------

void NVTX_API on_mark_ex(const nvtxEventAttributes_t* e) noexcept { put_mark(0, attributes(e)); }
void NVTX_API on_mark_a(const char* text) noexcept { put_mark(0, message(text)); }
void NVTX_API on_mark_w(const wchar_t* text) noexcept { put_mark(0, message(text)); }
nvtxRangeId_t NVTX_API on_start_ex(const nvtxEventAttributes_t* e) noexcept { return start_range(0, attributes(e)); }
nvtxRangeId_t NVTX_API on_start_a(const char* text) noexcept { return start_range(0, message(text)); }
nvtxRangeId_t NVTX_API on_start_w(const wchar_t* text) noexcept { return start_range(0, message(text)); }
void NVTX_API on_end(nvtxRangeId_t id) noexcept { end_range(0, id); }
int NVTX_API on_push_ex(const nvtxEventAttributes_t* e) noexcept { return push_event(0, e); }
[[gnu::noinline]] int push_text(const char* text) noexcept {
    // relaxed: a setting; no other data depends on it.
    const bool split = text != nullptr && torch_texts_are_split.load(std::memory_order_relaxed);
    return split ? write_push(0, torch_message(text), text) : push_range(0, message(text), text);
}
int NVTX_API on_push_a(const char* text) noexcept { return gate_is_shut() ? no_level : push_text(text); }
int NVTX_API on_push_w(const wchar_t* text) noexcept { return push_range(0, message(text), text); }
[[gnu::aligned(64)]] int NVTX_API on_pop() noexcept { return pop_range(0); }
void NVTX_API on_name_category_a(std::uint32_t c, const char* name) noexcept { name_category(0, c, name); }
void NVTX_API on_name_category_w(std::uint32_t c, const wchar_t* name) noexcept { name_category(0, c, name); }
void NVTX_API on_name_thread_a(std::uint32_t tid, const char* name) noexcept { name_thread(tid, name); }
void NVTX_API on_name_thread_w(std::uint32_t tid, const wchar_t* name) noexcept { name_thread(tid, name); }

void NVTX_API on_domain_mark_ex(nvtxDomainHandle_t d, const nvtxEventAttributes_t* e) noexcept {
    put_mark(number_of(d), attributes(e));
}
nvtxRangeId_t NVTX_API on_domain_start_ex(nvtxDomainHandle_t d, const nvtxEventAttributes_t* e) noexcept {
    return start_range(number_of(d), attributes(e));
}
void NVTX_API on_domain_end(nvtxDomainHandle_t d, nvtxRangeId_t id) noexcept { end_range(number_of(d), id); }
[[gnu::aligned(64)]] int NVTX_API on_domain_push_ex(nvtxDomainHandle_t d, const nvtxEventAttributes_t* e) noexcept {
    return push_event(number_of(d), e);
}
[[gnu::aligned(64)]] int NVTX_API on_domain_pop(nvtxDomainHandle_t d) noexcept {
    return pop_range(reinterpret_cast<std::uintptr_t>(d));
}
nvtxResourceHandle_t NVTX_API on_resource_create(nvtxDomainHandle_t d, nvtxResourceAttributes_t* a) noexcept {
    if (a == nullptr || a->messageType != NVTX_MESSAGE_TYPE_ASCII || a->message.ascii == nullptr) return nullptr;
    // A thread may also be named like this (NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE: a gettid).
    if (a->identifierType == NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE) {
        name_thread(static_cast<std::uint32_t>(a->identifier.ullValue), a->message.ascii);
    } else if (a->identifierType == NVTX_RESOURCE_TYPE_GENERIC_POINTER) {
        answer(d, *a);
    }
    return nullptr;
}
void NVTX_API on_domain_name_category_a(nvtxDomainHandle_t d, std::uint32_t c, const char* name) noexcept {
    name_category(number_of(d), c, name);
}
void NVTX_API on_domain_name_category_w(nvtxDomainHandle_t d, std::uint32_t c, const wchar_t* name) noexcept {
    name_category(number_of(d), c, name);
}
nvtxStringHandle_t NVTX_API on_register_string_a(nvtxDomainHandle_t d, const char* text) noexcept {
    return is_detail_of_xla(d, text) ? nullptr : register_string(text);
}
nvtxStringHandle_t NVTX_API on_register_string_w(nvtxDomainHandle_t, const wchar_t* text) noexcept {
    return register_string(text);
}
nvtxDomainHandle_t NVTX_API on_domain_create_a(const char* name) noexcept { return create_domain(name); }
nvtxDomainHandle_t NVTX_API on_domain_create_w(const wchar_t* name) noexcept { return create_domain(name); }

void NVTX_API on_name_stream_a(void* stream, const char* name) noexcept { name_stream(stream, name); }
void NVTX_API on_name_stream_w(void* stream, const wchar_t* name) noexcept { name_stream(stream, name); }

struct hook {
    unsigned callback;
    NvtxFunctionPointer function;
};

template <typename TFunction>
hook entry(int callback, TFunction* function) noexcept {
    return {static_cast<unsigned>(callback), reinterpret_cast<NvtxFunctionPointer>(function)};
}

// The thread sanitizer does not look at it: NVTX's header reads these pointers on other threads meanwhile.
template <std::size_t size>
[[gnu::noinline, gnu::no_sanitize_thread]] bool fill_table(const NvtxExportTableCallbacks& callbacks,
                                                           NvtxCallbackModule module,
                                                           const hook (&hooks)[size]) noexcept {
    NvtxFunctionTable table = nullptr;
    unsigned count = 0;
    if (callbacks.GetModuleFunctionTable(module, &table, &count) == 0 || table == nullptr) return false;
    for (const hook& h : hooks) {
        if (h.callback < count && table[h.callback] != nullptr) *table[h.callback] = h.function;
    }
    return true;
}

}  // namespace

void NVTX_API on_mark_payload(nvtxDomainHandle_t d, const nvtxPayloadData_t* data, std::size_t count) noexcept {
    put_mark(number_of(d), payloads(data, count));
}
int NVTX_API on_push_payload(nvtxDomainHandle_t d, const nvtxPayloadData_t* data, std::size_t count) noexcept {
    return push_range(number_of(d), payloads(data, count), nullptr);
}
int NVTX_API on_pop_payload(nvtxDomainHandle_t d, const nvtxPayloadData_t* data, std::size_t count) noexcept {
    return pop_range(number_of(d), [&](record& r) { fill_from_payloads(nullptr, data, count, r); });
}
nvtxRangeId_t NVTX_API on_start_payload(nvtxDomainHandle_t d, const nvtxPayloadData_t* data,
                                        std::size_t count) noexcept {
    return start_range(number_of(d), payloads(data, count));
}
void NVTX_API on_end_payload(nvtxDomainHandle_t d, nvtxRangeId_t id, const nvtxPayloadData_t*, std::size_t) noexcept {
    end_range(number_of(d), id);
}

bool install_nvtx_hooks(NvtxGetExportTableFunc_t get_export_table) noexcept {
    const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS));
    return callbacks != nullptr && callbacks->struct_size >= sizeof *callbacks && install_nvtx_hooks(*callbacks);
}

bool install_nvtx_hooks(const NvtxExportTableCallbacks& callbacks) noexcept {
    const hook core[] = {
        entry(NVTX_CBID_CORE_MarkEx, on_mark_ex),
        entry(NVTX_CBID_CORE_MarkA, on_mark_a),
        entry(NVTX_CBID_CORE_MarkW, on_mark_w),
        entry(NVTX_CBID_CORE_RangeStartEx, on_start_ex),
        entry(NVTX_CBID_CORE_RangeStartA, on_start_a),
        entry(NVTX_CBID_CORE_RangeStartW, on_start_w),
        entry(NVTX_CBID_CORE_RangeEnd, on_end),
        entry(NVTX_CBID_CORE_RangePushEx, on_push_ex),
        entry(NVTX_CBID_CORE_RangePushA, on_push_a),
        entry(NVTX_CBID_CORE_RangePushW, on_push_w),
        entry(NVTX_CBID_CORE_RangePop, on_pop),
        entry(NVTX_CBID_CORE_NameCategoryA, on_name_category_a),
        entry(NVTX_CBID_CORE_NameCategoryW, on_name_category_w),
        entry(NVTX_CBID_CORE_NameOsThreadA, on_name_thread_a),
        entry(NVTX_CBID_CORE_NameOsThreadW, on_name_thread_w),
    };
    const hook core2[] = {
        entry(NVTX_CBID_CORE2_DomainMarkEx, on_domain_mark_ex),
        entry(NVTX_CBID_CORE2_DomainRangeStartEx, on_domain_start_ex),
        entry(NVTX_CBID_CORE2_DomainRangeEnd, on_domain_end),
        entry(NVTX_CBID_CORE2_DomainRangePushEx, on_domain_push_ex),
        entry(NVTX_CBID_CORE2_DomainRangePop, on_domain_pop),
        entry(NVTX_CBID_CORE2_DomainResourceCreate, on_resource_create),
        entry(NVTX_CBID_CORE2_DomainNameCategoryA, on_domain_name_category_a),
        entry(NVTX_CBID_CORE2_DomainNameCategoryW, on_domain_name_category_w),
        entry(NVTX_CBID_CORE2_DomainRegisterStringA, on_register_string_a),
        entry(NVTX_CBID_CORE2_DomainRegisterStringW, on_register_string_w),
        entry(NVTX_CBID_CORE2_DomainCreateA, on_domain_create_a),
        entry(NVTX_CBID_CORE2_DomainCreateW, on_domain_create_w),
    };
    const hook cuda[] = {
        entry(NVTX_CBID_CUDA_NameCuStreamA, on_name_stream_a),
        entry(NVTX_CBID_CUDA_NameCuStreamW, on_name_stream_w),
    };
    const hook cudart[] = {
        entry(NVTX_CBID_CUDART_NameCudaStreamA, on_name_stream_a),
        entry(NVTX_CBID_CUDART_NameCudaStreamW, on_name_stream_w),
    };
    (void)fill_table(callbacks, NVTX_CB_MODULE_CUDA, cuda);      // absent if the client
    (void)fill_table(callbacks, NVTX_CB_MODULE_CUDART, cudart);  // does not use CUDA naming
    const bool has_core = fill_table(callbacks, NVTX_CB_MODULE_CORE, core);
    const bool has_core2 = fill_table(callbacks, NVTX_CB_MODULE_CORE2, core2);
    return has_core || has_core2;
}

void split_torch_texts(bool split) noexcept { torch_texts_are_split.store(split, std::memory_order_relaxed); }

namespace {

// A domain that libprof itself uses. In a forked child the domains have the same numbers as in the parent.
class own_domain {
public:
    constexpr explicit own_domain(std::string_view name) noexcept : name_(name) {}

    std::uint32_t number(region& where) noexcept {
        // relaxed: a plain number; no other data depends on it. Threads that find 0 at the same time get the same
        // number, or two numbers of one name.
        std::uint32_t number = number_.load(std::memory_order_relaxed);
        if (number == 0) [[unlikely]] {
            number = where.domain(name_);
            number_.store(number, std::memory_order_relaxed);
        }
        return number;
    }
    // 0: nothing was recorded in it.
    std::uint32_t known_number() const noexcept { return number_.load(std::memory_order_relaxed); }

private:
    std::string_view name_;
    std::atomic<std::uint32_t> number_{0};
};
constinit own_domain phases{phase_domain};
constinit own_domain modules{module_domain};
constinit own_domain counters{counter_domain};

// False: nothing is recorded. In a forked child the pop then ends a range of the parent's.
template <typename TFill>
bool pop_if_recording(std::uint32_t domain, TFill fill) noexcept {
    const bool records = installed_region() != nullptr && !gate_is_shut();
    if (records || has_only_parents_ranges()) (void)pop_range(domain, fill);
    return records;
}
template <typename TFill>
bool pop_own_range(own_domain& domain, TFill fill) noexcept {
    region* const where = installed_region();
    const std::uint32_t number = where == nullptr ? domain.known_number() : domain.number(*where);
    return number != 0 && pop_if_recording(number, fill);
}

}  // namespace

bool push_phase(const char* name, std::uint32_t category) noexcept {
    region* const where = region_for_records();
    if (where == nullptr || gate_is_shut()) return false;
    const auto fill = [&](producer& out, record& r) {
        r.name = out.name_of(name);
        r.category = category;
    };
    return push_range(phases.number(*where), fill, name) >= 0;
}

bool pop_phase() noexcept {
    return pop_own_range(phases, [](record&) {});
}

namespace {

void set_sequence(record& r, std::int64_t sequence) noexcept {
    if (sequence < 0) return;
    r.value = static_cast<std::uint64_t>(sequence);
    r.flags = static_cast<std::uint8_t>(payload_type::u64);
}

}  // namespace

bool push_module(const char* name, std::int64_t sequence) noexcept {
    region* const where = region_for_records();
    if (where == nullptr || gate_is_shut()) return false;
    const auto fill = [&](producer& out, record& r) {
        r.name = out.name_of(name);
        set_sequence(r, sequence);
    };
    return push_range(modules.number(*where), fill, name) >= 0;
}

void pop_module(std::int64_t sequence) noexcept {
    (void)pop_own_range(modules, [&](record& r) { set_sequence(r, sequence); });
}

bool push_torch(const char* name, torch_scope scope, std::uint64_t number, std::int64_t sequence) noexcept {
    if (region_for_records() == nullptr || gate_is_shut()) return false;
    const auto fill = [&](producer& out, record& r) {
        r.name = out.intern(name);
        set_torch_numbers(r, scope, number, sequence);
    };
    // Also where the range is not recorded but watched, and opens a window.
    (void)push_range(0, fill, name);
    return true;
}

bool push_plain(const nvtxEventAttributes_t& event) noexcept {
    if (region_for_records() == nullptr || gate_is_shut()) return false;
    return push_range(0, attributes(&event), &event) >= 0;
}

std::uint64_t start_plain(const nvtxEventAttributes_t& event) noexcept {
    if (region_for_records() == nullptr || gate_is_shut()) return 0;
    return start_range(0, attributes(&event));
}

bool end_plain(std::uint64_t id) noexcept {
    if (installed_region() == nullptr || gate_is_shut()) return false;
    end_range(0, id);
    return true;
}

bool mark_plain(const nvtxEventAttributes_t& event) noexcept {
    if (region_for_records() == nullptr || gate_is_shut()) return false;
    put_mark(0, attributes(&event));
    return true;
}

void name_plain_category(std::uint32_t category, const char* name) noexcept { name_category(0, category, name); }

bool count_plain(const nvtxEventAttributes_t& event) noexcept {
    region* const where = region_for_records();
    if (where == nullptr || gate_is_shut()) return false;
    put_mark(counters.number(*where), attributes(&event));
    return true;
}

bool pop_plain() noexcept {
    return pop_if_recording(0, [](record&) {});
}

void leave_ranges_to_parent() noexcept {
    // relaxed: the child has one thread.
    first_own_range_id = next_range_id.load(std::memory_order_relaxed);
}

void record_mark(const char* text, std::uint64_t payload) noexcept {
    region* where = installed_region();
    if (where == nullptr) return;
    put_mark(where->domain("prof"), [&](producer& out, record& r) {
        r.name = out.name_of(text);
        r.value = payload;
        r.flags = static_cast<std::uint8_t>(payload_type::u64);
    });
}

}  // namespace prof
