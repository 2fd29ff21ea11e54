#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes packages and uses them where nothing of this checkout can help.
#
#   packages_test.sh archive|debian <build tree> <work folder>
#
#   archive   the archive of the build tree, unpacked in a folder of its own
#   debian    Debian's packages, of a build with their prefix, in a Debian with the essential packages alone
set -euo pipefail

kind=$1
build_tree=$2
work=$3
source_tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
consumers=$source_tree/tests/consumer

fail() { echo "packages_test: $kind: $1" >&2; exit 1; }
skip() { echo "SKIPPED: $1"; exit 77; }
quietly() { "$@" > "$work/log" 2>&1 || { cat "$work/log" >&2; fail "failed: $*"; }; }
cached() { sed -n "s/^$1:[A-Z]*=//p" "$build_tree/CMakeCache.txt"; }
version=$(cached CMAKE_PROJECT_VERSION)

# Fails unless prof records PROGRAM, unchanged, and reports its range. The words before PROGRAM start prof.
check_recording() { # WORDS... PROGRAM
    local prof=("${@:1:$#-1}") out
    out=$("${prof[@]}" run -o /tmp/packages_test --export none -- "${@: -1}") || fail "prof run failed"
    [[ $out == $'step\nstep\nstep' ]] || fail "the program's output changed: $out"
    out=$("${prof[@]}" report --report gpu-projection --format csv /tmp/packages_test) || fail "prof report failed"
    [[ $out == *,consumer_step,* ]] || fail "consumer_step is not in the report: $out"
}

check_archive() {
    quietly cmake -E chdir "$work" cpack -G TGZ --config "$build_tree/CPackConfig.cmake" -B "$work"
    mkdir "$work/anywhere"
    local archives=("$work"/libprof-"$version"-linux-*.tar.gz)
    tar -xf "${archives[0]}" -C "$work/anywhere"
    local folders=("$work"/anywhere/*)
    local prefix=${folders[0]}
    [[ -d $prefix && ${prefix##*/} == libprof-"$version"-linux-* && ${#folders[@]} == 1 ]] || fail "it has no folder of its own"
    rm -rf "$work/_CPack_Packages"
    quietly cmake -S "$consumers/find_package" -B "$work/app" -G Ninja "-DCMAKE_PREFIX_PATH=$prefix"
    quietly cmake --build "$work/app"
    rm -rf /tmp/packages_test
    trap 'rm -rf /tmp/packages_test' EXIT
    check_recording "$prefix/bin/prof" "$work/app/on_demand"
}

# In a folder beside the build tree's: only there has ccache what the build tree was made of.
make_debian_packages() {
    build=$build_tree.debian
    local launcher=()
    ! command -v ccache > /dev/null || launcher=(
        env CCACHE_BASEDIR="$source_tree" CCACHE_NOHASHDIR=1 CMAKE_C_COMPILER_LAUNCHER=ccache
        CMAKE_CXX_COMPILER_LAUNCHER=ccache)
    cd "$source_tree"
    quietly "${launcher[@]}" cmake --preset packages -B "$build" \
        "-DCMAKE_BUILD_TYPE=$(cached CMAKE_BUILD_TYPE)" "-DPROF_WERROR=$(cached PROF_WERROR)" \
        "-DPROF_UNITY=$(cached PROF_UNITY)" "-DPROF_HIDE_CUDA_TOOLKIT=$(cached PROF_HIDE_CUDA_TOOLKIT)" \
        "-DPROF_CUDA_INCLUDE_DIRS=$(cached PROF_CUDA_INCLUDE_DIRS)"
    quietly "${launcher[@]}" cmake --build "$build" --parallel "$(nproc)"
    rm -rf "$build"/*.deb
    quietly cpack -G DEB --config "$build/CPackConfig.cmake" -B "$build"
}

# A new system in $root. What was downloaded and unpacked once is kept beside the work folder.
make_root() {
    local suite tar new
    suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
    tar=$(dirname "$work")/$suite.tar
    new=$(dirname "$work")/$suite.new.tar  # mmdebstrap goes by the name's end
    if [[ ! -f $tar ]]; then
        quietly mmdebstrap --mode=root --variant=essential --include=libstdc++6 --dpkgopt=force-unsafe-io \
            "$suite" "$new"
        mv "$new" "$tar"
    fi
    mkdir "$root"
    tar -xf "$tar" -C "$root" --exclude='./dev/*'
    mkdir "$root/debs"
    cp "$build"/*.deb "$root/debs"
}
inside() { unshare --mount --pid --fork --mount-proc="$root/proc" chroot "$root" "$@"; }

check_debian() {
    ((EUID == 0)) || skip "no root, which installing needs"
    local tool file
    for tool in mmdebstrap lintian dpkg-shlibdeps pkg-config man; do
        command -v "$tool" > /dev/null || skip "no $tool (apt-get install mmdebstrap lintian dpkg-dev pkg-config man-db)"
    done
    root=$work/root
    make_debian_packages
    make_root
    unshare --mount --pid --fork --mount-proc="$root/proc" true || skip "no rights for a namespace"

    lintian --allow-root --fail-on error,warning "$root"/debs/*.deb || fail "lintian complains"
    (cd "$root" && find usr etc | LC_ALL=C sort) > "$work/before"
    inside sh -c 'dpkg -i /debs/*.deb' > "$work/log" 2>&1 || { cat "$work/log" >&2; fail "they cannot be installed"; }
    [[ $(inside prof --version) == "prof $version" ]] || fail "another version is installed"
    [[ $(man -M "$root/usr/share/man" -w prof prof-run | wc -l) == 2 ]] || fail "there is no manual page"

    for file in bash-completion/completions/prof zsh/vendor-completions/_prof fish/vendor_completions.d/prof.fish; do
        [[ -f $root/usr/share/$file ]] || fail "there is no $file"
    done

    # A program is built against what is installed there, and knows the library by no path of this machine.
    mkdir "$root/programs"
    local flags=() libs=() prefix=$root/usr folder
    folder=$prefix/lib/$(dpkg-architecture -q DEB_HOST_MULTIARCH)
    eval "$(PKG_CONFIG_PATH=$folder/pkgconfig pkg-config --cflags prof | sed 's/^/flags=(/; s/$/)/')"
    eval "$(PKG_CONFIG_PATH=$folder/pkgconfig pkg-config --libs prof | sed 's/^/libs=(/; s/$/)/')"
    quietly c++ -std=c++17 "${flags[@]}" "$consumers/app.cpp" -o "$root/programs/linked" "${libs[@]}"
    quietly cmake -S "$consumers/find_package" -B "$work/app" -G Ninja "-DCMAKE_PREFIX_PATH=$prefix" \
        -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON
    quietly cmake --build "$work/app"
    cp "$work/app/on_demand" "$work/app/app" "$root/programs"
    inside dpkg --remove libprof-dev > /dev/null  # who runs needs none of it
    check_recording inside prof /programs/on_demand
    for tool in linked app; do
        inside sh -c "mkdir /tmp/$tool; cd /tmp/$tool; /programs/$tool > /dev/null"
        [[ $(find "$root/tmp/$tool" -name '*.prof' | wc -l) == 1 ]] || fail "$tool left no capture"
    done

    # What programs that link the library depend on: the file symbols names all that it has.
    quietly dpkg-deb --control "$(echo "$build"/libprof0_*.deb)" "$work/control"
    mkdir -p "$work/gensymbols/debian"
    cd "$work/gensymbols"
    printf 'Source: libprof\n\nPackage: libprof0\nArchitecture: any\n' > debian/control
    quietly dpkg-gensymbols -c4 -plibprof0 "-v$version" "-e$folder/libprof.so.0" "-I$work/control/symbols" -O/dev/null

    inside dpkg --purge prof libprof0 > /dev/null
    diff "$work/before" <(cd "$root" && find usr etc | LC_ALL=C sort) \
        || fail "removing the packages left another system"
}

rm -rf "$work"
mkdir -p "$work"
"check_$kind"
