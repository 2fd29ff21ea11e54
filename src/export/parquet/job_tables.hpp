// SPDX-License-Identifier: Apache-2.0
// Captures as the jobs whose tables are exported. First each capture is surveyed, one after another; then it is known
// which of them are one job, how its clocks are aligned and which collectives are one, and the tables of the jobs can
// be written, and those of each capture (capture_tables.hpp). Of a capture stays what a job's answer needs
// (ranks/rank_summary.hpp). One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "export/parquet/exported_capture.hpp"
#include "export/parquet/parquet_file.hpp"
#include "ranks/job.hpp"
#include "report/report_input.hpp"

namespace prof {

class job_tables {
public:
    job_tables();
    ~job_tables();
    job_tables(const job_tables&) = delete;
    job_tables& operator=(const job_tables&) = delete;

    // The next capture. False: it is one that was surveyed already, and does not count again.
    bool survey(const std::string& path, const report_input& input);

    // After all captures.
    void plan();
    const std::vector<exported_capture>& captures() const noexcept { return places_; }
    std::size_t jobs() const noexcept { return jobs_.size(); }

    // The tables of job `number`, each into a file of its schema.
    const std::string& job_name(std::size_t number) const;
    void write_steps(std::size_t number, parquet_file& out) const;
    void write_collectives(std::size_t number, parquet_file& out) const;
    void write_processes(std::size_t number, parquet_file& out) const;
    void write_notes(std::size_t number, parquet_file& out) const;
    // Once the jobs' tables are written, the summaries need not be kept.
    void forget_summaries();

private:
    struct surveyed_capture;
    struct exported_job;
    void place_rank(exported_job& job, std::uint32_t rank);
    void place_others();

    std::vector<surveyed_capture> surveyed_;
    std::vector<rank_summary> summaries_;
    std::map<std::string, std::size_t> by_path_;
    std::map<std::string, std::size_t> by_id_;
    std::vector<exported_capture> places_;                  // as surveyed_
    std::map<std::size_t, std::vector<rank_step>> others_;  // by capture: steps of processes without GPU work
    std::vector<std::unique_ptr<exported_job>> jobs_;
};

}  // namespace prof
