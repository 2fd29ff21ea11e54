// SPDX-License-Identifier: Apache-2.0
#include "analysis/breakdown/step_breakdown.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/breakdown/breakdown_steps.hpp"
#include "analysis/breakdown/device_cover.hpp"
#include "analysis/projection/op_class.hpp"
#include "analysis/projection/transfer_name.hpp"
#include "analysis/steps/lost_work.hpp"
#include "analysis/steps/step_parts.hpp"
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
    thread_states did{};

private:
    std::vector<std::pair<std::uint32_t, std::int64_t>> samples_;  // step and its time
};

class breakdown_maker {
public:
    breakdown_maker(const timeline& data, const attribution& att, const whole_steps& of, std::size_t most_slow)
        : data_(data),
          steps_(of.steps),
          most_slow_(most_slow),
          in_steps_(of.steps),
          part_of_(data, att, of),
          class_of_(data),
          host_(data, att),
          where_(data, att, of),
          causes_(data, att, host_, where_, of),
          accounts_(data) {}

    void run(step_breakdown& out) {
        const std::set<std::uint32_t> devices = devices_of(data_);
        for (const std::uint32_t device : devices) cover(device);
        out.devices = static_cast<std::uint32_t>(devices.size());
        finish(out);
    }

private:
    void cover(std::uint32_t device) {
        in_steps_.restart();
        walk_device(data_, class_of_, device, steps_.front().from_ns(), steps_.back().to_ns(),
                    [&](const covered_time& piece, op_id next) { take(piece, device, next); });
    }

    void take(const covered_time& piece, std::uint32_t device, op_id next) {
        if (!in_steps_.move_to(piece.start_ns, piece.end_ns)) return;
        if (piece.is_idle()) {
            explain({piece.start_ns, piece.end_ns, device, next});
            return;
        }
        in_steps_.for_each(
            piece.start_ns, piece.end_ns,
            [&](std::uint32_t step, std::int64_t from_ns, std::int64_t to_ns) { busy(piece, step, to_ns - from_ns); });
    }

    void busy(const covered_time& piece, std::uint32_t step, std::int64_t ns) {
        const op_id compute = piece.of(op_class::compute);
        const op_id communication = piece.of(op_class::communication);
        const op_id memory = piece.of(op_class::memory);
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

    row_builder& copy_row(op_id op) {
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
            in_steps_.for_each(piece.start_ns, piece.end_ns,
                               [&](std::uint32_t step, std::int64_t from_ns, std::int64_t to_ns) {
                                   const std::int64_t ns = to_ns - from_ns;
                                   row_builder& row = idle_row(piece);
                                   row.add(step, ns);
                                   ++row.row.pieces;
                                   row.row.longest_ns = std::max(row.row.longest_ns, ns);
                                   if (after_wait) row.row.after_wait_ns += ns;
                                   if (piece.cause == idle_cause::host_code) {
                                       accounts_.add(piece.thread, from_ns, to_ns, row.did);
                                   }
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
        const code_place_id place = piece.cause == idle_cause::loader ? code_place_id() : piece.place;
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
        thread_states did;
        for (auto& [key, row] : rows_) {
            row.merge_samples();
            row.summarize(steps_.size());
            row.row.did = shares_of(row.did, data_);
            did.add(row.did);
            builders.push_back(&row);
        }
        std::stable_sort(builders.begin(), builders.end(), [](const row_builder* a, const row_builder* b) {
            return std::pair(a->row.use, -a->row.total_ns) < std::pair(b->row.use, -b->row.total_ns);
        });
        out.did = shares_of(did, data_);
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
        if (slow.size() > most_slow_) slow.resize(most_slow_);
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
    std::size_t most_slow_;
    step_cursor in_steps_;
    step_parts part_of_;
    op_classifier class_of_;
    host_activity host_;
    code_places where_;
    idle_causes causes_;
    thread_accounts accounts_;
    std::map<row_key, row_builder> rows_;
    struct known_row {
        row_key key;
        row_builder* row = nullptr;
    };
    std::array<known_row, 64> known_rows_;  // some of rows_: those looked up last
};

// How long an operation ran in the windows, added over the GPUs.
std::int64_t busy_in_windows(const timeline& data) {
    struct gpu {
        std::int64_t until_ns = INT64_MIN;  // what ran until then is counted
        std::size_t window = 0;
    };
    std::map<std::uint32_t, gpu> gpus;
    std::int64_t out = 0;
    for (const gpu_op& op : data.ops) {
        gpu& on = gpus[data.place_of(op).device];
        const std::int64_t start_ns = std::max(op.start_ns, on.until_ns);
        if (start_ns >= op.end_ns) continue;
        on.until_ns = op.end_ns;
        while (on.window < data.windows.size() && data.windows[on.window].end_ns <= start_ns) ++on.window;
        for (std::size_t i = on.window; i < data.windows.size() && data.windows[i].start_ns < op.end_ns; ++i) {
            out += std::min(op.end_ns, data.windows[i].end_ns) - std::max(start_ns, data.windows[i].start_ns);
        }
    }
    return out;
}

std::optional<step_breakdown> broken_down(const timeline& data, const attribution& att, const breakdown_steps& found,
                                          std::size_t most_slow) {
    if (found.of.steps.empty()) return {};
    step_breakdown out;
    out.has_steps = found.has_steps;
    out.by_gpu = found.by_gpu;
    for (const timeline_window& window : data.windows) out.recorded_ns += window.end_ns - window.start_ns;
    out.recorded_busy_ns = busy_in_windows(data);
    breakdown_maker(data, att, found.of, most_slow).run(out);
    return out;
}

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
                                         const step_scope& scope) {
    if (data.ops.empty()) return {};
    const breakdown_steps found = find_breakdown_steps(data, att, !step_function.empty(), scope);
    if (launches_of_lost_work(data, found.of.steps) != 0) return {};  // it is not known what the GPU did
    return broken_down(data, att, found, most_slow_steps);
}

std::optional<step_breakdown> break_down_steps(const timeline& data, const attribution& att, const whole_steps& steps,
                                               std::size_t most_slow) {
    if (data.ops.empty() || steps.steps.empty()) return {};
    return broken_down(data, att, breakdown_steps_of(steps), most_slow);
}

}  // namespace prof
