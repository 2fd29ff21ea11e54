#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes a Python environment with a real PyTorch that computes on the CPU, under build/, once for each list of packages;
# prints its interpreter. Of PyTorch's CUDA libraries those of the machine's toolkit are used: all that it asks for
# would be 5.4 GB, and this is 1.8.
#
#   tests/python/torch_environment.sh 3.12
#   tests/python/torch_environment.sh debian     Debian's own, an older PyTorch, which cmake/setup.sh installs
#
# Exits with 77 where the machine has no such Python, or no toolkit of CUDA 13.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
version=$1
if [[ $version == debian ]]; then
    /usr/bin/python3 -c 'import torch' 2> /dev/null || { echo "no package python3-torch" >&2; exit 77; }
    echo /usr/bin/python3
    exit
fi
packages=(torch==2.11.0 nvidia-cufile nvidia-cusparselt-cu13 nvidia-nvshmem-cu13 typing_extensions sympy networkx jinja2
    fsspec filelock numpy mpmath markupsafe setuptools)
[[ -e ${CUDA_HOME:-/usr/local/cuda}/lib64/libcublas.so.13 ]] || { echo "no toolkit of CUDA 13" >&2; exit 77; }
python=$(command -v "python$version" || ls -d ~/.pyenv/versions/"$version".*/bin/python 2> /dev/null | tail -n 1 || true)
# A shim of pyenv's may stand for a Python that is not chosen.
if [[ -z $python ]] || ! "$python" -c '' 2> /dev/null; then
    python=$(ls -d ~/.pyenv/versions/"$version".*/bin/python 2> /dev/null | tail -n 1 || true)
fi
[[ -n $python ]] || { echo "no Python $version" >&2; exit 77; }
place=build/torch-$version-$(echo "${packages[*]}" | cksum | cut -d ' ' -f 1)
mkdir -p build
exec 9> "$place.lock"
flock 9  # of tests that want the same one at once, one makes it
if [[ ! -e $place/complete ]]; then
    rm -rf "$place"
    "$python" -m venv "$place"
    "$place/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps "${packages[@]}" >&2
    touch "$place/complete"
fi
echo "$PWD/$place/bin/python"
