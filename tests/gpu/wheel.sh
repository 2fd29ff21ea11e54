#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The wheel on a machine with a GPU, as a new user would try it: a fresh virtual environment, `pip install`, `prof run`
# of examples/train.py, and the package's own recording of it with real kernels. Also what a range costs in Python.
#
#   tests/gpu/wheel.sh OUTDIR WHEEL [PYTHON]
#
# PYTHON has PyTorch with CUDA (default: python3). One line of PASS or FAIL for each part, with figures. Exit status: 77
# without a GPU; else the number of parts that failed.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
if [ $# -lt 2 ]; then
    sed -n '3,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
fi
out=$1 wheel=$2 python=${3:-python3}
if ! nvidia-smi -L 2> /dev/null | grep -q '^GPU'; then
    echo "SKIPPED: no GPU (nvidia-smi finds none)"
    exit 77
fi
mkdir -p "$out"
failed=0
verdict() {
    if [ "$1" -eq 0 ]; then echo "PASS $2"; else failed=$((failed + 1)); echo "FAIL $2"; fi
}

"$python" -m venv "$out/venv" || exit 1
# PyTorch and what it needs, from the environment of PYTHON, which may be a virtual one, too.
"$python" -c 'import os, torch; print(os.path.dirname(os.path.dirname(torch.__file__)))' \
    > "$(echo "$out"/venv/lib/python3.*/site-packages)/torch_of_python.pth" || exit 1
began=$EPOCHREALTIME
"$out/venv/bin/pip" install --quiet --no-index --disable-pip-version-check "$wheel" > "$out/install.log" 2>&1
verdict $? "install: $(awk "BEGIN { printf \"%.1f s\", $EPOCHREALTIME - $began }")"
prof=$out/venv/bin/prof

# The program alone, then under prof run: the difference is what the table costs.
(cd "$out" && "$out/venv/bin/python" "$here/examples/train.py" > alone.log 2>&1)
alone_began=$EPOCHREALTIME
(cd "$out" && "$out/venv/bin/python" "$here/examples/train.py" > alone.log 2>&1)
alone=$(awk "BEGIN { print $EPOCHREALTIME - $alone_began }")
run_began=$EPOCHREALTIME
(cd "$out" && "$prof" run -- "$out/venv/bin/python" "$here/examples/train.py" > run.log 2> table.log)
status=$?
both=$(awk "BEGIN { print $EPOCHREALTIME - $run_began }")
grep -q 'all GPU work' "$out/table.log" || status=1
verdict $status "prof run: $(awk "BEGIN { printf \"%.1f s, of which the program alone takes %.1f s\", $both, $alone }")"

"$out/venv/bin/python" - "$out" > "$out/api.log" 2>&1 << 'PY'
import sys
import torch
import libprof

size, steps = 2048, 5
a = torch.randn(size, size, device="cuda")
torch.cuda.synchronize()
with libprof.recording(output_dir=sys.argv[1] + "/api", export=[]) as run:
    for _ in range(steps):
        libprof.step()
        with libprof.range("forward"):
            b = a @ a
        with libprof.range("sleeps on the GPU"):
            torch.cuda._sleep(1_000_000)
    torch.cuda.synchronize()
summary = run.summary
forward, sleeps = summary["forward"], summary["sleeps on the GPU"]
kernels = run.capture.report("kernels").table
assert forward.count == steps and forward.ops == steps, (forward, forward.ops)
assert sleeps.ops == steps and sleeps.gpu_sum_ns > steps * 300_000, sleeps
assert sum(row.gpu_self_ns for row in summary) == summary.total_gpu_ns
assert sum(kernels.column("instances")) == 2 * steps, kernels.to_dicts()
# Nothing is recorded any more, and CUPTI is free for torch.profiler.
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
    b = a @ a
    torch.cuda.synchronize()
assert any(event.device_type == torch.autograd.DeviceType.CUDA for event in profiler.events())
print(f"{forward.gpu_sum_ns / steps / 1e3:.1f} us a product, {sleeps.gpu_sum_ns / steps / 1e3:.1f} us a sleep")
PY
verdict $? "libprof.recording: $(tail -n 1 "$out/api.log")"

"$out/venv/bin/python" "$here/tests/lab/python_ranges.py" --windows 301 > "$out/ranges.log" 2>&1
status=$?
cat "$out/ranges.log"
verdict $status "ranges"
exit $failed
