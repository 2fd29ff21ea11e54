#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Profiles the truth program and compares what libprof reports with what the program knows of itself.
#
#   tests/gpu/truth/run.sh OUTDIR PROF PROGRAM [LIBCUPTI [SECTION…]]
#
# PROF: the command of the build tree. PROGRAM: truth_gpu, or truth_simulated with LIBCUPTI the stand-in ("" else).
# Leaves journal, reports, capture and verdict in OUTDIR. Exit status: 77 without a GPU; 1 if a figure is wrong.
set -u

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [ $# -lt 3 ]; then
    sed -n '3,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
fi
out=$1
prof=$2
program=$3
libcupti=${4:-}
shift 3
shift $(($# > 0 ? 1 : 0))

if [ -n "$libcupti" ]; then
    export PROF_CUPTI_LIBRARY=$libcupti FAKE_GPU_CLOCK=${FAKE_GPU_CLOCK:-virtual} FAKE_GPU_DEVICES=2
elif ! nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then
    echo "SKIPPED: no GPU (nvidia-smi finds none)"
    exit 77
fi
rm -rf "$out"
mkdir -p "$out"
"$prof" run -o "$out/captures" -- "$program" --journal "$out/journal.json" "$@" || exit 1
captures=("$out"/captures/*.prof)
for report in gpu-projection kernels copies; do
    "$prof" report "${captures[0]}" --report $report --fold all --format json >"$out/${report#gpu-}.json" || exit 1
done
"$prof" report "${captures[0]}" >"$out/summary.txt"
python3 -B "$here/../check_truth.py" --journal "$out/journal.json" --projection "$out/projection.json" \
    --kernels "$out/kernels.json" --copies "$out/copies.json" --json "$out/verdict.json"
