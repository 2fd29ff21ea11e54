// SPDX-License-Identifier: Apache-2.0
#include "diagnose/finding.hpp"

namespace prof {

std::string_view to_string(confidence value) noexcept {
    switch (value) {
        case confidence::low:
            return "low";
        case confidence::medium:
            return "medium";
        case confidence::high:
            break;
    }
    return "high";
}

}  // namespace prof
