// SPDX-License-Identifier: Apache-2.0
// A directory of tables as engines for large data expect it: TABLE/job=NAME/rank=N/part-ID.parquet. Each file appears
// as a whole, and replaces the one of the same capture that a former export has written. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "cli/arguments.hpp"
#include "export/parquet/parquet_file.hpp"

namespace prof {

class table_folder {
public:
    explicit table_folder(std::string path) : path_(std::move(path)) {}

    // Of a job; with a rank of one of its captures, which `id` names. `write` adds the rows. Returns how many there
    // are. Throws prof::error.
    std::uint64_t write(const parquet_table& table, const std::string& job, std::optional<std::int64_t> rank,
                        const std::string& id, const std::function<void(parquet_file&)>& write) const;

private:
    std::string path_;
};

// Throws usage_error if no table can be written there.
void check_table_folder(const std::string& path);

}  // namespace prof
