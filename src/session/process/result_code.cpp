// SPDX-License-Identifier: Apache-2.0
#include "session/process/result_code.hpp"

namespace prof {

prof_result code_of(const outcome& result) noexcept {
    switch (result.code()) {
        case outcome_code::ok:
            return PROF_OK;
        case outcome_code::wrong_state:
            return PROF_WRONG_STATE;
        case outcome_code::failed:
            break;
    }
    return PROF_FAILED;
}

}  // namespace prof
