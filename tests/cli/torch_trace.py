# SPDX-License-Identifier: Apache-2.0
"""Traces as torch.profiler writes them, made event by event. Times are microseconds."""
import json

HOST, ENGINE = 100, 101  # threads
PID = 100


class TorchTrace:
    def __init__(self, pid=PID, gpu_row=0, device=0):
        """`gpu_row`: the pid of the GPU's events. Both may be texts, as in traces that were merged."""
        self.events = []
        self.correlation = 0
        self.pid, self.gpu_row, self.device = pid, gpu_row, device

    def row(self, category, name, start, end, thread=HOST, **args):
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": self.pid, "tid": thread, "ts": round(start, 3),
                            "dur": round(end - start, 3), "args": args})

    def step(self, number, start, end):
        self.row("user_annotation", f"ProfilerStep#{number}", start, end)

    def range(self, name, start, end):
        self.row("user_annotation", name, start, end)

    def module(self, name, start, end, thread=HOST):
        self.row("python_function", f"nn.Module: {name}", start, end, thread)

    def operator(self, name, start, end, thread=HOST, number=None, forward_thread=0):
        numbers = {} if number is None else {"Sequence number": number, "Fwd thread id": forward_thread}
        self.row("cpu_op", name, start, end, thread, **numbers)

    def call(self, name, start, end, thread=HOST):
        """Returns the call's correlation id."""
        self.correlation += 1
        self.row("cuda_runtime", name, start, end, thread, correlation=self.correlation)
        return self.correlation

    def on_gpu(self, category, name, start, end, correlation, stream=7, **args):
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": self.gpu_row, "tid": stream, "ts": round(start, 3),
                            "dur": round(end - start, 3),
                            "args": {"device": self.device, "context": 1, "stream": stream, "correlation": correlation, **args}})

    def kernel(self, start, end, launched, took=5.0, thread=HOST, name="gemm", stream=7):
        """A kernel, and its launch."""
        correlation = self.call("cudaLaunchKernel", launched, launched + took, thread)
        self.on_gpu("kernel", name, start, end, correlation, stream, grid=[1, 1, 1], block=[128, 1, 1])

    def write(self, path):
        path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": self.events}), encoding="utf-8")
        return path
