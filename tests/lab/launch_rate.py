#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What profilers cost a step, against how often it launches.

    LD_PRELOAD=libprof.so PROF_AUTOSTART=0 PROF_EXPORT=none \\
        launch_rate.py --tools client,client+callbacks,prof --client-library FILE --json points.json

A step is 2000 additions to a tensor, whose length sets how long a kernel takes: from far less than a launch takes, so
that the host decides, to far more, so that the GPU does. Windows are interleaved as overhead.py does it, and the cost is
the median ratio to the windows beside. torch.profiler and Proton go into processes of their own (one `--tools` each),
with the cost taken beside the windows before the first start, since torch.profiler slows down the windows between.
"""

import argparse
import json
import pathlib
import statistics
import sys

import overhead

LAUNCHES = 2000
ELEMENTS = [1_000, 2_000_000, 5_000_000, 10_000_000, 20_000_000, 40_000_000]
OWN_PROCESS = ("torch-cuda", "torch-cpu-cuda", "proton")


class Additions:
    def __init__(self, elements):
        import torch

        self.torch = torch
        self.data = torch.zeros(elements, device="cuda")

    def step(self):
        for _ in range(LAUNCHES):
            self.data.add_(1)

    def wait(self):
        self.torch.cuda.synchronize()


def point(elements, windows):
    """One point for each tool: launches a millisecond without any tool, and the cost as a share."""
    step_ms = statistics.median(windows["before"] + windows["off"][:1])
    figures = {}
    for name, on in windows["on"].items():
        if name in OWN_PROCESS:
            beside_before = overhead.ratio_with_interval(on, windows["before"] + windows["off"][:1])
            low, high = beside_before["interval95"]
            figures[name] = {"median": beside_before["median"] - 1, "interval95": [low - 1, high - 1]}
        else:
            figures[name] = overhead.median_with_interval(overhead.costs(windows)[name])
    return {"elements": elements, "step_ms": step_ms, "launches_per_ms": LAUNCHES / step_ms, "cost": figures}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tools", default="prof", help=f"some of {', '.join(overhead.TOOLS)} (%(default)s)")
    parser.add_argument("--client-library", metavar="FILE", help="the discarding client")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=float, help="for each point, at most")
    parser.add_argument("--one-core", action="store_true", help="the thread that launches stays on one; tools have the others")
    parser.add_argument("--json", metavar="FILE", help="write all figures here")
    options = parser.parse_args()
    if not overhead.has_gpu("launch_rate.py"):
        return overhead.SKIP
    import torch

    overhead.Client.library_path = options.client_library
    if options.one_core:
        overhead.launch_on_one_core()
    tools = {name: overhead.make_tool(name) for name in options.tools.split(",")}
    points = []
    for elements in ELEMENTS:
        step = Additions(elements)
        overhead.window_ms(step, 2, 2)
        points.append(point(elements, overhead.measure(step, tools, options.rounds, 1, 1, options.seconds)))
        costs = ", ".join(f"{name} {overhead.percent(figure)}" for name, figure in points[-1]["cost"].items())
        print(f"{points[-1]['launches_per_ms']:.1f} launches/ms: {costs}", flush=True)
    if options.json:
        result = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "points": points}
        pathlib.Path(options.json).write_text(json.dumps(result, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
