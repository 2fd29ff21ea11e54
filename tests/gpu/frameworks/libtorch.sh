#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The C++ trainers on a GPU, under the recorder: the LibTorch one with phases named and observed, compiled here against
# the LibTorch of the PyTorch that python3 has (no CMake), and the plain CUDA one where the build has it.
#
#   tests/gpu/frameworks/libtorch.sh BUILD OUT      BUILD: with bin/prof and lib/libprof.so
#
# Prints for each the GPU time of its phases a step, and ok or what is wrong; exits with 1 then, with 77 without a GPU.
# OUT gets captures and tables.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
build=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
python3 -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' || { echo "skipped: no GPU for PyTorch"; exit 77; }
torch=$(python3 -c 'import os, torch; print(os.path.dirname(torch.__file__))')
library=$(dirname "$(find "$build" -name libprof.so | head -n 1)")
nvtx=$(find "${CUDA_HOME:-/usr/local/cuda}/include/" "$torch/../nvidia" -path '*/nvtx3/nvToolsExt.h' 2> /dev/null | head -n 1 || true)
[[ -n $nvtx ]] || { echo "no headers of NVTX"; exit 1; }
trainer=$out/libtorch_trainer
g++ -std=c++20 -O2 -I "$root/include" -I "${nvtx%/nvtx3/nvToolsExt.h}" -I "$torch/include" \
    -I "$torch/include/torch/csrc/api/include" "$root/examples/libtorch_trainer/main.cpp" -o "$trainer" \
    -L "$library" -L "$torch/lib" -Wl,-rpath,"$library:$torch/lib" -Wl,--allow-shlib-undefined -Wl,--no-as-needed \
    -Wl,--undefined=prof_autostart_marker -lprof_autostart -lprof -ltorch -ltorch_cuda -ltorch_cpu -lc10_cuda -lc10

record() { # NAME COMMAND...
    rm -rf "${out:?}/$1"
    "$build/bin/prof" run -o "$out/$1" --export none -- "${@:2}" > "$out/$1.log" 2>&1 || { cat "$out/$1.log"; exit 1; }
    "$build/bin/prof" report "$out/$1"/*.prof > "$out/$1.txt"
    "$build/bin/prof" report --format json "$out/$1"/*.prof > "$out/$1.json"
}
sizes=(--device cuda --steps 30 --layers 8 --width 2048 --batch 1024)
PROF_AUTOSTART=0 "$trainer" "${sizes[@]}" > "$out/bare.log"
record named "$trainer" "${sizes[@]}"
record observed "$trainer" --observe "${sizes[@]}"
plain=$build/examples/cpp_trainer/cpp_trainer
[[ ! -x $plain ]] || record plain "$plain" --device gpu

python3 - "$out" << 'END'
import json, pathlib, sys

out, faults, parts = pathlib.Path(sys.argv[1]), [], {}
for name in ("named", "observed", "plain"):
    if not (out / f"{name}.json").exists():
        print(name, "left out: not built")
        continue
    report = json.loads((out / f"{name}.json").read_text())
    rows, step = report["rows"], report["step"]
    expected = {"forward", "backward", "optimizer"} | (set() if name == "observed" else {"data"})
    found = {row["path"].removeprefix("step/") for row in rows
             if row["type"] == "phase" and row["path"].startswith("step/")}
    if not step or not step["gpu_sum_ns"] or found != expected:
        faults.append(f"{name}: phases {sorted(found)}, step {step}")
        continue
    if sum(row["gpu_self_ns"] for row in rows) != report["total_gpu_ns"] or report["dropped"]:
        faults.append(f"{name}: rows do not add up, or records are missing: {report['dropped']}")
    parts[name] = {part["phase"] or "other": (part["ops"] / step["steps"], part["gpu_sum_ns"] / step["gpu_sum_ns"])
                   for part in step["parts"]}
    backward, = (row for row in rows if row["path"] == "step/backward")
    print(f"{name}: {step['gpu_sum_ns'] / step['steps'] / 1e6:.3f} ms a step of {step['host_median_ns'] / 1e6:.3f};",
          ", ".join(f"{phase} {share:.1%} ({ops:g})" for phase, (ops, share) in parts[name].items()) + ";",
          f"adopted in backward {backward['adopted_ops']} of {backward['ops']}")
    if name != "plain" and backward["adopted_ops"] < 0.9 * backward["ops"]:
        faults.append(f"{name}: backward has not adopted autograd's launches")
if "named" in parts and "observed" in parts:
    # The gradient of the loss is filled before autograd's engine is called.
    for phase, more in (("forward", 1), ("backward", -1), ("optimizer", 0)):
        (ops, share), (seen_ops, seen) = parts["named"][phase], parts["observed"][phase]
        if seen_ops != ops + more or abs(seen - share) > 0.02:
            faults.append(f"{phase}: named {ops:g} operations, {share:.1%}; observed {seen_ops:g}, {seen:.1%}")
losses = {name: next(line for line in (out / f"{name}.log").read_text().splitlines() if line.startswith("loss "))
          for name in ("bare", "named", "observed")}
if len(set(losses.values())) != 1:
    faults.append(f"losses differ: {losses}")
print("\n".join(faults) or "ok")
sys.exit(bool(faults))
END
