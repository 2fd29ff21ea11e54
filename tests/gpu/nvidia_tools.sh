#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# NVIDIA's own tools and prof run, in either order: the tool does what it does without prof, the program prints what it
# prints, and prof says that it records no GPU work. For each tool and order a line with pass, FAIL or SKIPPED, and what
# prof says.
#
#   tests/gpu/nvidia_tools.sh BUILD
#
# BUILD has bin/ and lib/. Needs nvcc. Exits with 77 without a GPU, and with 1 after a FAIL.
set -uo pipefail
build=$(realpath "$1")
[[ -e /dev/nvidia0 ]] || { echo "skipped: no GPU"; exit 77; }
PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin
command -v nvcc > /dev/null || { echo "skipped: no nvcc"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
cat > program.cu << 'END'
#include <nvtx3/nvToolsExt.h>

#include <cstdio>

__global__ void add_one(float* x) { x[threadIdx.x] += 1; }

int main() {
    float *there = nullptr, here = 0;
    nvtxRangePushA("work");
    cudaMalloc(&there, 256 * sizeof(float));
    cudaMemset(there, 0, 256 * sizeof(float));
    for (int i = 0; i < 3; ++i) add_one<<<1, 256>>>(there);
    cudaMemcpy(&here, there, sizeof here, cudaMemcpyDeviceToHost);
    nvtxRangePop();
    std::printf("the program has %g, %s\n", here, cudaGetErrorString(cudaGetLastError()));
    return 0;
}
END
nvcc -o program program.cu -ldl || exit 1
program=$work/program
says="the program has 3, no error"
failures=0

fail() {
    echo "FAIL    $1: $2"
    sed 's/^/        | /' "$3" | tail -n 25
    failures=$((failures + 1))
}

# check NAME TOOL'S_WORDS PROF'S_WORDS COMMAND...: the command succeeds, and its output has these words.
check() {
    local name=$1 words=$2 own=$3 output=$work/output
    shift 3
    timeout 120 "$@" > "$output" 2>&1 < /dev/null
    local status=$?
    if ((status != 0)); then fail "$name" "status $status" "$output"
    elif ! grep -qF "$says" "$output"; then fail "$name" "the program's output is missing" "$output"
    elif ! grep -qE "$words" "$output"; then fail "$name" "the tool's output lacks '$words'" "$output"
    elif [[ -n $own ]] && ! grep -qE "^(prof|libprof): .*$own" "$output"; then
        fail "$name" "no line of prof's with '$own'" "$output"
    elif [[ -n $own && $has_ranges == yes ]] && ! has_range; then fail "$name" "no capture has the range" "$output"
    else
        echo "pass    $name"
        [[ -z $own ]] || grep -E "^(prof|libprof): .*$own" "$output" | sed 's/^/        | /'
    fi
}

has_range() {
    local capture
    for capture in "$work"/captures/*.prof; do
        [[ -e $capture ]] && "$build/bin/prof" report --format csv "$capture" 2> /dev/null | grep -q work && return 0
    done
    return 1
}

# both NAME TOOL'S_WORDS PROF'S_WORDS TOOL...: without prof, and in each order.
both() {
    local name=$1 words=$2 own=$3
    shift 3
    command -v "$1" > /dev/null || { echo "SKIPPED $name: there is no $1 here"; return; }
    local run=("$build/bin/prof" run -q --export none -o "$work/captures" --)
    local before=$failures
    check "$name alone" "$words" "" "$@" "$program"
    if ((failures > before)); then
        failures=$before
        echo "SKIPPED $name: it does not work here without prof, either"
        return
    fi
    rm -rf "$work/captures"
    check "prof run -- $name" "$words" "$own" "${run[@]}" "$@" "$program"
    rm -rf "$work/captures"
    check "prof run -- bash -c $name" "$words" "$own" "${run[@]}" bash -c 'A=b; "$@"; exit $?' launch "$@" "$program"
    rm -rf "$work/captures"
    check "$name prof run --" "$words" "$own" "$@" "${run[@]}" "$program"
}

none="no GPU work is recorded"
has_ranges=yes
both ncu "add_one" "$none" ncu --target-processes all
has_ranges=no  # it is NVTX's tool itself
both compute-sanitizer "ERROR SUMMARY: 0 errors" "$none" compute-sanitizer --target-processes all
has_ranges=yes
both cuda-gdb "exited normally" "$none" cuda-gdb -batch -ex run --args
both nsys "Generated|Generating" "$none" nsys profile --force-overwrite true -o "$work/nsys" --trace cuda,nvtx
# What is recorded without a tool, so that the program above is no empty one.
rm -rf captures
check "prof run alone" "" "" "$build/bin/prof" run -q --export none -o "$work/captures" -- "$program"
has_range || fail "prof run alone" "no capture has the range" "$work/output"
((failures == 0)) && echo "PASS nvidia_tools" || echo "FAIL nvidia_tools: $failures"
((failures == 0))
