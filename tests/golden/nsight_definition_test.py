#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The report nvtx_gpu_proj_sum of the recorded captures, computed again from their traces by Nsight's definition; and
what that definition misses, which gpu-projection has."""
import math

from nsight_definition import projection_sum
from recorded import ROOT, Export, captures, report


def check(capture):
    reported = {}
    for row in report(capture, "nvtx_gpu_proj_sum")["rows"]:
        key = row.pop("Range"), row.pop("Style")
        assert key not in reported, f"{key} twice"
        reported[key] = row
    computed = projection_sum(Export(capture).trace)
    assert computed.keys() == reported.keys(), computed.keys() ^ reported.keys()
    for key, expected in computed.items():
        assert expected.keys() == reported[key].keys(), expected.keys() ^ reported[key].keys()
        for column, value in expected.items():
            found = reported[key][column]
            same = found == value if isinstance(value, int) else math.isclose(found, value, rel_tol=1e-9)
            assert same, f"{key}, {column}: reported {found}, computed {value}"
    return computed


def check_definition_is_nsights(capture, computed):
    """No work of another thread: what was adopted is missing from `backward`, and from nothing else."""
    rows = [row for row in report(capture, "gpu-projection")["rows"] if row["name"] == "backward" and not row["captured"]]
    adopted = sum(row["adopted_ops"] for row in rows)
    ops = sum(row["ops"] for row in rows)
    nsights = sum(of["Total GPU Ops"] for (name, _), of in computed.items() if name.split(":", 1)[1] == "backward")
    assert nsights == ops - adopted, f"backward: {ops} operations, {adopted} adopted, {nsights} by Nsight's definition"
    if capture.name == "h200_train.prof":
        printed = f"`backward` has {ops:,} operations, of which {nsights} count by Nsight's definition"
        assert printed in " ".join((ROOT / "docs/reference/attribution.md").read_text().split()), printed
    return f"backward has {ops} operations, {nsights} by Nsight's definition"


def main():
    for capture in captures():
        computed = check(capture)
        print(f"{capture.name}: {len(computed)} rows as computed; {check_definition_is_nsights(capture, computed)}")


if __name__ == "__main__":
    main()
