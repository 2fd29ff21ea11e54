-- SPDX-License-Identifier: Apache-2.0
-- The tables as views, for DuckDB in the directory that `prof export --format parquet -o DIR` has written.
CREATE OR REPLACE VIEW gpu_operations AS SELECT * FROM read_parquet('gpu_operations/*/*/*.parquet',
    hive_partitioning = true, hive_types = {'job': VARCHAR, 'rank': BIGINT});
CREATE OR REPLACE VIEW ranges AS SELECT * FROM read_parquet('ranges/*/*/*.parquet',
    hive_partitioning = true, hive_types = {'job': VARCHAR, 'rank': BIGINT});
CREATE OR REPLACE VIEW steps AS SELECT * FROM read_parquet('steps/*/*.parquet',
    hive_partitioning = true, hive_types = {'job': VARCHAR});
CREATE OR REPLACE VIEW collectives AS SELECT * FROM read_parquet('collectives/*/*.parquet',
    hive_partitioning = true, hive_types = {'job': VARCHAR});
CREATE OR REPLACE VIEW processes AS SELECT * FROM read_parquet('processes/*/*.parquet',
    hive_partitioning = true, hive_types = {'job': VARCHAR});
CREATE OR REPLACE VIEW notes AS SELECT * FROM read_parquet('notes/*/*.parquet',
    hive_partitioning = true, hive_types = {'job': VARCHAR});
