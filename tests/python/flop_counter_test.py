# SPDX-License-Identifier: Apache-2.0
"""The floating-point operations that the report mfu finds in the shapes of a trace equal those that PyTorch's own
torch.utils.flop_counter counted in the same program, to the last one. The programs run on the CPU, so the trace gets a
GPU: a launch and a kernel in each operator.

Usage: flop_counter_test.py <prof> <version of Python>
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
GPU = {"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 132}
MULTIPLIES = ("mm", "bmm", "convolution", "convolution_backward", "_flash_attention", "_flash_attention_backward")
GEMM = "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize128x128x8_ffma"
OTHER = "void at::native::vectorized_elementwise_kernel<4, float>"
KERNEL_US = 0.01


def environment(version):
    made = subprocess.run(["bash", HERE / "torch_environment.sh", version], capture_output=True, text=True)
    if made.returncode == 77:
        print(f"SKIPPED: {made.stderr.strip()}")
        sys.exit(77)
    assert made.returncode == 0, made.stderr
    return made.stdout.strip().splitlines()[-1]


def with_gpu(trace):
    """The GPU starts when the host has ended, so that the order of its work is that of the calls."""
    operators = [event for event in trace["traceEvents"] if "Input Dims" in event.get("args", {})]
    now = max(event["ts"] + event["dur"] for event in operators)
    for correlation, event in enumerate(sorted(operators, key=lambda event: event["ts"]), 1):
        event["name"] = event["name"].replace("flash_attention_for_cpu", "flash_attention")
        host = {"ph": "X", "pid": event["pid"], "tid": event["tid"], "args": {"correlation": correlation, "cbid": 211}}
        name = GEMM if event["name"].split("::")[-1].endswith(MULTIPLIES) else OTHER
        trace["traceEvents"] += [
            host | {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": event["ts"], "dur": 0},
            {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": now, "dur": KERNEL_US,
             "args": {"device": 0, "context": 1, "stream": 7, "correlation": correlation}}]  # fmt: skip
        now += KERNEL_US
    trace["deviceProperties"] = [GPU]
    return trace


class FlopCounter(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="prof_flops_")
        done = subprocess.run([PYTHON, "-B", HERE / "flop_counter_cases.py", cls.folder.name],
                              capture_output=True, text=True)  # fmt: skip
        assert done.returncode == 0, done.stderr
        cls.counted = json.loads(done.stdout.splitlines()[-1])

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def figures(self, case, change=lambda trace: None):
        path = pathlib.Path(self.folder.name, f"{case}.json")
        trace = with_gpu(json.loads(path.read_text()))
        change(trace)
        changed = path.with_suffix(".gpu.json")
        changed.write_text(json.dumps(trace))
        done = subprocess.run([PROF, "report", changed, "--report", "mfu", "--format", "json"],
                              capture_output=True, text=True)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        return {row["figure"]: row for row in json.loads(done.stdout)["rows"]}

    def test_equal(self):
        self.assertGreater(len(self.counted), 5)
        for case, flops in self.counted.items():
            with self.subTest(case):
                found = self.figures(case)
                self.assertEqual(round(found["flops_per_step"]["value"] * 1e9), flops, found)
                self.assertEqual(found["shape_fp32"]["value"], found["flops_per_step"]["value"])
                self.assertEqual(found["shape_cover"]["value"], 100, found)
                self.assertEqual(found["mfu"]["from"], "achieved by peak")
                seconds = found["step"]["value"] * 1e-3
                self.assertAlmostEqual(found["mfu"]["value"], 100 * flops / seconds / 66.9e12, delta=1e-9)

    def test_without_shapes(self):
        def strip(trace):
            for event in trace["traceEvents"]:
                event.get("args", {}).pop("Input Dims", None)
                event.get("args", {}).pop("Input type", None)
                event.get("args", {}).pop("Concrete Inputs", None)

        found = self.figures("transformer", strip)
        self.assertIsNone(found["mfu"]["value"])
        self.assertIn("record_shapes=True", found["mfu"]["from"])

    def test_lower_bound(self):
        """Operators without shapes are missing in the sum, and counted."""

        def strip(trace):
            for event in trace["traceEvents"]:
                if event["name"] == "aten::addmm":
                    event["args"].pop("Input Dims")

        found = self.figures("transformer", strip)
        addmms = 9  # four in each block, and the head
        self.assertEqual(found["shape_unknown"]["value"], addmms)
        self.assertLess(found["shape_cover"]["value"], 100)
        self.assertEqual(found["mfu"]["from"], "achieved by peak, at least")
        self.assertLess(found["flops_per_step"]["value"] * 1e9, self.counted["transformer"])


if __name__ == "__main__":
    PROF = sys.argv[1]
    PYTHON = environment(sys.argv[2])
    unittest.main(argv=sys.argv[:1], verbosity=2)
