# SPDX-License-Identifier: Apache-2.0
"""The output that docs/guide/tasks.md, answers.md and docs/reference/diagnose.md show of a command is what the command prints.

    documented_test.py PROF
"""
import os
import re
import shlex
import subprocess
import sys

import recorded

COLUMNS = "92"  # as the documents say


def main():
    shown = []
    for page in ("guide/tasks.md", "guide/answers.md", "reference/diagnose.md"):
        text = (recorded.ROOT / "docs" / page).read_text()
        found = re.findall(r"```console\n\$ prof (.*)\n((?:.*\n)*?)```", text)
        assert found, f"{page} shows no command"
        shown += found
    for arguments, output in shown:
        done = subprocess.run([sys.argv[1], *shlex.split(arguments)], cwd=recorded.ROOT, capture_output=True, text=True,
                              env={**os.environ, "COLUMNS": COLUMNS}, check=True)
        assert output in done.stdout, f"prof {arguments} prints\n{done.stdout}and the document shows\n{output}"


main()
