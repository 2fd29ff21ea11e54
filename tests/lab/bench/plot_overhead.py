#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws docs/lab/launch-rate.svg: what profilers cost against how often a step launches.

    plot_overhead.py docs/lab/launch-rate.json docs/lab/launch-rate.svg
    plot_overhead.py --join docs/lab/launch-rate.json rate-prof.json rate-torch-cuda.json …

The second form joins what tests/lab/launch_rate.py measured in several processes. Needs matplotlib to draw.
"""

import json
import pathlib
import sys

LABELS = {
    "client": "a client that discards all records",
    "client+callbacks": "the same, called at each launch (the floor)",
    "prof": "libprof",
    "torch-cuda": "torch.profiler, CUDA",
    "torch-cpu-cuda": "torch.profiler, CPU and CUDA",
    "proton": "Triton Proton",
}


def join(into, parts):
    measured = [json.loads(pathlib.Path(part).read_text()) for part in parts]
    joined = {"gpu": measured[0]["gpu"], "torch": measured[0]["torch"], "series": {}}
    for part in measured:
        for point in part["points"]:
            for tool, cost in point["cost"].items():
                joined["series"].setdefault(tool, []).append(
                    {
                        "elements": point["elements"],
                        "launches_per_ms": round(point["launches_per_ms"], 3),
                        "cost": round(cost["median"], 5),
                        "interval95": [round(bound, 5) for bound in cost["interval95"]],
                    }
                )
    pathlib.Path(into).write_text(json.dumps(joined, indent=1) + "\n")


def draw(source, target):
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.fonttype"] = "none"
    matplotlib.rcParams["svg.hashsalt"] = "libprof"  # the same points give the same file
    from matplotlib import pyplot

    measured = json.loads(pathlib.Path(source).read_text())
    figure, axes = pyplot.subplots(figsize=(8, 4.5))
    for tool, points in measured["series"].items():
        points = sorted(points, key=lambda point: point["launches_per_ms"])
        costs = [100 * point["cost"] for point in points]
        low = [cost - 100 * point["interval95"][0] for cost, point in zip(costs, points)]
        high = [100 * point["interval95"][1] - cost for cost, point in zip(costs, points)]
        axes.errorbar(
            [point["launches_per_ms"] for point in points], costs, yerr=[low, high], label=LABELS[tool],
            marker="o", markersize=4, capsize=2, linewidth=2.2 if tool == "prof" else 1,
        )
    axes.set_xscale("log")
    axes.set_xticks([12, 25, 50, 100, 150], labels=["12", "25", "50", "100", "150"])
    axes.minorticks_off()
    axes.set_xlabel("launches a millisecond, without any tool")
    axes.set_ylabel("added to the step, %")
    axes.set_title(f"{measured['gpu']}, PyTorch {measured['torch']}; 95 % intervals", fontsize=10)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    if len(sys.argv) > 3 and sys.argv[1] == "--join":
        join(sys.argv[2], sys.argv[3:])
    elif len(sys.argv) == 3:
        draw(*sys.argv[1:])
    else:
        sys.exit(__doc__)
