# SPDX-License-Identifier: Apache-2.0
"""Captures made to cost a reader dear: each is valid to the last checksum, and as large as is asked for.

Written from docs/reference/capture-format.md alone. HOSTILE has a function for each kind: size in bytes -> the
capture's bytes.
"""
import struct
import zlib

PROPERTIES, NAMES, LABELS, THREAD, RECORDS, KERNELS, TRANSFERS, CLOCKS, END, WINDOWS = 1, 2, 3, 4, 5, 6, 7, 8, 11, 13
PUSH, POP, START, ENTER, EXIT, NODE, CLONE, PLACE, ADOPT = 1, 2, 3, 7, 8, 9, 10, 12, 13
U32, U64 = 2**32 - 1, 2**64 - 1


class Capture:
    def __init__(self):
        header = struct.pack("<8sIIIIQ16sI", b"LIBPROF\n", 1, 64, 1, 1, 10**18, bytes(16), 0)
        self.parts = [header + struct.pack("<IQ", zlib.crc32(header), 0)]
        self.size = 64
        self.sequence = 0
        self.numbers = {}

    def chunk(self, kind, payload, aux=0, deflated=None):
        stored = deflated or payload
        head = struct.pack("<IIIIQIII", 0x4B4E4843, kind, int(deflated is not None), self.sequence, aux, len(stored),
                           len(payload), zlib.crc32(stored))
        self.sequence += 1
        self.parts.append(head + struct.pack("<I", zlib.crc32(head)) + stored + bytes(-len(stored) % 8))
        self.size += len(self.parts[-1])

    def records(self, uid, records):
        first = self.numbers.get(uid, 0)
        self.numbers[uid] = first + len(records)
        self.chunk(RECORDS, struct.pack("<Q", first) + b"".join(records), uid)

    def thread(self, uid, tid, name=b"main"):
        self.chunk(THREAD, struct.pack("<QII32s", uid, tid, 0, name))

    def names(self, names):
        self.chunk(NAMES, b"".join(struct.pack("<II", i, len(t)) + t + bytes(-len(t) % 4) for i, t in names))

    def clocks(self):
        self.chunk(CLOCKS, b"".join(struct.pack("<5Q", t, t, 10**18 + t, 10**18 + t, 1) for t in (0, 10**9)))

    def done(self):
        self.chunk(END, struct.pack("<IIQ", 2, 0, 10**18))
        return b"".join(self.parts)


def record(kind, ticks, value=0, name=0, domain=0, flags=0, color=0, category=0):
    return struct.pack("<QQIIIHBB", ticks & U64, value & U64, name, color, category, domain, kind, flags)


def copy(start, end, key, stream=7, node=0):
    return struct.pack("<5Q9I", start & U64, end & U64, key, 64, node, 0, 0, 1, stream, 0, 0, 0, 0, 0).ljust(96, b"\0")


def begin(threads=1):
    capture = Capture()
    capture.clocks()
    for uid in range(1, threads + 1):
        capture.thread(uid, uid)
    return capture


def some(size, bytes_each):
    return range(1, max(2, size // bytes_each))


def inflates_to_gigabytes(size):
    capture = begin()
    payload = bytes(8) + record(PUSH, 1) * 500_000
    deflated = zlib.compress(payload, 9)
    while capture.size < size:
        capture.chunk(RECORDS, payload, capture.sequence, deflated)
    return capture.done()


def claims_large_chunks(size):
    capture = begin()
    while capture.size < size:
        for raw in (1 << 24, 0):
            head = struct.pack("<IIIIQIII", 0x4B4E4843, RECORDS, 1, capture.sequence, 1, 8, raw, zlib.crc32(bytes(8)))
            capture.sequence += 1
            capture.parts.append(head + struct.pack("<I", zlib.crc32(head)) + bytes(8))
            capture.size += 48
    return capture.done()


def pops_from_the_bottom(size):
    capture = begin()
    capture.records(1, [record(PUSH, i, domain=i) for i in range(1024)])
    capture.records(1, [record(kind, 2000 + i, domain=i % 1024) for i in some(size, 64) for kind in (POP, PUSH)])
    return capture.done()


def names_every_thread_again(size):
    capture = begin()
    count = size // 200
    for uid in range(2, count):
        capture.thread(uid, 1, b"t%d" % uid)
    capture.chunk(LABELS, struct.pack("<IIQ", 3, 1, 1) * (size // 32))
    return capture.done()


def control_characters(size):
    capture = begin()
    capture.names([(1, b"\xc2\x80" * (size // 2))])
    capture.records(1, [record(PUSH, 1, name=1), record(POP, 2)])
    return capture.done()


def long_names_nested(size):
    capture = begin()
    capture.names([(1, b"n" * (size // 2))])
    capture.records(1, [record(PUSH, i, name=1) for i in range(1000)])
    return capture.done()


def distinct_rows_nested(size):
    capture = begin()
    names = [(i, b"%06d/" % i * 4) for i in some(size, 100)]
    capture.names([(i, t.translate(bytes.maketrans(b"0123456789", b"abcdefghij"))) for i, t in names])
    capture.records(1, [record(PUSH, 1, name=i) for i in range(1, 1000)])
    capture.records(1, [record(kind, 2 * i, name=i) for i, _ in names for kind in (PUSH, POP)])
    return capture.done()


def ranges_never_ended(size):
    capture = begin()
    capture.names([(1, b"leak")])
    capture.records(1, [r for i in some(size, 256) for r in (record(START, 3 * i, i, 1),
                    record(ENTER, 3 * i + 1, i, domain=2), record(EXIT, 3 * i + 2, i, domain=2))])
    capture.chunk(TRANSFERS, b"".join(copy(10**18 + 3 * i, 10**18 + 3 * i + 9, i) for i in some(size, 256)))
    return capture.done()


def work_that_overlaps(size):
    capture = begin()
    n = size // 96
    capture.chunk(TRANSFERS, b"".join(copy(10**18 + i, 10**18 + n + i, i) for i in some(size, 96)))
    return capture.done()


def ranges_that_overlap(size):
    """On one row of a viewer: thousands of threads had the same tid."""
    capture = Capture()
    capture.clocks()
    for uid in some(size, 240):
        capture.thread(uid, 1, b"t%d" % uid)
        capture.records(uid, [record(PUSH, 10 * uid), record(POP, 10**8 + 11 * uid)])
    return capture.done()


def calls_in_one_instant(size):
    capture = begin()
    capture.records(1, [record(kind, 5, i, domain=2) for i in some(size, 64) for kind in (ENTER, EXIT)])
    return capture.done()


def a_stream_for_each_copy(size):
    capture = begin()
    capture.records(1, [record(PUSH, i, domain=i % 9) for i in range(1000)])
    capture.records(1, [record(k, 2000 + i, i, domain=2) for i in some(size, 160) for k in (ENTER, EXIT)])
    capture.chunk(TRANSFERS, b"".join(copy(10**18 + 2000 + i, 10**18 + 2001 + i, i, i) for i in some(size, 160)))
    return capture.done()


def symbols_that_unfold(size):
    """Each template argument is twice the one before it."""
    capture = begin()
    unfold = b"SaIT_E" + b"".join(b"SaIS%c_S%c_E" % (c, c) for c in b"0123456789ABCDEFGHIJ")
    symbols = [(i, b"_Z1f%05dI" % i + b"St4pairIiiE" + b"".join(b"St4pairIS%s_S%s_E" % (s, s) for s in
                (b"", b"0", b"1", b"2", b"3", b"4", b"5", b"6", b"7", b"8", b"9", b"A", b"B", b"C", b"D")) + b"EvT_")
               for i in some(size, 600)]
    symbols += [(10**6 + i, b"_Z%dk%04dI" % (5, i) + b"St4pairIiiE" + unfold + b"EvT_") for i in some(size, 600)]
    capture.names(symbols)
    capture.chunk(KERNELS, b"".join(
        struct.pack("<9Q3I", 10**18, 10**18 + 5, 0, 0, 0, i, 0, 0, 0, 0, i, 0).ljust(184, b"\0") for i, _ in symbols))
    return capture.done()


def graphs_of_a_thousand_ranges(size):
    capture = begin()
    capture.records(1, [record(PUSH, i) for i in range(1000)] + [record(NODE, 1001, 77)] +
                    [record(POP, 1002 + i) for i in range(1000)])
    capture.records(1, [record(k, 3000 + i, i, domain=2) for i in some(size, 160) for k in (ENTER, EXIT)])
    capture.chunk(TRANSFERS, b"".join(
        copy(10**18 + 3000 + i, 10**18 + 3001 + i, i, node=77) for i in some(size, 160)))
    return capture.done()


def copies_of_copies(size):
    """Nodes that are copies of one another in a ring."""
    capture = begin()
    count = size // 192
    records = [r for i in range(1, count) for r in (record(NODE, 1, i), record(CLONE, 1, i, (i + 1) % count))]
    capture.records(1, records)
    capture.chunk(TRANSFERS, b"".join(copy(10**18 + i, 10**18 + i, 0, node=i) for i in range(1, count)))
    return capture.done()


def threads_in_a_chain(size):
    """Each works for the one before it, all at once, and the last one works."""
    capture = Capture()
    capture.clocks()
    for uid in some(size, 300):
        capture.thread(uid, uid)
        capture.records(uid, [record(ADOPT, uid * 4, uid - 1), record(PUSH, uid * 4 + 1), record(PLACE, uid * 4 + 2, uid),
                              record(ENTER, uid * 4 + 3, uid, domain=2)])
    capture.chunk(TRANSFERS, b"".join(copy(10**18 + 9**9, 10**18 + 9**9, i) for i in some(size, 1000)))
    return capture.done()


def threads_in_a_ring(size):
    capture = Capture()
    capture.clocks()
    count = size // 300
    for uid in range(1, count):
        capture.thread(uid, uid, b"pt_autograd_%d" % uid)
        capture.records(uid, [record(ADOPT, 1, (uid + 1) % count), record(PUSH, 1), record(PLACE, 1, uid),
                              record(ENTER, 1, uid, domain=2)])
    capture.chunk(TRANSFERS, b"".join(copy(10**18, 10**18 + 9, i) for i in some(size, 1000)))
    return capture.done()


def times_at_the_edges(size):
    capture = Capture()
    edges = (0, 1, 2**31, 2**63 - 1, 2**63, U64 - 1, U64)
    capture.chunk(CLOCKS, b"".join(struct.pack("<5Q", a, b, b, a, b) for a in edges for b in edges))
    capture.chunk(WINDOWS, b"".join(struct.pack("<II6QII", e & U32, e & U32, e, e, e, e, e, e, e & U32, 0) for e in edges))
    capture.thread(1, U32)
    kinds = (PUSH, POP, START, ENTER, EXIT, NODE, PLACE, ADOPT)
    capture.records(1, [record(k, e, e, domain=65535, flags=i % 256, color=U32, category=U32)
                        for i in range(size // 4096) for k in kinds for e in edges])
    capture.chunk(TRANSFERS, b"".join(copy(s, e, e, U32, s) for s in edges for e in edges))
    return capture.done()


HOSTILE = {f.__name__: f for f in (
    inflates_to_gigabytes, claims_large_chunks, pops_from_the_bottom, names_every_thread_again, control_characters,
    long_names_nested, distinct_rows_nested, ranges_never_ended, work_that_overlaps, ranges_that_overlap,
    calls_in_one_instant, a_stream_for_each_copy, symbols_that_unfold, graphs_of_a_thousand_ranges, copies_of_copies,
    threads_in_a_chain, threads_in_a_ring, times_at_the_edges)}
