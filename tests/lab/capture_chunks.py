# SPDX-License-Identifier: Apache-2.0
"""The chunks of a capture that was closed in good order, read as docs/reference/capture-format.md has it.

    python3 tests/lab/capture_chunks.py CAPTURE    lists them: the kind, and the bytes stored and inflated
"""

import pathlib
import struct
import sys
import zlib

EARLIER = 14
WINDOWS = 13


def all_chunks(capture):
    """The kind of each, its payload as it is stored, and inflated."""
    data, at = pathlib.Path(capture).read_bytes(), 64
    while at + 40 <= len(data):
        _, kind, flags, _, _, size, _, _, _ = struct.unpack_from("<4IQ4I", data, at)
        stored = data[at + 40 : at + 40 + size]
        at += 40 + (size + 7) // 8 * 8
        yield kind, stored, zlib.decompress(stored) if flags & 1 else stored


def chunks(capture, kind):
    """The payloads of a kind, inflated."""
    return (payload for found, _, payload in all_chunks(capture) if found == kind)


def windows(capture):
    """[first step, last step] of each window, in the order in which they began."""
    found = {}
    for payload in chunks(capture, WINDOWS):
        for epoch, _, _, end_ticks, first, last, _, _, _, _ in struct.iter_unpack("<2I6Q2I", payload):
            found[epoch] = [first, last if end_ticks else first]
    return [found[epoch] for epoch in sorted(found)]


if __name__ == "__main__":
    for number, (kind, stored, payload) in enumerate(all_chunks(sys.argv[1])):
        print(f"chunk {number}: kind {kind}, {len(stored)} bytes, {len(payload)} inflated")
