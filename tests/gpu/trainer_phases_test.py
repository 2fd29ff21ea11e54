#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The phases of the C++ trainer, on the CPU: rows below the step, and the steps that count.

    trainer_phases_test.py PROF CPP_TRAINER
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

prof, trainer = sys.argv[1:3]
environment = {name: value for name, value in os.environ.items() if not name.startswith("PROF_")}
with tempfile.TemporaryDirectory() as folder:
    subprocess.run([prof, "run", "-o", folder, "--export", "none", "--", trainer, "--device", "cpu", "--steps", "4"],
                   check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    capture, = pathlib.Path(folder).glob("*.prof")
    report = json.loads(subprocess.run([prof, "report", "--format", "json", capture], check=True, env=environment,
                                       capture_output=True, text=True).stdout)
phases = {row["path"]: row["instances"] for row in report["rows"] if row["type"] == "phase"}
step = {name: report["step"][name] for name in ("steps", "source", "is_first", "ended_by")}
assert phases == {"step": 4, "step/data": 4, "step/forward": 4, "step/backward": 4, "step/optimizer": 4}, phases
# Neither the first nor the last.
assert step == {"steps": 2, "source": "observed", "is_first": False, "ended_by": "annotations"}, step
