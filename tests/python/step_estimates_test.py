# SPDX-License-Identifier: Apache-2.0
"""The estimates of a step's costs as docs/guide/budget.md shows how to have them in Python: its code, in a program whose
numbers are worked out by hand, and beside what `prof report` says. Needs neither a GPU nor PyTorch.

Usage: step_estimates_test.py <prof> <libnvtx_push.so>   with FAKE_CUDA and FAKE_CUPTI in the environment
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from clean_environment import clean_environment

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROF, PUSH_LIBRARY = "", ""

# Step i launches i + 1 kernels of 10 us in the range "forward"; the steps 1, 3, 5 and 7 are captured.
PROGRAM = """
import json, os
nvtx = ctypes.CDLL(os.environ["NVTX_PUSH_LIBRARY"])
cuda = ctypes.CDLL(os.environ["FAKE_CUDA"])
for step in range(8):
    nvtx.push(b"forward")
    for _ in range(step + 1):
        cuda.fake_cuda_launch(b"kernel", ctypes.c_uint64(10_000), None)
    nvtx.pop()
    ctypes.CDLL(None).prof_step()
print(json.dumps([[*key, *values] for key, values in step_estimates().items()]))
"""


class StepEstimates(unittest.TestCase):
    def test_estimates_match_the_report(self):
        document = (ROOT / "docs/guide/budget.md").read_text()
        example, = re.findall(r"^```python\n(.*?)^```$", document, re.MULTILINE | re.DOTALL)
        environment = clean_environment("FAKE_GPU_CLOCK", NVTX_PUSH_LIBRARY=PUSH_LIBRARY)
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [PROF, "run", "-o", folder, "--export", "none", "--cupti-library", os.environ["FAKE_CUPTI"],
                 "--schedule", "wait=1,active=1", "--", sys.executable, "-c", example + PROGRAM],
                env=environment, capture_output=True, text=True, timeout=100)
            self.assertEqual(done.returncode, 0, done.stderr)
            capture, = pathlib.Path(folder).glob("*.prof")
            report = json.loads(subprocess.run([PROF, "report", "--report", "steps", "--format", "json", str(capture)],
                                               check=True, capture_output=True, text=True).stdout)
        found = json.loads(done.stdout)
        (path, captured, mean, half_width), = found
        self.assertEqual((path, captured), ("forward", False))
        # 20, 40, 60 and 80 us, each for two steps: variance 4 (1/4)^2 200 (1 - 1/2) = 25 us^2, 2.25 degrees of freedom.
        self.assertEqual(mean, 50_000, report)
        self.assertAlmostEqual(half_width, 5000 * 3.875480, delta=0.01)
        row, = [row for row in report["rows"] if row["path"] == "forward"]
        self.assertEqual((row["gpu_ns"], round(row["half_width_ns"], 3)), (mean, round(half_width, 3)))


if __name__ == "__main__":
    PROF, PUSH_LIBRARY = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
    if "FAKE_CUDA" not in os.environ:
        print("SKIPPED: needs the stand-in for CUDA")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
