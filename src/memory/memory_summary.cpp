// SPDX-License-Identifier: Apache-2.0
#include "memory/memory_summary.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "analysis/steps/whole_steps.hpp"
#include "memory/birth_lines.hpp"
#include "memory/block_account.hpp"

namespace prof {
namespace {

constexpr std::uint8_t cuda_kind = 1;
constexpr std::size_t least_growing_steps = 3;

// The ordinal number of the step at a moment: -1 before the first; gaps and what follows the last belong to the step
// before.
std::int64_t step_at(const std::vector<whole_step>& steps, std::int64_t ns) {
    const auto after =
        std::partition_point(steps.begin(), steps.end(), [&](const whole_step& each) { return each.start_ns <= ns; });
    if (after == steps.begin()) return steps.empty() ? 0 : -1;
    const std::int64_t before = (after - steps.begin()) - 1;
    const bool is_after_last = after == steps.end() && ns >= steps.back().end_ns;
    return is_after_last ? before + 1 : before;
}

class device_summary {
public:
    device_summary(const timeline& data, const block_account& account, birth_places& places, birth_lines& lines,
                   const std::vector<whole_step>& all_steps, const std::vector<whole_step>& steps, std::uint16_t device)
        : data_(data),
          account_(account),
          places_(places),
          lines_(lines),
          all_(all_steps),
          steps_(steps),
          device_(device) {}

    memory_device run(bool has_steps) {
        out_.device = device_ & 0xFFU;
        out_.kind = static_cast<std::uint8_t>(device_ >> 8);
        out_.is_gpu = out_.kind == cuda_kind;
        out_.has_steps = has_steps;
        for (const device_record& each : data_.devices) {
            if (out_.is_gpu && each.device == out_.device && each.global_memory_bytes != 0) {
                out_.limit = each.global_memory_bytes;
            }
        }
        find_events();
        measure_steps();
        choose_steps();
        find_growth();
        add_rows();
        add_failures();
        add_outside();
        find_growth_room();
        return std::move(out_);
    }

private:
    using row_key = std::tuple<std::uint32_t, std::string, memory_use>;  // place, module, use
    struct growth_key {
        std::uint32_t place;
        std::string module;
        auto operator<=>(const growth_key&) const = default;
    };

    const memory_event& event(std::uint32_t index) const { return data_.memory[index]; }

    void find_events() {
        for (std::uint32_t i = 0; i < data_.memory.size(); ++i) {
            if (event(i).device == device_) events_.push_back(i);
        }
        const memory_event& last = event(events_.back());
        out_.end_allocated = last.allocated;
        out_.end_reserved = last.reserved;
        out_.before = account_.remainder(device_, events_.front()).before;
        if (event(events_.front()).kind == memory_kind::freed) out_.before += event(events_.front()).bytes;
    }

    void measure_steps() {
        const bool has_reserve = !data_.is_memory_of_cuda;  // an allocator that keeps memory
        std::size_t at = 0;
        const memory_event* before = nullptr;  // the latest event
        std::uint32_t before_index = npos;
        const auto take = [&](std::uint32_t index) {
            before = &event(index);
            before_index = index;
        };
        for (const whole_step& step : steps_) {
            for (; at < events_.size() && event(events_[at]).time_ns < step.start_ns; ++at) take(events_[at]);
            memory_step of{
                .number = step.number, .start_ns = step.start_ns, .end_ns = step.end_ns, .peak_ns = step.start_ns};
            std::uint32_t peak = before_index;
            const std::uint64_t begin = before == nullptr ? out_.before : before->allocated;
            of.peak = begin;
            of.reserved = before == nullptr ? 0 : before->reserved;
            for (; at < events_.size() && event(events_[at]).time_ns < step.end_ns; ++at) {
                const memory_event& each = event(events_[at]);
                if (each.kind == memory_kind::allocated) {
                    of.churn += each.bytes;
                    ++of.births;
                }
                if (has_reserve && each.has_totals && before != nullptr && each.reserved > before->reserved) {
                    ++of.segments;
                    of.segment_bytes += each.reserved - before->reserved;
                }
                if (has_reserve && each.has_totals && before != nullptr && each.reserved < before->reserved) {
                    ++out_.given_back;
                }
                of.reserved = std::max(of.reserved, each.reserved);
                if (each.has_totals && (each.allocated > of.peak || peak == npos)) {
                    of.peak = each.allocated;
                    of.peak_ns = each.time_ns;
                    peak = events_[at];
                }
                if (each.has_totals) take(events_[at]);
            }
            of.growth = static_cast<std::int64_t>((before == nullptr ? begin : before->allocated) - begin);
            of.peak_event = peak;
            if (peak != npos) {
                of.peak_path = places_.exact_path(event(peak));
                of.peak_module = places_.module_of(event(peak));
            }
            out_.steps.push_back(std::move(of));
            peaks_.push_back(peak);
        }
    }

    void choose_steps() {
        if (out_.steps.empty()) return;
        std::vector<std::size_t> order(out_.steps.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return out_.steps[a].peak < out_.steps[b].peak; });
        out_.median = order[(order.size() - 1) / 2];
        const std::uint64_t most = out_.steps[order.back()].peak;
        out_.highest =
            *std::find_if(order.begin(), order.end(), [&](std::size_t each) { return out_.steps[each].peak == most; });
        if (const std::uint32_t peak = peaks_[out_.highest]; peak != npos) {
            out_.unused_at_peak = event(peak).reserved - std::min(event(peak).reserved, event(peak).allocated);
        }
    }

    // Blocks that are born in a step and alive at the end of the recording, by place: those of the first step (state
    // that is made once) and of the last two (which may yet come back) do not count.
    void find_growth() {
        const std::size_t count = all_.size();
        if (count < least_growing_steps + 3) return;
        const std::size_t looked = count - 3;
        std::map<growth_key, std::map<std::int64_t, std::uint64_t>> kept;
        std::map<growth_key, std::map<std::uint32_t, std::uint64_t>> kept_by_line;
        for (const memory_block_life& each : account_.blocks()) {
            if (each.device != device_ || each.death != npos) continue;
            const memory_event& birth = event(each.birth);
            const std::int64_t step = step_at(all_, birth.time_ns);
            if (step < 1 || step > static_cast<std::int64_t>(looked)) continue;
            const growth_key key{places_.place_of(birth), places_.module_of(birth)};
            kept[key][step] += each.bytes;
            kept_by_line[key][lines_.line_of(birth, places_)] += each.bytes;
        }
        for (const auto& [key, by_step] : kept) {
            const std::size_t least = std::max<std::size_t>(least_growing_steps, (looked * 6 + 9) / 10);
            if (by_step.size() < least) continue;
            double bytes = 0;
            for (const auto& [step, of_step] : by_step) bytes += static_cast<double>(of_step);
            const auto& lines = kept_by_line[key];
            const auto most = std::max_element(lines.begin(), lines.end(),
                                               [](const auto& a, const auto& b) { return a.second < b.second; });
            growth_[key] = {bytes / static_cast<double>(looked), most->first};
        }
    }

    // A block that has not ended, since the recording has, is what such blocks were before.
    memory_use use_of_block(const memory_block_life& of, std::uint32_t place, const std::string& module) {
        const memory_event& birth = event(of.birth);
        block_life_facts facts{.birth = {step_at(all_, birth.time_ns), places_.role_of(birth, place)},
                               .has_ended = of.death != npos && of.end_was_seen};
        if (facts.has_ended) {
            const memory_event& end = event(of.death);
            facts.end = {step_at(all_, end.time_ns), places_.role_of(end, places_.place_of(end))};
        }
        facts.was_last_step = facts.birth.step + 1 >= static_cast<std::int64_t>(all_.size());
        const auto habit = std::tuple(place, module, of.bytes);
        if (!facts.has_ended && facts.was_last_step) {
            if (const auto known = habits_.find(habit); known != habits_.end()) return known->second;
        }
        facts.grows = !facts.has_ended && growth_.contains({place, module});
        const memory_use use = use_of(facts);
        if (facts.has_ended) habits_[habit] = use;
        return use;
    }

    memory_row& row_of(std::uint32_t place, const std::string& module, memory_use use) {
        const auto [known, is_new] = rows_.try_emplace({place, module, use}, out_.rows.size());
        if (is_new) {
            out_.rows.push_back({.use = use, .module = module});
            if (use < memory_use::before_recording) {
                out_.rows.back().path = places_.path(place);
                out_.rows.back().phase = places_.phase(place);
            }
        }
        return out_.rows[known->second];
    }

    // The blocks' lines; `moments`: the events after which what is alive counts, as in memory_line.
    struct counted_moments {
        std::uint32_t highest = npos;
        std::uint32_t median = npos;
        std::uint32_t failure = npos;
        std::uint32_t last = npos;
    };
    void add_lines(const counted_moments& moments) {
        if (!lines_.has_any()) return;
        std::map<std::uint32_t, memory_line> by_line;
        for (const memory_block_life& each : account_.blocks()) {
            if (each.device != device_) continue;
            const memory_event& birth = event(each.birth);
            memory_line& of = by_line[lines_.line_of(birth, places_)];
            const auto alive = [&](std::uint32_t at) {
                return at != npos && each.is_alive_after(at) ? static_cast<std::int64_t>(each.bytes) : 0;
            };
            of.at_peak += alive(moments.highest);
            of.at_median += alive(moments.median);
            of.at_failure += alive(moments.failure);
            of.at_end += alive(moments.last);
            of.known += birth.stack != npos ? 1 : 0;
            if (!is_in_steps(birth.time_ns)) continue;
            of.churn += each.bytes;
            ++of.births;
        }
        for (auto& [line, of] : by_line) {
            of.line = lines_.text(line);
            of.code = lines_.code(line);
            out_.lines.push_back(std::move(of));
        }
        std::stable_sort(out_.lines.begin(), out_.lines.end(), [](const memory_line& a, const memory_line& b) {
            return std::tie(a.at_peak, a.at_failure, a.at_end, a.churn) >
                   std::tie(b.at_peak, b.at_failure, b.at_end, b.churn);
        });
    }

    void add_rows() {
        const std::uint32_t last = events_.back();
        const std::uint32_t highest = peaks_.empty() ? npos : peaks_[out_.highest];
        const std::uint32_t median = peaks_.empty() ? npos : peaks_[out_.median];
        std::uint32_t failure = npos;
        for (const std::uint32_t each : events_) {
            if (event(each).kind == memory_kind::failed) failure = each;
        }
        std::map<std::pair<std::ptrdiff_t, std::uint32_t>, std::uint64_t> bytes_of_lines;  // by row and line
        for (const memory_block_life& each : account_.blocks()) {
            if (each.device != device_) continue;
            const memory_event& birth = event(each.birth);
            const std::uint32_t place = places_.place_of(birth);
            const std::string& module = places_.module_of(birth);
            memory_row& row = row_of(place, module, use_of_block(each, place, module));
            const auto alive = [&](std::uint32_t at) {
                return at != npos && each.is_alive_after(at) ? static_cast<std::int64_t>(each.bytes) : 0;
            };
            if (const std::uint32_t line = lines_.line_of(birth, places_); line != 0) {
                bytes_of_lines[{&row - out_.rows.data(), line}] += each.bytes;
            }
            row.at_peak += alive(highest);
            row.blocks_at_peak += highest != npos && each.is_alive_after(highest) ? 1 : 0;
            row.at_median += alive(median);
            row.at_failure += alive(failure);
            row.at_end += alive(last);
            if (is_in_steps(birth.time_ns)) {
                row.churn += each.bytes;
                ++row.births;
            }
        }
        std::vector<std::uint64_t> most(out_.rows.size());
        for (const auto& [of, bytes] : bytes_of_lines) {
            const auto row = static_cast<std::size_t>(of.first);
            if (bytes <= most[row]) continue;
            most[row] = bytes;
            out_.rows[row].line = lines_.text(of.second);
            out_.rows[row].code = lines_.code(of.second);
        }
        add_lines({highest, median, failure, last});
        for (const auto& [key, growth] : growth_) {
            memory_row& row = row_of(key.place, key.module, memory_use::other);
            row.growth = growth.bytes;
            row.growth_line = lines_.text(growth.line);
            row.growth_code = lines_.code(growth.line);
            out_.growth += growth.bytes;
        }
        add_remainder(highest, &memory_row::at_peak);
        add_remainder(median, &memory_row::at_median);
        add_remainder(failure, &memory_row::at_failure);
        add_remainder(last, &memory_row::at_end);
        std::stable_sort(out_.rows.begin(), out_.rows.end(), [](const memory_row& a, const memory_row& b) {
            return std::tie(a.at_peak, a.at_failure, a.at_end, a.churn) >
                   std::tie(b.at_peak, b.at_failure, b.at_end, b.churn);
        });
    }

    void add_remainder(std::uint32_t at, std::int64_t memory_row::*bytes) {
        if (at == npos) return;
        const memory_remainder rest = account_.remainder(device_, at);
        if (rest.before != 0) {
            row_of(0, {}, memory_use::before_recording).*bytes += static_cast<std::int64_t>(rest.before);
        }
        if (rest.lost != 0) row_of(0, {}, memory_use::lost).*bytes += rest.lost;
    }

    bool is_in_steps(std::int64_t ns) const {
        const auto after = std::partition_point(steps_.begin(), steps_.end(),
                                                [&](const whole_step& each) { return each.start_ns <= ns; });
        return after != steps_.begin() && ns < (after - 1)->end_ns;
    }

    void add_failures() {
        for (const std::uint32_t each : events_) {
            const memory_event& of = event(each);
            if (of.kind != memory_kind::failed) continue;
            out_.failures.push_back({.time_ns = of.time_ns,
                                     .asked = of.bytes,
                                     .allocated = of.allocated,
                                     .reserved = of.reserved,
                                     .path = places_.exact_path(of),
                                     .module = places_.module_of(of)});
            if (of.stack == npos) continue;
            const std::uint32_t line = lines_.line_of(of, places_);
            out_.failures.back().line = lines_.text(line);
            out_.failures.back().code = lines_.code(line);
        }
    }

    // Goes through the highest step: at each moment what grows with the batch has the room that the rest leaves.
    void find_growth_room() {
        if (!out_.limit || !out_.has_steps || !out_.failures.empty() || !growth_.empty()) return;
        const memory_step& step = out_.steps[out_.highest];
        const auto whole = std::find_if(steps_.begin(), steps_.end(),
                                        [&](const whole_step& each) { return each.start_ns == step.start_ns; });
        const double unused =
            step.peak == 0 ? 0 : static_cast<double>(out_.unused_at_peak) / static_cast<double>(step.peak);
        const std::uint64_t outside = out_.outside ? out_.outside->most : 0;
        const double room = static_cast<double>(*out_.limit - std::min(*out_.limit, outside)) / (1 + unused);
        std::vector<std::pair<std::uint32_t, std::int64_t>> changes;  // event, bytes of those that grow
        for (const memory_block_life& each : account_.blocks()) {
            if (each.device != device_ || event(each.birth).time_ns >= whole->end_ns) continue;
            if (each.death != npos && event(each.death).time_ns < whole->start_ns) continue;
            const memory_event& birth = event(each.birth);
            const std::uint32_t place = places_.place_of(birth);
            const memory_use use = use_of_block(each, place, places_.module_of(birth));
            const bool is_of_optimizer = places_.role_of(birth, place) == phase_role::optimizer;
            if (use != memory_use::activations && (use != memory_use::workspace || is_of_optimizer)) continue;
            changes.emplace_back(each.birth, each.bytes);
            if (each.death != npos) changes.emplace_back(each.death, -static_cast<std::int64_t>(each.bytes));
        }
        std::sort(changes.begin(), changes.end());
        std::int64_t growing = 0;
        auto change = changes.begin();
        for (const std::uint32_t each : events_) {
            for (; change != changes.end() && change->first <= each; ++change) growing += change->second;
            const memory_event& of = event(each);
            if (!of.has_totals || of.time_ns < whole->start_ns || of.time_ns >= whole->end_ns || growing <= 0) continue;
            const double fixed = static_cast<double>(of.allocated) - static_cast<double>(growing);
            const double factor = (room - fixed) / static_cast<double>(growing);
            out_.growth_room = std::min(out_.growth_room.value_or(factor), factor);
        }
    }

    void add_outside() {
        const std::uint32_t peak = peaks_.empty() ? npos : peaks_[out_.highest];
        const std::int64_t peak_ns = peak == npos ? INT64_MAX : event(peak).time_ns;
        const std::int64_t failed_ns = out_.failures.empty() ? INT64_MIN : out_.failures.back().time_ns;
        for (const gpu_memory_sample& each : data_.gpu_memory) {
            if (each.device != device_) continue;
            if (!out_.outside) out_.outside.emplace();
            memory_outside& of = *out_.outside;
            const std::uint64_t bytes = each.used - std::min(each.used, each.reserved);
            // Before the first look the first one is the best that is known.
            if (each.time_ns <= peak_ns || of.total == 0) {
                of.used = each.used;
                of.at_peak = bytes;
            }
            of.total = each.total;
            of.most = std::max(of.most, bytes);
            of.latest = bytes;
            if (each.time_ns <= failed_ns) of.at_failure = bytes;  // the latest look before it
        }
        if (out_.outside && !out_.limit) out_.limit = out_.outside->total;
    }

    const timeline& data_;
    const block_account& account_;
    birth_places& places_;
    birth_lines& lines_;
    const std::vector<whole_step>& all_;    // those of the warm-up, too
    const std::vector<whole_step>& steps_;  // that count
    std::uint16_t device_;
    memory_device out_;
    std::vector<std::uint32_t> events_;  // of this device
    std::vector<std::uint32_t> peaks_;   // by step: the event after which it was at its peak
    struct growth_of_step {
        double bytes = 0;
        std::uint32_t line = 0;  // that asked for most of it; 0: not known
    };
    std::map<growth_key, growth_of_step> growth_;
    // What blocks of a place and size were for, most recently.
    std::map<std::tuple<std::uint32_t, std::string, std::uint64_t>, memory_use> habits_;
    std::map<row_key, std::size_t> rows_;
};

// A retry: between two reports of a thread's it got memory of the driver, gave some back, and got some again.
void count_retries(const timeline& data, const memory_options& options, const std::vector<whole_step>& steps,
                   memory_summary& out) {
    if (!options.call_kind || data.is_memory_of_cuda) return;
    struct thread_state {
        bool has_asked = false;
        bool has_freed = false;
        bool has_retried = false;
    };
    std::map<std::uint32_t, thread_state> threads;
    auto call = data.api_calls.begin();
    for (const memory_event& event : data.memory) {
        for (; call != data.api_calls.end() && call->start_ns <= event.time_ns; ++call) {
            if (call->kind != api_class::blocking_allocation && call->kind != api_class::allocation) continue;
            const memory_call kind = options.call_kind(*call);
            thread_state& of = threads[call->thread];
            if (kind == memory_call::allocates) {
                of.has_retried = of.has_retried || of.has_freed;
                of.has_asked = true;
            }
            if (kind == memory_call::frees) of.has_freed = of.has_asked;
        }
        thread_state& of = threads[event.thread];
        const bool is_in_step =
            step_at(steps, event.time_ns) >= 0 && !steps.empty() && event.time_ns < steps.back().end_ns;
        if (of.has_retried && is_in_step) {
            for (memory_device& device : out.devices) {
                if (device.device == (event.device & 0xFFU) && device.kind == event.device >> 8) ++device.retries;
            }
        }
        of = {};
    }
}

}  // namespace

const memory_device* fullest(const memory_summary& of) noexcept {
    const auto fill = [](const memory_device& each) {
        const auto peak = each.steps.empty() ? 0.0 : static_cast<double>(each.steps[each.highest].peak);
        return std::pair(each.limit ? peak / static_cast<double>(*each.limit) : 0.0, peak);
    };
    const auto found = std::max_element(of.devices.begin(), of.devices.end(),
                                        [&](const auto& a, const auto& b) { return fill(a) < fill(b); });
    return found == of.devices.end() ? nullptr : &*found;
}

memory_summary measure_memory(const timeline& data, const attribution& att, const memory_options& options) {
    memory_summary out{.is_of_cuda = data.is_memory_of_cuda, .events = data.memory.size()};
    if (data.memory.empty()) return out;
    const bool has_function = !options.step_function.empty();
    const whole_steps all = find_whole_steps(data, att, has_function);
    whole_steps counted = steps_that_count(data, att, has_function, options.scope);
    const bool has_steps = !counted.steps.empty();
    if (!has_steps) {
        // All that was recorded is one.
        counted.steps = {{.start_ns = INT64_MIN, .end_ns = INT64_MAX}};
    }
    const block_account account(data);
    birth_places places(data, att, all, options.original == nullptr ? data : *options.original);
    birth_lines lines(data, places);
    out.has_modules = places.has_modules();
    out.has_lines = lines.has_any();
    out.doubtful = account.doubtful();
    for (const std::uint16_t device : account.devices()) {
        out.devices.push_back(
            device_summary(data, account, places, lines, all.steps, counted.steps, device).run(has_steps));
    }
    count_retries(data, options, counted.steps, out);
    return out;
}

}  // namespace prof
