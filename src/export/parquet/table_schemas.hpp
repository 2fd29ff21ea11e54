// SPDX-License-Identifier: Apache-2.0
// The columns of the tables that captures are exported as. docs/reference/parquet.md says what each means; a test
// compares the two.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "export/parquet/parquet_file.hpp"

namespace prof {

// Rises with each change of a column's name, type or meaning; in each file's metadata.
inline constexpr std::string_view table_schema_version = "1";

// Of each capture, by job and rank.
extern const parquet_table gpu_operations_schema;
extern const parquet_table ranges_schema;
// Of each job.
extern const parquet_table steps_schema;
extern const parquet_table collectives_schema;
extern const parquet_table processes_schema;
extern const parquet_table notes_schema;

inline const std::array<const parquet_table*, 6> all_table_schemas = {
    &gpu_operations_schema, &ranges_schema, &steps_schema, &collectives_schema, &processes_schema, &notes_schema};

// The rank of a process that has none: partitions and columns of a rank have a number in any case.
inline constexpr std::int64_t no_rank = -1;

}  // namespace prof
