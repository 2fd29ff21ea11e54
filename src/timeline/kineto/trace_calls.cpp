// SPDX-License-Identifier: Apache-2.0
#include "timeline/kineto/trace_calls.hpp"

#include <array>
#include <string>
#include <unordered_map>

#include "record/api_names.hpp"
#include "record/launch_calls.hpp"

namespace prof {
namespace {

constexpr std::uint32_t cbid_limit = 1024;

using ids_by_name = std::unordered_map<std::string_view, std::uint32_t>;

// A function's variants have one name; the first id is that of the plain one.
const ids_by_name& ids_of(api_domain domain) {
    const auto make = [](api_domain of) {
        ids_by_name out;
        for (std::uint32_t id = 1; id < cbid_limit; ++id) {
            if (const std::string_view name = api_name(of, id); !name.empty()) out.try_emplace(name, id);
        }
        return out;
    };
    // Never destroyed: a thread may still use them while the process ends.
    static const auto& runtime = *new const ids_by_name(make(api_domain::runtime));
    static const auto& driver = *new const ids_by_name(make(api_domain::driver));
    return domain == api_domain::driver ? driver : runtime;
}

std::uint32_t id_of(api_domain domain, std::string_view name) {
    const auto found = ids_of(domain).find(name);
    return found == ids_of(domain).end() ? 0 : found->second;
}

struct counterpart {
    std::string_view hip;
    api_domain domain;
    std::string_view cuda;
};
// HIP's functions whose counterpart has another name.
constexpr std::array counterparts = {
    counterpart{"hipModuleLaunchKernel", api_domain::driver, "cuLaunchKernel"},
    counterpart{"hipExtModuleLaunchKernel", api_domain::driver, "cuLaunchKernel"},
    counterpart{"hipHccModuleLaunchKernel", api_domain::driver, "cuLaunchKernel"},
    counterpart{"hipExtLaunchKernel", api_domain::runtime, "cudaLaunchKernel"},
    counterpart{"hipMemcpyWithStream", api_domain::runtime, "cudaMemcpy"},
    counterpart{"hipMemcpyHtoDAsync", api_domain::driver, "cuMemcpyHtoDAsync"},
    counterpart{"hipMemcpyDtoHAsync", api_domain::driver, "cuMemcpyDtoHAsync"},
    counterpart{"hipMemcpyDtoDAsync", api_domain::driver, "cuMemcpyDtoDAsync"},
};

void find_hip(std::string_view name, trace_call& out) {
    out.is_hip = true;
    for (const counterpart& known : counterparts) {
        if (known.hip != name) continue;
        out.domain = known.domain;
        out.cbid = id_of(known.domain, known.cuda);
        return;
    }
    out.domain = api_domain::runtime;
    out.cbid = id_of(api_domain::runtime, std::string("cuda").append(name.substr(3)));
}

std::string_view without_suffix(std::string_view name) noexcept {
    for (const std::string_view suffix : {"_ptsz", "_ptds"}) {
        if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
    }
    return name;
}

}  // namespace

trace_call call_of(api_domain domain, std::string_view name, std::int64_t cbid) {
    trace_call out{.domain = domain};
    name = without_suffix(name);
    if (name.starts_with("hip")) {
        find_hip(name, out);
    } else {
        const bool has_id = cbid > 0 && cbid < cbid_limit;
        const std::uint32_t named = has_id && api_name(domain, static_cast<std::uint32_t>(cbid)) == name
                                        ? static_cast<std::uint32_t>(cbid)
                                        : id_of(domain, name);
        out.cbid = named != 0 ? named : has_id ? static_cast<std::uint32_t>(cbid) : 0;
    }
    const launch_kind kind = kind_of_call(out.domain, out.cbid);
    out.kind = class_of_call(kind);
    out.launches_kernel = kind == launch_kind::kernel;
    out.ends_capture = name.ends_with("StreamEndCapture");
    out.is_recorded = kind != launch_kind::none && kind != launch_kind::instantiation && !is_sync(kind);
    return out;
}

}  // namespace prof
