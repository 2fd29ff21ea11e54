# SPDX-License-Identifier: Apache-2.0
"""A job of ranks, moment by moment: each rank launches kernels and collectives, a collective begins on a rank when its
stream and the work before it have ended, and ends on all of its members so long after the last one has begun. What a
change would gain is known by running the job again without it. Times are microseconds."""
import json
import random

from torch_trace import TorchTrace

BEGIN = 1_000_000.0
LAUNCH = 5.0  # of the host, for each operation
KERNELS = {"allreduce": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "_reduce_scatter_base": "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL",
           "_allgather_base": "ncclDevKernel_AllGather_RING_LL", "send": "ncclDevKernel_SendRecv", "recv": "ncclDevKernel_SendRecv"}


def compute(length, name="gemm"):
    return {"kind": "compute", "length": length, "name": name}


def host(length):
    """The host does something else before it launches the next operation."""
    return {"kind": "host", "length": length}


def collective(members, length, function="allreduce", stream=20, group=None, waits_for_work=True):
    """Of all members; it begins when what was launched before it has ended, unless it does not wait for that."""
    members = tuple(members)
    return {"kind": "collective", "members": members, "length": length, "function": function, "stream": stream,
            "group": group or "-".join(map(str, members)), "waits_for_work": waits_for_work}


def transfer(source, target, length, stream=30):
    """A send on one rank, and its receive on the other."""
    return {"kind": "collective", "members": (source, target), "length": length, "function": "", "stream": stream,
            "group": f"p2p {min(source, target)}-{max(source, target)}", "waits_for_work": True}


def wait(stream=20):
    """What is launched after it begins when the stream's latest collective has ended."""
    return {"kind": "wait", "stream": stream}


def noise(*what, deviation=6.0):
    """The same for the same rank, step and place."""
    return random.Random(repr(what)).gauss(0, deviation)


class Job:
    def __init__(self, ranks, steps, script, transfers=1.0, offsets=None):
        """`script(rank, step)`: its operations. `transfers`: each takes this share of its time."""
        self.ranks, self.steps, self.script, self.transfers = list(ranks), steps, script, transfers
        self.offsets = offsets or {}
        self.traces = {rank: TorchTrace() for rank in ranks}
        self.gpu = dict.fromkeys(ranks, BEGIN)  # when the computing stream ends
        self.now = dict.fromkeys(ranks, BEGIN)  # of the host
        self.streams = {rank: {} for rank in ranks}
        self.sequences = {}
        self.ends = []  # of the job's steps
        for number in range(steps):
            self.run_step(number)

    def run_step(self, number):
        self.scripts = {rank: list(self.script(rank, number)) for rank in self.ranks}
        self.place = dict.fromkeys(self.ranks, 0)
        self.arrivals, self.counts = {}, {rank: {} for rank in self.ranks}
        begin = dict(self.now)
        while any([self.advance(rank) for rank in self.ranks]):
            pass
        for rank in self.ranks:
            assert self.place[rank] == len(self.scripts[rank]), ("the ranks wait for one another", number, rank)
            end = max([self.gpu[rank], *self.streams[rank].values()])
            self.traces[rank].call("cudaDeviceSynchronize", *self.on_clock(rank, self.now[rank], end + 1))
            self.now[rank] = end + 2
            self.traces[rank].step(number, *self.on_clock(rank, begin[rank], end + 1.9))
        self.ends.append(max(self.now.values()))

    def on_clock(self, rank, *times):
        return [time + self.offsets.get(rank, 0) for time in times]

    def advance(self, rank):
        """As far as it goes without the others; whether that is anywhere."""
        before = self.place[rank]
        while self.place[rank] < len(self.scripts[rank]) and self.take(rank, self.scripts[rank][self.place[rank]]):
            self.place[rank] += 1
        return self.place[rank] != before

    def take(self, rank, operation):
        stream = operation.get("stream")
        if stream is not None and self.streams[rank].get(stream) is None and stream in self.streams[rank]:
            return False  # its collective has not ended yet
        if operation["kind"] == "host":
            self.now[rank] += operation["length"]
        elif operation["kind"] == "wait":
            self.gpu[rank] = max(self.gpu[rank], self.streams[rank].get(stream, 0))
        elif operation["kind"] == "compute":
            launched = self.now[rank]
            self.now[rank] += LAUNCH
            begin = max(self.gpu[rank] + 1, self.now[rank] + 2)
            self.gpu[rank] = begin + operation["length"]
            self.traces[rank].kernel(*self.on_clock(rank, begin, self.gpu[rank], launched), took=4.0, name=operation["name"])
        else:
            self.arrive(rank, operation)
        return True

    def arrive(self, rank, operation):
        launched = self.now[rank]
        self.now[rank] += LAUNCH
        correlation = self.traces[rank].call("cudaLaunchKernel", *self.on_clock(rank, launched, launched + 4))
        begin = max(self.now[rank] + 2, self.streams[rank].get(operation["stream"], 0) + 1)
        if operation["waits_for_work"]:
            begin = max(begin, self.gpu[rank] + 1)
        self.streams[rank][operation["stream"]] = None
        group = operation["group"]
        nth = self.counts[rank][group] = self.counts[rank].get(group, 0) + 1
        arrived = self.arrivals.setdefault((group, nth), {})
        arrived[rank] = begin, correlation, operation
        if len(arrived) == len(operation["members"]):
            self.end(group, arrived)

    def end(self, group, arrived):
        number = self.sequences[group] = self.sequences.get(group, -1) + 1
        length = next(iter(arrived.values()))[2]["length"]
        end = max(begin for begin, _, _ in arrived.values()) + max(self.transfers * length, 0.01)
        for rank, (begin, correlation, operation) in arrived.items():
            source, target = operation["members"][0], operation["members"][-1]
            function = operation["function"] or ("send" if rank == source else "recv")
            args = {"Collective name": function, "Process Group Name": group, "Group size": len(arrived), "dtype": "Float",
                    "In msg nelems": 1 << 20, "Out msg nelems": 1 << 20, "Seq": number}  # fmt: skip
            if not operation["function"]:
                args |= {"Src Rank": source, "Dst Rank": target}
            self.traces[rank].on_gpu("kernel", KERNELS[function], *self.on_clock(rank, begin, end), correlation,
                                     operation["stream"], grid=[8, 1, 1], block=[512, 1, 1], **args)  # fmt: skip
            self.streams[rank][operation["stream"]] = end

    def step_us(self):
        """The mean, without the first and the last, which nothing follows."""
        return (self.ends[-2] - self.ends[0]) / (self.steps - 2)

    def write(self, folder, ranks=None):
        folder.mkdir(parents=True, exist_ok=True)
        for rank in self.ranks if ranks is None else ranks:
            text = {"schemaVersion": 1, "traceEvents": self.traces[rank].events,
                    "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": len(self.ranks)}}  # fmt: skip
            (folder / f"rank{rank}.json").write_text(json.dumps(text), encoding="utf-8")
        return folder
