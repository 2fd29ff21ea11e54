# SPDX-License-Identifier: Apache-2.0
"""The chunks of a capture that was closed in good order, read as docs/reference/capture-format.md has it."""

import pathlib
import struct
import zlib

EARLIER = 14
WINDOWS = 13


def chunks(capture, kind):
    """The payloads of a kind, inflated."""
    data, at = pathlib.Path(capture).read_bytes(), 64
    while at + 40 <= len(data):
        _, found, flags, _, _, stored, _, _, _ = struct.unpack_from("<4IQ4I", data, at)
        payload = data[at + 40 : at + 40 + stored]
        at += 40 + (stored + 7) // 8 * 8
        if found == kind:
            yield zlib.decompress(payload) if flags & 1 else payload


def windows(capture):
    """[first step, last step] of each window, in the order in which they began."""
    found = {}
    for payload in chunks(capture, WINDOWS):
        for epoch, _, _, end_ticks, first, last, _, _, _, _ in struct.iter_unpack("<2I6Q2I", payload):
            found[epoch] = [first, last if end_ticks else first]
    return [found[epoch] for epoch in sorted(found)]
