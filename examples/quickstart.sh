#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a fresh clone to a profile: installs what the build needs, builds libprof, the prof command and the C++ trainer,
# and profiles the trainer. Without a GPU the trainer runs on the CPU, and the GPU's table comes from a recorded run.
# Arguments are CMake's.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source cmake/setup.sh

build=build/quickstart
log=$build/log
results=$build/results
prof=$build/bin/prof
trainer=$build/examples/cpp_trainer/cpp_trainer
recorded=examples/captures/h200_trainer.prof
build_seconds=240  # of one core

say() { printf '\n== %s\n' "$*"; }

has_gpu() { [[ -e /dev/nvidia0 ]] || { command -v nvidia-smi > /dev/null && nvidia-smi > /dev/null 2>&1; }; }

failed() {
    tail -n 50 "$log" >&2
    echo "quickstart: failed: $* (its whole output: $log)" >&2
    exit 1
}

# Without output; on a terminal with the number of files done, in one line.
quietly() {
    if [[ ! -t 1 ]]; then
        "$@" > "$log" 2>&1 || failed "$@"
        return
    fi
    "$@" 2>&1 | tee "$log" | show_progress || failed "$@"
}

# Of ninja's lines "[7/110] Building …".
show_progress() {
    local line begin=$SECONDS
    while IFS= read -r line; do
        [[ $line != \[*/*\]\ * ]] || printf '\r\e[K%s] %s s' "${line%%]*}" $((SECONDS - begin))
    done
    printf '\r\e[K'
}

about() {
    local minutes=$(((build_seconds / $(nproc) + 59) / 60))
    ((minutes == 1)) && echo "about a minute" || echo "about $minutes minutes"
}

need_packages build
mkdir -p "$results"
need_cuda_headers

say "building in $build: $(about) on $(nproc) cores (output: $log)"
# A unity build takes half the time.
quietly cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DPROF_UNITY=ON -DPROF_BUILD_TESTS=OFF \
    -DPROF_BUILD_BENCH=OFF "-DPROF_HIDE_CUDA_TOOLKIT=${PROF_HIDE_CUDA_TOOLKIT:-0}" "$@"
quietly cmake --build "$build" --parallel "$(nproc)"

if has_gpu; then
    say "the C++ trainer on the GPU, under prof run"
    "$prof" run -o "$results" -- "$trainer" --steps 10
else
    say "there is no GPU on this machine: the C++ trainer runs on the CPU, with real ranges and no GPU work"
    "$prof" run -o "$results" -- "$trainer" --steps 3
    if [[ ! -f $recorded ]]; then
        echo "quickstart: $recorded is not there, so there is no GPU run to show" >&2
        exit 1
    fi
    say "the same trainer, recorded on an H200: $recorded"
    "$prof" report "$recorded" --depth 1
    "$prof" export "$recorded" -o "$results/h200_trainer.json.gz"
fi

say "next"
cat << EOF
Open a trace of $results in https://ui.perfetto.dev.

cmake --install $build --prefix ~/.local  # the prof command (in ~/.local/bin), libprof.so, headers
python3 -m pip install torch numpy                  # what the next line needs
prof run -- python3 examples/train.py               # or your command
prof report                                         # the newest run here again
prof report --report kernels,copies                 # other tables: prof report --report help
EOF
