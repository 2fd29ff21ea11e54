# SPDX-License-Identifier: Apache-2.0
"""No wait in the program's process goes by the system's clock: set back, it would make "five seconds at most" hours."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What waits until a time of CLOCK_REALTIME; with a thread sanitizer that follows nothing else, it may.
BY_THE_SYSTEM_CLOCK = re.compile(r"\bsystem_clock\b|\b(?:sem|pthread_mutex|pthread_cond|pthread_rwlock_\w+)_timed\w+\s*\(")
ALLOWED = {"src/session/process/end_thread.cpp": ["sem_timedwait("]}


def waits(text):
    return BY_THE_SYSTEM_CLOCK.findall(re.sub(r"//[^\n]*", "", text))


class Waits(unittest.TestCase):
    def test_waits_use_clocks_that_cannot_be_set(self):
        found = {path.relative_to(ROOT).as_posix(): waits(path.read_text(encoding="utf-8"))
                 for path in (ROOT / "src").rglob("*.[ch]pp") if "cli" not in path.parts}
        self.assertGreater(len(found), 100)
        self.assertEqual({path: calls for path, calls in found.items() if calls}, ALLOWED)

    def test_check_detects_a_clock_that_can_be_set(self):
        self.assertEqual(len(waits("until(std::chrono::system_clock::now()); sem_timedwait(&s, &t); // system_clock")), 2)
        self.assertEqual(waits("steady_clock sem_clockwait(&s, CLOCK_MONOTONIC, &t)"), [])


if __name__ == "__main__":
    unittest.main()
