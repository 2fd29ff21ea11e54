// SPDX-License-Identifier: Apache-2.0
// Marks a function of libprof.so that programs may call: C linkage, and visible.
#pragma once

#define PROF_EXPORT extern "C" [[gnu::visibility("default")]]
