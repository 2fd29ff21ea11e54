#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every section of cupti_conformance on this machine's GPU and writes the log that the simulated GPU is compared
# with.
#
#   tests/gpu/conformance/run.sh OUTDIR [PROGRAM [LIBCUPTI]]
#
# PROGRAM: default $PROF_BUILD/tests/gpu/conformance/cupti_conformance_gpu (PROF_BUILD: default build). Writes
# OUTDIR/h200.log (or $PROF_CONFORMANCE_LOG) and OUTDIR/machine.txt; the log is to be committed beside this script.
# Exit status: 77 without a GPU; 1 if a section ended badly (its end is in the log); else 0.
set -u

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [ $# -lt 1 ]; then
    sed -n '3,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
    exit 2
fi
out=$1
program=${2:-${PROF_BUILD:-$here/../../../build}/tests/gpu/conformance/cupti_conformance_gpu}
libcupti=${3:-}
log=$out/${PROF_CONFORMANCE_LOG:-h200.log}

if [ -z "$libcupti" ] && ! nvidia-smi -L >/dev/null 2>&1; then
    echo "SKIPPED: no GPU (nvidia-smi finds none)"
    exit 77
fi
if [ ! -x "$program" ]; then
    echo "run.sh: no program $program: build the target conformance_gpu (needs nvcc)" >&2
    exit 1
fi

mkdir -p "$out"
{
    nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null
    uname -sr
} >"$out/machine.txt"

failed=0
: >"$log"
for section in $("$program" --list); do
    echo "== $section" >>"$log"
    timeout 60 "$program" "$section" ${libcupti:+"$libcupti"} >>"$log" 2>>"$out/stderr.txt"
    status=$?
    echo "exit status $status" >>"$log"
    [ $status -eq 0 ] || failed=$((failed + 1))
done
echo "$(grep -c '^== ' "$log") sections, $failed ended badly: $log"
[ $failed -eq 0 ]
