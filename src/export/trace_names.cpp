#include "export/trace_names.hpp"

#include "analysis/kernel_names.hpp"
#include "export/api_names.hpp"
#include "export/json_text.hpp"

namespace prof {
namespace {

template <typename TMake>
std::string_view remembered(std::unordered_map<std::uint64_t, std::string>& cache, std::uint64_t key, TMake&& make) {
    const auto found = cache.find(key);
    if (found != cache.end()) return found->second;
    return cache.emplace(key, json_string(make())).first->second;
}

}  // namespace

std::string api_call_name(api_domain domain, std::uint32_t callback_id) {
    const std::string_view known = api_name(domain, callback_id);
    if (!known.empty()) return std::string(known);
    return (domain == api_domain::driver ? "driver call " : "runtime call ") + std::to_string(callback_id);
}

std::string_view trace_names::name(std::uint32_t id) {
    return remembered(names_, id, [&] {
        const std::string_view text = data_.name(id);
        return text.empty() ? std::string_view("(unnamed)") : text;
    });
}

std::string_view trace_names::kernel(std::uint32_t id) {
    return remembered(kernels_, id, [&] { return kernel_name(data_.name(id), kernel_name_style::full); });
}

std::string_view trace_names::api_call(api_domain domain, std::uint32_t callback_id) {
    const auto key = static_cast<std::uint64_t>(domain) << 32 | callback_id;
    return remembered(api_calls_, key, [&] { return api_call_name(domain, callback_id); });
}

std::string_view trace_names::category(std::uint16_t domain, std::uint32_t category) {
    const auto key = static_cast<std::uint64_t>(domain) << 32 | category;
    return remembered(categories_, key, [&] {
        const auto found = data_.category_names.find(key);
        return found == data_.category_names.end() ? std::to_string(category) : std::string(data_.name(found->second));
    });
}

std::string_view trace_names::domain(std::uint16_t domain) {
    return remembered(domains_, domain, [&] {
        return domain < data_.domains.size() ? data_.domains[domain].name : std::to_string(domain);
    });
}

}  // namespace prof
