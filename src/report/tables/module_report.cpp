// SPDX-License-Identifier: Apache-2.0
#include "analysis/modules/modules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "analysis/modules/module_finder.hpp"
#include "report/makers.hpp"
#include "report/report_column.hpp"
#include "report/tables/table_of_step.hpp"

namespace prof {
namespace {

// As deep as there is room for.
std::uint32_t depth_to_show(const std::vector<std::uint32_t>& depths, std::size_t most) {
    std::vector<std::size_t> of_depth;
    for (const std::uint32_t depth : depths) {
        of_depth.resize(std::max<std::size_t>(of_depth.size(), depth + 1));
        ++of_depth[depth];
    }
    std::size_t count = 0;
    for (std::uint32_t depth = 0; depth < of_depth.size(); ++depth) {
        count += of_depth[depth];
        if (depth > 1 && count > most) return depth - 1;
    }
    return UINT32_MAX;
}

// `depths`: by row.
shown_rows outer_rows(const std::vector<std::uint32_t>& depths, const table& whole, const shown_limits& limits) {
    const std::uint32_t deepest = std::min(limits.deepest, depth_to_show(depths, limits.rows));
    shown_rows out;
    for (std::size_t i = 0; i < whole.rows.size(); ++i) {
        if (depths[i] <= deepest) out.rows.push_back(whole.rows[i]);
    }
    if (const std::size_t left_out = whole.rows.size() - out.rows.size(); left_out != 0) {
        out.notes.push_back(std::to_string(left_out) +
                            " rows of modules that lie deeper are left out; --rows all shows them");
    }
    return out;
}

std::string shown_name(const module_row& row) {
    std::string out(std::size_t{2} * row.depth, ' ');
    out += row.name;
    if (row.modules > 1 && row.name.find('*') != std::string::npos) {
        const std::string& slowest = row.slowest;
        const std::size_t list = slowest.find_last_of("./");
        out += " (" + std::to_string(row.modules) + "; slowest " +
               (list == std::string::npos ? slowest : slowest.substr(list + 1)) + ')';
    }
    return out;
}

// Of functions that compute gradients.
std::string no_phase_note(const module_table& of, std::int64_t in_rows_ns) {
    return fmt::format(
        "{} of these functions' GPU time is in no row: it is forward and backward in one fusion, or neither alone; the "
        "table of ranges has it as other, other fusions, or phases with a plus sign",
        fmt::format("{:.1f} %", 100 * static_cast<double>(of.in_no_phase_ns) /
                                    static_cast<double>(of.in_no_phase_ns + in_rows_ns)));
}

report_columns<module_row> module_columns(const module_table& modules) {
    using row = module_row;
    const auto any = [&](auto&& is) { return std::any_of(modules.rows.begin(), modules.rows.end(), is); };
    const std::int64_t all_ns = gpu_ns(modules.phases);
    const bool has_calls = any([](const row& module) { return module.calls != 0; });
    const auto if_gpu = [&](const char* title) { return all_ns > 0 ? title : ""; };
    report_columns<row> out = {{{"path", ""}, &row::path},
                               {{"", "module"}, shown_name},
                               {{"class", has_calls ? "class" : "", quantity::text, 5}, &row::class_name},
                               {{"modules", "", quantity::count}, &row::modules},
                               {{"calls", has_calls ? "calls" : "", quantity::count, 4}, &row::calls}};
    for (std::size_t i = 0; i < modules.phases.size(); ++i) {
        const std::string name = module_work_names[i];
        out.push_back({{name + "_gpu_ns", modules.phases[i].ops != 0 ? name : "", quantity::time_ns},
                       [i](const row& module) { return module.total[i].gpu_ns; }});
    }
    append(out, {{{"gpu_ns", if_gpu("GPU"), quantity::time_ns}, [](const row& module) { return gpu_ns(module.total); }},
                 {{"gpu_share", if_gpu("GPU %"), quantity::share, 1},
                  [all_ns](const row& module) {
                      return all_ns > 0 ? static_cast<double>(gpu_ns(module.total)) / static_cast<double>(all_ns) : 0.0;
                  }},
                 {{"gpu_self_ns", if_gpu("self"), quantity::time_ns, 3},
                  [](const row& module) { return gpu_ns(module.self); }}});
    for (std::size_t i = 0; i < modules.phases.size(); ++i) {
        const std::string name = module_work_names[i];
        const bool has_host = any([i](const row& module) { return module.self[i].host_ns != 0; });
        out.push_back({{name + "_host_ns", has_host ? "host " + name : "", quantity::time_ns, all_ns > 0 ? 2 : 0},
                       [i](const row& module) { return module.total[i].host_ns; }});
    }
    out.push_back({{"slowest", ""}, &row::slowest});
    return out;
}

void make_modules_of_step(table& of, const mean_step& by, bool has_gpu) {
    of.heading = has_gpu ? "GPU time of a step, by module" : "CPU time of a step, by module";
    divide_count(of, "calls", by);
    for (const table_column& column : std::vector<table_column>(of.columns)) {
        if (column.holds != quantity::time_ns) continue;
        divide_time(of, column.key, by, column.key.ends_with("_host_ns") ? whose_time::cpu : whose_time::gpu);
        if (column.title.starts_with("host ")) set_title(of, column.key, "CPU " + column.title.substr(5));
    }
    if (has_gpu) share_of_step(of, "gpu_share", "gpu_ns", by);
}

}  // namespace

table modules_report(const report_input& input) {
    attribution_options options = input.projected.attribution;
    options.domains = {};  // the phases are needed, shown or not
    // A part may lack the phases around what it has, so modules are found in the whole.
    const selected_part* const part = input.step != nullptr ? &input.step->part() : input.selected;
    const timeline& data = part == nullptr ? input.data : part->recorded();
    const module_table modules =
        measure_modules(data, attribute(data, options), input.projected.fold.mode != fold_mode::none,
                        part == nullptr ? nullptr : &part->kept());

    const std::int64_t all_ns = gpu_ns(modules.phases);
    const bool is_gpu_shown = all_ns > 0;
    table out = make_table("modules", is_gpu_shown ? "GPU time by module" : "Host time by module",
                           module_columns(modules), modules.rows);
    for (std::size_t i = 0; i < modules.phases.size(); ++i) {
        out.totals.emplace_back(std::string(module_work_names[i]) + "_gpu_ns", modules.phases[i].gpu_ns);
    }
    std::vector<std::uint32_t> depths;
    depths.reserve(modules.rows.size());
    for (const module_row& row : modules.rows) depths.push_back(row.depth);
    if (!modules.is_recorded)
        out.notes.push_back("no modules were recorded: " + std::string(what_records_modules(data)));
    out.shorten = [depths = std::move(depths)](const table& whole, const shown_limits& limits) {
        return outer_rows(depths, whole, limits);
    };
    out.legend = {{"", "Each row has the modules within it."},
                  {"backward", modules.is_of_xla ? "backward: of operations under transpose(jvp(...))."
                                                 : "backward: of the nodes that autograd made in the module's calls."},
                  {"", "* stands for modules of one list and class."}};
    if (modules.is_of_xla) {
        if (!modules.has_scopes) out.notes.emplace_back(no_scopes_text);
        if (modules.in_no_phase_ns > 0) out.notes.push_back(no_phase_note(modules, all_ns));
    }
    if (input.step != nullptr) make_modules_of_step(out, *input.step, is_gpu_shown);
    return out;
}

}  // namespace prof
