# SPDX-License-Identifier: Apache-2.0
"""The output that docs/guide/tasks.md shows of a command is what the command prints.

    documented_test.py PROF
"""
import os
import re
import subprocess
import sys

import recorded

COLUMNS = "92"  # as the document says


def main():
    text = (recorded.ROOT / "docs/guide/tasks.md").read_text()
    shown = re.findall(r"```console\n\$ prof (.*)\n((?:.*\n)*?)```", text)
    assert shown, "the document shows no command"
    for arguments, output in shown:
        done = subprocess.run([sys.argv[1], *arguments.split()], cwd=recorded.ROOT, capture_output=True, text=True,
                              env={**os.environ, "COLUMNS": COLUMNS}, check=True)
        assert output in done.stdout, f"prof {arguments} prints\n{done.stdout}and the document shows\n{output}"


main()
