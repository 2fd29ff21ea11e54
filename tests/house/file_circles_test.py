# SPDX-License-Identifier: Apache-2.0
"""No files of src/ include each other in a circle, but those that are known, and the check notices a new one."""
import pathlib
import tempfile
import unittest

import file_circles

SRC = pathlib.Path(__file__).resolve().parents[2] / "src"

# Files of these circles: a row goes when its circle is cut.
KNOWN = {
    ("session/control", "session/own_status", "session/recording", "session/recording_commands",
     "session/session_callbacks", "session/threads_at_fork"),
    ("analysis/projection/process_ranges", "analysis/projection/projection", "analysis/projection/row_tree",
     "analysis/projection/same_things", "analysis/projection/xla_phases"),
    ("analysis/steps/recurring_steps", "analysis/steps/step_parts", "analysis/steps/step_search",
     "analysis/steps/step_times", "analysis/steps/whole_steps"),
    ("analysis/attribution/attribution", "analysis/attribution/graph_ranges"),
    ("analysis/breakdown/idle_causes", "analysis/breakdown/launching_places"),
    ("export/chrome/chrome_trace", "export/chrome/trace_parts"),
    ("ring/producer", "ring/registry"),
    ("session/process/events", "session/process/warn_once"),
    ("timeline/start_end", "timeline/windows"),
}


class FileCircles(unittest.TestCase):
    def test_there_is_none_but_the_known_ones(self):
        self.assertEqual({tuple(circle) for circle in file_circles.circles(SRC)}, KNOWN)


class TheCheckItself(unittest.TestCase):
    def circles_of(self, **files):
        with tempfile.TemporaryDirectory() as folder:
            for name, included in files.items():
                path = pathlib.Path(folder, "room", name.replace("_cpp", ".cpp").replace("_hpp", ".hpp"))
                path.parent.mkdir(exist_ok=True)
                path.write_text("".join(f'#include "room/{other}.hpp"\n' for other in included))
            return file_circles.circles(folder)

    def test_a_header_and_its_source_are_no_circle(self):
        self.assertEqual(self.circles_of(a_hpp=[], a_cpp=["a"], b_hpp=["a"], b_cpp=["b", "a"]), [])

    def test_a_circle_by_way_of_sources_is_one(self):
        self.assertEqual(self.circles_of(a_hpp=[], a_cpp=["a", "b"], b_hpp=["a"]), [["room/a", "room/b"]])

    def test_a_long_circle_is_one_and_what_only_leads_to_it_is_not_in_it(self):
        self.assertEqual(self.circles_of(a_hpp=["b"], b_hpp=["c"], c_hpp=[], c_cpp=["a"], d_hpp=["a"]),
                         [["room/a", "room/b", "room/c"]])


if __name__ == "__main__":
    unittest.main()
