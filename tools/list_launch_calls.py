#!/usr/bin/env python3
"""Writes src/hooks/cupti/launch_calls.inc: the API calls that put work on a GPU or into a graph, from CUPTI's headers.

usage: list_launch_calls.py INCLUDE_DIR > src/hooks/cupti/launch_calls.inc

Callback ids never change their number (compared over CUPTI 12.0 to 13.5), so the list made from the newest headers
holds for older libraries too: they refuse the ids they do not know.
"""
import re
import sys

KERNEL = re.compile(r"(__)?cudaLaunch(Kernel|CooperativeKernel|)(ExC|MultiDevice)?(_ptsz)?$|cuLaunch(Kernel|Cooperative|Grid|$).*")
TRANSFER = re.compile(r"cudaMem(cpy|set).*|cuMem(cpy|set).*")
GRAPH = re.compile(r"(cuda|cu)GraphLaunch(_ptsz)?$")
CAPTURE = re.compile(r"(cuda|cu)StreamBeginCapture(ToGraph)?(_v2)?(_ptsz)?$")

for domain, header, prefix in (
    ("runtime", "cupti_runtime_cbid.h", "CUPTI_RUNTIME_TRACE_CBID_"),
    ("driver", "cupti_driver_cbid.h", "CUPTI_DRIVER_TRACE_CBID_"),
):
    text = open(f"{sys.argv[1]}/{header}", encoding="utf-8").read()
    for symbol, number in re.findall(prefix + r"(\w+)\s*=\s*(\d+)", text):
        name = re.sub(r"_v\d+$", "", symbol)
        for kind, pattern in (("kernel", KERNEL), ("transfer", TRANSFER), ("graph", GRAPH), ("capture", CAPTURE)):
            if pattern.match(name):
                print(f"{{api_domain::{domain}, {number}, launch_kind::{kind}}},  // {symbol}")
