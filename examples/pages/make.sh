#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the pages of the shipped captures anew: examples/pages/make.sh [PROF]
set -eu
cd "$(dirname "$0")/../captures"
prof=${1:-prof}
for capture in h200_train.prof h200_trainer.prof observed/h200_gpt.prof observed/h200_jax.prof; do
    "$prof" report "$capture" --html "../pages/$(basename "$capture" .prof).html"
done
"$prof" report observed/h200_ddp.0.prof observed/h200_ddp.1.prof --html ../pages/h200_ddp.html
