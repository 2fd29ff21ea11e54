/* SPDX-License-Identifier: Apache-2.0 */
// Preloaded before libprof: says on stderr who of libprof's threads asks for a variable of the environment, which the
// program may be changing at that moment.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static void report(const char* name, const void* caller) {
    Dl_info from;
    char thread[17] = "";
    char line[256];
    if (dladdr(caller, &from) == 0 || from.dli_fname == NULL || strstr(from.dli_fname, "libprof.so") == NULL) return;
    prctl(PR_GET_NAME, thread);
    const char* const whose = strncmp(thread, "prof-", 5) == 0 ? "libprof's" : "the program's";
    const int length = snprintf(line, sizeof line, "%s asked for by a thread of %s, %s\n", name, whose, thread);
    if (length > 0) (void)!write(STDERR_FILENO, line, (size_t)length);
}

char* getenv(const char* name) {
    const size_t length = strlen(name);
    report(name, __builtin_return_address(0));
    for (char** each = environ; each != NULL && *each != NULL; ++each) {
        if (strncmp(*each, name, length) == 0 && (*each)[length] == '=') return *each + length + 1;
    }
    return NULL;
}
