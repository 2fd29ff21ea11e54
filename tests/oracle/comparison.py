# SPDX-License-Identifier: Apache-2.0
"""What `prof report --format json` says of a trace, compared with what the reference says (written_reference.py)."""

import written_reference

REPORTS = "gpu-projection,breakdown"


def is_close(expected, got):
    if isinstance(expected, float) or isinstance(got, float):
        return got is not None and abs(got - expected) <= 1e-6 * max(1, abs(expected))
    return got == expected


class Comparison:
    """`expected` is a Breakdown, `reports` the two documents. `compared` has each place in `reports` that was looked at
    and had a counterpart: (object, key)."""

    def __init__(self, expected, reports):
        self.differences, self.compared = [], []
        self.projection, self.breakdown = reports
        self.rows, self.process_ranges, totals = expected.gpu_projection()
        self.compare_rows()
        self.compare("process range", self.process_ranges, {row["path"]: row for row in self.projection["process_ranges"]})
        self.figures("total", totals, self.projection)
        self.figures("process", {"recorded_ns": expected.last - expected.first}, self.projection["process"])
        if expected.devices:
            self.figures("answer", {"has_steps": expected.has_steps}, self.projection["answer"])
        if expected.has_steps and self.projection["step"] is not None:
            figures = expected.step_summary()
            if not expected.devices:  # without GPU work there are the host's times alone
                figures = {key: value for key, value in figures.items() if key not in ("gpu_sum_ns", "gpu_busy_ns", "ops")}
            self.figures("step", figures, self.projection["step"])
        elif (self.projection["step"] is not None) != expected.has_steps:
            self.differences.append(f"steps: expected {expected.has_steps}")
        if expected.devices and not self.differences:
            self.compare_breakdown(expected)

    def compare_rows(self):
        # The three rows of no range are always there; (ambiguous) has an expected row even if it has nothing.
        got = {row["path"]: row for row in self.projection["rows"]}
        if len(got) != len(self.projection["rows"]):
            self.differences.append("two rows have one path")
        self.compare("row", self.rows, got)

    def compare(self, what, expected, got):
        for path, row in expected.items():
            if path in got:
                self.figures(f"{what} {path}", row, got[path])
            else:
                self.differences.append(f"{what} {path} is missing, with {row['ops']} operations")
        for path in got.keys() - expected.keys():
            self.differences.append(f"{what} {path} is unexpected, with {got[path]['ops']} operations")

    def figures(self, where, expected, got):
        for key, value in expected.items():
            if key not in got or not is_close(value, got[key]):
                self.differences.append(f"{where}, {key}: expected {value}, got {got.get(key, 'nothing')}")
            self.compared.append((got, key))

    def compare_breakdown(self, expected):
        rows, beside, spans = expected.breakdown()
        wall_ns = sum(end - start for start, end in spans) * len(expected.devices)
        self.figures("breakdown", {"wall_ns": wall_ns, "devices": len(expected.devices)}, self.breakdown)
        idle_ns = sum(row["total_ns"] for row in self.breakdown["rows"] if row["use"] == "idle")
        self.compared += [(row, "total_ns") for row in self.breakdown["rows"] if row["use"] == "idle"]
        if idle_ns != sum(rows.pop(("idle", None), [0])):
            self.differences.append(f"breakdown, idle: got {idle_ns}")
        got = {(row["use"], row["part"]): row for row in self.breakdown["rows"] if row["use"] != "idle"}
        for key, of in rows.items():
            if key in got:
                self.figures(f"breakdown, {key}", {"total_ns": sum(of), "overlapped_ns": beside[key]}, got[key])
            elif sum(of) or beside[key]:
                self.differences.append(f"breakdown, {key}: is missing, with {sum(of)} ns")
        for key in got.keys() - rows.keys():
            self.differences.append(f"breakdown, {key}: is unexpected, with {got[key]['total_ns']} ns")


def compare(trace, reports):
    return Comparison(written_reference.Breakdown(trace), reports)
