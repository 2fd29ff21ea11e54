// The C interface by which code outside the program reports its phases and ranges (prof/prof.h). Hot path: no lock, no
// allocation but a thread's first, no error text.
#include <prof/prof.h>

#include <atomic>
#include <exception>
#include <string_view>

#include "hooks/nvtx/nvtx_hooks.hpp"
#include "ring/registry.hpp"
#include "session/export_symbol.hpp"
#include "session/injections.hpp"
#include "session/process.hpp"
#include "session/recording.hpp"
#include "session/step_counter.hpp"
#include "session/warn_once.hpp"

namespace prof {
namespace {

// Whether this copy of libprof has the process's session. Prepares it, since the first phase may come before the first
// range.
bool is_ready() noexcept {
    if (installed_region() != nullptr) [[likely]]
        return true;
    if (gate_was_wiped() || has_more_rights_than_its_user() || first_copy() != nullptr) return false;
    try {
        recording_session::instance().prepare();
    } catch (const std::exception& failure) {
        warn_once(failure.what());
    }
    return installed_region() != nullptr;
}

}  // namespace
}  // namespace prof

using namespace prof;

PROF_EXPORT int prof_phase_push(const char* name, uint32_t category) {
    if (name == nullptr) return PROF_INVALID_ARGUMENT;
    if (!is_ready()) return PROF_WRONG_STATE;
    if (step_counter::program_counts() && std::string_view{name} == "step") return PROF_WRONG_STATE;
    return push_phase(name, category) ? PROF_OK : PROF_WRONG_STATE;
}

PROF_EXPORT int prof_phase_pop() {
    if (installed_region() == nullptr || gate_is_shut()) return PROF_WRONG_STATE;
    pop_phase();
    return PROF_OK;
}

PROF_EXPORT int prof_range_push(const char* name) {
    if (name == nullptr) return PROF_INVALID_ARGUMENT;
    return is_ready() && push_plain(name) ? PROF_OK : PROF_WRONG_STATE;
}

PROF_EXPORT int prof_range_pop() {
    if (installed_region() == nullptr || gate_is_shut()) return PROF_WRONG_STATE;
    pop_plain();
    return PROF_OK;
}
