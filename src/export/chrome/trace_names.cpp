// SPDX-License-Identifier: Apache-2.0
#include "export/chrome/trace_names.hpp"

#include "base/json_text.hpp"
#include "symbols/kernel_names.hpp"

namespace prof {
namespace {

// Ids ascend from 1, and a name used in many events got its id early.
constexpr std::uint64_t direct_ids = 1U << 16;

}  // namespace

template <typename TMake>
std::string_view trace_names::cache::get(std::uint64_t key, TMake&& make) {
    if (key < direct_ids && key >= direct_.size()) direct_.resize(key + 1);
    std::string& text = key < direct_ids ? direct_[key] : others_[key];
    if (text.empty()) text = json_string(make());  // json_string() returns at least the quotes
    return text;
}

std::string_view trace_names::name(std::uint32_t id) {
    return names_.get(id, [&] {
        const std::string_view text = data_.name(name_id(id));
        return text.empty() ? std::string_view("(unnamed)") : text;
    });
}

std::string_view trace_names::kernel(std::uint32_t id) {
    return kernels_.get(id, [&] { return kernel_name(data_.name(name_id(id)), kernel_name_style::full); });
}

std::string_view trace_names::api_call(api_domain domain, std::uint32_t callback_id) {
    const auto key = static_cast<std::uint64_t>(domain) << 32 | callback_id;
    return api_calls_.get(key, [&] { return api_call_name(domain, callback_id); });
}

std::string_view trace_names::shown_call(const timeline_api_call& call) {
    const std::string_view name = call_names_.runtime_name(call);
    if (name.empty()) return api_call(call.domain, call.cbid);
    return shown_calls_.get(call.cbid, [&] { return name; });
}

std::string_view trace_names::category(std::uint16_t domain, std::uint32_t category) {
    const auto key = static_cast<std::uint64_t>(domain) << 32 | category;
    return categories_.get(key, [&] {
        const auto found = data_.category_names.find(key);
        return found == data_.category_names.end() ? std::to_string(category) : std::string(data_.name(found->second));
    });
}

std::string_view trace_names::domain(std::uint16_t domain) {
    return domains_.get(
        domain, [&] { return domain < data_.domains.size() ? data_.domains[domain].name : std::to_string(domain); });
}

}  // namespace prof
