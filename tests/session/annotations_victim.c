/* SPDX-License-Identifier: Apache-2.0 */
/* A program in C that annotates and controls itself by libprof's C interface alone; for annotations_test.cpp. */
#include <prof/prof.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(holds)                                                        \
    do {                                                                     \
        if (!(holds)) {                                                      \
            fprintf(stderr, "not so: %s (%s)\n", #holds, prof_last_error()); \
            exit(20);                                                        \
        }                                                                    \
    } while (0)

static prof_attributes payload_of(uint32_t type) {
    prof_attributes out;
    memset(&out, 0, sizeof out);
    out.size = sizeof out;
    out.payload_type = type;
    return out;
}

static void record_all(void) {
    prof_attributes coloured = payload_of(PROF_PAYLOAD_U64);
    prof_attributes negative = payload_of(PROF_PAYLOAD_I64);
    prof_attributes real = payload_of(PROF_PAYLOAD_F64);
    char name[16] = "passing";
    uint64_t request, other;
    coloured.color = 0xFF76B900;
    coloured.category = 7;
    coloured.payload.u64 = 12;
    negative.payload.i64 = -3;
    real.payload.f64 = 0.5;

    EXPECT(prof_name_category(7, "kind") == PROF_OK);
    EXPECT(prof_range_push("outer") == PROF_OK);
    EXPECT(prof_range_push_with("coloured", &coloured) == PROF_OK);
    EXPECT(prof_range_push_with(name, NULL) == PROF_OK);
    strcpy(name, "changed");
    EXPECT(prof_range_pop() == PROF_OK);
    EXPECT(prof_range_pop() == PROF_OK);
    request = prof_range_start("request", &real);
    other = prof_range_start("other", NULL);
    EXPECT(request != 0 && other != 0 && request != other);
    EXPECT(prof_mark("mark", &negative) == PROF_OK);
    EXPECT(prof_counter("loss", 0.25) == PROF_OK);
    EXPECT(prof_range_end(request) == PROF_OK);
    EXPECT(prof_range_pop() == PROF_OK);
    EXPECT(prof_range_end(other) == PROF_OK);
    EXPECT(prof_range_end(0) == PROF_OK);
}

static void refuse_wrong_arguments(void) {
    prof_attributes wrong = payload_of(9);
    EXPECT(prof_range_push(NULL) == PROF_INVALID_ARGUMENT);
    EXPECT(prof_range_push_with(NULL, NULL) == PROF_INVALID_ARGUMENT);
    EXPECT(prof_range_push_with("x", &wrong) == PROF_INVALID_ARGUMENT);
    EXPECT(prof_mark("x", &wrong) == PROF_INVALID_ARGUMENT);
    EXPECT(prof_range_start("x", &wrong) == 0);
    wrong = payload_of(PROF_PAYLOAD_NONE);
    wrong.size = 0;
    EXPECT(prof_range_push_with("x", &wrong) == PROF_INVALID_ARGUMENT);
    wrong.size = (size_t)-1;
    EXPECT(prof_range_push_with("x", &wrong) == PROF_INVALID_ARGUMENT);
    EXPECT(prof_mark(NULL, NULL) == PROF_INVALID_ARGUMENT);
    EXPECT(prof_counter(NULL, 1) == PROF_INVALID_ARGUMENT);
    EXPECT(prof_range_start(NULL, NULL) == 0);
    EXPECT(prof_name_category(1, NULL) == PROF_INVALID_ARGUMENT);
}

int main(void) {
    static const char* const settings[] = {"export=none", NULL};
    EXPECT(prof_version_number() == PROF_VERSION_NUMBER);
    EXPECT(prof_range_push("before") == PROF_WRONG_STATE);
    EXPECT(prof_range_pop() == PROF_WRONG_STATE);
    EXPECT(prof_range_start("before", NULL) == 0);
    EXPECT(prof_mark("before", NULL) == PROF_WRONG_STATE);
    EXPECT(prof_counter("before", 1) == PROF_WRONG_STATE);
    refuse_wrong_arguments();
    EXPECT(prof_start(settings) == PROF_OK);
    refuse_wrong_arguments();
    record_all();
    EXPECT(prof_stop() == PROF_OK);
    EXPECT(prof_range_push("after") == PROF_WRONG_STATE);
    return 0;
}
