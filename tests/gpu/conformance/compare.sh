#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs cupti_conformance on the simulated GPU and compares its log with the one recorded on a GPU.
#
#   compare.sh PROGRAM LIBCUPTI OUTDIR PYTHON
set -eu
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PROF_CONFORMANCE_LOG=simulated.log "$here/run.sh" "$3" "$1" "$2"
exec "$4" -B "$here/compare_logs.py" "$here/h200.log" "$3/simulated.log"
