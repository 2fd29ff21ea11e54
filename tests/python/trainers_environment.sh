#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Adds trainers and Jupyter to torch_environment.sh's PyTorch, in an environment under build/ of their own, which is made
# once for each list of packages; prints its interpreter. Nothing of PyTorch is downloaded or copied again.
#
#   tests/python/trainers_environment.sh 3.12
#
# Exits with 77 where torch_environment.sh does.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tests/python/environment.sh
torch=$(tests/python/torch_environment.sh "$1")
trainers=(transformers==5.17.0 accelerate==1.15.0 pytorch-lightning==2.6.6 torchmetrics==1.9.0)
# What those need besides PyTorch, and what notebooks need.
others=("huggingface-hub>=1.31,<2" "tokenizers>=0.23.1,<0.24" safetensors regex pyyaml tqdm psutil packaging typer
    lightning-utilities pandas ipykernel nbclient)
install_packages() {
    "$@" "${others[@]}"
    "$@" --no-deps "${trainers[@]}"
    # Only now, so that pip does not look for what PyTorch needs.
    "$torch" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
        > "$("$1" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/torch.pth"
}
make_environment "trainers-$1" "$torch" "${trainers[*]} ${others[*]}"
