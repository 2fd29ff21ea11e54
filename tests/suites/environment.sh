#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the environment of a suite of suites.py under build/: PyTorch's or JAX's (tests/python), what the suite's tests
# need besides, and the sources of the package they belong to, from its source distribution. Prints its interpreter, and
# the folder of the sources.
#
#   tests/suites/environment.sh 3.12 ignite
#
# Exits with 77 where the machine has no such Python, or no toolkit of CUDA 13.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tests/python/environment.sh
suite=$2
# What is installed without what it asks for, besides what all tests need; the source distribution.
alone=() source=()
packages=(pytest==9.2.0)
base=torch
case $suite in
    cpython) packages=() base=none ;;
    cpython-torch) packages=() ;;
    ignite) packages+=(packaging dill tqdm) source=(pytorch-ignite==0.5.5) ;;
    accelerate)
        packages+=(parameterized "huggingface-hub>=1.31,<2" safetensors psutil pyyaml packaging)
        alone=(accelerate==1.15.0) source=(accelerate==1.15.0) ;;
    skorch) packages+=(flaky scikit-learn tabulate tqdm) source=(skorch==1.4.0) ;;
    lightning)
        packages+=(pytest-timeout pytest-random-order lightning-utilities packaging tqdm pyyaml cloudpickle psutil rich
            "jsonargparse[signatures]" scikit-learn pandas tensorboard)
        alone=(torchmetrics==1.9.0) ;;
    optax) packages+=(absl-py) source=(optax==0.2.8) base=jax ;;
    *) echo "no suite $suite" >&2; exit 2 ;;
esac
case $base in
    none) python=$(find_python "$1") ;;
    torch) python=$(tests/python/torch_environment.sh "$1") ;;
    jax) python=$(tests/python/jax_environment.sh "$1" 0.11.2) ;;
esac
if ((!${#packages[@]})); then
    echo "$python"
    exit
fi
install_packages() {
    "$@" "${packages[@]}"
    ((!${#alone[@]})) || "$@" --no-deps "${alone[@]}"
    local place
    place=$(dirname "$(dirname "$1")")
    if ((${#source[@]})); then
        "$1" -m pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: \
            --dest "$place/downloads" "${source[@]}"
        mkdir "$place/sources"
        tar --extract --file "$place"/downloads/*.tar.gz --directory "$place/sources" --strip-components 1
    fi
}
interpreter=$(make_environment "suite-$suite-$1" "$python" "$base ${packages[*]} ${alone[*]} ${source[*]}")
# Only now, so that pip does not look for what PyTorch needs; and each time, since the folder of another worktree, which
# has made this environment, may be gone.
place=$("$interpreter" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
"$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > "$place/base.pth.$$"
mv "$place/base.pth.$$" "$place/base.pth"
echo "$interpreter"
((!${#source[@]})) || echo "${interpreter%/bin/python}/sources"
