# SPDX-License-Identifier: Apache-2.0
"""The environment in which the tests in this folder run programs."""
import os

TOOLKIT = os.environ.get("CUDA_HOME", "/usr/local/cuda") + "/lib64"


def clean_environment(*prefixes, **more):
    """This process' without variables of libprof and Python, injections, and those with the prefixes; and with `more`."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("PROF_", "PYTHON", *prefixes)) and "INJECTION64" not in name and name != "LD_PRELOAD"}
    return {**kept, **more}
