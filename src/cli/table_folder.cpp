// SPDX-License-Identifier: Apache-2.0
#include "cli/table_folder.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/json_text.hpp"
#include "export/atomic_file.hpp"
#include "export/parquet/table_schemas.hpp"

namespace prof {

std::uint64_t table_folder::write(const parquet_table& table, const std::string& job, std::optional<std::int64_t> rank,
                                  const std::string& id, const std::function<void(parquet_file&)>& write) const {
    std::filesystem::path folder = std::filesystem::path(path_) / table.name / ("job=" + job);
    if (rank) folder /= fmt::format("rank={}", *rank);
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed) throw error("cannot make the directory " + folder.string() + ": " + failed.message());
    parquet_file::metadata about = {{"libprof.schema", std::string(table_schema_version)},
                                    {"libprof.table", std::string(table.name)},
                                    {"libprof.job", job}};
    if (rank) {
        about.emplace_back("libprof.rank", std::to_string(*rank));
        about.emplace_back("libprof.capture", id);
    }
    atomic_file file((folder / ("part-" + id + ".parquet")).string(), 0, true);
    parquet_file out(file, table, std::move(about));
    write(out);
    out.finish();
    file.commit();
    return out.rows();
}

void check_table_folder(const std::string& path) {
    if (path.empty()) throw usage_error("--format parquet needs a directory for the tables: -o DIR");
    std::error_code failed;
    const bool exists = std::filesystem::exists(path, failed);
    if (path == "-" || (exists && !std::filesystem::is_directory(path, failed))) {
        throw usage_error("--format parquet writes a directory of tables, which " + terminal_safe(path) + " is not");
    }
    for (const char* const ending : {".json", ".json.gz", ".parquet"}) {
        if (!exists && path.ends_with(ending)) {
            throw usage_error("--format parquet writes a directory of tables: give the name of one, without " +
                              std::string(ending));
        }
    }
}

}  // namespace prof
