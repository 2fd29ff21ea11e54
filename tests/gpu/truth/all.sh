#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# All parts of the truth programs, one line of PASS or FAIL with figures for each; about half a minute.
#
#   tests/gpu/truth/all.sh OUTDIR PROF PROGRAM DEVICE_LAUNCHES [LIBCUPTI]
#
# PROF: the command of the build tree. PROGRAM, DEVICE_LAUNCHES: truth_gpu and device_launches ("" for none), or
# truth_simulated with LIBCUPTI the stand-in. Each part is a process of its own under a time limit. Exit status: 77
# without a GPU; else the number of parts that failed.
set -u

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [ $# -lt 4 ]; then
    sed -n '3,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
fi
out=$1
prof=$2
program=$3
device_launches=$4
libcupti=${5:-}
if [ -z "$libcupti" ] && ! nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then
    echo "SKIPPED: no GPU (nvidia-smi finds none)"
    exit 77
fi
mkdir -p "$out"
failed=0

# part NAME COMMAND…: prints its last line, and the lines before it if it failed
part() {
    local name=$1 began=$EPOCHREALTIME
    shift
    timeout --kill-after=5 60 "$@" >"$out/$name.log" 2>&1
    local status=$?
    local took
    took=$(awk "BEGIN { printf \"%.1f\", $EPOCHREALTIME - $began }")
    if [ $status -eq 0 ]; then
        echo "PASS $name (${took} s): $(tail -n 1 "$out/$name.log")"
    else
        failed=$((failed + 1))
        echo "FAIL $name (${took} s, status $status):"
        tail -n 15 "$out/$name.log" | sed 's/^/    /'
    fi
}

# Sections that must not be left out.
sections() {
    local name=$1
    shift
    "$here/run.sh" "$out/$name" "$prof" "$program" "$libcupti" "$@" || return
    for section in "$@"; do
        grep -q "\"$section\"" "$out/$name/verdict.json" || { echo "$section was left out"; return 1; }
    done
}

launches_by_the_gpu() {
    local to=$out/device_launches
    rm -rf "$to"
    mkdir -p "$to"
    "$prof" run -o "$to/captures" -- "$device_launches" --journal "$to/journal.json" || return
    local captures=("$to"/captures/*.prof)
    for report in gpu-projection kernels; do
        "$prof" report "${captures[0]}" --report "$report" --fold all --format json >"$to/${report#gpu-}.json" || return
    done
    "$prof" report "${captures[0]}" >"$to/summary.txt" || return
    python3 -B "$here/../check_device_launches.py" --journal "$to/journal.json" --projection "$to/projection.json" \
        --kernels "$to/kernels.json" --summary "$to/summary.txt"
}

export -f sections launches_by_the_gpu
export out prof program device_launches libcupti here
if [ -n "$program" ]; then
    usual="nested streams tiny threads autograd interleaved graphs copies process_ranges conditional children updates"
    usual+=" launch_kinds events waits left_open"
    [ -n "$libcupti" ] || usual+=" body_alone"  # which goes by the GPU's clock
    part usual bash -c "sections usual $usual"
    part contexts bash -c 'sections contexts contexts'
    part green_contexts bash -c 'sections green_contexts green_contexts'
fi
if [ -n "$device_launches" ]; then part device_launches bash -c launches_by_the_gpu; fi
exit $failed
