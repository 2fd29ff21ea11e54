#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks the C++ trainer's GPU arithmetic against its CPU reference. Exits with 77 if there is no GPU.
#
#   tests/gpu/trainer_check.sh CPP_TRAINER
set -u
if ! nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then
    echo "trainer_check.sh: skipped, there is no GPU"
    exit 77
fi
exec "$1" --check --device gpu
