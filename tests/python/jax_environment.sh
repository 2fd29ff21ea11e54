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
source tests/python/environment.sh
packages=("jax[cpu]==$2")
python=$(find_python "$1")
install_packages() { "$@" "${packages[@]}"; }
make_environment "jax-$1" "$python" "${packages[*]}"
