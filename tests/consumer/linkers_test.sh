#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A program that links prof stays linked to libprof.so, although linkers drop what they take for unused. With
# --as-needed, each of {bfd, gold, lld, mold} x {gcc, clang} x {plain, link-time optimisation, --gc-sections} links three
# programs: one that only includes <prof/prof.h>, one with PROF_RANGE, one with NVTX alone.
#
#   linkers_test.sh <build tree> <work folder>
#
# The flags are pkg-config's, of an installation whose path has a space. A combination that does not link a program
# without libprof is skipped, with a line.
set -euo pipefail

build_tree=$1
work=$2
fail() { echo "linkers_test: $1" >&2; exit 1; }
rm -rf "$work"
mkdir -p "$work/programs"
cmake --install "$build_tree" --prefix "$work/prefix of it" > "$work/log"
PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix of it" -name prof.pc)")
export PKG_CONFIG_PATH
# pkg-config escapes for a shell.
recording=() on_demand=()
eval "recording=($(pkg-config --cflags --libs prof)) on_demand=($(pkg-config --cflags --libs prof-on-demand))"

cd "$work/programs"
echo 'int main(void) { return 0; }' > empty.c
printf '#include <prof/prof.h>\nint main(void) { return PROF_OK; }\n' > header.c
printf '#include <prof/range.hpp>\nint main() { PROF_RANGE("range"); }\n' > range.cpp
printf '#include <nvtx3/nvToolsExt.h>\nint main(void) { nvtxRangePushA("nvtx"); return nvtxRangePop(); }\n' > nvtx.c

needs_libprof() { readelf -dW "$1" | grep -q 'NEEDED.*\[libprof\.so\.'; }

# compiler_for SOURCE COMPILER: its C or C++ compiler.
compiler_for() {
    case $1:$2 in
        *.cpp:gcc) echo g++ ;;
        *.cpp:clang*) echo "${2/clang/clang++}" ;;
        *) echo "$2" ;;
    esac
}

clang=$(command -v clang-16 || command -v clang || true)
linked=0
skipped=0
wrong=()
for compiler in gcc ${clang:+"$(basename "$clang")"}; do
    for linker in bfd gold lld mold; do
        # clang reads its own version's intermediate code alone.
        use=$linker
        if [[ $linker == lld && $compiler == clang-* ]] && command -v "ld.lld-${compiler#clang-}" > /dev/null; then
            use=lld-${compiler#clang-}
        fi
        for mode in plain lto gc-sections; do
            flags=("-fuse-ld=$use" -O2 "-Wl,--as-needed")
            case $mode in
                lto) flags+=(-flto) ;;
                gc-sections) flags+=(-ffunction-sections -fdata-sections "-Wl,--gc-sections") ;;
            esac
            if ! "$compiler" "${flags[@]}" empty.c -o empty 2> empty.log; then
                echo "SKIPPED: $compiler $linker $mode: $(head -n 1 empty.log)"
                skipped=$((skipped + 1))
                continue
            fi
            for source in header.c range.cpp nvtx.c; do
                standard=()
                [[ $source != *.cpp ]] || standard=(-std=c++17)  # what range.hpp needs; older compilers have less
                "$(compiler_for "$source" "$compiler")" "$source" -o program "${standard[@]}" "${flags[@]}" \
                    "${recording[@]}" \
                    2> program.log || fail "$compiler $linker $mode $source: $(cat program.log)"
                linked=$((linked + 1))
                needs_libprof program || wrong+=("$compiler $linker $mode $source")
            done
        done
    done
done
echo "$linked programs linked; $skipped combinations skipped"
((${#wrong[@]} == 0)) || fail "libprof.so was dropped from: $(printf '\n    %s' "${wrong[@]}")"
((linked >= 36)) || fail "too few combinations of compiler and linker are here"

# A library of the user's that records takes the reference along; a program that may start a recording does not.
gcc -shared -fPIC header.c -Dmain=f -o libuser.so -Wl,--as-needed "${recording[@]}"
needs_libprof libuser.so || fail "libprof.so was dropped from a shared library"
gcc header.c -o program -Wl,--as-needed "${on_demand[@]}"
! needs_libprof program || fail "prof-on-demand keeps libprof.so where nothing refers to it"
printf '#include <prof/prof.h>\nint main(void) { return prof_is_recording(); }\n' > uses.c
gcc uses.c -o program -Wl,--as-needed "${on_demand[@]}"
needs_libprof program || fail "prof-on-demand does not link libprof.so"
! nm program | grep -q prof_autostart || fail "prof-on-demand links what starts a recording"
