// SPDX-License-Identifier: Apache-2.0
// libcupti's functions, found at run time as libprof finds them, so that one program runs on the real library and on
// the stand-in. load_cupti() once, at the start; ends the process with a message if it fails.
#pragma once

#include <cupti.h>

struct cupti_functions {
#define CUPTI_FUNCTION(name) decltype(&::name) name = nullptr;
#include "cupti_functions.inc"
#undef CUPTI_FUNCTION
};

// `path` may be null: then CONFORMANCE_CUPTI, then the usual places of a toolkit.
void load_cupti(const char* path);

const cupti_functions& cupti();
