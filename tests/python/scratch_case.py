# SPDX-License-Identifier: Apache-2.0
"""Tests with a folder of their own."""
import pathlib
import tempfile
import unittest


class ScratchCase(unittest.TestCase):
    """Each test has `folder`, which is gone after it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
