// SPDX-License-Identifier: Apache-2.0
#include "cli/page_output.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "analysis/selection/step_choice.hpp"
#include "base/error.hpp"
#include "base/json_text.hpp"
#include "base/path_from_here.hpp"
#include "cli/capture_inputs.hpp"
#include "cli/cli.hpp"
#include "cli/report_output.hpp"
#include "export/page/page_writer.hpp"

namespace prof {
namespace {

timeline read_prepared(const std::string& file, const page_order& order, const progress_display& progress) {
    timeline out = load_input(file, progress);
    if (order.prepare) order.prepare(out);
    return out;
}

void write_to_place(const timeline& data, const std::string& file, const page_order& order,
                    const progress_display& progress, page_job* job = nullptr) {
    const progress_line computing(progress, "making the page of " + file);
    report_stream to(order.place);
    write_page(data, file, order.settings, to, job);
    to.finish();
}

}  // namespace

bool write_page_of(const page_order& order, const progress_display& progress) {
    if (order.files.size() == 1) {
        const std::string& file = order.files.front();
        try {
            write_to_place(read_prepared(file, order, progress), file, order, progress);
            return true;
        } catch (const nothing_selected& failure) {
            complain(file + ": " + failure.what());
            return false;
        }
    }
    bool all_read = true;
    page_job job;
    std::vector<std::string> files;  // of the members
    for (const std::string& file : order.files) {
        if (is_stream(file))
            throw error("a page of several captures reads one of them twice, which " + file + " cannot be");
        try {
            const timeline data = read_prepared(file, order, progress);
            const progress_line computing(progress, "computing the summary of " + file);
            job.add(data, file, order.settings);
            files.push_back(file);
        } catch (const nothing_selected& failure) {
            complain(file + ": " + failure.what());
            all_read = false;
        } catch (const error& failure) {
            complain(failure.what());
            all_read = false;
        }
    }
    if (files.empty()) return false;
    const std::string& file = files[job.shown()];
    write_to_place(read_prepared(file, order, progress), file, order, progress, files.size() > 1 ? &job : nullptr);
    return all_read;
}

void print_saved_page(const std::string& place) {
    std::error_code failed;
    const std::uintmax_t bytes = std::filesystem::file_size(place, failed);
    const std::string size = failed ? std::string() : fmt::format(" ({} KB)", (bytes + 999) / 1000);
    fmt::print(stderr, "saved {}{}\n", terminal_safe(path_from_here(place)), size);
}

}  // namespace prof
