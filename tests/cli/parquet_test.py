#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tables of `prof export --format parquet`: what DuckDB answers to the queries that are shipped is what `prof
report` says, pyarrow reads the same rows, and so does Spark.

    parquet_test.py PROF STUB_LIBPROF WRITE_RANDOM_CAPTURES QUERIES FOLDER FOLDER [TEST...]

The folders have captures, some packed (*.prof.xz), and jobs of several (*.txz). The second may be missing. Spark is
asked where pyspark and Java are there; PROF_TEST_SPARK=1 makes their absence a failure.
"""

import importlib.util
import json
import lzma
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import unittest
from collections import Counter, defaultdict

try:
    import duckdb
    import pyarrow
    import pyarrow.parquet
except ModuleNotFoundError as missing:
    print(f"SKIPPED: no {missing.name}: pip install -r tests/requirements-all.txt")
    sys.exit(77)

WRITE_RANDOM_CAPTURES, QUERIES, *FOLDERS = (pathlib.Path(path).resolve() for path in sys.argv[3:7])
TESTS = sys.argv[7:]

from cli_test import DOCS, CommandLine  # noqa: E402
from hostile_captures import POP, PUSH, begin, copy, record, TRANSFERS  # noqa: E402
from ranks_test import RANKS, STEPS, write_job  # noqa: E402
from torch_trace import TorchTrace  # noqa: E402

TABLES = ("gpu_operations", "ranges", "steps", "collectives", "processes", "notes")
RANDOM_CAPTURES = (1, 30)
# Means and medians are sums of doubles in another order.
NEARLY = 1e-9


def query(name):
    return (QUERIES / f"{name}.sql").read_text(encoding="utf-8").rstrip().removesuffix(";")


class Tables:
    """An export as DuckDB sees it, by the views that are shipped."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        before = os.getcwd()
        os.chdir(folder)
        try:
            self.connection = duckdb.connect()
            for statement in query("duckdb").split(";"):
                if statement.strip():
                    # The views' paths are those of the working directory, which is another one later.
                    self.connection.execute(re.sub(r"read_parquet\('", f"read_parquet('{folder}/", statement))
        finally:
            os.chdir(before)

    def rows(self, sql):
        done = self.connection.execute(sql)
        names = [column[0] for column in done.description]
        return [dict(zip(names, row, strict=True)) for row in done.fetchall()]

    def answer(self, name):
        return self.rows(query(name))

    def value(self, sql):
        ((value,),) = self.connection.execute(sql).fetchall()
        return value


class Export(CommandLine):
    def export(self, *captures, place="tables", status=0, **more):
        folder = self.dir / place
        result = self.prof("export", *captures, "--format", "parquet", "-o", folder, **more)
        self.assertEqual(result.returncode, status, result.stderr)
        return Tables(folder)

    def report(self, name, *captures):
        result = self.prof("report", *captures, "--report", name, "--format", "json")
        self.assertEqual(result.returncode, 0, result.stderr)
        read = json.loads(result.stdout)
        return read[0] if isinstance(read, list) and len(read) == 1 else read

    def near(self, found, wanted, about=""):
        if wanted is None or found is None:
            self.assertIs(found, wanted, about)
        else:
            self.assertTrue(math.isclose(found, wanted, rel_tol=NEARLY, abs_tol=1e-6), (found, wanted, about))

    def captures_of(self, folder):
        """(name, files) of each capture and job in a folder, unpacked."""
        for path in sorted(folder.rglob("*.prof")):
            yield path.name, [path]
        for path in sorted((*folder.rglob("*.json"), *folder.rglob("*.json.gz"))):
            yield path.name, [path]
        for path in sorted(folder.rglob("*.prof.xz")):
            place = self.dir / path.name.removesuffix(".xz")
            place.write_bytes(lzma.decompress(path.read_bytes()))
            yield path.name, [place]
            place.unlink()
        for path in sorted(folder.rglob("*.txz")):
            place = self.dir / path.name
            with tarfile.open(path) as packed:
                packed.extractall(place, filter="data")
            yield path.name, sorted(place.rglob("*.prof"))
            shutil.rmtree(place)

    def check_capture(self, tables, *capture):
        """Everything that one capture's reports say, and the tables too."""
        ranges = self.report("gpu-projection", *capture)
        rows = ranges["rows"]
        figures = ("instances", "host_ns", "gpu_sum_ns", "gpu_self_ns", "ops", "adopted_ops", "communication_ns")
        # Rows of one path differ where ranges of the program and phases have one name: by path they are one.
        wanted = defaultdict(Counter)
        for row in rows:
            if row["type"] in ("push_pop", "phase", "captured") or row["ops"]:
                wanted[row["type"], row["path"]].update({key: row[key] for key in figures})
        answered = tables.answer("gpu_time_by_range")
        renamed = {"operations": "ops", "adopted_operations": "adopted_ops"}
        found = {(row["type"], row["path"]): Counter({renamed.get(key, key): row[key] for key in row if
                                                      renamed.get(key, key) in figures}) for row in answered}  # fmt: skip
        self.assertEqual(found, dict(wanted))
        # Each nanosecond of the GPU stands in one row.
        total = tables.value("SELECT coalesce(sum(duration_ns), 0) FROM gpu_operations")
        self.assertEqual(sum(row["gpu_self_ns"] for row in answered), total)
        self.assertEqual(ranges["process"]["gpu_sum_ns"], total)

        by_name = defaultdict(list)
        for row in self.report("kernels", *capture)["rows"]:
            by_name[row["name"]].append(row)
        kernels = tables.answer("kernels")
        self.assertEqual({row["name"] for row in kernels}, set(by_name))
        for row in kernels:
            (same,) = by_name[row["name"]]
            for key in ("instances", "total_ns", "min_ns", "max_ns", "class"):
                self.assertEqual(row[key], same[key], row["name"])
            for key in ("mean_ns", "median_ns"):
                self.near(row[key], same[key], row["name"])

        copies = {row["operation"]: (row["instances"], row["total_ns"], row["bytes"])
                  for row in self.report("copies", *capture)["rows"]}  # fmt: skip
        found = {row["name"]: (row["n"], row["ns"], row["bytes"]) for row in tables.rows(
            "SELECT name, count(*) AS n, sum(duration_ns) AS ns, sum(bytes) AS bytes FROM gpu_operations "
            "WHERE kind IN ('copy', 'set') GROUP BY name")}  # fmt: skip
        self.assertEqual(found, copies)

        step = ranges["step"]
        times = tables.answer("step_times")
        if step is None:
            self.assertEqual([row for row in times if row["steps"] and not self.of_windows(tables)], [])
        else:
            (row,) = times
            self.assertEqual((row["steps"], row["min_ns"], row["max_ns"]),
                             (step["steps"], step["min_ns"], step["max_ns"]))  # fmt: skip
            self.near(row["median_ns"], step["median_ns"])
            self.near(row["mean_ns"], step["mean_ns"])
            of_phases = defaultdict(lambda: [0, 0])
            for row in tables.answer("phases_by_step"):
                of_phases[row["phase"]][0] += row["gpu_sum_ns"]
                of_phases[row["phase"]][1] += row["operations"]
            parts = {part["phase"]: [part["gpu_sum_ns"], part["ops"]] for part in step["parts"] if part["ops"]}
            self.assertEqual(dict(of_phases), parts)
            # Ranges, too: of those that lie in one step.
            by_step = tables.value("SELECT coalesce(sum(gpu_self_ns), 0) FROM (" + query("ranges_by_step") + ")")
            self.assertEqual(by_step, tables.value(
                "SELECT coalesce(sum(r.gpu_self_ns), 0) FROM ranges r WHERE EXISTS (SELECT 1 FROM steps s WHERE "
                "s.capture = r.capture AND s.step = r.step AND s.is_counted)"))  # fmt: skip

        breakdown = self.report("breakdown", *capture)
        if tables.value("SELECT count(*) FROM steps WHERE is_counted AND compute_ns IS NOT NULL"):
            (found,) = tables.rows(
                "SELECT sum(compute_ns) AS compute_ns, sum(communication_ns) AS communication_ns, sum(copies_ns) AS "
                "copies_ns, sum(idle_ns) AS idle_ns, count(*) AS steps FROM steps WHERE is_counted AND compute_ns IS NOT NULL"
            )
            self.assertEqual(found, {key: breakdown[key] for key in found})
            causes = [f"idle_{cause}_ns" for cause in (
                "host_code launching loader compiling capturing allocating latency waiting pageable_copy blocking_copy "
                "queued other_gpu not_started unknown").split()]  # fmt: skip
            self.assertEqual(
                tables.value(f"SELECT sum({' + '.join(causes)}) FROM steps WHERE is_counted"), found["idle_ns"]
            )

    @staticmethod
    def of_windows(tables):
        return tables.value("SELECT count(*) FROM steps WHERE source = 'window'") > 0

    def check_job(self, tables, *captures):
        """What the reports of a job say, and the queries of its tables too. Returns the collectives."""
        ranks = {row["rank"]: row for row in self.report("ranks", *captures)["rows"]}
        found = {row["rank"]: row for row in tables.answer("slow_ranks")}
        self.assertEqual(set(found), set(ranks))
        for rank, row in ranks.items():
            same = found[rank]
            for ours, theirs in (("step_ns", "step_ns"), ("excess_ns", "beyond_peers_ns"), ("wait_ns", "wait_ns"),
                                 ("last_share", "last_share"), ("compute_ns", "compute_ns"), ("idle_ns", "idle_ns"),
                                 ("communication_ns", "communication_ns"), ("copies_ns", "copies_ns")):  # fmt: skip
                self.near(same[theirs], row[ours], (rank, ours))
        exposed = {row["rank"]: row for row in tables.answer("exposed_communication")}
        for rank, row in ranks.items():
            self.near(exposed[rank]["exposed_ns"], row["communication_ns"], rank)
            self.near(exposed[rank]["wait_ns"], row["wait_ns"], rank)

        def key_of(row, count):
            return row["communicator"], row["function"], row["bytes"], row["ranks"], row[count]

        wanted = defaultdict(list)
        for row in self.report("collectives", *captures)["rows"]:
            wanted[key_of(row, "count")].append(row)
        answered = tables.answer("collectives")
        self.assertEqual(sorted(key_of(row, "operations") for row in answered),
                         sorted(key for key, same in wanted.items() for _ in same))  # fmt: skip
        for row in answered:
            same = wanted[key_of(row, "operations")]
            if len(same) > 1:
                continue  # communicators of one name
            for key in ("a_step", "transfer_ns", "arrival_skew_ns", "launch_skew_ns", "clock_error_ns", "exposed_ns",
                        "hidden_ns", "bus_gb_per_s"):  # fmt: skip
                self.near(row[key], same[0][key], key)
        return answered

    def check_readers(self, tables):
        """pyarrow reads what DuckDB does, and the files are what their own metadata says."""
        for table in TABLES:
            files = sorted((tables.folder / table).rglob("*.parquet"))
            self.assertTrue(files, table)
            self.assertEqual([path for path in (tables.folder / table).rglob("*") if path.is_file()
                              and path not in files], [])  # fmt: skip
            for path in files:
                file = pyarrow.parquet.ParquetFile(path, page_checksum_verification=True)
                read = file.read()
                names = read.column_names
                again = tables.connection.execute(
                    f"SELECT * FROM read_parquet('{path}', hive_partitioning = false)").fetchall()  # fmt: skip
                columns = [read.column(name).to_pylist() for name in names]
                self.assertEqual(Counter(zip(*columns, strict=True)), Counter(again), path)
                self.check_statistics(file)
                about = file.metadata.metadata
                self.assertEqual(about[b"libprof.schema"], b"1")
                self.assertEqual(about[b"libprof.table"].decode(), table)
                self.assertIn(f"job={about[b'libprof.job'].decode()}", path.parts)

    def check_statistics(self, file):
        for group in range(file.metadata.num_row_groups):
            facts = file.metadata.row_group(group)
            for index in range(facts.num_columns):
                column = facts.column(index)
                values = file.read_row_group(group, columns=[column.path_in_schema]).column(0)
                self.assertEqual(column.compression, "GZIP")
                self.assertEqual(column.statistics.null_count, values.null_count)
                if column.physical_type != "INT64" or values.null_count == len(values):
                    continue
                known = [value for value in values.to_pylist() if value is not None]
                self.assertEqual((column.statistics.min, column.statistics.max), (min(known), max(known)))


class Captures(Export):
    """One capture after another."""

    def check_folder(self, folder):
        count = 0
        for name, files in self.captures_of(folder):
            with self.subTest(name):
                count += 1
                shutil.rmtree(self.dir / "tables", ignore_errors=True)
                tables = self.export(*files)
                if len(files) == 1:
                    self.check_capture(tables, files[0])
                else:
                    self.check_job(tables, *files)
                self.check_readers(tables)
        return count

    def test_shipped_captures_answer_as_reports_do(self):
        self.assertGreater(self.check_folder(FOLDERS[0]), 2)

    @unittest.skipUnless(len(FOLDERS) > 1 and FOLDERS[1].is_dir(), "no further captures here")
    def test_further_captures_answer_as_reports_do(self):
        self.assertGreater(self.check_folder(FOLDERS[1]), 5)

    def test_random_captures_answer_as_reports_do(self):
        first, last = RANDOM_CAPTURES
        folder = self.dir / "random"
        folder.mkdir()
        subprocess.run([WRITE_RANDOM_CAPTURES, folder, str(first), str(last)], check=True, stdout=subprocess.DEVNULL)
        for path in folder.glob("*.json"):  # what the captures are made of, and no traces
            path.unlink()
        self.assertGreaterEqual(self.check_folder(folder), last - first)

    def test_options_on_ranges_count(self):
        path = FOLDERS[0] / "h200_train.prof"
        for options in (("--adopt", "off"), ("--communication", "*elementwise*"), ("--step-range", "forward")):
            with self.subTest(options):
                place = options[0].strip("-")
                usual = self.export(path, place=f"usual{place}")
                tables = self.export(path, *options, place=place)
                self.check_capture(tables, path, *options)
                with self.assertRaises(AssertionError):
                    self.check_capture(usual, path, *options)

    def test_a_capture_from_a_pipe(self):
        path = next(FOLDERS[0].glob("*.prof"))
        with path.open("rb") as file:
            tables = self.export("-", stdin=file)
        self.assertEqual(tables.value("SELECT count(*) FROM gpu_operations"),
                         self.export(path, place="file").value("SELECT count(*) FROM gpu_operations"))  # fmt: skip


class Jobs(Export):
    def test_ranks_answer_as_reports_do(self):
        folder = self.dir / "job"
        write_job(folder)
        tables = self.export(folder)
        answered = self.check_job(tables, folder)
        steps = tables.value("SELECT count(DISTINCT common_step) FROM steps")
        self.assertGreater(steps, STEPS // 2)
        self.assertEqual([row["operations"] for row in answered], [2 * steps])
        self.check_readers(tables)
        # The slow rank is the one that is late, and the partition of a rank has its rows alone.
        self.assertEqual(tables.answer("slow_ranks")[0]["rank"], 2)
        self.assertEqual(sorted(path.name for path in (tables.folder / "gpu_operations").glob("*/*")),
                         [f"rank={rank}" for rank in range(RANKS)])  # fmt: skip
        self.assertEqual(len(list((tables.folder / "steps").glob("*"))), 1)
        self.assertEqual(len(tables.answer("step_times")), RANKS)

    def test_recorded_ranks_answer_as_reports_do(self):
        ranks = sorted(FOLDERS[0].rglob("h200_ddp.*.prof"))
        self.assertEqual(len(ranks), 2)
        tables = self.export(*ranks)
        self.assertEqual(tables.value("SELECT count(DISTINCT job) FROM processes"), 1)
        self.assertGreater(len(self.check_job(tables, *ranks)), 0)
        self.check_readers(tables)

    def test_times_are_on_one_clock_and_the_own_one_is_known(self):
        folder = self.dir / "job"
        write_job(folder)
        tables = self.export(folder)
        # No kernel of a collective ends before the last has begun, although the clocks differ by 71 ms.
        rows = tables.rows("SELECT collective_key, max(start_ns) AS last, min(end_ns) AS first, count(*) AS n, "
                           "max(start_ns + clock_shift_ns) AS own_last, min(end_ns + clock_shift_ns) AS own_first "
                           "FROM gpu_operations WHERE collective_key IS NOT NULL GROUP BY ALL")  # fmt: skip
        self.assertEqual({row["n"] for row in rows}, {RANKS})
        self.assertEqual(len(rows), 2 * STEPS)
        for row in rows:
            self.assertLess(row["last"], row["first"])
            self.assertGreater(row["own_last"], row["own_first"])
        # Its own times are those of a rank's capture alone, to the nanosecond.
        for rank in range(RANKS):
            alone = self.export(folder / f"rank{rank}.json", place=f"alone{rank}")
            wanted = alone.rows("SELECT name, start_ns AS s, duration_ns AS d FROM gpu_operations ORDER BY ALL")
            found = tables.rows("SELECT name, start_ns + clock_shift_ns AS s, duration_ns AS d FROM gpu_operations "
                                f"WHERE rank = {rank} ORDER BY ALL")  # fmt: skip
            self.assertEqual(found, wanted)
        # Copies of the same figures in both tables.
        self.assertEqual(tables.value(
            "SELECT count(*) FROM collectives c JOIN gpu_operations o ON o.capture = c.capture AND "
            "o.collective_key = c.collective_key AND o.start_ns = c.arrival_ns AND o.end_ns = c.end_ns"),
            2 * STEPS * RANKS)  # fmt: skip
        (clock,) = tables.rows("SELECT clock_offset_ns AS o, clock_statistical_error_ns + clock_systematic_error_ns AS e, "
                               "is_aligned FROM processes WHERE rank = 1")  # fmt: skip
        self.assertTrue(clock["is_aligned"])
        self.assertLessEqual(abs(clock["o"] - 70_000_000), clock["e"] + 1)

    def test_a_defect_of_each_table_is_seen(self):
        folder = self.dir / "job"
        write_job(folder)
        tables = self.export(folder)
        for table, change in (
            ("steps", "REPLACE (duration_ns + 1 AS duration_ns)"),
            ("steps", "REPLACE (beyond_peers_ns + 1 AS beyond_peers_ns)"),
            ("collectives", "REPLACE (arrival_ns + CASE rank WHEN 2 THEN 1 ELSE 0 END AS arrival_ns)"),
            ("collectives", "REPLACE (exposed_ns + 1 AS exposed_ns)"),
            ("collectives", "REPLACE (NOT is_last AS is_last)"),
        ):
            with self.subTest(table=table, change=change):
                good = tables.connection.execute(f"SELECT sql FROM duckdb_views() WHERE view_name = '{table}'")
                ((sql,),) = good.fetchall()
                source = re.search(r"FROM (.*)$", sql.rstrip().rstrip(";"), re.DOTALL).group(1)
                tables.connection.execute(f"CREATE OR REPLACE VIEW {table} AS SELECT * {change} FROM {source}")
                with self.assertRaises(AssertionError):
                    self.check_job(tables, folder)
                tables.connection.execute(f"CREATE OR REPLACE VIEW {table} AS SELECT * FROM {source}")
        self.check_job(tables, folder)

    def test_two_jobs_beside_each_other(self):
        first, second = self.dir / "one", self.dir / "two"
        write_job(first)
        write_job(second, late=0)
        for path in second.iterdir():
            path.rename(path.with_name("other" + path.name))
        tables = self.export(first)
        self.export(second)
        self.assertEqual(tables.value("SELECT count(DISTINCT job) FROM processes"), 2)
        self.assertEqual(tables.value("SELECT count(*) FROM processes"), 2 * RANKS)
        jobs = {row["job"] for row in tables.answer("slow_ranks")}
        self.assertEqual(len(jobs), 2)
        # A job that is exported again replaces its files.
        before = sorted(tables.folder.rglob("*"))
        self.export(first)
        self.assertEqual(sorted(tables.folder.rglob("*")), before)
        self.assertEqual(tables.value("SELECT count(*) FROM processes"), 2 * RANKS)

    def test_several_processes_of_a_rank_and_one_without(self):
        folder = self.dir / "job"
        folder.mkdir()
        for name, rank in (("a", 3), ("b", 3), ("c", None)):
            trace = TorchTrace()
            for step in range(4):
                at = 1000.0 + 100 * step + (0 if name != "b" else 10_000)
                trace.step(step, at, at + 90)
                trace.kernel(at + 10, at + 40, at + 2)
            text = {"schemaVersion": 1, "traceEvents": trace.events}
            if rank is not None:
                text["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 4}
            (folder / f"{name}.json").write_text(json.dumps(text), encoding="utf-8")
        tables = self.export(folder)
        by_rank = {row["rank"]: row["n"] for row in tables.rows(
            "SELECT rank, count(DISTINCT capture) AS n FROM gpu_operations GROUP BY rank")}  # fmt: skip
        self.assertEqual(by_rank, {3: 2, -1: 1})
        self.assertEqual(tables.value("SELECT count(*) FROM gpu_operations"), 12)
        self.assertEqual({row["rank"] for row in tables.rows("SELECT rank FROM processes")}, {3, -1})

    def test_a_capture_that_is_given_twice_counts_once(self):
        path = next(FOLDERS[0].glob("*.prof"))
        copied = self.dir / path.name
        copied.write_bytes(path.read_bytes())
        result = self.prof("export", path, copied, "--format", "parquet", "-o", "tables")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"{copied}: this capture was given twice", result.stderr)
        self.assertEqual(Tables(self.dir / "tables").value("SELECT count(*) FROM processes"), 1)

    def test_processes_without_gpu_work_are_there(self):
        capture = begin()
        capture.names([(1, b"alone")])
        capture.records(1, [record(PUSH, 100, name=1), record(POP, 200)])
        path = self.dir / "host.prof"
        path.write_bytes(capture.done())
        tables = self.export(path)
        self.assertEqual(tables.value("SELECT sum(host_ns) FROM ranges"), 100)
        self.assertEqual(tables.value("SELECT count(*) FROM processes"), 1)
        for table in ("gpu_operations", "collectives"):
            self.assertEqual(tables.value(f"SELECT count(*) FROM {table}"), 0)
        self.check_readers(tables)
        for name in ("slow_ranks", "collectives", "kernels", "phases_by_step"):
            self.assertEqual(tables.answer(name), [])


class Windows(Export):
    """Of a process with a capture for each window: the fake CUPTI and the victim are in the environment."""

    def test_a_process_with_several_captures_is_one_rank(self):
        environment = {"PROF_CUPTI_LIBRARY": os.environ["FAKE_CUPTI"], "RANK": "5"}
        options = ["--export-each", "window", "--schedule", "wait=2,active=3,repeat=3", "--step-range", "iteration #"]
        result = self.prof(
            "run", "-o", self.out, "--export", "none", *options, "--", os.environ["VICTIM"], "steps", "24", "autograd",
            env=environment)  # fmt: skip
        self.assertEqual(result.returncode, 3, result.stderr)  # the victim's own
        captures = sorted(self.out.glob("*.prof"))
        self.assertEqual(len(captures), 3)
        tables = self.export(self.out)
        self.assertEqual(tables.value("SELECT count(DISTINCT pid) FROM processes"), 1)
        self.assertEqual({row["rank"] for row in tables.rows("SELECT rank FROM gpu_operations")}, {5})
        steps = defaultdict(list)
        for row in tables.rows("SELECT * FROM steps ORDER BY start_ns"):
            steps[row["capture"]].append((row["step"], row["common_step"]))
        self.assertEqual(
            list(steps.values()),
            [[(2, 0), (3, 1), (4, 2)], [(7, 3), (8, 4), (9, 5)], [(12, 6), (13, 7), (14, 8)]],
        )
        # Steps and operations of a capture belong together.
        found = tables.rows(
            "SELECT o.capture, count(DISTINCT o.step) AS steps, bool_and(o.launch_ns >= s.host_start_ns AND "
            "o.launch_ns < s.host_end_ns) AS fits FROM gpu_operations o JOIN steps s USING (capture, step) GROUP BY ALL"
        )
        self.assertEqual([(row["steps"], row["fits"]) for row in found], 3 * [(3, True)])
        # A capture alone answers as its reports do.
        for number, capture in enumerate(captures):
            self.check_capture(self.export(capture, place=f"alone{number}"), capture)


class Names(Export):
    NAMES = (
        b"plain",
        b"\xff\xfe broken \x80",
        b"with\0nul",
        "größer/\\ 名前 🎉".encode(),
        b"x" * (256 << 10),
        b"\\xFF",
        b"",
    )

    def capture_with_names(self):
        capture = begin()
        capture.names([(number, name) for number, name in enumerate(self.NAMES, 1)])
        records, copies = [], []
        for number, _ in enumerate(self.NAMES, 1):
            at = 100 * number
            records += [record(PUSH, at, name=number), record(7, at + 1, number, domain=2),
                        record(8, at + 2, number, domain=2), record(POP, at + 50)]  # fmt: skip
            copies.append(copy(10**18 + at + 10, 10**18 + at + 20, number))
        capture.records(1, records)
        capture.chunk(TRANSFERS, b"".join(copies))
        path = self.dir / "names.prof"
        path.write_bytes(capture.done())
        return path

    def test_names_of_any_bytes_are_kept(self):
        path = self.capture_with_names()
        tables = self.export(path)
        wanted = [row["path"] for row in self.report("gpu-projection", path)["rows"] if row["type"] == "push_pop"]
        self.assertEqual(len(wanted), len(self.NAMES))
        found = [row["path"] for row in tables.rows("SELECT DISTINCT path FROM ranges")]
        self.assertEqual(sorted(found), sorted(wanted))
        names = {row["name"] for row in tables.rows("SELECT name FROM ranges")}

        def original(text):
            pieces = re.split(r"\\x([0-9A-F]{2})", text)
            return b"".join(piece.encode() if i % 2 == 0 else bytes([int(piece, 16)]) for i, piece in enumerate(pieces))

        self.assertEqual({original(name) for name in names}, set(self.NAMES))
        self.check_readers(tables)
        self.check_capture(tables, path)


class Usage(Export):
    def refused(self, *arguments, text):
        result = self.prof("export", FOLDERS[0], "--format", "parquet", *arguments)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn(text, result.stderr)

    def test_what_makes_no_sense_is_refused(self):
        file = self.dir / "file"
        file.write_text("")
        self.refused(text="needs a directory for the tables: -o DIR")
        self.refused("-o", "-", text="writes a directory of tables")
        self.refused("-o", file, text="writes a directory of tables")
        self.refused("-o", "trace.json", text="writes a directory of tables")
        self.refused("-o", "x", "--ranks", "0", text="choose ranks, steps and ranges in queries")
        self.refused("-o", "x", "--steps", "3:5", text="choose ranks, steps and ranges in queries")
        self.refused("-o", "x", "--critical-path", text="--critical-path is for traces")
        self.assertEqual(list(self.dir.iterdir()), [file])
        result = self.prof("export", FOLDERS[0], "-o", "x")
        self.assertEqual(result.returncode, 2)
        self.assertIn("it takes a name that ends in .json or .json.gz", result.stderr)

    def test_a_place_that_cannot_be_written_is_an_error(self):
        file = self.dir / "tables" / "processes"
        file.parent.mkdir()
        file.write_text("")
        result = self.prof("export", next(FOLDERS[0].glob("*.prof")), "--format", "parquet", "-o", "tables")
        self.assertEqual(result.returncode, 1)
        self.assertIn("cannot make the directory", result.stderr)

    def test_what_cannot_be_read_is_named_and_the_rest_is_written(self):
        bad = self.dir / "bad.prof"
        bad.write_bytes(b"no capture at all")
        tables = self.export(bad, next(FOLDERS[0].glob("*.prof")), status=1)
        self.assertEqual(tables.value("SELECT count(*) FROM processes"), 1)
        result = self.prof("export", bad, "--format", "parquet", "-o", "none")
        self.assertEqual(result.returncode, 1)
        self.assertIn("bad.prof", result.stderr)
        self.assertFalse((self.dir / "none").exists())

    def test_files_have_the_mode_of_the_umask(self):
        tables = self.export(next(FOLDERS[0].glob("*.prof")), umask=0o027)
        modes = {path.stat().st_mode & 0o777 for path in tables.folder.rglob("*.parquet")}
        self.assertEqual(modes, {0o640})


class Documentation(Export):
    """docs/reference/parquet.md has the tables' columns as the files have them."""

    TYPES = {"int64": "integer", "double": "number", "bool": "flag", "string": "text"}

    def documented(self):
        text = (DOCS / "reference/parquet.md").read_text(encoding="utf-8")
        out = {}
        for table in TABLES:
            section = re.search(rf"^## `{table}`\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE).group(1)
            rows = []
            for names, kind, null in re.findall(r"^\|(`[^|]*)\|([a-z]+)\|([^|]*)\|[^|]+\|$", section, re.MULTILINE):
                rows += [(name, kind, bool(null.strip())) for name in re.findall(r"`([a-z_]+)`", names)]
            out[table] = rows
        return out

    def test_columns_are_documented(self):
        tables = self.export(next(FOLDERS[0].glob("*.prof")))
        documented = self.documented()
        for table in TABLES:
            path = next((tables.folder / table).rglob("*.parquet"))
            schema = pyarrow.parquet.ParquetFile(path).schema_arrow
            found = [(field.name, self.TYPES[str(field.type)], field.nullable) for field in schema]
            self.assertEqual(documented[table], found, table)

    def test_queries_are_documented(self):
        text = (DOCS / "reference/parquet.md").read_text(encoding="utf-8")
        for path in QUERIES.glob("*.sql"):
            self.assertIn(f"`{path.name}`", text)


def why_no_spark():
    if importlib.util.find_spec("pyspark") is None:
        return "no pyspark, which is big and so in no list of requirements: pip install pyspark==4.3.0"
    return "" if shutil.which("java") else "no Java, which Spark needs"


def spark_session():
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]")
    for key, value in (("spark.ui.enabled", "false"), ("spark.sql.shuffle.partitions", "1"),
                       ("spark.driver.memory", "1g"), ("spark.driver.bindAddress", "127.0.0.1"),
                       ("spark.driver.host", "127.0.0.1"), ("spark.sql.session.timeZone", "UTC")):  # fmt: skip
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


class Spark(Export):
    @classmethod
    def setUpClass(cls):
        if why := why_no_spark():
            raise unittest.SkipTest(why)
        cls.session = spark_session()
        cls.addClassCleanup(cls.session.stop)

    def views(self, folder):
        for statement in query("spark").split(";"):
            if statement.strip():
                self.session.sql(re.sub(r"path '", f"path '{folder}/", statement))

    def check_equal(self, tables):
        self.views(tables.folder)
        for name in sorted(path.stem for path in QUERIES.glob("*.sql")):
            if name in ("duckdb", "spark"):
                continue
            found = [row.asDict() for row in self.session.sql(query(name)).collect()]
            wanted = tables.answer(name)
            self.assertEqual(len(found), len(wanted), name)
            if found:
                self.assertEqual(list(found[0]), list(wanted[0]), name)
            for a, b in zip(self.in_order(found), self.in_order(wanted), strict=True):
                for column, value in b.items():
                    if isinstance(value, float) or hasattr(value, "as_tuple"):
                        self.near(float(a[column]), float(value), (name, column))
                    elif a[column] is not None and value is not None and not isinstance(value, str):
                        self.assertEqual(float(a[column]), float(value), (name, column))
                    else:
                        self.assertEqual(a[column], value, (name, column))
        for table in TABLES:
            self.assertEqual(self.session.sql(f"SELECT * FROM {table}").count(),
                             tables.value(f"SELECT count(*) FROM {table}"))  # fmt: skip

    @staticmethod
    def in_order(rows):
        def key(row):
            return [str(value) for value in row.values() if value is None or isinstance(value, (str, int))]

        return sorted(rows, key=key)

    def test_spark_answers_as_duckdb_does(self):
        folder = self.dir / "job"
        write_job(folder)
        self.check_equal(self.export(folder))
        self.check_equal(self.export(next(FOLDERS[0].glob("*.prof")), place="capture"))

    def test_hostile_names_in_spark(self):
        path = Names.capture_with_names(self)
        tables = self.export(path)
        self.views(tables.folder)
        found = {row[0] for row in self.session.sql("SELECT name FROM ranges").collect()}
        self.assertEqual(found, {row["name"] for row in tables.rows("SELECT name FROM ranges")})

    NAMES = Names.NAMES


if __name__ == "__main__":
    if TESTS == ["Spark"] and why_no_spark():
        print(f"SKIPPED: {why_no_spark()}")
        sys.exit(1 if os.environ.get("PROF_TEST_SPARK") == "1" else 77)
    unittest.main(argv=[sys.argv[0], *TESTS])
