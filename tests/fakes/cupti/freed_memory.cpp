// SPDX-License-Identifier: Apache-2.0
#include "fakes/cupti/freed_memory.hpp"

namespace fake {

void runtime_hooks::switch_callback(CUpti_CallbackId cbid, bool on) {
    hook& each = hooks_[cbid];
    if (on) {
        if (each.uses++ == 0) {
            each.on_since = lifetimes_.current();
        }
    } else if (each.uses != 0 && --each.uses == 0) {
        each.on_since = 0;
    }
}

std::uint64_t runtime_hooks::enter(CUpti_CallbackId cbid) {
    hook& each = hooks_[cbid];
    const std::uint64_t lifetime = each.on_since;
    if (lifetime == 0 || !lifetimes_.use(lifetime)) {
        return 0;
    }
    ++each.uses;
    return lifetime;
}

void runtime_hooks::leave(CUpti_CallbackId cbid, std::uint64_t lifetime) {
    if (lifetime != 0 && lifetimes_.use(lifetime) && hooks_[cbid].uses != 0) {
        --hooks_[cbid].uses;  // at none it stays on: only switching a callback off takes it off
    }
}

void runtime_hooks::take_off() {
    for (hook& each : hooks_) {
        if (each.uses.exchange(0) != 0) {
            each.on_since = 0;
        }
    }
}

void runtime_hooks::reset() {
    for (hook& each : hooks_) {
        each.uses = 0;
        each.on_since = 0;
    }
}

}  // namespace fake
