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
source tests/python/environment.sh
if [[ $1 == debian ]]; then
    /usr/bin/python3 -c 'import torch' 2> /dev/null || { echo "no package python3-torch" >&2; exit 77; }
    echo /usr/bin/python3
    exit
fi
packages=(torch==2.11.0 nvidia-cufile nvidia-cusparselt-cu13 nvidia-nvshmem-cu13 typing_extensions sympy networkx jinja2
    fsspec filelock numpy mpmath markupsafe setuptools)
[[ -e ${CUDA_HOME:-/usr/local/cuda}/lib64/libcublas.so.13 ]] || { echo "no toolkit of CUDA 13" >&2; exit 77; }
python=$(find_python "$1")
install_packages() { "$@" --no-deps "${packages[@]}"; }
make_environment "torch-$1" "$python" "${packages[*]}"
