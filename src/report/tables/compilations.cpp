// SPDX-License-Identifier: Apache-2.0
// What was compiled, by JAX or torch.compile, how often and for how long: the rows that a table of ranges has as one.
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/projection/compilation_stages.hpp"
#include "analysis/projection/segment.hpp"
#include "analysis/projection/xla_names.hpp"
#include "report/makers.hpp"
#include "report/projected_timeline.hpp"
#include "report/report_column.hpp"

namespace prof {
namespace {

struct compiled {
    std::string name;
    std::uint64_t count = 0;
    std::int64_t host_ns = 0;
    std::array<std::int64_t, 3> work_ns{};  // of host_ns, by compilation_work
    std::int64_t longest_ns = 0;            // on the host, of one range
    std::int64_t gpu_ns = 0;
    std::int64_t first_ns = INT64_MAX;  // so that a sum has none
};

class compilation_meter {
public:
    // `recorded`: the timeline that is shown, as it was before it had phases of XLA.
    compilation_meter(const timeline& data, const timeline& recorded, const kept_entities* kept)
        : data_(data), recorded_(recorded), kept_(kept), of_range_(data.ranges.size(), npos) {}

    std::vector<compiled> run(const attribution& att) {
        for (const range_id i : data_.ranges.ids()) {
            const timeline_range& range = data_.ranges[i];
            if (range.style != range_style::push_pop || !range.takes_part()) continue;
            if (range.parent != npos && range.parent < i) of_range_[i] = of_range_[range.parent];
            if (of_range_[i] == npos && (kept_ == nullptr || kept_->ranges[i] != 0)) begin(i);
        }
        for (const op_id op : data_.ops.ids()) {
            if (kept_ == nullptr || kept_->ops[op] != 0) add_op(att, op);
        }
        std::stable_sort(out_.begin(), out_.end(),
                         [](const compiled& a, const compiled& b) { return a.host_ns > b.host_ns; });
        return std::move(out_);
    }

private:
    bool is_compilation(range_id range) const {
        return is_phase(data_, data_.ranges[range]) && data_.name(data_.ranges[range].name) == compilation_phase;
    }
    void begin(range_id index) {
        const timeline_range& range = data_.ranges[index];
        if (const auto stage = read_compilation_stage(data_, range)) {
            compiled& of = row_of(index, std::string(stage->function));
            of.work_ns[static_cast<std::size_t>(stage->work)] += range.end_ns - range.start_ns;
            of.count += stage->work == compilation_work::compiling ? 1 : 0;
        } else if (range.parent != npos && is_phase(data_, range) && is_compilation(range.parent)) {
            row_of(index, std::string(data_.name(range.name))).count += 1;
        } else if (is_phase(data_, range) && data_.name(range.name) == xla_compilation_text) {
            compiled& of = row_of(index, function_of_xla(recorded_.name(recorded_.ranges[index].name)));
            of.work_ns[static_cast<std::size_t>(compilation_work::compiling)] += range.end_ns - range.start_ns;
            of.count += 1;
        }
    }
    // "XlaCompile:#module=jit_f,program_id=7#" is the beginning of a function's compilation.
    static std::string function_of_xla(std::string_view text) {
        constexpr std::string_view before = "module=";
        const std::size_t at = text.find(before);
        if (at == std::string_view::npos) return "(not known)";
        const std::string_view rest = text.substr(at + before.size());
        std::string_view module = rest.substr(0, rest.find_first_of(",#"));
        if (module.starts_with("jit_")) module.remove_prefix(4);
        return std::string(module);
    }
    compiled& row_of(range_id index, std::string name) {
        const auto [known, is_new] = rows_.try_emplace(std::move(name), static_cast<std::uint32_t>(out_.size()));
        if (is_new) out_.push_back({.name = known->first});
        of_range_[index] = known->second;
        compiled& of = out_[known->second];
        const timeline_range& range = data_.ranges[index];
        of.host_ns += range.end_ns - range.start_ns;
        of.longest_ns = std::max(of.longest_ns, range.end_ns - range.start_ns);
        of.first_ns = std::min(of.first_ns, range.start_ns);
        return of;
    }
    void add_op(const attribution& att, op_id op) {
        std::uint32_t row = npos;
        for_each_open_range(data_, att, op, [&](range_id range) {
            if (row == npos) row = of_range_[range];
        });
        if (row != npos) out_[row].gpu_ns += data_.ops[op].end_ns - data_.ops[op].start_ns;
    }

    const timeline& data_;
    const timeline& recorded_;
    const kept_entities* kept_;
    row_values<range_id, std::uint32_t> of_range_;  // the index into out_ of what it is in
    std::map<std::string, std::uint32_t> rows_;
    std::vector<compiled> out_;
};

std::vector<compiled> compiled_in(const report_input& input) {
    if (input.selected != nullptr) {
        const selected_part& part = *input.selected;
        return compilation_meter(part.whole(), part.recorded(), &part.kept()).run(part.whole_att());
    }
    const projected_timeline shown(input);
    return compilation_meter(shown.data(), input.data, nullptr).run(shown.att());
}

}  // namespace

table compilation_report(const report_input& input) {
    const std::vector<compiled> rows = compiled_in(input);
    const bool has_stages = std::any_of(rows.begin(), rows.end(),
                                        [](const compiled& row) { return row.work_ns != decltype(row.work_ns){}; });
    const bool has_gpu = std::any_of(rows.begin(), rows.end(), [](const compiled& row) { return row.gpu_ns != 0; });
    const std::int64_t begin_ns = (input.selected != nullptr ? input.selected->recorded() : input.data).start_ns;
    const auto work = [&](const char* key, const char* title, compilation_work kind) {
        return report_column<compiled>{
            {key, has_stages ? title : "", quantity::time_ns},
            [place = static_cast<std::size_t>(kind)](const compiled& row) { return row.work_ns[place]; }};
    };
    const report_columns<compiled> columns = {
        {{"compiled", "compiled"}, &compiled::name},
        {{"count", "count", quantity::count}, &compiled::count},
        {{"host_ns", "host", quantity::time_ns}, &compiled::host_ns},
        work("tracing_ns", "tracing", compilation_work::tracing),
        work("lowering_ns", "lowering", compilation_work::lowering),
        work("compiling_ns", "compiling", compilation_work::compiling),
        {{"longest_ns", "longest", quantity::time_ns}, &compiled::longest_ns},
        {{"gpu_ns", has_gpu ? "GPU" : "", quantity::time_ns}, &compiled::gpu_ns},
        {{"first_after_ns", "first after", quantity::time_ns},
         [begin_ns](const compiled& row) { return none_unless(row.first_ns != INT64_MAX, row.first_ns - begin_ns); }}};
    compiled all{.name = "all"};
    for (const compiled& row : rows) {
        all.count += row.count;
        all.host_ns += row.host_ns;
        for (std::size_t i = 0; i < row.work_ns.size(); ++i) all.work_ns[i] += row.work_ns[i];
        all.longest_ns = std::max(all.longest_ns, row.longest_ns);
        all.gpu_ns += row.gpu_ns;
    }
    table out = make_table("compilation", "Host time by what is compiled", columns, rows);
    out.unit_ns = all.host_ns;
    if (rows.size() > 1) out.sums.push_back(cells_of(columns, all));
    if (rows.empty()) out.instead = "no compilation was recorded";
    return out;
}

}  // namespace prof
