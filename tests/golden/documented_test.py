# SPDX-License-Identifier: Apache-2.0
"""The output that docs/guide/screen.md, tasks.md, answers.md and docs/reference/diagnose.md show of a command is what the
command prints; the figures that answers.md repeats in its sentences are those of the same capture.

    documented_test.py PROF
"""
import json
import os
import re
import shlex
import subprocess
import sys

import recorded

COLUMNS = "92"  # as the documents say


def main():
    shown = []
    for page in ("guide/screen.md", "guide/tasks.md", "guide/answers.md", "reference/diagnose.md"):
        text = (recorded.ROOT / "docs" / page).read_text()
        found = re.findall(r"```console\n\$ prof (.*)\n((?:.*\n)*?)```", text)
        assert found, f"{page} shows no command"
        shown += found
    for arguments, output in shown:
        done = subprocess.run([sys.argv[1], *shlex.split(arguments)], cwd=recorded.ROOT, capture_output=True, text=True,
                              env={**os.environ, "COLUMNS": COLUMNS, "LC_ALL": "C.UTF-8"}, check=True)
        assert output in done.stdout, f"prof {arguments} prints\n{done.stdout}and the document shows\n{output}"
    check_sentences(sys.argv[1])


def check_sentences(prof):
    """Computed from JSON, as the page rounds them."""
    def report(*arguments):
        done = subprocess.run([prof, "report", "examples/captures/h200_train.prof", "--format", "json", *arguments],
                              cwd=recorded.ROOT, capture_output=True, text=True, check=True)  # fmt: skip
        return json.loads(done.stdout)

    text = " ".join((recorded.ROOT / "docs/guide/answers.md").read_text().split())
    whole = report()
    step, answer = whole["step"], whole["answer"]
    gaps = [row["idle_ns"] for row in report("--report", "gpu_gaps", "--rows", "all")["rows"]]
    runs = report("--report", "small_kernels")["rows"]
    idle = sum(row["idle_ns"] for row in runs) / sum(row["span_ns"] for row in runs)
    assert 0.7 < idle < 0.8, idle
    for sentence in (f"A step takes {step['mean_ns'] / 1e6:.0f} ms (the first is warm-up)",
                     f"the GPU is busy for {100 * answer['busy_ns'] / answer['wall_ns']:.0f} % of it",
                     f"five of {len(gaps):,} gaps, says the note below, and {sum(sorted(gaps)[-5:]) / 1e6:.1f} of "
                     f"{sum(gaps) / 1e6:.1f} ms",
                     "waits for launches for three quarters of the runs' time"):  # fmt: skip
        assert sentence in text, f"the document does not say: {sentence}"


main()
