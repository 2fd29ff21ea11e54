# SPDX-License-Identifier: Apache-2.0
"""Random traces of torch.profiler, of programs that launch ahead of the GPU: trace(seed) is the JSON's object.

Times are in nanoseconds. No two host events begin or end in the same nanosecond of one process, since the reference
does not say which of two moments that are equal is first; operations of a GPU may touch one another.
"""
import random

KERNELS = ("gemm_bf16_tn", "void at::native::vectorized_elementwise_kernel<4, float>(int)", "softmax", "layer_norm", "conv2d_fprop")
COLLECTIVES = ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "cross_device_reduce_1stage",
               "nvshmemx_quiet", "one_shot_all_reduce_kernel")  # fmt: skip
COPIES = (("Memcpy HtoD (Pinned -> Device)", 70), ("Memcpy DtoH (Device -> Pinned)", 15), ("Memcpy DtoD (Device -> Device)", 10),
          ("Memcpy PtoP (Device -> Device)", 5))  # fmt: skip
RANGES = ("forward", "loss", "encoder", "optimizer_step", "data_to_device", "metrics", "conv2d block", "cast_bf16", "zero")
WAITS = ("cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize")


class Process:
    def __init__(self, draw, pid, rank, devices, row):
        self.draw, self.pid, self.row, self.rank = draw, pid, row, rank
        self.devices = devices
        self.streams = {device: [7] + [20 + 4 * n for n in range(draw.choice((0, 0, 1, 2)))] for device in devices}
        self.busy_until = {}
        self.taken = set()
        self.events = []
        self.correlation = draw.randrange(1, 1000)
        self.host_pace = draw.choice((300, 2000, 15000))
        self.gpu_pace = draw.choice((2000, 20_000, 150_000))
        self.odd = draw.random() < 0.4  # launches without records, records without launches
        self.is_collective = draw.random() < 0.5
        self.has_range_overlaps = draw.random() < 0.15
        for tid, name in ((pid, "python"), (pid + 1, "pt_autograd_0"), (pid + 2, "pt_autograd_1"), (pid + 3, "helper"),
                          (pid + 4, "trainer_b")):  # fmt: skip
            self.events.append({"ph": "M", "name": "thread_name", "pid": row, "tid": tid, "args": {"name": name}})
        self.events.append({"ph": "M", "name": "process_name", "pid": row, "tid": 0, "args": {"name": "python"}})

    def moment(self, at):
        """The next nanosecond in which nothing of the host happens yet."""
        while at in self.taken:
            at += 1
        self.taken.add(at)
        return at

    def pause(self, scale=1.0):
        return 1 + int(self.draw.expovariate(1 / (self.host_pace * scale)))

    def event(self, category, name, pid, tid, start, end, **arguments):
        event = {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "start": start, "end": end, "args": arguments}
        self.events.append(event)
        return event

    def call(self, tid, at, name, **arguments):
        start = self.moment(at)
        end = self.moment(start + 1 + int(self.draw.expovariate(1 / 900)))
        self.event("cuda_runtime", name, self.row, tid, start, end, **arguments)
        return end

    def launch(self, tid, at):
        """One launch from the thread at that time; the time when the call has returned."""
        draw = self.draw
        device = draw.choice(self.devices) if draw.random() < 0.8 else self.devices[0]
        stream = draw.choice(self.streams[device]) if draw.random() < 0.4 else self.streams[device][0]
        kind = draw.random()
        category, function, name, arguments = "kernel", "cudaLaunchKernel", draw.choice(KERNELS), {}
        if kind < 0.1:
            names, weights = zip(*COPIES)
            category, function, name = "gpu_memcpy", "cudaMemcpyAsync", draw.choices(names, weights)[0]
            arguments["bytes"] = draw.randrange(1, 1 << 20)
        elif kind < 0.15:
            category, function, name = "gpu_memset", "cudaMemsetAsync", "Memset (Device)"
            arguments["bytes"] = draw.randrange(1, 1 << 20)
        elif kind < 0.3 and self.is_collective:
            name = draw.choice(COLLECTIVES)
        in_operator = self.is_collective and draw.random() < 0.05
        operator_start = self.moment(at) if in_operator else None
        correlation = self.correlation
        self.correlation += 1
        returned = self.call(tid, at + (2 if in_operator else 0), function, correlation=correlation)
        if in_operator:
            operator_end = self.moment(returned + 1)
            self.event("cpu_op", "record_param_comms", self.row, tid, operator_start, operator_end)
            returned = operator_end
        if self.odd and draw.random() < 0.05:
            return returned  # not completed
        if self.odd and draw.random() < 0.05:
            self.events = [e for e in self.events if e.get("args", {}).get("correlation") != correlation or e["cat"] != "cuda_runtime"]
        duration = int(draw.expovariate(1 / self.gpu_pace))
        if draw.random() < 0.02:
            duration = 0
        if draw.random() < 0.01:
            duration *= 20  # a straggler
        start = max(self.busy_until.get((device, stream), 0), returned + draw.randrange(500, 6000))
        if draw.random() < 0.3:
            start += int(draw.expovariate(1 / 3000))
        self.busy_until[device, stream] = start + duration
        self.event(category, name, device, stream, start, start + duration, device=device, context=1, stream=stream,
                   correlation=correlation, **arguments)  # fmt: skip
        return returned

    def wait(self, tid, at):
        name = self.draw.choice(WAITS)
        start = self.moment(at)
        end = start + 100
        if self.draw.random() < 0.6:
            end = max([end, *self.busy_until.values()]) + 50
        end = self.moment(end)
        self.event("cuda_runtime", name, self.row, tid, start, end)
        return end

    def body(self, tid, at, depth, count):
        """Launches and ranges of a thread; the time when they are done."""
        draw = self.draw
        for _ in range(count):
            at += self.pause()
            kind = draw.random()
            if kind < 0.5 or depth <= 0:
                at = self.launch(tid, at)
            elif kind < 0.55:
                at = self.wait(tid, at)
            elif kind < 0.58:
                at += self.pause(20)
            else:
                at = self.span(tid, at, draw.choice(RANGES) if draw.random() < 0.7 else f"layer {draw.randrange(4)}", depth - 1)
        return at

    def span(self, tid, at, name, depth, count=None):
        start = self.moment(at)
        if self.draw.random() < 0.03:
            self.event("user_annotation", name, self.row, tid, start, start)
            return start + 1
        inner = self.body(tid, start + 1, depth, self.draw.randrange(5) if count is None else count)
        end = self.moment(inner + self.pause(0.3))
        self.event("user_annotation", name, self.row, tid, start, end)
        return end

    def backward(self, at):
        """The main thread waits in its range while autograd's threads launch."""
        start = self.moment(at)
        ends = [start + self.pause()]
        for helper in range(1 + (len(self.devices) > 1)):
            tid = self.pid + 1 + helper
            ends.append(self.body(tid, max(start + 1, self.helper_free.get(tid, 0)), self.draw.choice((0, 0, 1)), self.draw.randrange(1, 6)))
            self.helper_free[tid] = ends[-1] + 1
        end = max(ends) if self.draw.random() < 0.9 else ends[0]
        end = self.moment(end + self.pause(0.3))
        self.event("user_annotation", "backward", self.row, self.pid, start, end)
        return end

    def closure(self, at):
        start = self.moment(at)
        at = self.launch(self.pid, start + 1)
        at = self.span(self.pid, at + 1, "forward", 1)
        at = self.backward(at + self.pause())
        at = self.launch(self.pid, at + 1)
        end = self.moment(at + self.pause())
        self.event("user_annotation", "Optimizer.step#SGD.step", self.row, self.pid, start, end)
        return end

    def turn(self, at):
        draw = self.draw
        at = self.body(self.pid, at, 2, draw.randrange(6))
        if self.has_autograd:
            at = self.backward(at + self.pause())
        if self.has_closure:
            at = self.closure(at + self.pause())
        if self.has_wait:
            at = self.wait(self.pid, at + self.pause())
        if draw.random() < 0.1:
            at += self.pause(50)
        return at

    def run(self, at):
        draw = self.draw
        self.helper_free = {}
        self.has_autograd = draw.random() < 0.6
        self.has_closure = draw.random() < 0.2
        self.has_wait = draw.random() < 0.3
        steps = draw.choice((0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12))
        source = draw.choice(("profiler", "profiler", "recurring", "parts"))
        first = draw.randrange(3)
        begin = at
        if draw.random() < 0.4:
            at = self.body(self.pid, at, 1, draw.randrange(4))
        loop = at
        for step in range(steps):
            start = self.moment(at + 1)
            end = self.moment(self.turn(start + 1) + 200)
            name = f"ProfilerStep#{first + step}" if source == "profiler" else f"iteration {first + step}"
            if source != "parts":
                self.event("user_annotation", name, self.row, self.pid, start, end)
            at = end + draw.randrange(1, 3 + (end - start) // 40)
            if draw.random() < 0.05:
                at = end + (end - start) // 3 + 10
        if draw.random() < 0.4:
            at = self.body(self.pid, at + self.pause(), 2, draw.randrange(5))
        if draw.random() < 0.25:
            self.body(self.pid + 3, begin + self.pause(), 2, draw.randrange(1, 8))
        if draw.random() < 0.15:
            self.body(self.pid + 4, loop + self.pause(), 2, draw.randrange(1, 12))
        if self.has_range_overlaps:  # across the border of another range, by much more than two microseconds
            spans = [e for e in self.events if e.get("cat") == "user_annotation" and e["tid"] == self.pid and e["end"] - e["start"] > 20_000]
            if spans:
                one = draw.choice(spans)
                outer_end = max(e["end"] for e in self.events if "end" in e and e["pid"] == self.row and e["tid"] == self.pid)
                start = self.moment(one["start"] + draw.randrange(1, (one["end"] - one["start"]) - 5000))
                end = self.moment(outer_end + 5000 + self.pause())
                self.event("user_annotation", "asynchronous", self.row, self.pid, start, end)


def trace(seed):
    draw = random.Random(seed)
    processes = []
    merged = draw.random() < 0.12
    count = draw.choice((1, 1, 1, 2, 3))
    for rank in range(2 if merged else 1):
        devices = list(range(count)) if not merged or draw.random() < 0.5 else [rank]
        process = Process(draw, 100 * (rank + 1), rank, devices, f"[TP0{rank}] {100 * (rank + 1)}" if merged else 100)
        process.run(1_000_003 + 7 * rank)
        if merged:
            for event in process.events:
                if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
                    event["pid"] = f"[TP0{rank}] {event['pid']}"
        processes.append(process)
    events = [event for process in processes for event in process.events]
    if draw.random() < 0.5:
        draw.shuffle(events)
    for event in events:
        if "start" in event:
            start, end = event.pop("start"), event.pop("end")
            event["ts"], event["dur"] = start / 1000, (end - start) / 1000
    used = range(max((d for p in processes for d in p.devices), default=0) + 1)
    return {"schemaVersion": 1, "displayTimeUnit": "ms",
            "deviceProperties": [{"id": device, "name": "NVIDIA H100 80GB HBM3", "computeMajor": 9, "computeMinor": 0,
                                  "numSms": 132, "totalGlobalMem": 80 << 30} for device in used],
            "traceEvents": events}  # fmt: skip
