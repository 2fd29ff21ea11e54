#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a program without libprof, with it preloaded and, where there is one, its build that is linked to libprof: they
# must end and print alike, and those with libprof be profiled.
#
#   neighbour_test.sh <program> <libprof.so> <work folder> [<linked program>]
set -euo pipefail

program=$1
library=$2
work=$3
linked=${4:-}

# In a folder of its own, so that captures are found: <name> <command...>
run() {
    mkdir "$work/$1"
    (cd "$work/$1" && "${@:2}") > "$work/$1.out" 2>&1
}

check() {
    local name=$1 status=0
    run "$@" || status=$?
    diff "$work/bare.out" "$work/$name.out"
    ((status == 0)) || { echo "$name: ends with $status"; exit 1; }
    [[ -n $(find "$work/$name" -name '*.prof') ]] || { echo "$name: libprof left no capture"; exit 1; }
}

rm -rf "$work"
mkdir -p "$work"
run bare "$program" || { cat "$work/bare.out"; echo "fails without libprof already"; exit 1; }
check preloaded env LD_PRELOAD="$library" "$program"
[[ -z $linked ]] || check linked "$linked"
