// SPDX-License-Identifier: Apache-2.0
// A simulated job: ranks that compute layer by layer, with a collective after each, on hosts whose clocks differ. What
// it took, and what it would have taken without its injected flaw, is known. Each rank becomes a timeline.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ranks/job_answer.hpp"
#include "support/capture_builder.hpp"

namespace prof {

enum class flaw_kind : std::uint8_t { gpu, more_kernels, host, network };

struct injected_flaw {
    flaw_kind kind = flaw_kind::gpu;
    std::vector<std::uint32_t> ranks{};  // of `network`: the group with the first of them
    int layer = -1;                      // -1: each
    std::uint32_t from_step = 0;
    std::uint32_t end_step = UINT32_MAX;
    std::uint32_t every = 1;  // of these steps, the first and each so many later
    double ns = 0;            // in each of these layers

    bool is_in(std::uint32_t step, int in_layer) const {
        return step >= from_step && step < end_step && (step - from_step) % every == 0 &&
               (layer < 0 || layer == in_layer);
    }
};

struct job_plan {
    std::uint32_t ranks = 8;
    std::uint32_t ranks_on_host = 4;
    std::uint32_t in_group = 0;  // ranks of a communicator; 0: all
    std::uint32_t steps = 20;
    int layers = 6;
    double layer_ns = 2e6;
    double transfer_ns = 3e5;
    double noise = 0.005;        // of a layer, and of a transfer
    bool is_skewed = false;      // the noise of a layer is exponential
    double wander = 0;           // of a layer: noise that a rank keeps from step to step,
    double kept = 0.9;           // by so much
    double outliers = 0.01;      // so many layers take a twentieth longer
    double end_spread_ns = 3e3;  // members of a collective end within it,
    double end_bias_ns = 2e3;    // and the last rank later in any case
    double host_ns = 0;  // of the host, for each layer: it launches ahead of the GPU, and waits for it after each step
    double slowing = 1;  // beside a collective a kernel takes so many times as long
    bool is_overlapped = false;         // the collectives run beside the next layers; the step waits for the last one
    std::uint32_t absent = UINT32_MAX;  // a rank without a capture
    std::vector<double> offsets_ns{0, 1.7e6, -4.2e5, 9e5};  // by host
    std::vector<double> drifts{0, 3e-6, -2e-6, 1e-6};
    std::optional<injected_flaw> flaw{};
    std::optional<injected_flaw> second_flaw{};  // of ranks
    std::uint64_t seed = 1;
};

class simulated_job {
public:
    explicit simulated_job(const job_plan& plan) : plan_(plan) {}

    // What a step of the job takes.
    double step_ns(bool with_flaw = true) {
        run(with_flaw);
        return (end_of_steps_.back() - begin_ns_) / plan_.steps;
    }

    std::vector<rank_summary> summaries() {
        run(true);
        std::vector<rank_summary> out;
        for (std::uint32_t r = 0; r < plan_.ranks; ++r) {
            if (r == plan_.absent) continue;
            const timeline data = timeline_of(r);
            out.push_back(summarize_rank(data, attribute(data)));
            out.back().path = "rank" + std::to_string(r) + ".prof";
        }
        return out;
    }

    timeline timeline_of(std::uint32_t r) const {
        capture_builder capture;
        thread_script& main = capture.thread("python");
        const auto at = [&](double ns) { return static_cast<std::uint64_t>(std::llround(on_clock(r, ns))); };
        std::uint64_t correlation = 0;
        struct called {
            std::uint64_t correlation;
            std::uint64_t time;
            std::uint64_t sequence;
        };
        std::vector<called> calls;
        double latest = begin_ns_ - 1e6;
        const auto launched = [&](double wanted, const char* kernel) {
            latest = std::max(latest + 3e3, wanted);
            main.launch(at(latest), ++correlation, kernel);
            return correlation;
        };
        for (std::uint32_t s = 0; s < plan_.steps; ++s) {
            const std::vector<layer_times>& layers = done_[r][s];
            latest = std::max(latest + 2e3, layers.front().begin - layers.front().late - 40e3);
            if (plan_.host_ns > 0) latest = s == 0 ? begin_ns_ : ends_[r][s - 1] + 2e3;
            main.push(at(latest), "ProfilerStep#" + std::to_string(s));
            for (const layer_times& layer : layers) {
                for (int k = 0; k < layer.kernels; ++k) {
                    const double from = layer.end_of(plan_.slowing, layer.work * k / layer.kernels);
                    const double to = layer.end_of(plan_.slowing, layer.work * (k + 1) / layer.kernels);
                    const double wanted = plan_.host_ns > 0 ? layer.launched : layer.begin - 8e3;
                    const std::uint64_t id = launched(wanted, "gemm");
                    capture.kernel(id, at(from), at(to), {}, "gemm");
                }
                const double call = latest + 2e3;
                const std::uint64_t id = launched(std::max(call + 1e3, 0.0), "ncclDevKernel_AllReduce");
                calls.push_back({id, at(call), static_cast<std::uint64_t>(calls.size())});
                capture.kernel(id, at(layer.arrival), at(layer.done), {.stream = 20}, "ncclDevKernel_AllReduce");
            }
            if (plan_.host_ns > 0) {
                main.wait(at(latest + 1e3), at(ends_[r][s]), ++correlation);
                latest = ends_[r][s];
            }
            main.pop(at(std::max(latest + 1e3, 0.0)));
            latest += 1e3;
        }
        // A step ends where the next begins, and the last one has to have one after it.
        main.push(at(std::max(latest + 2e3, ends_[r].back() + 1e3)), "ProfilerStep#" + std::to_string(plan_.steps))
            .pop(at(std::max(latest + 3e3, ends_[r].back() + 2e3)));
        timeline data = capture.build();
        data.properties["rank"] = std::to_string(r);
        data.properties["world_size"] = std::to_string(plan_.ranks);
        data.properties["hostname"] = "host" + std::to_string(host_of(r));
        data.properties["process_start"] = "boot" + std::to_string(host_of(r)) + " 17";
        data.properties["name"] = "train.py";
        data.properties["pid"] = std::to_string(100 + r);
        data.windows = {{.start_ns = static_cast<std::int64_t>(at(begin_ns_ - 2e6)),
                         .end_ns = static_cast<std::int64_t>(at(ends_[r].back() + 2e6))}};
        std::unordered_map<std::uint64_t, op_id> op_of;
        for (const op_id op : data.ops.ids()) op_of[data.ops[op].correlation] = op;
        data.communicators.push_back({.id = 77 + group_of(r),
                                      .name = "dp" + std::to_string(group_of(r)),
                                      .ranks = group_size(),
                                      .rank = r % group_size()});
        for (const called& call : calls) {
            collective_call is;
            is.time_ns = static_cast<std::int64_t>(call.time);
            is.sequence = call.sequence;
            is.count = 1 << 20;
            is.bytes = 4 << 20;
            is.op = op_of.at(call.correlation);
            is.communicator = communicator_id(0);
            is.thread = thread_id(0);
            is.function = collective_function::all_reduce;
            data.collectives.push_back(is);
        }
        return data;
    }

    // By the clock of the rank's host.
    double on_clock(std::uint32_t r, double ns) const {
        const std::uint32_t host = host_of(r);
        return ns + plan_.offsets_ns[host % plan_.offsets_ns.size()] +
               plan_.drifts[host % plan_.drifts.size()] * (ns - begin_ns_);
    }
    std::uint32_t host_of(std::uint32_t r) const { return r / plan_.ranks_on_host; }
    double begin_ns() const { return begin_ns_; }
    double end_ns() const { return end_of_steps_.back(); }

private:
    struct layer_times {
        double begin = 0, end = 0;  // of computing
        double late = 0;            // the host
        double launched = 0;        // if the host takes time
        double arrival = 0, done = 0;
        int kernels = 2;
        double work = 0;        // alone it takes so long
        double busy_until = 0;  // until then a collective runs beside it

        // When so much of the work is done.
        double end_of(double slowing, double part) const {
            const double beside = std::min(std::max(busy_until - begin, 0.0) / slowing, part);
            return begin + beside * slowing + part - beside;
        }
    };

    std::uint32_t group_size() const { return plan_.in_group == 0 ? plan_.ranks : plan_.in_group; }
    std::uint32_t group_of(std::uint32_t r) const { return r / group_size(); }

    // The same draws with and without the flaw.
    void run(bool with_flaw) {
        std::mt19937_64 random(plan_.seed);
        std::normal_distribution<double> normal;
        std::uniform_real_distribution<double> uniform;
        const std::uint32_t ranks = plan_.ranks;
        std::vector<double> at(ranks), stream(ranks, begin_ns_), wandered(ranks, 0);
        for (double& each : at) each = begin_ns_ + 20e3 * uniform(random);
        std::vector<double> host = at;
        done_.assign(ranks, {});
        ends_.assign(ranks, {});
        end_of_steps_.clear();
        for (std::uint32_t s = 0; s < plan_.steps; ++s) {
            for (std::uint32_t r = 0; r < ranks; ++r) {
                done_[r].emplace_back();
                if (plan_.wander > 0) {
                    wandered[r] = plan_.kept * wandered[r] + std::sqrt(1 - plan_.kept * plan_.kept) * normal(random);
                }
            }
            for (int layer = 0; layer < plan_.layers; ++layer) {
                for (std::uint32_t r = 0; r < ranks; ++r) {
                    layer_times is;
                    double by_chance = normal(random);
                    if (plan_.is_skewed) by_chance = -std::log(1 - uniform(random));
                    double length =
                        plan_.layer_ns * std::max(1 + plan_.noise * by_chance + plan_.wander * wandered[r], 0.05);
                    if (uniform(random) < plan_.outliers) length *= 1.05;
                    const injected_flaw* const flaw = flaw_of(r, s, layer, with_flaw);
                    if (flaw != nullptr && flaw->kind == flaw_kind::gpu) length += flaw->ns;
                    if (flaw != nullptr && flaw->kind == flaw_kind::more_kernels) {
                        length += flaw->ns;
                        is.kernels = 3;
                    }
                    if (flaw != nullptr && flaw->kind == flaw_kind::host) is.late = flaw->ns;
                    host[r] += plan_.host_ns + is.late;
                    is.launched = host[r];
                    is.begin = at[r] + 5e3 + is.late;
                    if (plan_.host_ns > 0) is.begin = std::max(at[r] + 5e3, host[r] + 8e3);
                    is.work = length;
                    is.busy_until = stream[r];
                    is.end = is.end_of(plan_.slowing, length);
                    is.arrival = std::max(is.end + 4e3, stream[r] + 2e3);
                    at[r] = is.end;
                    done_[r].back().push_back(is);
                }
                for (std::uint32_t g = 0; g * group_size() < ranks; ++g) {
                    double last = 0;
                    for (std::uint32_t r = g * group_size(); r < (g + 1) * group_size(); ++r) {
                        last = std::max(last, done_[r].back().back().arrival);
                    }
                    double transfer = plan_.transfer_ns * (1 + plan_.noise * normal(random));
                    const injected_flaw* const flaw = plan_.flaw ? &*plan_.flaw : nullptr;
                    if (with_flaw && flaw != nullptr && flaw->kind == flaw_kind::network &&
                        group_of(flaw->ranks.front()) == g && flaw->is_in(s, layer)) {
                        transfer += flaw->ns;
                    }
                    for (std::uint32_t r = g * group_size(); r < (g + 1) * group_size(); ++r) {
                        layer_times& is = done_[r].back().back();
                        is.done = last + transfer + plan_.end_spread_ns * uniform(random);
                        if (r + 1 == ranks) is.done += plan_.end_bias_ns;
                        stream[r] = is.done;
                        if (!plan_.is_overlapped || layer + 1 == plan_.layers) at[r] = std::max(at[r], is.done);
                    }
                }
            }
            double end = 0;
            for (std::uint32_t r = 0; r < ranks; ++r) {
                ends_[r].push_back(at[r]);
                host[r] = at[r];
                end = std::max(end, at[r]);
            }
            end_of_steps_.push_back(end);
        }
    }

    const injected_flaw* flaw_of(std::uint32_t r, std::uint32_t s, int layer, bool with_flaw) const {
        for (const std::optional<injected_flaw>* const each : {&plan_.flaw, &plan_.second_flaw}) {
            if (!with_flaw || !*each || !(*each)->is_in(s, layer)) continue;
            const auto& ranks = (*each)->ranks;
            if (std::find(ranks.begin(), ranks.end(), r) != ranks.end()) return &**each;
        }
        return nullptr;
    }

    job_plan plan_;
    double begin_ns_ = 1.7e15;
    std::vector<std::vector<std::vector<layer_times>>> done_;  // by rank, step and layer
    std::vector<std::vector<double>> ends_;                    // by rank and step
    std::vector<double> end_of_steps_;
};

}  // namespace prof
