// SPDX-License-Identifier: Apache-2.0
// What CUPTI is asked to tell, printed by a victim.
#pragma once

#include <cupti.h>

#include <cstdio>
#include <string>

#include "fakes/fake_cupti.h"
#include "session/loaded_fake_cupti.hpp"

namespace prof::test {

// One line: all that CUPTI tells its client of.
inline void print_subscription(const char* when) {
    auto* const callback =
        of_the_fake_cupti<decltype(fake_cupti_callback_is_enabled)>("fake_cupti_callback_is_enabled");
    auto* const kind = of_the_fake_cupti<decltype(fake_cupti_kind_is_enabled)>("fake_cupti_kind_is_enabled");
    auto* const name_of = of_the_fake_cupti<decltype(cuptiGetCallbackName)>("cuptiGetCallbackName");
    std::printf("%s:", when);
    for (int domain = 1; domain < CUPTI_CB_DOMAIN_SIZE; ++domain) {
        for (std::uint32_t id = 0; id < 1000; ++id) {
            if (callback(domain, id) == 0) continue;
            const char* name = nullptr;
            const bool has_name = domain != CUPTI_CB_DOMAIN_RESOURCE &&
                                  name_of(static_cast<CUpti_CallbackDomain>(domain), id, &name) == CUPTI_SUCCESS;
            std::printf(" %s", has_name ? name : ("node_event_" + std::to_string(id)).c_str());
        }
    }
    for (int k = 0; k < CUPTI_ACTIVITY_KIND_COUNT; ++k) {
        if (kind(k) != 0) std::printf(" kind_%d", k);
    }
    std::puts("");
}

}  // namespace prof::test
