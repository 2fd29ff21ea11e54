/* SPDX-License-Identifier: Apache-2.0 */
/* libprof's version, and what all of its C headers share: results and attributes. For C and C++; see prof.h. */
#ifndef PROF_VERSION_H
#define PROF_VERSION_H

#include <stdint.h>

/* The version of these headers. CMakeLists.txt reads it here. A version is greater than an earlier one:
 *
 *     #if PROF_VERSION_NUMBER >= PROF_VERSION_NUMBER_OF(0, 2, 0) */
#define PROF_VERSION_MAJOR 0
#define PROF_VERSION_MINOR 2
#define PROF_VERSION_PATCH 0
#define PROF_VERSION_NUMBER_OF(major, minor, patch) ((major)*10000 + (minor)*100 + (patch))
#define PROF_VERSION_NUMBER PROF_VERSION_NUMBER_OF(PROF_VERSION_MAJOR, PROF_VERSION_MINOR, PROF_VERSION_PATCH)

/* The C++ headers' inline namespace. Objects that were compiled with other versions of them do not share their classes.
 */
#define PROF_INLINE_NAMESPACE v0_2

/* PROF_DEPRECATED("use prof_b"): a warning where the function is called. PROF_NODISCARD: a warning where the result is
 * not used. */
#if defined(__GNUC__) || defined(__clang__)
#define PROF_DEPRECATED(message) __attribute__((deprecated(message)))
#define PROF_NODISCARD __attribute__((warn_unused_result))
#else
#define PROF_DEPRECATED(message)
#define PROF_NODISCARD
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum prof_result {
    PROF_OK = 0,
    PROF_INVALID_ARGUMENT = 1, /* no such setting, value, row or size */
    PROF_WRONG_STATE = 2,      /* recording already, or not recording */
    PROF_FAILED = 3            /* the system or CUPTI refused */
};

/* The version of the library that is loaded: "0.2.0", and as PROF_VERSION_NUMBER. Never null. Signal-safe. */
const char* prof_version(void);
int prof_version_number(void);

#ifdef __cplusplus
}
#endif

#endif
