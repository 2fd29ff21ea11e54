#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The traces are JSON as the standard has it: no NaN, no key twice, no comma too many, valid UTF-8; plain and
compressed they say the same."""
import gzip
import json
import pathlib

from example_traces import write_traces


def refuse_constant(name):
    raise ValueError(f"{name} is no JSON")


def without_duplicates(pairs):
    keys = [key for key, _ in pairs]
    assert len(keys) == len(set(keys)), f"a key twice in {keys}"
    return dict(pairs)


def strict(raw):
    return json.loads(
        raw.decode("utf-8", errors="strict"),
        parse_constant=refuse_constant,
        object_pairs_hook=without_duplicates,
    )


def main():
    traces = write_traces()
    for name in ("eventful", "dense", "graphs"):
        stem = pathlib.Path(traces.name, name)
        plain = strict(stem.with_suffix(".json").read_bytes())
        compressed = strict(gzip.decompress(stem.with_suffix(".json.gz").read_bytes()))
        assert plain.pop("traceName") + ".gz" == compressed.pop("traceName")
        assert plain == compressed
        known = {"X", "M", "i", "s", "f", "b", "e", "C"}
        assert {event["ph"] for event in plain["traceEvents"]} <= known
        print(f"{name}: {len(plain['traceEvents'])} events")


if __name__ == "__main__":
    main()
