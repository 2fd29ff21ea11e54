#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks a jitted JAX training step under `prof run`: its ranges and its kernels.

    jax_step.py PROF PUSH_LIBRARY

PUSH_LIBRARY is tests/python/libnvtx_push.so of the build, for ranges of the program's own: the step is put between
nvtxRangePushA and nvtxRangePop. XLA adds its ranges (domain TSL: compiler passes, modules, thunks). The loss must be
the one of the same run without libprof.
"""

import ctypes
import json
import pathlib
import subprocess
import sys
import tempfile

STEPS = 10
SKIP = 77
HAS_JAX = "import jax, sys; sys.exit(0 if jax.default_backend() == 'gpu' else 3)"


def train(push_library):
    import jax
    import jax.numpy as jnp

    nvtx = ctypes.CDLL(push_library)

    def loss(weights, x, y):
        for w in weights:
            x = jax.nn.gelu(x @ w)
        return jnp.mean((x - y) ** 2)

    @jax.jit
    def step(weights, x, y):
        value, gradients = jax.value_and_grad(loss)(weights, x, y)
        return value, [w - 0.1 * g for w, g in zip(weights, gradients)]

    keys = jax.random.split(jax.random.PRNGKey(0), 6)
    weights = [0.05 * jax.random.normal(key, (512, 512)) for key in keys[:4]]
    x, y = (jax.random.normal(key, (256, 512)) for key in keys[4:])
    step(weights, x, y)[0].block_until_ready()  # compiled
    for number in range(STEPS):
        nvtx.push(f"step {number}".encode())
        value, weights = step(weights, x, y)
        value.block_until_ready()
        nvtx.pop()
    print(f"loss {float(value):.6f}")


def faults_of(projection, kernels):
    rows = {row["path"]: row for row in projection["rows"]}
    steps = rows.get("step #", {"instances": 0, "ops": 0, "gpu_sum_ns": 0})
    faults = []
    if steps["instances"] != STEPS:
        faults.append(f"{steps['instances']} of {STEPS} steps are there")
    if steps["ops"] < STEPS:
        faults.append(f"{steps['ops']} GPU operations in {STEPS} steps; rows: "
                      + ", ".join(f"{path} {row['ops']}" for path, row in rows.items()))
    if not kernels["rows"]:
        faults.append("no kernels")
    if sum(row["gpu_self_ns"] for row in rows.values()) != projection["total_gpu_ns"]:
        faults.append("the self column does not add up")
    if rows["(unmatched)"]["ops"] or projection["dropped"]:
        faults.append(f"{rows['(unmatched)']['ops']} unmatched, dropped: {projection['dropped']}")
    return faults


def main():
    if sys.argv[1:2] == ["--train"]:
        return train(sys.argv[2])
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    prof, push_library = sys.argv[1:]
    if subprocess.run([sys.executable, "-c", HAS_JAX], capture_output=True, check=False).returncode != 0:
        print("jax_step.py: skipped, there is no JAX with a GPU")
        return SKIP
    program = [sys.executable, __file__, "--train", push_library]
    bare = subprocess.run(program, check=True, capture_output=True, text=True)
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([prof, "run", "-o", folder, "--export", "none", "--", *program], capture_output=True,
                              text=True)
        faults = []
        if (done.returncode, done.stdout) != (0, bare.stdout):
            faults.append(f"ended with {done.returncode} and {done.stdout!r}, without libprof {bare.stdout!r}")
        captures = list(pathlib.Path(folder).glob("*.prof"))
        reports = {}
        for name in ("gpu-projection", "kernels"):
            text = subprocess.run([prof, "report", "--report", name, "--format", "json", str(captures[0])], check=True,
                                  capture_output=True, text=True).stdout
            reports[name] = json.loads(text)
    faults += faults_of(reports["gpu-projection"], reports["kernels"])
    # XLA has NVTX ranges of its own, several hundred for its compiler's passes, most of them without GPU work
    rows = reports["gpu-projection"]["rows"]
    print(f"{len(rows)} rows, {len(reports['kernels']['rows'])} kernel names; those of the steps with GPU work:")
    for row in [row for row in rows if row["ops"] and row["path"].startswith("step #")]:
        print(f"{row['instances']:>6} {row['ops']:>6} {row['gpu_sum_ns'] / 1e6:>10.3f} ms  {row['path']}")
    for fault in faults:
        print("fault:", fault)
    print("verdict:", "ok" if not faults else "wrong")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
