#!/usr/bin/env bash
# Builds one consumer of libprof as its user would, runs it, and checks the result.
#
#   consumer_test.sh find_package|pkg_config|add_subdirectory|header_only_cxx17 <build tree> <work folder>
#
# All but add_subdirectory use an installation of the build tree in a folder of their own, where nothing of this
# checkout can help them.
set -euo pipefail

consumer=$1
build_tree=$2
work=$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_tree=$(cd "$here/../.." && pwd)

fail() { echo "consumer_test: $consumer: $1" >&2; exit 1; }
quietly() { "$@" > "$work/log" 2>&1 || { cat "$work/log" >&2; fail "failed: $*"; }; }

rm -rf "$work"
mkdir -p "$work/run"
prefix=$work/prefix
if [[ $consumer != add_subdirectory ]]; then
    quietly cmake --install "$build_tree" --prefix "$prefix"
    export PKG_CONFIG_PATH
    PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name prof.pc)")
fi

case $consumer in
    find_package | header_only_cxx17)
        quietly cmake -S "$here/$consumer" -B "$work/build" -G Ninja "-DCMAKE_PREFIX_PATH=$prefix"
        quietly cmake --build "$work/build"
        ;;
    add_subdirectory)
        quietly cmake -S "$here/$consumer" -B "$work/build" -G Ninja "-DPROF_SOURCE_DIR=$source_tree" \
            -DCMAKE_BUILD_TYPE=Debug -DCMAKE_UNITY_BUILD=ON
        quietly cmake --build "$work/build" --target app
        ;;
    pkg_config)
        mkdir "$work/build"
        read -ra cflags < <(pkg-config --cflags prof)
        read -ra libs < <(pkg-config --libs prof)
        quietly "${CXX:-c++}" -std=c++17 -Wall -Wextra -Werror "${cflags[@]}" "$here/app.cpp" \
            -o "$work/build/app" -Wl,--as-needed "${libs[@]}" "-Wl,-rpath,$(pkg-config --variable=libdir prof)"
        ;;
    *) fail "no such consumer" ;;
esac

needs_libprof() { readelf -d "$work/build/app" | grep -q 'NEEDED.*\[libprof\.so'; }

cd "$work/run"
"$work/build/app" > stdout 2> stderr || fail "the program failed: $(cat stderr)"
[[ $(cat stdout) == $'step\nstep\nstep' ]] || fail "its output changed: $(cat stdout)"

captures=$(find . -name '*.prof')
if [[ $consumer == header_only_cxx17 ]]; then
    ! needs_libprof || fail "it needs libprof.so, although it links only the headers"
    [[ -z $captures ]] || fail "it left $captures behind"
    exit 0
fi
needs_libprof || fail "--as-needed dropped libprof.so"
[[ $(wc -l <<< "$captures") == 1 && -n $captures ]] || fail "expected one capture, found '$captures'"
command=$build_tree/bin/prof
if [[ -x $command ]]; then
    "$command" report "$captures" --report gpu-projection --format csv > report.csv
    grep -q ',consumer_step,' report.csv || fail "consumer_step is not in the report: $(cat report.csv)"
fi
