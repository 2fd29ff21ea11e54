#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a fresh clone to a profile: installs what the build needs, builds libprof, the prof command and the C++ trainer,
# and profiles the trainer. Without a GPU the trainer runs on the CPU, and the GPU's table comes from a recorded run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source cmake/setup.sh

build=build/quickstart
results=$build/results
prof=$build/bin/prof
trainer=$build/examples/cpp_trainer/cpp_trainer
recorded=examples/captures/h200_trainer.prof

say() { printf '\n== %s\n' "$*"; }

has_gpu() { [[ -e /dev/nvidia0 ]] || { command -v nvidia-smi > /dev/null && nvidia-smi > /dev/null 2>&1; }; }

quietly() {
    if ! "$@" > "$build/log" 2>&1; then
        tail -n 50 "$build/log" >&2
        echo "quickstart: failed: $*" >&2
        exit 1
    fi
}

need_packages build
mkdir -p "$results"
need_cuda_headers

say "building in $build"
# A unity build takes half the time.
quietly cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=ON -DPROF_BUILD_TESTS=OFF \
    -DPROF_BUILD_BENCH=OFF "-DPROF_HIDE_CUDA_TOOLKIT=${PROF_HIDE_CUDA_TOOLKIT:-0}"
quietly cmake --build "$build" --parallel "$(nproc)"

if has_gpu; then
    say "the C++ trainer on the GPU, under prof run"
    "$prof" run -o "$results" --export trace,summary -- "$trainer" --steps 10
    say "open a trace in https://ui.perfetto.dev"
    ls "$results"/*.json*
    exit 0
fi

say "there is no GPU on this machine: the C++ trainer runs on the CPU, with real ranges and no GPU work"
"$prof" run -o "$results" --export trace,summary -- "$trainer" --steps 3

if [[ ! -f $recorded ]]; then
    echo "quickstart: $recorded is not there, so there is no GPU run to show" >&2
    exit 1
fi
say "the same trainer, recorded on an H200: $recorded"
"$prof" report "$recorded" --report gpu-projection
trace=$results/h200_trainer.json.gz
"$prof" export "$recorded" -o "$trace"
say "open $trace in https://ui.perfetto.dev"
