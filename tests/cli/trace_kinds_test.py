#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traces of other profilers whose roles, processes, devices and times are told in other ways than by names and numbers
alone. What is right is worked out beside each trace, from what it was made of.

    trace_kinds_test.py PROF STUB_LIBPROF [TEST...]
"""
import bz2
import json
import lzma
import random
import sqlite3
import sys
import unittest
import zipfile

from cli_test import CommandLine
from torch_trace import ENGINE, HOST, TorchTrace

NODE = "autograd::engine::evaluate_function: "


class TraceKinds(CommandLine):
    def read(self, trace, *options, report="gpu-projection", command="report"):
        path = trace if isinstance(trace, str) else str(trace.write(self.dir / "trace.json"))
        arguments = ["--report", report] if command == "report" else []
        result = self.prof(command, *arguments, "--format", "json", *options, path)
        self.assertEqual(result.returncode, 0, result.stderr)
        found = json.loads(result.stdout)
        return found[0] if isinstance(found, list) else found

    def gpu_ms(self, found):
        """By the last part of the path."""
        return {row["path"].split("/")[-1]: row["gpu_sum_ns"] / 1e6 for row in found["rows"]}

    @staticmethod
    def said(found):
        return "\n".join(found["warnings"] + found["notes"])

    @staticmethod
    def idle_us(found):
        causes = {}
        for row in found["rows"]:
            if row["use"] == "idle":
                causes[row["cause"]] = causes.get(row["cause"], 0) + row["total_ns"] / 1000
        return causes

    @staticmethod
    def busy_us(found, use):
        return sum(row["total_ns"] for row in found["rows"] if row["use"] == use) / 1000

    # --- the thread of autograd's engine ---------------------------------------------------------------------------

    def backward_of(self, node, beside=0, number=True, own=0, beside_us=0.0):
        """10 steps: forward 5 kernels of 400 us on the main thread, backward 5 of 1,900 on the engine's thread. `beside`:
        zero-length operators behind each node there. `own`: backward nodes of operators that this thread has run."""
        trace, at = TorchTrace(), 1000.0
        for step in range(10):
            trace.range("forward", at, at + 2500)
            for i in range(5):
                trace.operator("aten::addmm", at + 10 + 100 * i, at + 90 + 100 * i, number=5 * step + i)
                trace.kernel(at + 600 + 400 * i, at + 1000 + 400 * i, at + 20 + 100 * i)
            trace.range("backward", at + 2600, at + 13000)
            for i in range(5):
                begin, end = at + 2700 + 1900 * i, at + 2800 + 1900 * i
                numbers = {"number": 5 * step + 4 - i, "forward_thread": 1} if number else {}
                trace.operator(node, begin, end, ENGINE, **numbers)
                for _ in range(beside):
                    trace.operator("aten::as_strided", end, end + beside_us, ENGINE)
                trace.kernel(begin + 30, begin + 1930, begin + 10, thread=ENGINE)
            for i in range(own):
                trace.operator("aten::sum", at + 12000 + 20 * i, at + 12010 + 20 * i, ENGINE, number=100000 + 50 * step + i)
                trace.operator(NODE + "SumBackward0", at + 12010 + 20 * i, at + 12012 + 20 * i, ENGINE,
                               number=100000 + 50 * step + i, forward_thread=2)
            at += 13500
        return trace

    def test_backward_nodes_make_autograds_thread(self):
        for name, trace in {
                "zero-length operators outnumber the nodes": self.backward_of(NODE + "AddmmBackward0", beside=3),
                "many short operators": self.backward_of(NODE + "AddmmBackward0", beside=40, beside_us=1.0),
                "PyTorch 1.8": self.backward_of("AddmmBackward", beside=3),
                "without numbers": self.backward_of("AddmmBackward", beside=3, number=False),
                "a few graphs of its own": self.backward_of(NODE + "AddmmBackward0", own=2)}.items():
            with self.subTest(name):
                found = self.gpu_ms(self.read(trace))
                self.assertAlmostEqual(found["backward"], 95.0)
                self.assertAlmostEqual(found["forward"], 20.0)
                self.assertEqual(found["(no range)"], 0)

    def test_a_thread_that_runs_its_own_backward_works_for_itself(self):
        """Forward and backward of a second training thread, whose nodes take most of its time."""
        trace, at = TorchTrace(), 1000.0
        for step in range(10):
            trace.range("main", at, at + 5000)
            trace.kernel(at + 100, at + 200, at + 10)
            trace.operator("aten::mul", at + 10, at + 20, ENGINE, number=step)
            trace.operator(NODE + "MulBackward0", at + 30, at + 3000, ENGINE, number=step, forward_thread=2)
            trace.kernel(at + 1000, at + 1500, at + 40, thread=ENGINE)
            at += 6000
        found = self.gpu_ms(self.read(trace))
        self.assertAlmostEqual(found["main"], 1.0)
        self.assertAlmostEqual(found["(no range)"], 5.0)

    def test_parts_without_annotations_are_those_of_autograd(self):
        """A trace whose only ranges are the steps: forward by its numbered operators, backward by its nodes."""
        trace, at = TorchTrace(), 1000.0
        for step in range(6):
            trace.step(step, at, at + 1000)
            trace.operator("aten::addmm", at + 10, at + 60, number=step)
            trace.kernel(at + 100, at + 300, at + 20)
            trace.operator(NODE + "AddmmBackward0", at + 100, at + 160, ENGINE, number=step, forward_thread=1)
            trace.kernel(at + 300, at + 700, at + 110, thread=ENGINE)
            trace.range("Optimizer.step#SGD.step", at + 200, at + 260)
            trace.kernel(at + 700, at + 750, at + 210)
            trace.operator("aten::zeros", at + 300, at + 320)
            trace.kernel(at + 750, at + 780, at + 305)
            trace.call("cudaDeviceSynchronize", at + 330, at + 990)
            at += 1000
        busy = {each["what"]: each["ns"] / 1000 for each in self.read(trace)["answer"]["busy"]}
        steps = self.read(trace)["answer"]["steps"]
        self.assertEqual(busy, {"forward": 200 * steps, "backward": 400 * steps, "Optimizer.step#SGD.step": 50 * steps,
                                "other": 30 * steps})

    # --- parts of steps ---------------------------------------------------------------------------------------------

    def run_ahead(self, seed):
        """The host takes half of the GPU's time for a step. Returns the trace, and what each part takes."""
        draw, trace = random.Random(seed), TorchTrace()
        host, gpu, sums = 1000.0, 1100.0, {}
        for step in range(12):
            begin = host
            for part in ("forward", "backward", ""):
                from_host = host
                for _ in range(draw.randint(2, 5)):
                    took = draw.randint(40, 400)
                    trace.kernel(gpu, gpu + took, host + 2, took=3.0)
                    sums[step, part or "other"] = sums.get((step, part or "other"), 0) + took
                    gpu += took + 2
                    host += 110
                if part:
                    trace.range(part, from_host, host)
                host += 2
            trace.step(step, begin, host)
        return trace, sums

    def test_parts_of_steps_on_the_gpu_are_those_of_their_launches(self):
        for seed in range(6):
            with self.subTest(seed):
                trace, sums = self.run_ahead(seed)
                answer = self.read(trace)["answer"]
                self.assertTrue(answer["by_gpu"])
                # The steps in a row whose parts these are; which ones count is not this test's question.
                busy = {each["what"]: each["ns"] / 1000 for each in answer["busy"]}
                rows = [{part: sums[step, part] for part in ("forward", "backward", "other")} for step in range(12)]
                possible = [{part: sum(row[part] for row in rows[first:first + answer["steps"]]) for part in rows[0]}
                            for first in range(12 - answer["steps"] + 1)]
                self.assertIn(busy, possible)

    def test_a_pattern_for_steps_leaves_the_parts(self):
        trace, at = TorchTrace(), 1000.0
        for step in range(8):
            trace.range(f"iteration {step}", at, at + 1000)
            for i, part in enumerate(("forward", "backward")):
                trace.range(part, at + 10 + 400 * i, at + 400 + 400 * i)
                trace.kernel(at + 40 + 400 * i, at + 240 + 400 * i, at + 20 + 400 * i)
            at += 1000
        for options in ((), ("--step-range", "iteration #"), ("--step-range", "iteration *"),
                        ("--step-range", "iteration #@default"), ("--step-range", "iteration *@def*")):
            with self.subTest(options):
                answer = self.read(trace, *options)["answer"]
                self.assertEqual({each["what"] for each in answer["busy"]}, {"forward", "backward"})

    # --- several processes in one trace -----------------------------------------------------------------------------

    def ranks(self, rows, devices=(0, 1)):
        """Two ranks: kernels of 1,900 and 900 us; each numbers launches, nodes and streams from the same number on."""
        events = []
        for rank, (pid, gpu_row) in enumerate(rows):
            trace, at = TorchTrace(pid, gpu_row, devices[rank]), 1000.0 + rank
            for _ in range(4):
                trace.range(f"rank{rank}_forward", at, at + 8000)
                for i in range(4):
                    trace.kernel(at + 60 + 2000 * i, at + 60 + 2000 * i + (1900, 900)[rank], at + 20 + 2000 * i)
                at += 10_000
            events += trace.events
        random.Random(1).shuffle(events)
        merged = TorchTrace()
        merged.events = events
        return merged

    def test_merged_ranks_are_told_apart_by_their_rows(self):
        alike = (("[TP00-DP00] 83", "[TP00-DP00] 0"), ("[TP01-DP00] 83", "[TP01-DP00] 1"))
        different = (("rank 0 host 83", "rank 0 GPU 0"), ("rank 1 host 83", "rank 1 GPU 1"))
        for rows, devices in ((alike, (0, 1)), (alike, (0, 0)), (different, (0, 1)), (different, (0, 0))):
            with self.subTest(rows=rows, devices=devices):
                found = self.read(self.ranks(rows, devices))
                self.assertEqual({row["path"]: (row["gpu_sum_ns"], row["ops"]) for row in found["rows"][:2]},
                                 {"rank0_forward": (30_400_000, 16), "rank1_forward": (14_400_000, 16)})
                self.assertIn("2 processes", self.said(found))
                self.assertNotIn("no GPU record", self.said(found))
                self.assertEqual(found["answer"]["devices"], 2)

    def of_two_processes(self, first, second, rows):
        """Each is called with a trace of its own, whose launches have the same numbers if the rows are texts."""
        events = []
        for number, (fill, (pid, gpu_row)) in enumerate(zip((first, second), rows)):
            trace = TorchTrace(pid, gpu_row)
            trace.correlation = 0 if isinstance(pid, str) else 1000 * number
            fill(trace)
            events += trace.events
        merged = TorchTrace()
        merged.events = events
        found = self.read(merged)
        return {row["path"]: row for row in found["rows"] + found["process_ranges"]}

    MERGED = ((("[TP0] 83", "[TP0] 0"), ("[TP1] 84", "[TP1] 1")), ((83, 0), (84, 1)))

    def test_a_thread_works_for_its_own_process(self):
        def training(trace):
            trace.row("user_annotation", "backward", 1000, 2000)
            trace.kernel(1100, 1200, 1010)
            trace.row("__metadata", "", 0, 0)
            trace.events[-1] = {"ph": "M", "name": "thread_name", "pid": trace.pid, "tid": 99, "args": {"name": "pt_autograd_0"}}
            trace.row("user_annotation", "hook", 1300, 1400, 99)

        for rows in self.MERGED:
            with self.subTest(rows):
                found = self.of_two_processes(training, training, rows)
                self.assertEqual(found["backward/hook"]["instances"], 2)
                self.assertNotIn("(ambiguous)/hook", found)

    def test_a_process_wide_range_is_of_one_process(self):
        def overlapping(trace):
            trace.range("one", 1000, 2000)
            trace.range("asynchronous", 1500, 2500)
            trace.kernel(1600, 1700, 1510)

        def other(trace):
            trace.kernel(1650, 1750, 1520)

        for rows in self.MERGED:
            with self.subTest(rows):
                self.assertEqual(self.of_two_processes(overlapping, other, rows)["asynchronous"]["ops"], 1)

    def test_one_process_with_texts_for_rows(self):
        trace = TorchTrace("host 83", "GPU 0")
        trace.range("work", 1000, 2000)
        trace.kernel(1100, 1200, 1010)
        self.assertAlmostEqual(self.gpu_ms(self.read(trace))["work"], 0.1)

    def test_merged_ranks_that_cannot_be_told_apart_are_refused(self):
        path = self.ranks(((83, 0), (84, 1))).write(self.dir / "trace.json")
        result = self.prof("report", str(path))
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, "merged of 2 processes .pid 83, 84. .* jq '")

    def test_processes_with_numbers_of_their_own_are_one_trace(self):
        first, second = TorchTrace(83), TorchTrace(84)
        second.correlation = 1000
        for trace, name in ((first, "first"), (second, "second")):
            trace.range(name, 1000, 2000)
            trace.kernel(1100, 1200, 1010)
        first.events += second.events
        self.assertEqual({key: ms for key, ms in self.gpu_ms(self.read(first)).items() if ms},
                         {"first": 0.1, "second": 0.1})

    # --- graphs -----------------------------------------------------------------------------------------------------

    def captured(self, thread=HOST):
        trace, at = TorchTrace(), 1000.0
        trace.range("capture", at, at + 30_000)
        trace.kernel(at + 40, at + 140, at + 10)
        trace.call("cudaStreamBeginCapture", at + 1000, at + 1010)
        for i in range(300):
            trace.call("cudaLaunchKernel", at + 1100 + 80 * i, at + 1110 + 80 * i, thread)
        trace.call("cudaStreamEndCapture", at + 25_200, at + 25_300)
        trace.call("cudaGraphInstantiate", at + 25_400, at + 25_900)
        trace.kernel(at + 29_000, at + 29_500, at + 28_900)
        return trace

    def test_launches_into_a_graph_are_not_lost(self):
        for thread in (HOST, ENGINE):
            with self.subTest(thread=thread):
                found = self.read(self.captured(thread))
                self.assertIn("300 launches were captured", self.said(found))
                self.assertNotIn("no GPU record", self.said(found))
        idle = self.idle_us(self.read(self.captured(), report="breakdown"))
        self.assertGreater(idle["graph capture"], 24_000)
        self.assertLess(idle.get("launching", 0), 200)
        findings = {row["rule"] for row in self.read(self.captured(), command="diagnose")["rows"]}
        self.assertIn("graph_capture", findings)
        self.assertNotIn("launch_bound", findings)

    def test_a_launch_that_was_lost_beside_a_capture_is_lost(self):
        trace = self.captured()
        trace.call("cudaLaunchKernel", 30_000, 30_010)
        self.assertIn("1 launch has no GPU record", self.said(self.read(trace)))

    def test_a_replay_without_kernels_is_named(self):
        trace = TorchTrace()
        trace.kernel(1100, 1200, 1010)
        for i in range(3):
            trace.call("cudaGraphLaunch", 1300 + 100 * i, 1320 + 100 * i)
        self.assertIn("3 launches of CUDA graphs have no GPU record", self.said(self.read(trace)))

    # --- what is not read -------------------------------------------------------------------------------------------

    def other_device(self, category):
        trace, at = TorchTrace(), 1000.0
        trace.events.append({"ph": "M", "name": "process_name", "pid": 4012, "tid": 0, "args": {"name": "Ascend Hardware"}})
        for step in range(5):
            trace.step(step, at, at + 900)
            trace.operator("aten::mm", at + 10, at + 60, number=step)
            event = {"ph": "X", "name": "MatMulV2", "pid": 4012, "tid": 3, "ts": at + 100, "dur": 700, "args": {}}
            trace.events.append(event if category is None else {**event, "cat": category})
            at += 1000
        return trace

    def test_work_of_a_device_that_is_not_read_is_named_and_counted(self):
        for category, note in ((None, r"5 events have no category and are not read: rows of Ascend Hardware \(5\)"),
                               ("mtia_ccp_events", r"5 events are of kinds that are not read: mtia_ccp_events \(5\)"),
                               ("privateuse1_runtime", r"privateuse1_runtime \(5\)")):
            with self.subTest(category):
                path = self.other_device(category).write(self.dir / "trace.json")
                shown = self.prof("report", str(path)).stdout
                self.assertNotIn("none was done", shown)
                self.assertIn("no GPU work was read", " ".join(shown.split()))
                self.assertRegex(" ".join(shown.split()), note)

    def test_a_trace_of_operators_alone_names_their_table(self):
        trace = TorchTrace()
        for i in range(20):
            trace.operator("aten::add", 1000 + 10 * i, 1005 + 10 * i)
        path = trace.write(self.dir / "trace.json")
        self.assertIn("--report pytorch_ops has the 20 operators", self.prof("report", str(path)).stdout)

    def test_arrows_are_nothing_whatever_their_category(self):
        trace = TorchTrace()
        trace.kernel(1100, 1200, 1010)
        for category in ("async", "ac2g", "new_arrows"):
            for phase, pid in (("s", 100), ("f", 0)):
                trace.events.append({"ph": phase, "cat": category, "name": category, "id": 1, "pid": pid, "tid": 7,
                                     "ts": 1100})
        self.assertNotIn("not read", self.said(self.read(trace)))

    def test_files_of_other_formats_are_named(self):
        trace = TorchTrace()
        trace.kernel(1100, 1200, 1010)
        text = trace.write(self.dir / "plain.json").read_bytes()
        (self.dir / "a.bz2").write_bytes(bz2.compress(text))
        (self.dir / "a.xz").write_bytes(lzma.compress(text))
        (self.dir / "a.zst").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(64))
        (self.dir / "a.xplane.pb").write_bytes(b"\x0a\x10" + bytes(64))
        with zipfile.ZipFile(self.dir / "a.zip", "w") as archive:
            archive.writestr("trace.json", text)
        with sqlite3.connect(self.dir / "a.sqlite") as base:
            base.execute("create table t (x)")
        for name, words in (("a.bz2", "bunzip2"), ("a.xz", "unxz"), ("a.zst", "unzstd"), ("a.zip", "zip archive"),
                            ("a.sqlite", "SQLite"), ("a.xplane.pb", "XSpace")):
            with self.subTest(name):
                result = self.prof("report", str(self.dir / name))
                self.assertEqual(result.returncode, 1)
                self.assertIn(words, result.stderr)
        (self.dir / "marked.json").write_bytes(b"\xef\xbb\xbf" + text)
        self.assertEqual(self.read(str(self.dir / "marked.json"))["total_gpu_ns"], 100_000)

    # --- times and devices that cannot be ---------------------------------------------------------------------------

    def test_an_event_of_another_clock_is_left_out(self):
        base = 1_700_000_000_000_000
        trace = TorchTrace()
        for i in range(5):
            trace.kernel(base + 100 + 200 * i, base + 200 + 200 * i, base + 10 + 200 * i)
        trace.range("of time 0", 0, 10)
        found = self.read(trace)
        self.assertLess(found["process"]["recorded_ns"], 2_000_000)
        self.assertIn("1 event lies more than a week from the others", self.said(found))

    def test_the_gpu_of_a_node_number_is_the_one_described(self):
        for head, gpus in (([0], ["MI300X"]), ([0, 1, 2], ["MI300X"])):
            with self.subTest(head=head):
                trace = TorchTrace(device=9)
                trace.kernel(1100, 1200, 1010)
                path = self.dir / "trace.json"
                path.write_text(json.dumps({
                    "deviceProperties": [{"id": number, "name": "MI300X", "numSms": 304} for number in head],
                    "traceEvents": trace.events}))
                self.assertEqual(self.read(str(path))["process"]["gpus"], gpus)

    def test_an_operation_that_outlives_later_ones_of_its_stream_is_named(self):
        trace = TorchTrace()
        trace.kernel(1100, 9100, 1010, name="too_long")
        for i in range(10):
            trace.kernel(1300 + 100 * i, 1380 + 100 * i, 1110 + 100 * i)
        trace.kernel(5000, 6000, 4000, stream=8)  # of another stream: this may be
        self.assertIn("1 operation goes on while later ones of the same stream run, for 7.800 ms of the 9.800", self.said(self.read(trace)))

    def test_nothing_is_said_of_streams_in_order(self):
        """A kernel that waits for the one before within itself may begin a little before that one's end."""
        trace = TorchTrace()
        for i in range(10):
            trace.kernel(1300 + 100 * i, 1415 + 100 * i, 1110 + 100 * i)
        self.assertNotIn("same stream", self.said(self.read(trace)))

    # --- idle time behind the last operation ------------------------------------------------------------------------

    def test_idle_time_at_the_end_is_the_launching_threads(self):
        trace = TorchTrace()
        trace.range("work", 1000, 9000)
        trace.kernel(1100, 2000, 1010)
        idle = self.idle_us(self.read(trace, report="breakdown"))
        self.assertNotIn("launch not recorded", idle)
        self.assertAlmostEqual(idle["host code"], 10 + 7000)

    def test_idle_time_behind_operations_without_launches_is_not_known(self):
        trace = TorchTrace()
        trace.range("work", 1000, 9000)
        trace.on_gpu("kernel", "gemm", 1100, 2000, 77, grid=[1, 1, 1], block=[1, 1, 1])
        self.assertIn("launch not recorded", self.idle_us(self.read(trace, report="breakdown")))

    # --- communication ----------------------------------------------------------------------------------------------

    def steps_of_kernels(self, kernels):
        """10 steps; `kernels`: name and duration of each."""
        trace, at = TorchTrace(), 1000.0
        for step in range(10):
            begin = at
            for name, took in kernels:
                trace.kernel(at + 20, at + 20 + took, at + 5, name=name)
                at += took + 30
            trace.step(step, begin, at)
        return trace

    def test_communication_is_known_by_library_and_operation(self):
        exchanged = [
            "void deep_ep::intranode::dispatch<8, 768, 8192>(int4*, float*)",
            "void dpsk::ep::internode::combine<false, 8, __nv_bfloat16>(int4*, float*)",
            "void vllm::cross_device_reduce_2stage<__nv_bfloat16, 8>(vllm::RankData*, vllm::RankSignals)",
            "void aiter::reduce_scatter_cross_device_store<float, 8>(aiter::RankData*)",
            "void tensorrt_llm::kernels::oneShotAllReduceKernel<half, 8, true>(tensorrt_llm::kernels::AllReduceParams)",
            "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<(X)1, half, 8>(Y)",
            "void tensorrt_llm::kernels::moe_comm::moeA2ADispatchKernel<4>(Z)",
            "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*, unsigned long)",
            "void quickreduce::allreduce_prototype_twoshot<quickreduce::AllReduceTwoshot<half>, half>(half const*)",
            "nvshmemi_proxy_rma_entrypoint(void*, void*)", "void userbuffers_fp16_sum_inplace_gpu_rw_ag<8>(int)",
            "mscclKernel_Sum_float_Simple_false(ncclDevComm*)", "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)",
            "_Z22oneShotAllGatherKernelIfEvPT_"]
        computed = [
            "void groupnorm_kernel_dispatch_up<__hip_bfloat16, 1024u>(unsigned int)", "_combined_routing_compute",
            "void cub::DeviceReduceByKeyKernel<cub::DispatchReduceByKey<long*>, int>(long*)",
            "triton_poi_fused_add_all_reduce_4", "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>(R)",
            "void gemm_all_reduce_kernel<cutlass::half_t>(int)", "void moe::expand<deep_ep::Config>(float*)",
            "void connected_components(int*)", "ampere_sgemm_nccl_free", "_Z13reduce_kernelPf", "allocate_lamp"]
        for name in exchanged + computed:
            with self.subTest(name):
                found = self.read(self.steps_of_kernels([(name, 300), ("gemm", 200)]), report="breakdown")
                share = self.busy_us(found, "communication") / self.busy_us(found, "compute") if name in exchanged else 0
                self.assertAlmostEqual(share, 1.5 if name in exchanged else 0)
                if name in computed:
                    self.assertEqual(self.busy_us(found, "communication"), 0)

    def test_own_patterns_of_communication(self):
        trace = self.steps_of_kernels([("void mine::halo<float>(float*)", 300), ("gemm", 200)])
        for pattern in ("halo", "*mine::h*", "void mine*,other"):
            with self.subTest(pattern):
                found = self.read(trace, "--communication", pattern, report="breakdown")
                self.assertAlmostEqual(self.busy_us(found, "communication") / self.busy_us(found, "compute"), 1.5)
        self.assertEqual(self.busy_us(self.read(trace, report="breakdown"), "communication"), 0)

    def test_what_a_collective_launches_is_communication(self):
        """Kernels and copies of any name within PyTorch's collective; a copy that prepares it is none."""
        trace, at = TorchTrace(), 1000.0
        for step in range(10):
            trace.operator("c10d::allgather_", at, at + 400)
            trace.operator("aten::copy_", at + 5, at + 25)
            copy = trace.call("cudaMemcpyAsync", at + 10, at + 14)
            trace.on_gpu("gpu_memcpy", "Memcpy DtoD (Device -> Device)", at + 30, at + 80, copy, bytes=1 << 20)
            trace.operator("record_param_comms", at + 100, at + 300)
            copy = trace.call("cudaMemcpyAsync", at + 110, at + 114)
            trace.on_gpu("gpu_memcpy", "Memcpy DtoD (Device -> Device)", at + 120, at + 320, copy, bytes=1 << 20)
            trace.kernel(at + 330, at + 430, at + 150, name="wait_for_peers")
            trace.kernel(at + 500, at + 600, at + 450, name="gemm")
            trace.step(step, at, at + 650)
            at += 650
        found = self.read(trace, report="breakdown")
        self.assertAlmostEqual(self.busy_us(found, "communication") / self.busy_us(found, "compute"), 3.0)
        self.assertAlmostEqual(self.busy_us(found, "copies") / self.busy_us(found, "compute"), 0.5)

    def test_a_copy_to_another_gpu_is_communication(self):
        trace, at = TorchTrace(), 1000.0
        for step in range(10):
            copy = trace.call("cudaMemcpyAsync", at + 10, at + 14)
            trace.on_gpu("gpu_memcpy", "Memcpy PtoP (Device -> Device)", at + 30, at + 230, copy, bytes=1 << 20)
            trace.kernel(at + 300, at + 400, at + 250)
            trace.step(step, at, at + 450)
            at += 450
        found = self.read(trace, report="breakdown")
        self.assertAlmostEqual(self.busy_us(found, "communication") / self.busy_us(found, "compute"), 2.0)

    # --- hand-overs between streams ---------------------------------------------------------------------------------

    def exposed(self, gap_us):
        """12 steps: 8 ms of compute, 11.8 ms of an all-reduce in another stream, the optimizer `gap_us` after it."""
        trace, at = TorchTrace(), 1000.0
        for step in range(12):
            trace.kernel(at + 30, at + 8030, at + 10)
            trace.kernel(at + 8040, at + 19_840, at + 40, name="ncclDevKernel_AllReduce_Sum_f32_RING_LL(Args)", stream=20)
            end = at + 19_840 + gap_us(step)
            trace.kernel(end, end + 100, at + 70)
            trace.call("cudaDeviceSynchronize", at + 100, end + 110)
            trace.step(step, at, end + 120)
            at = end + 120
        return trace

    def test_hand_overs_of_any_gpu_are_followed(self):
        for gap in (5, 15, 19, 30):
            with self.subTest(gap=gap):
                rows = self.read(self.exposed(lambda step, gap=gap: gap + 0.1 * (step % 3)), command="diagnose")["rows"]
                gains = {row["rule"]: row["gain_ns"] / 1e6 for row in rows}
                self.assertAlmostEqual(gains["communication"], 8.3, delta=0.3)

    def test_coincidences_are_no_hand_overs(self):
        """The optimizer begins at any time up to 58 us after the all-reduce: it waits for something else."""
        draw = random.Random(3)
        rows = self.read(self.exposed(lambda _: 11 + 47 * draw.random()), command="diagnose")["rows"]
        self.assertNotIn("communication", {row["rule"] for row in rows})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
