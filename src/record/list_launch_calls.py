#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes src/record/launch_calls.inc: the API calls that put work on a GPU, wait for it, allocate and free
memory, order streams by events, begin the capture of a graph or instantiate one, from CUPTI's headers.

usage: list_launch_calls.py INCLUDE_DIR... > src/record/launch_calls.inc

Callback ids never change their number (compared over CUPTI 12.0 to 13.5). Made from several headers, oldest first, the
list holds for every library: one that does not know an id refuses it.
"""
import re
import sys

SUFFIX = r"(_v2)?(_pt[ds][sz])?$"

# The first that matches decides.
KINDS = (
    ("kernel", r"(__)?cudaLaunch(Kernel|CooperativeKernel|)(ExC|MultiDevice)?(_ptsz)?$"
               r"|cuLaunch(Kernel|Cooperative|Grid|$).*"),
    # Between host and device, and back only when done. Those within and between devices return at once.
    ("blocking_transfer", r"cudaMemcpy(2D|3D)?(ToArray|FromArray|ToSymbol|FromSymbol)?" + SUFFIX +
                          r"|cuMemcpy(HtoD|DtoH|HtoA|AtoH|2D|2DUnaligned|3D)?" + SUFFIX),
    ("transfer", r"(cudaMem|cuMem)(cpy|set).*"),
    ("graph", r"(cuda|cu)GraphLaunch(_ptsz)?$"),
    ("capture", r"(cuda|cu)StreamBeginCapture(ToGraph)?(_v2)?(_ptsz)?$"),
    # The runtime's are made of the driver's.
    ("instantiation", r"cuGraphInstantiate(_v2|WithFlags|WithParams)?(_ptsz)?$"),
    ("wait_event", r"(cuda|cu)EventSynchronize" + SUFFIX),
    ("wait_stream", r"(cuda|cu)StreamSynchronize" + SUFFIX),
    ("wait", r"cuda(Device|Thread|ExecutionCtx)Synchronize" + SUFFIX + r"|cuCtxSynchronize" + SUFFIX),
    # The driver's only: the runtime's call them.
    ("event_record", r"cuEventRecord(WithFlags)?" + SUFFIX),
    ("stream_wait", r"cuStreamWaitEvent" + SUFFIX),
    ("allocation", r"cuda(Malloc|MallocFromPool|Free)Async" + SUFFIX + r"|cuMem(Alloc|AllocFromPool|Free)Async" + SUFFIX),
    ("blocking_allocation", r"cuda(Malloc(Pitch|3D|Array|3DArray|MipmappedArray|Host|Managed)?|Host(Alloc|Register|Unregister)"
                            r"|Free(Array|MipmappedArray|Host)?)" + SUFFIX +
                            r"|cuMem(Alloc(Pitch|Host|Managed)?|Free(Host)?|Host(Alloc|Register|Unregister)"
                            r"|Create|Map|Unmap|Release)" + SUFFIX +
                            r"|cu(Array|Array3D|MipmappedArray)(Create|Destroy)" + SUFFIX),
)

# Those whose stream is recorded.
OF_STREAM = ("wait_stream", "event_record", "stream_wait")

for domain, header, prefix in (
    ("runtime", "cupti_runtime_cbid.h", "CUPTI_RUNTIME_TRACE_CBID_"),
    ("driver", "cupti_driver_cbid.h", "CUPTI_DRIVER_TRACE_CBID_"),
):
    symbols = {}
    for folder in sys.argv[1:]:
        text = open(f"{folder}/{header}", encoding="utf-8").read()
        for symbol, number in re.findall(prefix + r"(\w+)\s*=\s*(\d+)", text):
            symbols.setdefault(int(number), symbol)  # one that was taken back stands in newer headers as cudaN
    for number, symbol in sorted(symbols.items()):
        name = re.sub(r"_v\d{4,}$", "", symbol)
        for kind, pattern in KINDS:
            if re.match(pattern, name):
                per_thread = ", true" if kind in OF_STREAM and name.endswith("_ptsz") else ""
                print(f"{{api_domain::{domain}, {number}, launch_kind::{kind}{per_thread}}},  // {symbol}")
                break
