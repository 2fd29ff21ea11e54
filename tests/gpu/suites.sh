#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Other projects' programs and tests on a GPU, bare and under prof run (../suites): NVIDIA's CUDA samples, CuPy's tests of
# CUDA, PyTorch Lightning's tests for a GPU. Each part prints its table; the last line is PASS or FAIL.
#
#   tests/gpu/suites.sh BUILD SOURCES OUT [build-samples] [samples] [cupy] [lightning-gpu]
#
# BUILD has bin/ and lib/. SOURCES has the repositories: samples (NVIDIA/cuda-samples, v13.0), cupy (cupy/cupy, v14.2.0)
# and lightning-gpu (Lightning-AI/pytorch-lightning, 2.6). python3 has PyTorch, CuPy, pytest and what the tests need.
# Exits with 77 without a GPU. Ten minutes on 16 cores.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 2
build=$(realpath "$1") sources=$(realpath "$2") out=$(realpath -m "$3")
shift 3
parts=${*:-samples cupy lightning-gpu}
[[ -e /dev/nvidia0 ]] || { echo "skipped: no GPU"; exit 77; }
mkdir -p "$out"
failed=()

built=$out/samples-build
build_samples() {
    export PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin
    # For this GPU alone: the samples name nine architectures.
    find "$sources/samples" -name CMakeLists.txt -exec sed -i 's/set(CMAKE_CUDA_ARCHITECTURES .*)/set(CMAKE_CUDA_ARCHITECTURES 90)/' {} +
    cmake -G Ninja -S "$sources/samples" -B "$built" -DCMAKE_BUILD_TYPE=Release > "$out/samples-configure.log" 2>&1
    ninja -C "$built" -k 0 > "$out/samples-build.log" 2>&1 ||
        echo "$(grep -c '^FAILED' "$out/samples-build.log") files of the samples do not compile ($out/samples-build.log)"
}
samples() {
    build_samples
    # They look for their files beside the sources.
    timeout "${SAMPLES_LIMIT_S:-400}" tests/suites/programs.py --jobs 6 --limit 20 "$build/bin/prof" "$built"
}

for part in $parts; do
    begin=$SECONDS
    if [[ $part == build-samples ]]; then
        build_samples
    elif [[ $part == samples ]]; then
        samples
    else
        timeout "${SUITE_LIMIT_S:-400}" tests/suites/compare.py --interpreter "$(command -v python3)" \
            --sources "$part=$sources/$part" --keep "$out/$part" --again 1 "$build/bin/prof" "$part"
    fi || failed+=("$part")
    echo "$part: $((SECONDS - begin)) s"
done
if ((${#failed[@]})); then
    echo "FAIL suites: ${failed[*]}"
    exit 1
fi
echo "PASS suites: $parts"
