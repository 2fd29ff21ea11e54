-- SPDX-License-Identifier: Apache-2.0
-- The tables as views, for Spark. Paths are from its working directory: put the one of the export before them, such as
-- s3a://bucket/tables/steps.
CREATE OR REPLACE TEMPORARY VIEW gpu_operations USING parquet OPTIONS (path 'gpu_operations');
CREATE OR REPLACE TEMPORARY VIEW ranges USING parquet OPTIONS (path 'ranges');
CREATE OR REPLACE TEMPORARY VIEW steps USING parquet OPTIONS (path 'steps');
CREATE OR REPLACE TEMPORARY VIEW collectives USING parquet OPTIONS (path 'collectives');
CREATE OR REPLACE TEMPORARY VIEW processes USING parquet OPTIONS (path 'processes');
CREATE OR REPLACE TEMPORARY VIEW notes USING parquet OPTIONS (path 'notes');
