# SPDX-License-Identifier: Apache-2.0
"""The names of what the generator uses: kernels by c++filt, CUDA's functions by the enumerations of CUPTI's headers."""

FULL_NAME = {
    "kernel": "kernel",
    "_Z4gemmIfLi4EEvPT_": "void gemm<float, 4>(float*)",
    "_Z4gemmIdLi8EEvPT_": "void gemm<double, 8>(double*)",
    "ncclDevKernel_AllReduce": "ncclDevKernel_AllReduce",
    "_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE": (
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
    ),
    "_ZN2at6native4fillIfEEvPT_i": "void at::native::fill<float>(float*, int)",
}
SHORT_NAME = {
    "kernel": "kernel",
    "_Z4gemmIfLi4EEvPT_": "gemm",
    "_Z4gemmIdLi8EEvPT_": "gemm",
    "ncclDevKernel_AllReduce": "ncclDevKernel_AllReduce",
    "_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE": (
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
    ),
    "_ZN2at6native4fillIfEEvPT_i": "fill",
}
KERNEL_NAME = {"full": FULL_NAME, "short": SHORT_NAME, "mangled": {symbol: symbol for symbol in FULL_NAME}}

FUNCTION = {
    ("driver", 17): "cuCtxSynchronize",
    ("driver", 216): "cuMemsetD8Async",
    ("driver", 243): "cuMemAlloc",
    ("driver", 277): "cuMemcpyHtoDAsync",
    ("driver", 278): "cuMemcpyDtoH",
    ("driver", 307): "cuLaunchKernel",
    ("driver", 442): "cuLaunchKernel",
    ("driver", 514): "cuGraphLaunch",
    ("driver", 539): "cuStreamBeginCapture",
    ("driver", 598): "cuMemAllocAsync",
    ("runtime", 20): "cudaMalloc",
    ("runtime", 31): "cudaMemcpy",
    ("runtime", 41): "cudaMemcpyAsync",
    ("runtime", 51): "cudaMemsetAsync",
    ("runtime", 165): "cudaDeviceSynchronize",
    ("runtime", 211): "cudaLaunchKernel",
    ("runtime", 214): "cudaLaunchKernel",
    ("runtime", 311): "cudaGraphLaunch",
    ("runtime", 315): "cudaStreamBeginCapture",
    ("runtime", 373): "cudaMallocAsync",
}

# CUpti_ActivityMemcpyKind, in torch.profiler's and in Nsight's words, and CUpti_ActivityMemoryKind.
DIRECTION = {
    1: ("HtoD", "Host-to-Device"),
    2: ("DtoH", "Device-to-Host"),
    8: ("DtoD", "Device-to-Device"),
    9: ("HtoH", "Host-to-Host"),
}
MEMORY = {1: "Pageable", 2: "Pinned", 3: "Device"}


def copy_name(given):
    if given["kind"] == "memset":
        return f"Memset ({MEMORY[given['to']]})"
    return f"Memcpy {DIRECTION[given['direction']][0]} ({MEMORY[given['from']]} -> {MEMORY[given['to']]})"


def nsight_copy_name(given):
    return "[CUDA memset]" if given["kind"] == "memset" else f"[CUDA memcpy {DIRECTION[given['direction']][1]}]"


def function_of(call):
    return FUNCTION[tuple(call.given["function"])]


def op_name(op, style="full"):
    if op.kind == "graph":
        return f"CUDA graph {op.given['graph']}"
    return KERNEL_NAME[style][op.given["name"]] if op.kind == "kernel" else copy_name(op.given)

# What a trace may show a driver's call as.
RUNTIME = {
    "cuCtxSynchronize": "cudaDeviceSynchronize",
    "cuMemsetD8Async": "cudaMemsetAsync",
    "cuMemAlloc": "cudaMalloc",
    "cuMemcpyHtoDAsync": "cudaMemcpyAsync",
    "cuMemcpyDtoH": "cudaMemcpy",
    "cuLaunchKernel": "cudaLaunchKernel",
    "cuGraphLaunch": "cudaGraphLaunch",
    "cuStreamBeginCapture": "cudaStreamBeginCapture",
    "cuMemAllocAsync": "cudaMallocAsync",
}
