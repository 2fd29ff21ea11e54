#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the Python environments of the slow tests (CMakeLists.txt), one after another. What is missing or fails here is
# no error: the test that needs the environment makes it itself, or says why it cannot.
#
#   tests/python/all_environments.sh
cd "$(dirname "${BASH_SOURCE[0]}")" || exit
./torch_environment.sh 3.12
./trainers_environment.sh 3.12
./torch_environment.sh 3.13
./torch_environment.sh 3.10
./jax_environment.sh 3.12 0.11.2
./jax_environment.sh 3.11 0.4.30
../suites/environment.sh 3.12 ignite
../suites/environment.sh 3.12 accelerate
exit 0
