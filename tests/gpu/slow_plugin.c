/* SPDX-License-Identifier: Apache-2.0 */
/* A library whose initialiser takes SLOW_PLUGIN_MS milliseconds, for quiescence.py: so long its loading thread holds
 * the loader's lock. */
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void initialise(void) {
    const char* const ms = getenv("SLOW_PLUGIN_MS");
    usleep(ms == NULL ? 0 : 1000 * (unsigned)atoi(ms));
}
