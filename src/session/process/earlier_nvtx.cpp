// SPDX-License-Identifier: Apache-2.0
#include "session/process/earlier_nvtx.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

#include "hooks/nvtx/earlier_instances.hpp"
#include "session/process/injections.hpp"

namespace prof {
namespace {

bool is_late = false;  // written by the constructor alone
std::atomic<bool> was_tried{false};
std::atomic<const std::string*> notice_of_nvtx{nullptr};  // never freed

// "a.so, b.so", each once.
std::string names_of(const std::vector<earlier_instance>& instances, bool are_attached) {
    std::vector<std::string> names;
    for (const earlier_instance& instance : instances) {
        const bool is_new = std::find(names.begin(), names.end(), instance.object) == names.end();
        if (instance.is_attached == are_attached && is_new) names.push_back(instance.object);
    }
    std::string out;
    for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
    return out;
}

}  // namespace

void note_late_load() noexcept { is_late = is_loaded_late(); }

void attach_to_earlier_nvtx() {
    if (!is_late || was_tried.exchange(true)) return;
    const std::vector<earlier_instance> instances = attach_to_earlier_instances();
    if (instances.empty()) return;
    std::string line;
    if (const std::string names = names_of(instances, true); !names.empty()) {
        note_nvtx_attached();
        line =
            "NVTX was used before libprof was loaded, in " + names +
            ": its ranges are recorded from then on, but domains and registered names from before are not known, and "
            "a PROF_RANGE that was entered before is not recorded";
    }
    if (const std::string names = names_of(instances, false); !names.empty()) {
        line += (line.empty() ? "" : "; ") + std::string{"NVTX was used before libprof was loaded, in "} + names +
                ": its ranges are not recorded";
    }
    line += "; load libprof before the first range (prof run, LD_PRELOAD, or link it)";
    notice_of_nvtx = new std::string(std::move(line));
}

std::string earlier_nvtx_notice() {
    const std::string* const notice = notice_of_nvtx.load();
    return notice == nullptr ? std::string{} : *notice;
}

}  // namespace prof
