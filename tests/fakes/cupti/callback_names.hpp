// SPDX-License-Identifier: Apache-2.0
// Names as CUPTI spells them, from the enumerations of its headers (generated at configure time). Null if unknown.
#pragma once

#include <cupti.h>

namespace fake {

const char* callback_name(CUpti_CallbackDomain domain, CUpti_CallbackId cbid);
const char* result_name(CUptiResult result);

}  // namespace fake
