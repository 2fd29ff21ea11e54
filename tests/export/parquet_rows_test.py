#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of many rows, of every type of column, as pyarrow and DuckDB read them: every value, and every statistic.

parquet_rows_test.py WRITE_PARQUET_ROWS
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import duckdb
    import numpy
    import pyarrow
    import pyarrow.compute
    import pyarrow.parquet
except ModuleNotFoundError as missing:
    print(f"SKIPPED: no {missing.name}: pip install -r tests/requirements-all.txt")
    sys.exit(77)

WRITER = sys.argv[1]
ROW_GROUP, PAGE = 1 << 20, 1 << 17


def mixed(value):
    value = (value ^ value >> numpy.uint64(33)) * numpy.uint64(0xFF51AFD7ED558CCD)
    value = (value ^ value >> numpy.uint64(33)) * numpy.uint64(0xC4CEB9FE1A85EC53)
    return value ^ value >> numpy.uint64(33)


def expected(rows):
    row = numpy.arange(rows, dtype=numpy.uint64)
    draw = mixed(row + numpy.uint64(1))
    part = {n: (draw % numpy.uint64(n)).astype(numpy.int64) for n in (2, 3, 5, 7, 700, 1000, 3000, 100000)}
    value = draw.astype(numpy.int64)
    number = value.astype(numpy.float64) / 1024
    missing = part[5] == 0
    signed = row.astype(numpy.int64)
    return {
        "row": (signed, None),
        "any": (value, missing),
        "few": (part[700] - 350, None),
        "few_or_none": (part[3000], part[3] == 0),
        "long_runs": (signed // 777, signed // 1000 % 4 == 0),
        "number": (number, None),
        "number_or_none": (-number, missing),
        "flag": (part[2] == 0, None),
        "flag_or_none": (part[7] == 0, missing),
        "word": (numpy.array([f"word {n}" for n in range(1000)], dtype=object)[part[1000]], None),
        "word_or_none": (numpy.array([f"{n}€" for n in range(100000)], dtype=object)[part[100000]], missing),
        "never": (numpy.full(rows, "", dtype=object), numpy.ones(rows, dtype=bool)),
        "never_a_number": (numpy.zeros(rows, dtype=numpy.int64), numpy.ones(rows, dtype=bool)),
    }


class Rows(unittest.TestCase):
    def check(self, rows):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "rows.parquet")
            subprocess.run([WRITER, path, str(rows)], check=True)
            file = pyarrow.parquet.ParquetFile(path, page_checksum_verification=True)
            self.assertEqual(file.metadata.num_rows, rows)
            self.assertEqual(file.metadata.num_row_groups, -(-rows // ROW_GROUP))
            table = file.read()
            wanted = {name: pyarrow.array(values, mask=mask) for name, (values, mask) in expected(rows).items()}
            self.assertEqual(table.column_names, list(wanted))
            for name, column in wanted.items():
                read = table.column(name).combine_chunks()
                self.assertTrue(read.equals(column.cast(read.type)), (rows, name))
            for group in range(file.metadata.num_row_groups):
                facts = file.metadata.row_group(group)
                begin, end = group * ROW_GROUP, min(rows, (group + 1) * ROW_GROUP)
                self.assertEqual(facts.num_rows, end - begin)
                for index, (name, column) in enumerate(wanted.items()):
                    statistics, part = facts.column(index).statistics, column.slice(begin, end - begin)
                    self.assertEqual(statistics.null_count, part.null_count, name)
                    self.assertEqual(statistics.has_min_max,
                                     pyarrow.types.is_integer(part.type) and part.null_count < len(part), name)  # fmt: skip
                    if statistics.has_min_max:
                        known = pyarrow.compute.min_max(part).as_py()
                        self.assertEqual({"min": statistics.min, "max": statistics.max}, known, name)
            connection = duckdb.connect()
            connection.register("wanted", pyarrow.table(wanted))
            ((same,),) = connection.execute(
                f"SELECT count(*) FROM wanted w JOIN read_parquet('{path}') f ON w.row = f.row WHERE " +
                " AND ".join(f"w.{name} IS NOT DISTINCT FROM f.{name}" for name in wanted if not name.startswith("never")) +
                " AND f.never IS NULL AND f.never_a_number IS NULL").fetchall()  # fmt: skip
            self.assertEqual(same, rows)

    def test_few_rows(self):
        for rows in (0, 1, 2, 7, 8, 9, 63, 64, 65, 1000):
            with self.subTest(rows=rows):
                self.check(rows)

    def test_pages_and_row_groups_that_are_just_full(self):
        for rows in (PAGE - 1, PAGE, PAGE + 1, ROW_GROUP, ROW_GROUP + 1):
            with self.subTest(rows=rows):
                self.check(rows)

    def test_several_row_groups(self):
        self.check(2 * ROW_GROUP + PAGE + 12345)

    def test_a_byte_that_changed_is_seen(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "rows.parquet")
            subprocess.run([WRITER, path, "5000"], check=True)
            content = bytearray(path.read_bytes())
            content[2000] ^= 1
            path.write_bytes(content)
            with self.assertRaises(OSError):
                pyarrow.parquet.ParquetFile(path, page_checksum_verification=True).read()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
