#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time and memory of `prof export DIRECTORY --format parquet`, and of the queries on its tables.

    tables_scale.py --prof PROF --writer SCALE_BENCH --queries DIR [--job 8:1e6] [--job 1024:5e3] [--spark] [--cores 0,1]

A job is RANKS:RECORDS of each rank, which scale_bench writes first. It is exported --runs times, of which the fastest
counts; then each query is asked once of DuckDB, and with --spark of Spark, in a process of its own, whose time is without
its start. Peaks are ru_maxrss; of Spark that is Java's. Everything is removed at the end.
"""

import argparse
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

from report_scale import measured

QUERIES = ("gpu_time_by_range", "phases_by_step", "ranges_by_step", "kernels", "step_times", "slow_ranks",
           "collectives", "exposed_communication")  # fmt: skip
VIEWS = ("duckdb", "spark")


def statements(path):
    return [text for text in path.read_text(encoding="utf-8").split(";") if text.strip()]


def ask_duckdb(queries):
    import duckdb

    connection = duckdb.connect()
    for text in statements(queries / "duckdb.sql"):
        connection.execute(text)
    return lambda sql: connection.execute(sql).fetchall()


def ask_spark(queries, cores):
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[{cores}]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", "4g").config("spark.sql.shuffle.partitions", str(cores))
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    for text in statements(queries / "spark.sql"):
        session.sql(text)
    return lambda sql: session.sql(sql).collect()


def ask(engine, queries):
    """In a process of its own, in the directory of the tables: a line for each query, and the peak."""
    cores = len(os.sched_getaffinity(0))
    answer = ask_duckdb(queries) if engine == "duckdb" else ask_spark(queries, cores)
    for name in QUERIES:
        sql = (queries / f"{name}.sql").read_text(encoding="utf-8")
        began = time.perf_counter()
        rows = len(answer(sql))
        print(f"{name} {time.perf_counter() - began:.3f} {rows}", flush=True)
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    java = 0
    for status in pathlib.Path("/proc").glob("[0-9]*/status"):
        try:
            text = status.read_text()
        except OSError:
            continue
        if f"PPid:\t{os.getpid()}\n" in text and "VmHWM" in text:
            java = max(java, int(text.split("VmHWM:")[1].split()[0]))
    print(f"peak {max(own, java)}")


def size_of(folder):
    files = [path for path in folder.rglob("*") if path.is_file()]
    return sum(path.stat().st_size for path in files), len(files)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--prof", metavar="FILE", help="the prof command")
    parser.add_argument("--writer", metavar="FILE", help="scale_bench")
    parser.add_argument("--queries", metavar="DIR", required=True, type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--job", action="append", metavar="RANKS:RECORDS", help="(8:1e6, 64:5e3, 512:5e3, 1024:5e3)")
    parser.add_argument("--spark", action="store_true", help="ask Spark, too")
    parser.add_argument("--cores", metavar="LIST", help="run on these processors alone")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--memory", type=float, default=16, metavar="GB", help="(%(default)g)")
    parser.add_argument("--directory", help="where the captures go (the temporary directory)")
    parser.add_argument("--ask", choices=VIEWS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.ask:
        return ask(options.ask, options.queries)
    if options.cores:
        os.sched_setaffinity(0, {int(core) for core in options.cores.split(",")})
    print("| ranks | records each | | time | processor | peak | |")
    print("| ---: | ---: | --- | ---: | ---: | ---: | --- |")
    for job in options.job or ["8:1e6", "64:5e3", "512:5e3", "1024:5e3"]:
        ranks, wanted = (int(float(number)) for number in job.split(":"))
        with tempfile.TemporaryDirectory(dir=options.directory) as scratch:
            captures, tables = pathlib.Path(scratch, "captures"), pathlib.Path(scratch, "tables")
            captures.mkdir()
            for rank in range(ranks):
                capture = captures / f"job.{rank}.host{rank // 8}-{4242 + rank}.prof"
                place = ["--rank", str(rank), "--ranks", str(ranks)]
                write = [options.writer, "--records", str(wanted), "--write", capture, *place]
                records = int(subprocess.run(write, check=True, stdout=subprocess.PIPE, text=True).stdout.split()[0])
            head = f"| {ranks:,} | {records:,} |"
            command = [options.prof, "export", captures, "--format", "parquet", "-o", tables]
            runs = [measured(command, options.memory) for _ in range(options.runs)]
            seconds, processor, _ = min(runs)
            size, files = size_of(tables)
            stored, _ = size_of(captures)
            print(f"{head} `prof export` | {seconds:.2f} s | {processor:.2f} s | {max(run[2] for run in runs) / 1e6:.0f} MB "
                  f"| {stored / 1e6:.1f} MB of captures, {size / 1e6:.1f} MB in {files:,} files |")  # fmt: skip
            for engine in VIEWS[: 2 if options.spark else 1]:
                asking = [sys.executable, __file__, "--queries", options.queries, "--ask", engine]
                done = subprocess.run(asking, check=True, cwd=tables, stdout=subprocess.PIPE, text=True)
                lines = [line.split() for line in done.stdout.splitlines()]
                times = ", ".join(f"{name} {float(took):.2f} s" for name, took, _ in lines[:-1])
                whole = sum(float(took) for _, took, _ in lines[:-1])
                print(f"{head} {engine}, all queries | {whole:.2f} s | | {int(lines[-1][1]) / 1e3:.0f} MB | {times} |")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
