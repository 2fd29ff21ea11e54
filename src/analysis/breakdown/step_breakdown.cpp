// SPDX-License-Identifier: Apache-2.0
#include "analysis/breakdown/step_breakdown.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/breakdown/device_cover.hpp"
#include "analysis/projection/op_class.hpp"
#include "analysis/projection/transfer_name.hpp"
#include "analysis/steps/step_parts.hpp"
#include "base/near_search.hpp"
#include "base/statistics.hpp"

namespace prof {
namespace {

// What distinguishes rows: for idle time the function of CUDA and the place, for copies their kind.
using row_key = std::tuple<time_use, idle_cause, std::uint64_t, std::uint64_t>;

class row_builder {
public:
    void add(std::uint32_t step, std::int64_t ns) {
        row.total_ns += ns;
        if (samples_.empty() || samples_.back().first != step) samples_.emplace_back(step, 0);
        samples_.back().second += ns;
    }

    // Of all GPUs.
    void merge_samples() {
        std::sort(samples_.begin(), samples_.end());
        std::size_t kept = 0;
        for (std::size_t i = 1; i < samples_.size(); ++i) {
            if (samples_[i].first == samples_[kept].first) {
                samples_[kept].second += samples_[i].second;
            } else {
                samples_[++kept] = samples_[i];
            }
        }
        if (!samples_.empty()) samples_.resize(kept + 1);
    }

    // REQUIRES: merge_samples().
    void summarize(std::uint64_t steps) {
        std::vector<std::int64_t> values;
        values.reserve(samples_.size());
        for (const auto& [step, ns] : samples_) values.push_back(ns);
        std::sort(values.begin(), values.end());
        const std::uint64_t zeros = steps - values.size();
        const auto ranked = [&](std::uint64_t rank) { return rank < zeros ? 0 : values[rank - zeros]; };
        row.min_ns = ranked(0);
        row.max_ns = ranked(steps - 1);
        row.median_ns = (static_cast<double>(ranked((steps - 1) / 2)) + static_cast<double>(ranked(steps / 2))) / 2;
    }

    std::int64_t in_step(std::uint32_t step) const {
        const auto found = std::lower_bound(samples_.begin(), samples_.end(), std::pair(step, INT64_MIN));
        return found != samples_.end() && found->first == step ? found->second : 0;
    }

    breakdown_row row;

private:
    std::vector<std::pair<std::uint32_t, std::int64_t>> samples_;  // step and its time
};

// The step in which a moment lies; npos: none. `latest`: where the search before ended.
std::uint32_t step_at(const std::vector<whole_step>& steps, std::int64_t ns, std::size_t& latest) {
    latest = partition_point_near(steps.size(), latest, [&](std::size_t step) { return steps[step].start_ns <= ns; });
    if (latest == 0 || ns >= steps[latest - 1].end_ns) return npos;
    return static_cast<std::uint32_t>(latest - 1);
}

// Where the GPU still has work for more than a step when the host has finished the last one, the host's times are no
// measure of a step. Then a step lasts from the beginning of its first operation to that of the next step's.
bool put_on_gpu(const timeline& data, std::vector<whole_step>& steps) {
    std::vector<std::int64_t> begins_ns(steps.size(), INT64_MAX);
    std::int64_t end_ns = INT64_MIN;
    std::size_t latest = 0;
    for (const gpu_op& op : data.ops) {
        if (op.launch == npos) continue;
        const std::uint32_t step = step_at(steps, data.api_calls[op.launch].start_ns, latest);
        if (step == npos) continue;
        begins_ns[step] = std::min(begins_ns[step], op.start_ns);
        end_ns = std::max(end_ns, op.end_ns);
    }
    if (static_cast<double>(end_ns) <= static_cast<double>(steps.back().end_ns) + median(lengths_of(steps))) {
        return false;
    }
    std::vector<whole_step> out;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (begins_ns[i] == INT64_MAX || (!out.empty() && begins_ns[i] <= out.back().start_ns)) continue;
        if (!out.empty()) out.back().end_ns = begins_ns[i];
        out.push_back({begins_ns[i], end_ns, steps[i].is_first, steps[i].number});
    }
    steps = std::move(out);
    return true;
}

// Whether the step lies in the times, which are all if there are none.
bool lies_in(const time_spans& times, const whole_step& step) {
    if (times.is_empty()) return true;
    return times.cut(step.start_ns, step.end_ns) == time_span{step.start_ns, step.end_ns};
}

whole_steps steps_of(const timeline& data, const attribution& att, bool has_step_function, const time_spans& times,
                     step_breakdown& to) {
    whole_steps out = find_whole_steps(data, att, has_step_function);
    std::erase_if(out.steps, [&](const whole_step& step) { return !lies_in(times, step); });
    leave_out_warm_up(out);
    to.has_steps = !out.steps.empty();
    if (to.has_steps) {
        to.by_gpu = put_on_gpu(data, out.steps);
        return out;
    }
    std::vector<time_span> windows;
    windows.reserve(data.windows.size());
    for (const timeline_window& window : data.windows) windows.push_back({window.start_ns, window.end_ns});
    time_spans all(std::move(windows));
    if (!times.is_empty()) all = all.within(times);
    out = {};
    for (const time_span& span : all.list()) out.steps.push_back({span.start_ns, span.end_ns, false, out.steps.size()});
    return out;
}

class breakdown_maker {
public:
    breakdown_maker(const timeline& data, const attribution& att, const whole_steps& of)
        : data_(data),
          steps_(of.steps),
          part_of_(data, att, of),
          class_of_(data),
          host_(data, att),
          where_(data, att, of),
          causes_(data, att, host_, where_, of.thread) {}

    void run(step_breakdown& out) {
        std::set<std::uint32_t> devices;
        for (const gpu_op& op : data_.ops) devices.insert(data_.place_of(op).device);
        for (const std::uint32_t device : devices) cover(device);
        out.devices = static_cast<std::uint32_t>(devices.size());
        out.recorded_busy_ns = busy_ns_;
        finish(out);
    }

private:
    void cover(std::uint32_t device) {
        step_ = 0;
        gap_device_ = device;
        device_cover cover(data_, steps_.front().start_ns, [this](const covered_time& piece) { take(piece); });
        for (std::uint32_t op = 0; op < data_.ops.size(); ++op) {
            if (data_.place_of(data_.ops[op]).device != device) continue;
            next_ = op;
            cover.add(op, data_.ops[op].kind == op_kind::graph ? op_class::compute : class_of_(data_.ops[op]));
        }
        next_ = npos;
        cover.finish(steps_.back().end_ns);
    }

    void take(const covered_time& piece) {
        if (!piece.is_idle()) busy_ns_ += piece.end_ns - piece.start_ns;
        while (step_ < steps_.size() && steps_[step_].end_ns <= piece.start_ns) ++step_;
        if (step_ == steps_.size() || piece.end_ns <= steps_[step_].start_ns) return;
        if (piece.is_idle()) {
            explain({piece.start_ns, piece.end_ns, gap_device_, next_});
            return;
        }
        for_each_step(piece.start_ns, piece.end_ns,
                      [&](std::uint32_t step, std::int64_t ns) { busy(piece, step, ns); });
    }

    // Calls visit(step, length) for what the steps have of this time.
    template <typename TVisit>
    void for_each_step(std::int64_t start_ns, std::int64_t end_ns, TVisit&& visit) const {
        for (std::size_t i = step_; i < steps_.size() && steps_[i].start_ns < end_ns; ++i) {
            const std::int64_t ns = std::min(end_ns, steps_[i].end_ns) - std::max(start_ns, steps_[i].start_ns);
            if (ns > 0) visit(static_cast<std::uint32_t>(i), ns);
        }
    }

    void busy(const covered_time& piece, std::uint32_t step, std::int64_t ns) {
        const std::uint32_t compute = piece.of(op_class::compute);
        const std::uint32_t communication = piece.of(op_class::communication);
        const std::uint32_t memory = piece.of(op_class::memory);
        bool is_taken = false;
        const auto count = [&](row_builder& row) {
            if (is_taken) {
                row.row.overlapped_ns += ns;
            } else {
                row.add(step, ns);
            }
            is_taken = true;
        };
        if (compute != npos) count(row_of(time_use::compute, part_of_.of(compute)));
        if (communication != npos) count(row_of(time_use::communication, part_of_.of(communication)));
        if (memory != npos) count(copy_row(memory));
    }

    row_builder& row_of(time_use use, std::uint32_t part) {
        const auto [found, is_new] = row_at({use, idle_cause::unknown, part, 0});
        if (is_new) {
            found.row.use = use;
            found.row.part = part_of_.name(part);
        }
        return found;
    }

    row_builder& copy_row(std::uint32_t op) {
        const transfer_record& transfer = data_.transfers[data_.ops[op].detail];
        const std::uint64_t kind = std::uint64_t{transfer.copy_kind} << 24 | std::uint64_t{transfer.source_kind} << 16 |
                                   std::uint64_t{transfer.destination_kind} << 8 |
                                   static_cast<std::uint64_t>(transfer.kind);
        const auto [found, is_new] = row_at({time_use::copy, idle_cause::unknown, kind, 0});
        if (is_new) {
            found.row.use = time_use::copy;
            found.row.part = transfer_name(transfer);
        }
        return found;
    }

    void explain(const idle_gap& gap) {
        const bool after_wait = causes_.drained_by(gap) != npos;
        causes_.explain(gap, [&](const idle_piece& piece) {
            for_each_step(piece.start_ns, piece.end_ns, [&](std::uint32_t step, std::int64_t ns) {
                row_builder& row = idle_row(piece);
                row.add(step, ns);
                ++row.row.pieces;
                row.row.longest_ns = std::max(row.row.longest_ns, ns);
                if (after_wait) row.row.after_wait_ns += ns;
            });
        });
    }

    row_builder& idle_row(const idle_piece& piece) {
        api_domain domain = api_domain::none;
        std::uint32_t cbid = 0;
        if (piece.call != npos && piece.cause != idle_cause::launching) {
            domain = data_.api_calls[piece.call].domain;
            cbid = data_.api_calls[piece.call].cbid;
        }
        const std::uint32_t place = piece.cause == idle_cause::loader ? 0 : piece.place;
        const std::uint64_t function = std::uint64_t{static_cast<std::uint16_t>(domain)} << 32 | cbid;
        const auto [found, is_new] = row_at({time_use::idle, piece.cause, function, place});
        if (is_new) {
            breakdown_row& row = found.row;
            row.use = time_use::idle;
            row.cause = piece.cause;
            row.call_domain = domain;
            row.call_cbid = cbid;
            row.part = where_.path(place);
        }
        return found;
    }

    // The row, and whether it is new.
    std::pair<row_builder&, bool> row_at(const row_key& key) {
        const auto [use, cause, kind, place] = key;
        const std::size_t mixed =
            static_cast<std::size_t>(use) + 4 * static_cast<std::size_t>(cause) + 5 * kind + 7 * place;
        known_row& known = known_rows_[mixed % known_rows_.size()];
        if (known.row != nullptr && known.key == key) return {*known.row, false};
        const auto [found, is_new] = rows_.try_emplace(key);
        known = {key, &found->second};
        return {found->second, is_new};
    }

    void finish(step_breakdown& out) {
        std::vector<row_builder*> builders;
        for (auto& [key, row] : rows_) {
            row.merge_samples();
            row.summarize(steps_.size());
            builders.push_back(&row);
        }
        std::stable_sort(builders.begin(), builders.end(), [](const row_builder* a, const row_builder* b) {
            return std::pair(a->row.use, -a->row.total_ns) < std::pair(b->row.use, -b->row.total_ns);
        });
        find_slow(builders, out);
        for (row_builder* const builder : builders) out.rows.push_back(std::move(builder->row));
    }

    // Steps that are longer than the median by a tenth of it and by 5 scaled median absolute deviations.
    void find_slow(const std::vector<row_builder*>& rows, step_breakdown& out) const {
        const std::vector<std::int64_t> lengths_ns = lengths_of(steps_);
        out.steps = lengths_ns.size();
        for (const std::int64_t ns : lengths_ns) out.wall_ns += ns * out.devices;
        out.step_median_ns = median(lengths_ns);
        out.step_min_ns = *std::min_element(lengths_ns.begin(), lengths_ns.end());
        out.step_max_ns = *std::max_element(lengths_ns.begin(), lengths_ns.end());
        const double longest = longest_usual(lengths_ns, 1.1);
        std::vector<std::uint32_t> slow;
        for (std::uint32_t i = 0; i < lengths_ns.size(); ++i) {
            if (static_cast<double>(lengths_ns[i]) > longest) slow.push_back(i);
        }
        out.slow_count = slow.size();
        std::stable_sort(slow.begin(), slow.end(),
                         [&](std::uint32_t a, std::uint32_t b) { return lengths_ns[a] > lengths_ns[b]; });
        if (slow.size() > most_slow_steps) slow.resize(most_slow_steps);
        for (const std::uint32_t step : slow) {
            slow_step found{.number = steps_[step].number, .length_ns = lengths_ns[step]};
            for (std::size_t i = 0; i < rows.size(); ++i) {
                const auto excess_ns = rows[i]->in_step(step) - static_cast<std::int64_t>(rows[i]->row.median_ns);
                if (excess_ns > found.excess_ns) {
                    found.row = i;
                    found.excess_ns = excess_ns;
                }
            }
            out.slow.push_back(found);
        }
    }

    const timeline& data_;
    const std::vector<whole_step>& steps_;
    step_parts part_of_;
    op_classifier class_of_;
    host_activity host_;
    code_places where_;
    idle_causes causes_;
    std::map<row_key, row_builder> rows_;
    struct known_row {
        row_key key;
        row_builder* row = nullptr;
    };
    std::array<known_row, 64> known_rows_;  // some of rows_: those looked up last
    std::size_t step_ = 0;                  // the first step that ends after the pieces so far
    std::uint32_t next_ = npos;             // the first operation that begins after the pieces so far
    std::uint32_t gap_device_ = 0;
    std::int64_t busy_ns_ = 0;
};

}  // namespace

std::string_view to_string(time_use use) noexcept {
    switch (use) {
        case time_use::compute:
            return "compute";
        case time_use::communication:
            return "communication";
        case time_use::copy:
            return "copies";
        case time_use::idle:
            break;
    }
    return "idle";
}

std::int64_t step_breakdown::total_of(time_use use) const noexcept {
    std::int64_t total = 0;
    for (const breakdown_row& row : rows) {
        if (row.use == use) total += row.total_ns;
    }
    return total;
}

std::optional<step_breakdown> break_down(const timeline& data, const attribution& att, std::string_view step_function,
                                         const time_spans& times) {
    if (data.ops.empty()) return {};
    step_breakdown out;
    const whole_steps steps = steps_of(data, att, !step_function.empty(), times, out);
    if (steps.steps.empty()) return {};
    for (const timeline_window& window : data.windows) out.recorded_ns += window.end_ns - window.start_ns;
    breakdown_maker(data, att, steps).run(out);
    return out;
}

}  // namespace prof
