# SPDX-License-Identifier: Apache-2.0
"""The comparison of programs finds each kind of difference, and none where there is none.

Usage: programs_test.py <prof>

A program of this test's own does something else where libprof is loaded and a variable asks for it.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROF = ""
SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
int main(void) {
    const char* seed = getenv("SEED");
    int recorded = getenv("LD_PRELOAD") && strstr(getenv("LD_PRELOAD"), "libprof");
    if (!seed || !recorded) seed = "";
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    printf("the result is %d\n", strcmp(seed, "result") ? 42 : 41);
    printf("it took %ld ns\n", now.tv_nsec);
    if (!strcmp(seed, "wording")) printf("it then took %ld ns more\n", now.tv_nsec);
    if (!strcmp(seed, "error")) { fprintf(stderr, "something is wrong\n"); }
    if (strcmp(seed, "missing")) printf("done\n");
    fflush(stdout);
    if (!strcmp(seed, "signal")) abort();
    if (!strcmp(seed, "endless")) pause();
    return strcmp(seed, "status") ? 0 : 3;
}
"""


class Programs(unittest.TestCase):
    def compared(self, seed):
        with tempfile.TemporaryDirectory() as place:
            (pathlib.Path(place) / "sample.c").write_text(SOURCE)
            subprocess.run(["cc", "-o", "sample", "sample.c"], cwd=place, check=True)
            done = subprocess.run([sys.executable, "-B", pathlib.Path(__file__).with_name("programs.py"), PROF,
                                   "--limit", "5", "--recorded", "1", place],
                                  env={**os.environ, "SEED": seed}, stdout=subprocess.PIPE, text=True)
        return done.returncode, done.stdout

    def test_nothing(self):
        status, text = self.compared("")
        self.assertEqual(status, 0, text)
        self.assertIn("1 programs: 1 the same, 0 differ, 0 not compared; 1 end with status 0", text)

    def test_differences(self):
        for seed, why in (("result", "prints 0 times instead of 1: the result is 42"),
                          ("wording", "prints 4 lines instead of 3: it then took"),
                          ("error", "prints 4 lines instead of 3: something is wrong"),
                          ("missing", "prints 0 times instead of 1: done"),
                          ("signal", "ends with signal 6 instead of status 0"),
                          ("endless", "ends with endless instead of status 0"),
                          ("status", "ends with status 3 instead of status 0")):
            with self.subTest(seed):
                status, text = self.compared(seed)
                self.assertEqual(status, 1, text)
                self.assertIn(f"differs: sample: {why}", text)


if __name__ == "__main__":
    PROF = sys.argv.pop(1)
    unittest.main()
