/* The object that prof::prof adds to a program, in libprof_autostart.a. Its reference to prof_autostart keeps libprof.so
 * in the program under --as-needed. */
#include <prof/prof.h>

/* By this name the linker takes the object from the archive. Hidden: a program and its libraries may each have one. */
__attribute__((visibility("hidden"))) extern const char prof_autostart_marker;
const char prof_autostart_marker = 0;

/* Runs after the constructors of libprof.so, which this object needs, and before those of the program, which may make
 * ranges. */
__attribute__((constructor(101))) static void start_at_load(void) { (void)prof_autostart(); }
