#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the Markdown table of the documentation from the projections of examples/train.py.

    report_table.py DIR > table.md

DIR holds train_<amp|noamp>_b<batch>.iterations.json: `prof report --format json` with the
iterations not folded. Every figure is the median over the iterations after the warm-up.
"""

import argparse
import json
import pathlib
import re
import statistics
import sys

RANGES = ("data_to_device", "forward", "backward", "optimizer_step")
FILE_NAME = re.compile(r"train_(?P<amp>amp|noamp)_b(?P<batch>\d+)\.iterations\.json")


def figures(report, skip):
    """{range: {column: median over the iterations from number `skip` on}}"""
    columns = ("host_ns", "gpu_sum_ns", "gpu_busy_ns", "ops", "adopted_ops", "adopted_ns")
    medians = {}
    for name in (*RANGES, "iteration"):
        pattern = r"iteration (\d+)" + ("" if name == "iteration" else "/" + name)
        rows = []
        for row in report["rows"]:
            match = re.fullmatch(pattern, row["path"])
            if match and int(match.group(1)) >= skip:
                rows.append(row)
        if not rows:
            raise ValueError(f"no iteration from {skip} on has {name}")
        medians[name] = {
            column: statistics.median(row[column] for row in rows) for column in columns if column in rows[0]
        }
    return medians


def table(runs):
    """Markdown of {(batch, amp): figures}, one table for each batch."""
    blocks = []
    for batch in sorted({batch for batch, _ in runs}, reverse=True):
        kinds = [kind for kind in ("amp", "noamp") if (batch, kind) in runs]
        titles = {"amp": "AMP", "noamp": "no AMP"}
        lines = [
            f"Batch {batch}, milliseconds a step:",
            "",
            "| range |" + "".join(f" host, {titles[kind]} | GPU, {titles[kind]} |" for kind in kinds),
            "| --- |" + " ---: | ---: |" * len(kinds),
        ]
        for name in (*RANGES, "iteration"):
            cells = "".join(
                f" {runs[batch, kind][name]['host_ns'] / 1e6:.2f} | {runs[batch, kind][name]['gpu_sum_ns'] / 1e6:.2f} |"
                for kind in kinds
            )
            lines.append(f"| `{name}` |{cells}")
        lines.append("")
        for kind in kinds:
            backward = runs[batch, kind]["backward"]
            share = 100 * backward["adopted_ops"] / backward["ops"] if backward["ops"] else 0
            lines.append(
                f"- {titles[kind]}: `backward` holds {backward['ops']:.0f} GPU operations a step, of which "
                f"{backward['adopted_ops']:.0f} ({share:.1f} %) were launched by autograd's thread and adopted."
            )
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--skip", type=int, default=3, help="warm-up iterations to leave out (%(default)s)")
    options = parser.parse_args(arguments)
    runs = {}
    for path in sorted(options.folder.glob("train_*.iterations.json")):
        match = FILE_NAME.fullmatch(path.name)
        if match:
            runs[int(match["batch"]), match["amp"]] = figures(json.loads(path.read_text()), options.skip)
    if not runs:
        print(f"report_table.py: {options.folder} holds no train_*.iterations.json", file=sys.stderr)
        return 1
    print(table(runs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
