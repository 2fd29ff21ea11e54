#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes a Python environment with a real JAX that computes on the CPU, under build/, once for each list of packages;
# prints its interpreter.
#
#   tests/python/jax_environment.sh 3.12 0.11.2
#
# Exits with 77 where the machine has no such Python.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
version=$1
packages=("jax[cpu]==$2")
python=$(command -v "python$version" || ls -d ~/.pyenv/versions/"$version".*/bin/python 2> /dev/null | tail -n 1 || true)
# A shim of pyenv's may stand for a Python that is not chosen.
if [[ -z $python ]] || ! "$python" -c '' 2> /dev/null; then
    python=$(ls -d ~/.pyenv/versions/"$version".*/bin/python 2> /dev/null | tail -n 1 || true)
fi
[[ -n $python ]] || { echo "no Python $version" >&2; exit 77; }
place=build/jax-$version-$(echo "${packages[*]}" | cksum | cut -d ' ' -f 1)
if [[ ! -e $place/complete ]]; then
    rm -rf "$place"
    "$python" -m venv "$place"
    "$place/bin/python" -m pip install --quiet --disable-pip-version-check "${packages[@]}" >&2
    touch "$place/complete"
fi
echo "$PWD/$place/bin/python"
