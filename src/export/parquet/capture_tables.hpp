// SPDX-License-Identifier: Apache-2.0
// The rows of a capture's own tables: its GPU operations, and its ranges. What they say is what reports say
// (docs/reference/parquet.md): which range an operation belongs to, which rows ranges share, which step a launch is of.
// Linear in the operations and ranges, times the depth of these. One thread.
#pragma once

#include <memory>

#include "analysis/attribution/attribution.hpp"
#include "export/parquet/exported_capture.hpp"
#include "export/parquet/parquet_file.hpp"
#include "timeline/timeline.hpp"

namespace prof {

class capture_tables {
public:
    // The arguments must outlive it. `has_step_function`: as for find_whole_steps.
    capture_tables(const timeline& data, const attribution& att, bool has_step_function, const exported_capture& place);
    ~capture_tables();
    capture_tables(const capture_tables&) = delete;
    capture_tables& operator=(const capture_tables&) = delete;

    // `out` has the table's schema (table_schemas.hpp).
    void write_gpu_operations(parquet_file& out);
    void write_ranges(parquet_file& out);

private:
    struct shared_facts;
    std::unique_ptr<shared_facts> facts_;
};

}  // namespace prof
