#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Measures what libprof costs on one GPU, beside others. Needs a build of this tree, PyTorch and a GPU.
#
#   tests/lab/measure_cost.sh OUTDIR [STAGE…]     stages: launchbound gpubound graphs residue
#                                                 budget startstop rate export
#
#   PROF_BUILD=DIR     the build tree (build/ at the root)
#
# Each stage has a time limit: about ten minutes for residue and budget, and as much for the others; one that fails does
# not stop the others. OUTDIR gets summary.txt, and a log and a JSON file for each measurement. Exits with 1 if one
# failed, 77 if there is no GPU.
set -u
here=$(cd "$(dirname "$0")" && pwd)
if [ $# -lt 1 ]; then
    sed -n '3,12s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
if ! nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then
    echo "measure_cost.sh: skipped, there is no GPU"
    exit 77
fi
out=$1
shift
mkdir -p "$out" || exit 2
out=$(cd "$out" && pwd)
build=$(cd "${PROF_BUILD:-$here/../../build}" 2>/dev/null && pwd)
library=$build/lib/libprof.so
client=$build/lib/libdiscarding_client.so
for needed in "$library" "$client" "$build/bin/prof"; do
    if [ ! -e "$needed" ]; then
        echo "measure_cost.sh: there is no $needed; build it, or set PROF_BUILD" >&2
        exit 2
    fi
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
failures=0

say() { echo "$*" | tee -a "$out/summary.txt"; }

# measure NAME SECONDS COMMAND…: in a folder of its own; its output into NAME.txt, and the last lines into the summary.
measure() {
    local name=$1 allowed=$2 status=0 began=$SECONDS
    shift 2
    mkdir -p "$work/$name"
    (cd "$work/$name" && timeout -k 5 "$allowed" "$@") >"$out/$name.txt" 2>&1 </dev/null || status=$?
    [ $status -ne 0 ] && failures=$((failures + 1))
    say "== $name: status $status, $((SECONDS - began)) s"
    tail -n 30 "$out/$name.txt" | cut -c1-300 | tee -a "$out/summary.txt"
    rm -rf "${work:?}/$name"
}

inside=(env "LD_PRELOAD=$library" PROF_AUTOSTART=0 PROF_EXPORT=none)
residue=(python3 "$here/residue.py" --library "$library" --client-library "$client")
beside=(--beside client+callbacks --goal prof-client+callbacks:0.01 --client-library "$client")

stage_launchbound() {
    measure launchbound $((${PROF_SECONDS:-300} + 40)) "${inside[@]}" python3 "$here/overhead.py" --tools client+callbacks,prof \
        --workload launch-bound --one-core --neighbours 2 --steps 4 --settle 1 --rounds 2000 --seconds "${PROF_SECONDS:-300}" \
        "${beside[@]}" --json "$out/launchbound.json"
}
stage_gpubound() {
    local without_sets=prof:activities=kernels,copies,waits,allocations,graph_nodes
    measure gpubound 130 "${inside[@]}" python3 "$here/overhead.py" --tools "client+callbacks,prof,$without_sets" \
        --workload gpu-bound --neighbours 3 --steps 6 --settle 1 --rounds 50 --seconds 95 "${beside[@]}" \
        --goal prof:0.015 --goal "$without_sets:0.015" --json "$out/gpubound.json"
}
# As a whole is another way of recording them, which cannot be switched on and off in one process.
stage_graphs() {
    measure graphs 90 "${inside[@]}" python3 "$here/overhead.py" --tools client+callbacks,prof \
        --workload graph-replay --settle 1 --rounds 50 --seconds 55 "${beside[@]}" --json "$out/graphs.json"
    measure residue-graphs 140 "${residue[@]}" --workloads graph-replay --processes 3 \
        --roles plain,control,whole-graphs --seconds 40 --json "$out/residue-graphs.json"
}
stage_residue() {
    measure residue-launches 160 "${residue[@]}" --launch-turns "$build/tests/lab/launch_cost/launch_turns" \
        --seconds 110 --json "$out/residue-launches.json"
    measure residue 150 "${residue[@]}" --workloads graph-replay,two-threads --processes 3 --seconds 100 \
        --json "$out/residue.json"
    measure residue-launchbound 100 "${residue[@]}" --workloads launch-bound --processes 2 \
        --roles plain,control,idle,stopped --seconds 60 --json "$out/residue-launchbound.json"
}
stage_budget() {
    measure budget 220 "${inside[@]}" "PROF_OUTPUT_DIR=$work/budget" python3 "$here/budget.py" --prof "$build/bin/prof" \
        --one-core --seconds 160 --json "$out/budget.json"
}
stage_startstop() {
    measure startstop 60 "${inside[@]}" python3 "$here/start_stop.py" --cycles 100 --json "$out/startstop.json"
}
stage_rate() {
    measure rate-prof 80 "${inside[@]}" python3 "$here/launch_rate.py" --tools client,client+callbacks,prof \
        --one-core --rounds 20 --seconds 8 --client-library "$client" --json "$out/rate-prof.json"
    local tool
    for tool in torch-cuda torch-cpu-cuda proton; do
        measure "rate-$tool" 45 python3 "$here/launch_rate.py" --tools "$tool" --one-core --rounds 8 --seconds 4 \
            --json "$out/rate-$tool.json"
    done
}
stage_export() {
    local reader=$build/tests/lab/bench/scale_bench
    local with=()
    [[ ! -e $reader ]] || with=(--reader "$reader")
    measure export 90 python3 "$here/export_speed.py" --prof "$build/bin/prof" --steps 60 \
        ${with[@]+"${with[@]}"} --json "$out/export.json"
}

say "$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader)"
(($#)) || set -- launchbound gpubound graphs residue budget startstop rate export
for stage in "$@"; do
    if declare -F "stage_$stage" >/dev/null; then
        "stage_$stage"
    else
        say "there is no stage '$stage'"
        failures=$((failures + 1))
    fi
done
say "$failures failed, $SECONDS s"
[ "$failures" -eq 0 ]
