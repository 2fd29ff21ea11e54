#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds one consumer of libprof as its user would, runs it, and checks the result.
#
#   consumer_test.sh <consumer> <build tree> <work folder>
#
#   find_package, pkg_config, header_only_cxx17, cuda, components
#       use an installation of the build tree in a folder of their own, which was moved after it was made, and whose
#       path has a space. Nothing of this checkout can help them there.
#   add_subdirectory    builds the library inside another project, from a source archive: without .git
#   guest               configures another project with libprof inside; headers only, builds and installs it
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
prefix="$work/prefix of it"
build="$work/build"
if [[ $consumer != add_subdirectory && $consumer != guest && $consumer != components ]]; then
    quietly cmake --install "$build_tree" --prefix "$work/made"
    mv "$work/made" "$prefix"
    export PKG_CONFIG_PATH
    PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name prof.pc)")
fi

configure() { # NAME ARGUMENTS...
    quietly cmake -S "$here/$1" -B "$build" -G Ninja "-DCMAKE_PREFIX_PATH=$prefix" "${@:2}"
}
needs_libprof() { readelf -d "$1" | grep -q 'NEEDED.*\[libprof\.so'; }
# The files of an installation.
files_of() { (cd "$1" && find . -type f -o -type l | LC_ALL=C sort); }

# Runs PROGRAM in a folder of its own; its captures are in $captures.
run() { # PROGRAM
    rm -rf "$work/run"
    mkdir "$work/run"
    cd "$work/run"
    "$1" > stdout 2> stderr || fail "the program failed: $(cat stderr)"
    [[ $(cat stdout) == $'step\nstep\nstep' ]] || fail "its output changed: $(cat stdout)"
    captures=$(find . -name '*.prof')
}
# Runs PROGRAM, which records.
run_recorded() { # PROGRAM
    needs_libprof "$1" || fail "--as-needed dropped libprof.so from $1"
    run "$1"
    [[ $(wc -l <<< "$captures") == 1 && -n $captures ]] || fail "expected one capture, found '$captures'"
    local command=$build_tree/bin/prof
    if [[ -x $command ]]; then
        "$command" report "$captures" --report gpu-projection --format csv > report.csv
        grep -q ',consumer_step,' report.csv || fail "consumer_step is not in the report: $(cat report.csv)"
    fi
}
# Runs PROGRAM, in which nothing but the headers is.
run_unlinked() { # PROGRAM
    ! needs_libprof "$1" || fail "$1 needs libprof.so"
    run "$1"
    [[ -z $captures ]] || fail "it left $captures behind"
}

# The sources in a folder, as an archive of the checkout has them.
unpack_sources() { # FOLDER
    mkdir -p "$1"
    if [[ -e $source_tree/.git ]]; then
        (cd "$source_tree" && git ls-files -z --cached --others --exclude-standard | xargs -0 -r ls -d 2> /dev/null \
            | tar -c --no-recursion -T -) | tar -x -C "$1"
    else
        tar -c -C "$source_tree" --exclude=./build . | tar -x -C "$1"
    fi
}

case $consumer in
    find_package)
        configure find_package
        quietly cmake --build "$build"
        for program in app plain_nvtx through_library; do run_recorded "$build/$program"; done
        run_unlinked "$build/on_demand"
        ;;
    header_only_cxx17)
        configure header_only_cxx17
        quietly cmake --build "$build"
        run_unlinked "$build/app"
        ;;
    pkg_config)
        mkdir "$build"
        # Without exceptions and types at run time, which the headers do not need. pkg-config escapes for a shell.
        flags=() libs=()
        eval "flags=($(pkg-config --cflags prof)) libs=($(pkg-config --libs prof))"
        quietly "${CXX:-c++}" -std=c++17 -Wall -Wextra -Werror -fno-exceptions -fno-rtti "${flags[@]}" "$here/app.cpp" \
            -o "$build/app" -Wl,--as-needed "${libs[@]}" "-Wl,-rpath,$PKG_CONFIG_PATH/.."
        run_recorded "$build/app"
        ;;
    cuda)
        compiled=0
        nvcc=$(command -v nvcc || command -v /usr/local/cuda/bin/nvcc || true)
        if [[ -n $nvcc ]]; then
            configure cuda "-DCMAKE_CUDA_COMPILER=$nvcc"
            quietly cmake --build "$build"
            compiled=1
        else
            echo "SKIPPED: no nvcc"
        fi
        clang=$(command -v clang++-16 || true)
        if [[ -n $clang ]]; then
            build+=.clang
            configure cuda "-DCONSUMER_CLANG=$clang"
            quietly cmake --build "$build"
            compiled=1
        else
            echo "SKIPPED: no clang++-16"
        fi
        ((compiled)) || exit 77
        ;;
    components)
        # install COMPONENT...: these, in a new installation.
        install() {
            rm -rf "$prefix"
            local component
            for component in "$@"; do
                quietly cmake --install "$build_tree" --prefix "$prefix" --component "prof_$component"
            done
        }
        # expect RESULT [CMAKE ARGUMENTS]: what find_package finds.
        expect() {
            rm -rf "$build"
            configure components "${@:2}"
            result=$(sed -n 's/^RESULT //p' "$work/log")
            [[ $result == "$1" ]] || fail "with ${*:2} expected '$1', got '$result'"
        }
        install headers
        expect "found:1 headers"
        expect "found:1 headers headers=TRUE" -DCOMPONENTS=headers
        expect "found:0 headers headers=TRUE tools=FALSE" "-DCOMPONENTS=headers;tools"
        tr -s '\n ' ' ' < "$work/log" | grep -q 'not installed in .*: tools' \
            || fail "the missing component is not named: $(cat "$work/log")"
        expect "found:1 headers headers=TRUE tools=FALSE" -DCOMPONENTS=headers -DOPTIONAL=tools
        expect "found:0 headers pictures=FALSE" -DCOMPONENTS=pictures
        expect "found:0" -DVERSION=1.0
        files_of "$prefix" | grep -v '^./include/prof/\|^./lib[^/]*/\(.*/\)\?cmake/prof/\|^./share/licenses/prof/' \
            && fail "headers has more than headers"
        install runtime
        files_of "$prefix" > "$work/runtime"
        grep -v '/libprof\.so\.[0-9.]*$\|/share/licenses/prof/' "$work/runtime" \
            && fail "runtime has more than the library"
        grep -q '/libprof\.so\.[0-9]*$' "$work/runtime" || fail "runtime has no library"
        install headers development
        expect "found:1 headers"
        expect "found:0 headers development=FALSE" -DCOMPONENTS=development
        install headers runtime development
        expect "found:1 headers prof on_demand" -DVERSION=0.1
        expect "found:1 headers prof on_demand development=TRUE runtime=TRUE" "-DCOMPONENTS=development;runtime"
        if [[ -x $build_tree/bin/prof ]]; then
            install tools
            expect "found:1 cli tools=TRUE" -DCOMPONENTS=tools
            "$prefix/bin/prof" --version > /dev/null || fail "the command does not run"
            install headers runtime development tools
            expect "found:1 headers prof on_demand cli headers=TRUE tools=TRUE" "-DCOMPONENTS=headers;tools"
        fi
        # Together they are what is installed with all.
        quietly cmake --install "$build_tree" --prefix "$work/all"
        diff <(files_of "$work/all") <(files_of "$prefix") || fail "the components are not all that is installed"
        for component in headers runtime development tools; do
            install "$component"
            [[ $component == tools && ! -x $build_tree/bin/prof ]] && continue
            for file in LICENSE cmake/licences/THIRD_PARTY_NOTICES; do
                cmp "$source_tree/$file" "$prefix/share/licenses/prof/${file##*/}" || fail "$component has no $file"
            done
        done
        ;;
    guest)
        for zlib in before after; do
            rm -rf "$build"
            configure add_subdirectory "-DPROF_SOURCE_DIR=$source_tree" "-DCONSUMER_ZLIB=$zlib"
            # As a user's second configuration does.
            quietly cmake "$build"
        done
        # Headers only: none of libprof's dependencies is there.
        mkdir -p "$work/nvtx only"
        ln -s "$(realpath "$build/prof/nvtx_include/nvtx3")" "$work/nvtx only/nvtx3"
        rm -rf "$build"
        configure add_subdirectory "-DPROF_SOURCE_DIR=$source_tree" -DPROF_HEADERS_ONLY=ON \
            "-DPROF_CUDA_INCLUDE_DIRS=$work/nvtx only" -DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON \
            -DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON -DPROF_ZLIB_LIBRARY=
        quietly cmake --build "$build"
        ! find "$build" -name 'libprof*' | grep . || fail "libprof was built with PROF_HEADERS_ONLY"
        quietly cmake --install "$build" --prefix "$prefix"
        ! files_of "$prefix" | grep 'prof' || fail "libprof is installed with PROF_INSTALL=OFF"
        quietly cmake --install "$build" --prefix "$prefix" --component prof_headers
        build=$work/exported
        configure exported "-DCONSUMER_TARGETS=$prefix/lib/cmake/consumer/consumer-targets.cmake"
        quietly cmake --build "$build"
        run_unlinked "$build/app"
        ;;
    add_subdirectory)
        unpack_sources "$work/source tree"
        build="$work/build tree"
        # With no debug information (-g), which takes a fifth of the compiler's time.
        configure add_subdirectory "-DPROF_SOURCE_DIR=$work/source tree" -DCONSUMER_ZLIB=before \
            -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG= -DCMAKE_UNITY_BUILD=ON -DPROF_UNITY_FILES=40
        quietly cmake --build "$build" --target app
        run_recorded "$build/app"
        shown=$(nm -D --defined-only "$build"/prof/lib*/libprof.so \
            | awk '$3 !~ /^(prof_|PROF_|Initialize|ncclProfiler_v[0-9]+$|ncclProfiler_v[0-9]+@)/ { print $3 }')
        [[ -z $shown ]] || fail "libprof.so shows $shown"
        ! readelf -d "$build"/prof/lib*/libprof.so | grep 'NEEDED.*libz' || fail "libprof.so needs a shared zlib"
        ;;
    *) fail "no such consumer" ;;
esac
