#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds libprof and runs its tests. Installs what is missing (Debian packages; Python packages in build/venv).
#
#   tests/run.sh          the build and every test that is not slow
#   tests/run.sh --all    and the slow ones, the sanitizers, the linters, and the quick start with no CUDA toolkit
#   tests/run.sh --ci     the same within half an hour: the sanitizers, the linter of C++ and the slow tests run as far
#                         as there is time, which depends on what the compiler's cache has
#
# Tests that go on for up to an hour have the label long, and run on demand: ctest --preset ci -L long.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source cmake/setup.sh

usage() { sed -n '3,10s/^# \{0,1\}//p' tests/run.sh; }

all=0
last_s=  # when stages are cut, in seconds from the beginning; empty: never
case $* in
    "") ;;
    --all) all=1 ;;
    --ci) all=1 last_s=$((28 * 60)) ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
esac

jobs=$(nproc)
logs=build/logs

# A stage runs its function with the output in a log, and says how long it took. One that fails does not end the run:
# the others have more to say. Those that need it, named before --, are left out.
failed=()
cut=()
stage() { run_stage "" "$@"; }
# A stage that is ended when there is no time left; what it needs is not there if that was cut. It fails only if one of
# its tests has failed until then.
stage_in_time() { run_stage "$last_s" "$@"; }
run_stage() {
    local until_s=$1 name=$2 begin=$SECONDS status need
    shift 2
    while [[ $1 != -- ]]; do
        for need in ${failed[@]+"${failed[@]}"}; do
            [[ $need != "$1" ]] || { failed+=("$name"); printf '%-16s left out: %s failed\n' "$name" "$need"; return; }
        done
        for need in ${cut[@]+"${cut[@]}"}; do
            [[ $need != "$1" ]] || until_s=0
        done
        shift
    done
    shift
    if [[ -n $until_s ]] && ((SECONDS >= until_s)); then
        cut+=("$name")
        printf '%-16s left out: no time\n' "$name"
        return
    fi
    # Not in a condition: bash would ignore the -e of everything called from it.
    set +e
    if [[ -n $until_s ]]; then
        run_until "$until_s" "$logs/$name.log" "$@"
    else
        (set -e; "$@") > "$logs/$name.log" 2>&1
    fi
    status=$?
    set -e
    if ((status == out_of_time)); then
        cut+=("$name")
        printf '%-16s ended after %s min: no time\n' "$name" "$(minutes_since "$begin")"
    elif ((status)); then
        failed+=("$name")
        tail -n 100 "$logs/$name.log" >&2
        printf '%-16s FAILED after %s min (%s)\n' "$name" "$(minutes_since "$begin")" "$logs/$name.log"
    else
        printf '%-16s %5s min  %s\n' "$name" "$(minutes_since "$begin")" "$(closing_line "$name")"
    fi
}
# In a group of processes of its own, which is ended as a whole. What has failed by then has failed: what is ended may
# be told as failed afterwards.
out_of_time=124
run_until() {
    local until_s=$1 log=$2 status child
    shift 2
    set -m
    (set -e; "$@") < /dev/null > "$log" 2>&1 &
    child=$!
    set +m
    while kill -0 "$child" 2> /dev/null; do
        if ((SECONDS >= until_s)); then
            status=$out_of_time
            ! grep -qE '\*\*\*(Failed|Timeout|Exception)|^FAILED: ' "$log" || status=1
            kill -TERM -- "-$child"
            wait "$child" 2> /dev/null
            return "$status"
        fi
        sleep 1
    done
    wait "$child"
    status=$?
    return $((status == out_of_time ? 1 : status))
}
minutes_since() { awk -v s=$((SECONDS - $1)) 'BEGIN { printf "%.1f", s / 60 }'; }
# The checks that failed in the tests that did, where there is room for no more than the last lines of the output.
failed_checks() {
    awk '/\*\*\*(Failed|Timeout|Exception)/ { failed = 1; print; next }
         / Start +[0-9]+: | Test +#[0-9]+: / { failed = 0 }
         failed && /Failure$|Error:|Expected|Actual|Which is|^not so|^FAIL|ERROR|: error/' "$1" |
        cut -c 1-400 | tail -n 12
}
closing_line() { grep -sE '^[0-9]+% tests passed' "$logs/$1.log" | tail -n 1 || true; }

python_packages() {
    local list=tests/requirements.txt
    ((!all)) || list=tests/requirements-all.txt
    local stamp
    stamp=$(cat tests/requirements*.txt | cksum)-$list
    [[ ! -f build/venv/stamp || $(cat build/venv/stamp) != "$stamp" ]] || return 0
    python3 -m venv build/venv
    build/venv/bin/python -m pip install --quiet --disable-pip-version-check -r "$list"
    echo "$stamp" > build/venv/stamp
}

# CMake names clang's precompiled header by an absolute path that ccache does not see through: what is compiled with it
# is compiled again in every clone.
build() {
    local precompiled=ON
    [[ $1 == ci ]] || precompiled=OFF
    cmake --preset "$1" "-DPROF_HIDE_CUDA_TOOLKIT=${PROF_HIDE_CUDA_TOOLKIT:-0}" \
        "-DPROF_PRECOMPILE_TEST_HEADERS=$precompiled"
    cmake --build --preset "$1" --parallel "$jobs"
}

# One more at a time than there are cores: many wait, for a simulated GPU, a disk or a child.
run_tests() {
    local preset=$1
    shift
    ctest --preset "$preset" --parallel "${at_a_time:-$((jobs + 1))}" "$@"
}
# Programs that import PyTorch, and builds of a few files.
run_slow_tests() {
    tail --pid="$environments" -f /dev/null  # the packages that they use are there then
    at_a_time=$((jobs + 2)) run_tests "$@"
}

format() {
    find examples include src tests \( -name '*.[ch]' -o -name '*.[ch]pp' -o -name '*.cu' -o -name '*.cuh' \) -print0 \
        | xargs -0 clang-format-16 --dry-run --Werror
}
lint_scripts() {
    build/venv/bin/ruff check .
    build/venv/bin/biome lint --error-on-warnings src/export/page/web tests/page
    find . \( -path ./build -o -path ./.git \) -prune -o -type f -print0 | xargs -0 grep -lEZ '^#!.*(bash|sh)$' \
        | xargs -0 shellcheck
}

# With many files at a time, as the sanitizers' builds are: what the linter costs is the headers, the same in each of
# them. It looks into what a file includes only if the file has WebKit's name for such a one. That a file includes
# others is no mistake there. The analyzer gives up on a function after a thirtieth of its usual number of states:
# functions that have more take most of its time.
tidy() {
    cmake --preset asan -B build/tidy -DPROF_BUILD_TESTS=OFF
    local file
    find build/tidy/src -name 'unity_*.cxx' | while read -r file; do
        cp "$file" "$(dirname "$file")/UnifiedSource$(basename "$file" .cxx).cpp"
    done
    sed -i 's/\(unity_[0-9]*_cxx\)\.cxx/UnifiedSource\1.cpp/g' build/tidy/compile_commands.json
    tests/tidy.py build/tidy "$jobs" -checks=-bugprone-suspicious-include \
        -extra-arg=-Xclang -extra-arg=-analyzer-config -extra-arg=-Xclang -extra-arg=max-nodes=8000
}

# With the same options for the compiler as the build with tests, which takes these files from ccache.
quickstart_without_toolkit() {
    PROF_HIDE_CUDA_TOOLKIT=1 ./examples/quickstart.sh -DPROF_WERROR=ON
}

groups=(build tests)
((!all)) || groups+=(lint packages frameworks browsers)
need_packages "${groups[@]}"
# A compiler's work on a file is kept for the next build of the same, in this clone or another.
if command -v ccache > /dev/null; then
    export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
    export CCACHE_SLOPPINESS=pch_defines,time_macros  # else it keeps nothing that has precompiled headers
fi
mkdir -p "$logs"
rm -f "$logs"/*.log
stage cuda-headers -- need_cuda_headers
stage python-packages -- python_packages

# What needs a process that was built with the same sanitizer, or tests no code of libprof's, is left out.
unsanitized='slow|long|gpu|bench|consumer|house|injected|python'
if ((all)); then
    # Beside the other stages, in the time in which these wait: it is mostly downloads and files.
    nice -n 19 tests/python/all_environments.sh > "$logs/python-environments.log" 2>&1 &
    environments=$!
    trap 'kill "$environments" 2> /dev/null || true' EXIT
    stage format -- format
    stage scripts python-packages -- lint_scripts
fi
stage build cuda-headers -- build ci
stage tests build python-packages -- run_tests ci --label-exclude 'slow|long'
if ((all)); then
    stage quickstart cuda-headers -- quickstart_without_toolkit
    stage_in_time asan-build cuda-headers -- build asan
    stage_in_time asan-tests asan-build -- run_tests asan --label-exclude "$unsanitized"
    stage_in_time tsan-build cuda-headers -- build tsan
    stage_in_time tsan-tests tsan-build -- run_tests tsan --label-exclude "$unsanitized|fuzz"
    stage_in_time tidy cuda-headers -- tidy
    stage_in_time slow-tests build python-packages -- run_slow_tests ci --label-regex slow --label-exclude long
    kill "$environments" 2> /dev/null || true
    trap - EXIT
fi

grep -h -A 1000 'The following tests did not run' "$logs"/{tests,slow-tests}.log 2> /dev/null | sed '/^$/q' || true
for name in ${failed[@]+"${failed[@]}"}; do
    [[ ! -f $logs/$name.log ]] || { printf '%s:\n' "$name"; failed_checks "$logs/$name.log"; }
done
printf '%-16s %5s min  %s\n' total "$(minutes_since 0)" "${failed[*]/#/failed: } ${cut[*]/#/no time: }"
for name in tests ${failed[@]+"${failed[@]}"}; do
    closing_line "$name"
done
((${#failed[@]} == 0))
