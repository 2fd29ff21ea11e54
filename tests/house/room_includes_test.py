# SPDX-License-Identifier: Apache-2.0
"""The rooms' includes go one way, and the check that says so notices when one does not."""

import pathlib
import tempfile
import unittest

import room_includes

SRC = pathlib.Path(__file__).resolve().parents[2] / "src"


class RoomIncludes(unittest.TestCase):
    def test_includes_follow_the_arrows(self):
        self.assertEqual(room_includes.violations(SRC), [])

    def test_every_folder_of_src_is_a_room(self):
        folders = {p.name for p in SRC.iterdir() if p.is_dir()}
        self.assertLessEqual(folders, {room.split("/")[0] for room in room_includes.ARROWS})

    def test_arrows_have_no_cycle(self):
        finished = set()

        def visit(room, above):
            self.assertNotIn(room, above, "a cycle")
            if room in finished:
                return
            for known in room_includes.ARROWS[room]:
                if not known.endswith(".hpp"):
                    visit(known, above | {room})
            finished.add(room)

        for room in room_includes.ARROWS:
            visit(room, frozenset())


class TheCheckItself(unittest.TestCase):
    def reasons(self, path, text):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, path)
            file.parent.mkdir(parents=True)
            file.write_text(text)
            return room_includes.violations(folder)

    def test_detects_an_arrow_that_points_back(self):
        self.assertEqual(len(self.reasons("record/a.hpp", '#include "ring/ring.hpp"\n')), 1)
        self.assertEqual(len(self.reasons("hooks/nvtx/a.cpp", '  #  include "capture/writer.hpp"\n')), 1)
        self.assertEqual(len(self.reasons("hooks/nvtx/a.cpp", '#include "hooks/cupti/a.hpp"\n')), 1)
        self.assertEqual(len(self.reasons("cli/a.cpp", '#include "hooks/nvtx/a.hpp"\n')), 1)

    def test_allows_collect_only_the_tracer_of_the_hooks(self):
        self.assertEqual(self.reasons("collect/a.cpp", '#include "hooks/cupti/tracer.hpp"\n'), [])
        self.assertEqual(len(self.reasons("collect/a.cpp", '#include "hooks/cupti/cupti_library.hpp"\n')), 1)

    def test_detects_an_include_without_its_room(self):
        self.assertEqual(len(self.reasons("ring/a.cpp", '#include "spsc_ring.hpp"\n')), 1)

    def test_detects_a_public_header_below_the_session(self):
        self.assertEqual(len(self.reasons("hooks/nvtx/a.cpp", "#include <prof/range.hpp>\n")), 1)
        self.assertEqual(self.reasons("session/a.cpp", "#include <prof/prof.h>\n"), [])

    def test_accepts_allowed_includes(self):
        self.assertEqual(self.reasons("capture/a.cpp", '#include "record/record.hpp"\n#include <vector>\n'), [])


if __name__ == "__main__":
    unittest.main()
