# SPDX-License-Identifier: Apache-2.0
"""Reads the sample capture with nothing but Python and the tables of docs/reference/capture-format.md, and runs the
document's own example on it.

    parse_capture_test.py WRITER DOCUMENT     WRITER is the program write_sample_capture
"""
import os
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

from format_document import Document

WRITER, DOCUMENT = sys.argv[1:3]
KEY = (1 << 32) + 17  # attach epoch 1, correlation id 17

EXPECTED = {
    "label": [dict(kind=1, name=7, key=1), dict(kind=4, name=1, key=0x1_0000_0007)],
    "format::thread_entry": [dict(uid=1, tid=4711, reserved=0, name=b"python3".ljust(32, b"\0"))],
    "record": [
        dict(ticks=1000, value=0x4045_0000_0000_0000, name=1, color=0xFF76B900, category=9, domain=1, kind=1, flags=3),
        dict(ticks=1100, value=KEY, name=3, color=0, category=211, domain=2, kind=7, flags=0),
        dict(ticks=1250, value=KEY, name=0, color=0, category=0, domain=0, kind=8, flags=0),
        dict(ticks=1300, value=0, name=0, color=0, category=0, domain=1, kind=2, flags=0),
    ],
    "kernel_record": [
        dict(start_ns=5_000_000_000, end_ns=5_000_002_500, completed_ns=5_000_002_600, queued_ns=4_999_999_000,
             submitted_ns=4_999_999_500, correlation=KEY, grid_id=77, graph_node_id=0x200000001,
             local_memory_total_bytes=0x300000002, graph_id=6, name=3, device=2, context=1, stream=7,
             grid=(132, 2, 3), block=(256, 4, 5), cluster=(8, 9, 10), static_shared_bytes=1024,
             dynamic_shared_bytes=2048, executed_shared_bytes=4096, local_bytes_per_thread=16, channel=11,
             registers_per_thread=168, channel_type=12, launch_type=13, cluster_scheduling_policy=14,
             max_potential_cluster_blocks=15, max_active_clusters=16, shared_limit_config=17, priority=-18,
             cache_config=0x21, shared_memory_config=19, carveout_is_requested=1, carveout_requested=20,
             is_device_launched=1, reserved=(0,) * 7),
    ],
    "transfer_record": [
        dict(start_ns=5_000_100_000, end_ns=5_000_180_000, correlation=KEY + 1, bytes=4_194_304,
             graph_node_id=0x400000003, graph_id=14, device=2, context=1, stream=7, source_device=15,
             destination_device=16, value=17, channel=18, channel_type=19, kind=3, copy_kind=10, source_kind=1,
             destination_kind=3, is_async=1, is_device_launched=1, reserved=0, source_context=20, destination_context=21,
             copy_count=22),
    ],
    "graph_record": [dict(start_ns=5_000_200_000, end_ns=5_000_290_000, correlation=KEY + 2, graph_id=21, device=2,
                          context=1, stream=7)],
    "clock_snapshot": [
        dict(ticks=1000, monotonic_ns=2000, realtime_ns=1_750_000_000_000_003_000, cupti_ns=4000, spread_ticks=50),
        dict(ticks=1500, monotonic_ns=2250, realtime_ns=1_750_000_000_000_003_250, cupti_ns=4250, spread_ticks=60),
    ],
    "format::window_entry": [
        dict(epoch=3, warmup_calls=4, begin_ticks=5, end_ticks=6, first_step=7, last_step=8, drawn_first=9,
             drawn_among=10, ends_with_step=1, reserved=0),
    ],
    "format::key_frame_entry": [dict(begin_ticks=1290, latest_call=KEY, records=3, gpu_records=2)],
    "device_record": [
        dict(global_memory_bytes=150_754_820_096, memory_bandwidth_kbytes_per_s=4_814_000_000, device=2,
             compute_capability_major=9, compute_capability_minor=1, multiprocessors=132, max_threads_per_block=1024,
             max_threads_per_multiprocessor=2048, max_blocks_per_multiprocessor=32, registers_per_block=65536,
             registers_per_multiprocessor=65537, shared_bytes_per_block=49152, shared_bytes_per_multiprocessor=233472,
             warp_size=32, core_clock_khz=1_980_000, name=5, uuid=bytes(range(0xA0, 0xB0))),
    ],
    "format::drop_entry": [dict(cause=0, reserved=0, count=21), dict(cause=12, reserved=0, count=22)],
}
EXPECTED["kernel_record"].append(dict(EXPECTED["kernel_record"][0], start_ns=5_000_010_000, end_ns=5_000_013_000))
NOTHING = dict(name=0, color=0, category=0, domain=0, flags=0)
GRAPH_CONTEXT = [dict(NOTHING, ticks=4, value=1 << 31, kind=15), dict(NOTHING, ticks=5, value=0x400000009, kind=9)]
ELEMENTS = dict(labels="label", thread="format::thread_entry", records="record", graph_context="record",
                known_graphs="record", kernels="kernel_record",
                transfers="transfer_record", graphs="graph_record", clocks="clock_snapshot", devices="device_record",
                drops="format::drop_entry", windows="format::window_entry",
                key_frame="format::key_frame_entry", open="record", end="format::end_entry")


def texts(payload):
    """Of a names chunk: {id: text}."""
    found, at = {}, 0
    while at < len(payload):
        name, size = struct.unpack_from("<2I", payload, at)
        found[name] = payload[at + 8:at + 8 + size]
        at += 8 + size
        while at % 4:
            assert payload[at] == 0
            at += 1
    return found


def pairs(payload):
    found, at = [], 0
    while at < len(payload):
        key, value = struct.unpack_from("<2I", payload, at)
        at += 8
        found.append((payload[at:at + key], payload[at + key:at + key + value]))
        at += key + value
    return found


class ParseCapture(unittest.TestCase):
    def setUp(self):
        self.document = Document(DOCUMENT)
        self.types = {number: name for name, number in self.document.enums["prof::format::chunk_type"].items()}
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def sample(self, *how):
        path = os.path.join(self.folder.name, "-".join(("sample", *how)))
        subprocess.run([WRITER, path, *how], check=True)
        return path

    def chunks(self, data):
        """(type, aux, payload) of each chunk, everything about it checked."""
        head = self.document.structs["prof::format::chunk_header"]
        at, number = 64, 0
        while at < len(data):
            chunk = head.decode(data[at:at + head.size])
            self.assertEqual(chunk["magic"].to_bytes(4, "little"), b"CHNK")
            self.assertEqual(chunk["header_crc32"], zlib.crc32(data[at:at + 36]))
            self.assertEqual(chunk["sequence"], number)
            payload = data[at + head.size:at + head.size + chunk["stored_bytes"]]
            self.assertEqual(chunk["payload_crc32"], zlib.crc32(payload))
            at += head.size + len(payload)
            padding = data[at:(at + 7) // 8 * 8]
            self.assertEqual(padding, bytes(-at % 8))
            at += len(padding)
            if chunk["flags"] == 1:
                self.assertLess(len(payload), chunk["raw_bytes"])
                payload = zlib.decompress(payload)
            self.assertEqual(len(payload), chunk["raw_bytes"])
            yield self.types[chunk["type"]], chunk["aux"], payload
            number += 1

    def check_sample(self, path):
        with open(path, "rb") as source:
            data = source.read()
        header = self.document.structs["prof::format::file_header"].decode(data[:64])
        self.assertEqual(header["magic"], b"LIBPROF\n")
        self.assertEqual((header["version"], header["header_bytes"]), (1, 64))
        self.assertEqual(header["id"], bytes(range(16)))
        self.assertEqual(header["crc32"], zlib.crc32(data[:52]))

        properties, seen = [], set()
        for kind, aux, payload in self.chunks(data):
            seen.add(kind)
            self.assertEqual(aux, 1 if kind in ("records", "open", "graph_context", "known_graphs") else 0)
            if kind == "properties":
                properties += pairs(payload)
                continue
            if kind == "names":
                self.assertEqual(texts(payload), {1: b"forward", 3: b"gemm_kernel", 5: b"NVIDIA H200", 7: b"layer\xC3("})
                continue
            if kind in ("records", "open"):
                self.assertEqual(int.from_bytes(payload[:8], "little"), 0 if kind == "records" else 3)
                payload = payload[8:]
            if kind in ("graph_context", "known_graphs"):
                self.assertEqual(int.from_bytes(payload[:8], "little"), 7)
                payload = payload[8:]
            layout = self.document.structs["prof::" + ELEMENTS[kind]]
            found = [layout.decode(payload[at:at + layout.size]) for at in range(0, len(payload), layout.size)]
            if kind == "end":
                self.assertEqual(found[0]["reason"], self.document.enums["prof::format::end_reason"]["exited"])
                self.assertGreaterEqual(found[0]["realtime_ns"], header["created_realtime_ns"])
            else:
                expected = EXPECTED["record"][:1] if kind == "open" else None
                if kind in ("graph_context", "known_graphs"):
                    expected = GRAPH_CONTEXT
                self.assertEqual(found, expected or EXPECTED[ELEMENTS[kind]])
        self.assertEqual(properties, [(b"hostname", b"node17"), (b"rank", b"3"), (b"command", b"train \xFF\0\n.py")])
        self.assertEqual(seen, set(self.types.values()))

    def test_tables_decode_a_plain_capture(self):
        self.check_sample(self.sample())

    def test_tables_decode_a_deflated_capture(self):
        self.check_sample(self.sample("deflate"))

    def test_example_prints_what_the_document_shows(self):
        self.assertLessEqual(self.document.example.count("\n"), 40)
        example = os.path.join(self.folder.name, "example.py")
        with open(example, "w", encoding="utf-8") as script:
            script.write(self.document.example)
        for how in ((), ("deflate",)):
            run = subprocess.run([sys.executable, example, self.sample(*how)], check=True, capture_output=True, text=True)
            self.assertEqual(run.stdout, self.document.printed)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
