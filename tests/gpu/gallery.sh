#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The examples for Python and the trainers' callbacks on a GPU, with the packages of `python3` (torch, transformers,
# accelerate, lightning, jax, pandas). For each test a line with ok or FAIL, and of each capture its GPU work.
#
#   tests/gpu/gallery.sh BUILD [TEST...]      for instance Gallery.test_jax
#
# BUILD has bin/, lib/, share/ and python/. Exits with 77 without a GPU.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=$(realpath "$1")
shift
[[ -e /dev/nvidia0 ]] || { echo "skipped: no GPU"; exit 77; }
python=$(command -v python3)
for package in torch transformers accelerate pytorch_lightning jax pandas; do
    "$python" -c "import importlib.util, sys; sys.exit(importlib.util.find_spec('$package') is None)" \
        || echo "gallery: python3 has no $package" >&2
done
# The build's package has links to absolute paths, which are not those of this machine if the build was brought here.
package=$(mktemp -d)
trap 'rm -rf "$package"' EXIT
cp -r "$build/python/libprof" "$package"
for folder in bin lib share; do ln -sfn "$build/$folder" "$package/libprof/$folder"; done
# JAX takes most of the GPU's memory otherwise.
XLA_PYTHON_CLIENT_PREALLOCATE=false "$python" -B tests/python/gallery_test.py "$build/bin/prof" "$package" "$python" "$python" "$@"
echo "PASS gallery"
