// SPDX-License-Identifier: Apache-2.0
#include "memory/memory_use.hpp"

namespace prof {

std::string_view to_string(memory_use use) noexcept {
    switch (use) {
        case memory_use::parameters:
            return "parameters";
        case memory_use::gradients:
            return "gradients";
        case memory_use::optimizer_state:
            return "optimizer state";
        case memory_use::activations:
            return "activations";
        case memory_use::workspace:
            return "workspace";
        case memory_use::other:
            return "other";
        case memory_use::before_recording:
            return "before the recording";
        case memory_use::lost:
            return "lost records";
    }
    return "other";
}

memory_use use_of(const block_life_facts& of) noexcept {
    const bool ends_in_its_step = of.has_ended && of.end.step == of.birth.step;
    const bool ends_in_its_phase = ends_in_its_step && of.end.role == of.birth.role;
    if (of.grows) return memory_use::other;
    switch (of.birth.role) {
        case phase_role::forward:
            if (ends_in_its_phase) return memory_use::workspace;
            if (!of.has_ended) return of.was_last_step ? memory_use::activations : memory_use::other;
            // The loop's variables keep the last output until the next one takes its place.
            return of.end.step <= of.birth.step + 1 ? memory_use::activations : memory_use::other;
        case phase_role::backward:
            return ends_in_its_phase ? memory_use::workspace : memory_use::gradients;
        case phase_role::optimizer:
            return ends_in_its_step ? memory_use::workspace : memory_use::optimizer_state;
        case phase_role::startup:
        case phase_role::other:
            if (of.birth.step < 0 && (!of.has_ended || of.end.step > 0)) return memory_use::parameters;
            return memory_use::other;
    }
    return memory_use::other;
}

}  // namespace prof
