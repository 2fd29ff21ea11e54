// SPDX-License-Identifier: Apache-2.0
#include "session/process/autostart.hpp"

#include <atomic>
#include <cstdlib>
#include <string_view>

#include "session/process/injections.hpp"

namespace prof {
namespace {

constexpr const char* on_demand_variable = "PROF_IMAGE_ON_DEMAND";

std::atomic<bool> is_wanted{false};

bool is_preloaded() {
    const char* const set = std::getenv("LD_PRELOAD");
    std::string_view left = set == nullptr ? "" : set;
    while (!left.empty()) {
        const std::size_t end = left.find_first_of(": ");
        if (names_libprof(left.substr(0, end))) return true;
        left = end == std::string_view::npos ? std::string_view{} : left.substr(end + 1);
    }
    return false;
}

}  // namespace

void note_way_in() {
    const bool is_injected = is_injected_by_environment() && std::getenv(on_demand_variable) == nullptr;
    is_wanted = is_preloaded() || is_injected;
    is_wanted ? unsetenv(on_demand_variable) : setenv(on_demand_variable, "1", 1);
}

void note_autostart() noexcept {
    if (!is_wanted.exchange(true)) unsetenv(on_demand_variable);
}

// relaxed: a plain flag; no other data depends on it.
bool starts_by_itself() noexcept {
    const char* const set = std::getenv("PROF_AUTOSTART");
    if (set != nullptr) return std::string_view{set} != "0";
    return is_wanted.load(std::memory_order_relaxed);
}

}  // namespace prof
