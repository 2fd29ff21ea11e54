# SPDX-License-Identifier: Apache-2.0
"""Rows of reports, as the scripts read them."""


def kernel(name, instances, total_ns):
    return {"name": name, "instances": instances, "total_ns": total_ns}


def row(path, **values):
    zero = {column: 0 for column in ("host_ns", "gpu_sum_ns", "gpu_self_ns", "gpu_busy_ns", "ops", "adopted_ops")}
    return {"path": path, **zero, **values}


def operator(name, calls, gpu_self_ns):
    return {"name": name, "calls": calls, "gpu_self_ns": gpu_self_ns}
