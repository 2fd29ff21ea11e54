#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a machine needs before libprof can be built.
#
#   cmake/setup.sh GROUP...    installs what is missing of Debian's packages, or without root names it and exits, and
#                              fetches NVIDIA's headers where the machine has no CUDA toolkit. The groups are
#                              build, tests, lint, packages, frameworks and browsers.
#
# Scripts source it, and call the functions for these two: need_packages GROUP... and need_cuda_headers.
# PROF_HIDE_CUDA_TOOLKIT=1 makes these, and the build, act as if the machine had no toolkit.

source_tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

packages_of() {
    case $1 in
        build)
            echo g++ cmake ninja-build libfmt-dev nlohmann-json3-dev libcli11-dev zlib1g-dev
            has_cuda_headers || echo ca-certificates python3-pip
            ;;
        tests) echo abigail-tools binutils ca-certificates ccache libbenchmark-dev libgmock-dev libgtest-dev libprotobuf-dev lld-16 mold pkg-config python3 python3-venv valgrind ;;
        packages) echo bash-completion dpkg-dev fish groff lintian man-db mmdebstrap zsh ;;
        frameworks) echo python3-torch ;;  # an old PyTorch
        browsers) echo chromium chromium-driver firefox-esr fonts-dejavu-core node-typescript nodejs ;;  # for tests/page
        lint) echo clang-16 clang-format-16 clang-tidy-16 libclang-rt-16-dev llvm-16 shellcheck ;;
    esac
}

is_installed() { [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2> /dev/null) == installed ]]; }

need_packages() {
    local group package missing=()
    if ! command -v dpkg-query > /dev/null; then
        echo "note: this is no Debian, so packages are not checked; needed are Debian's" \
            "$(for group in "$@"; do packages_of "$group"; done | xargs)" >&2
        return
    fi
    for group in "$@"; do
        for package in $(packages_of "$group"); do
            is_installed "$package" || [[ " ${missing[*]-} " == *" $package "* ]] || missing+=("$package")
        done
    done
    ((${#missing[@]})) || return 0

    local as_root=()
    if ((EUID != 0)); then
        as_root=(sudo)
        # A sudo that would ask for a password is one only where somebody can answer.
        if ! command -v sudo > /dev/null || ! { [[ -t 0 ]] || sudo -n true 2> /dev/null; }; then
            echo "missing packages; as root: apt-get update && apt-get install -y --no-install-recommends ${missing[*]}" >&2
            exit 1
        fi
    fi
    echo "installing ${missing[*]}"
    local log
    log=$(mktemp)
    if ! { "${as_root[@]}" apt-get update \
        && "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
            apt-get install -y --no-install-recommends "${missing[@]}"; } > "$log" 2>&1; then
        cat "$log" >&2
        echo "could not install ${missing[*]}" >&2
        exit 1
    fi
    rm -f "$log"
}

has_cuda_headers() {
    [[ ${PROF_HIDE_CUDA_TOOLKIT:-0} != 1 ]] || return 1
    local root header folder found
    for header in cupti.h cuda.h cuda_runtime_api.h nvtx3/nvToolsExt.h; do
        found=0
        for root in ${CUDA_HOME:+"$CUDA_HOME"} ${CUDA_PATH:+"$CUDA_PATH"} /usr/local/cuda /opt/cuda; do
            for folder in "$root/include" "$root/extras/CUPTI/include"; do
                [[ ! -f $folder/$header ]] || found=1
            done
        done
        ((found)) || return 1
    done
}

need_cuda_headers() {
    has_cuda_headers || python3 "$source_tree/cmake/fetch_cuda_headers.py"
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
    set -euo pipefail
    need_packages "${@:-build}"
    need_cuda_headers
fi
