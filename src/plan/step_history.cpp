// SPDX-License-Identifier: Apache-2.0
#include "plan/step_history.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace prof {
namespace {

constexpr double averaged_steps = 256;
constexpr std::size_t steps_to_predict = 9;  // their median is the prediction
constexpr std::size_t few_steps = 3;
constexpr std::uint64_t steps_to_choose_lag = 32;
constexpr double better_by = 0.6;

// Insertion sort, since the values are few.
double median_of(double* begin, double* end) {
    const auto count = end - begin;
    for (double* next = begin; next != end; ++next) {
        for (double* place = next; place != begin && place[0] < place[-1]; --place) std::swap(place[0], place[-1]);
    }
    return count % 2 != 0 ? begin[count / 2] : (begin[count / 2 - 1] + begin[count / 2]) / 2;
}

}  // namespace

std::uint64_t step_history::add(double ns, bool is_plain) {
    ns_[seen_ % remembered] = std::max(ns, 1.0);
    is_plain_[seen_ % remembered] = is_plain;
    if (is_plain) {
        ++plain_seen_;
        mean_ns_ += (ns - mean_ns_) / std::min(static_cast<double>(plain_seen_), averaged_steps);
    }
    return seen_++;
}

bool step_history::is_steady() const {
    if (plain_seen_ < 8 || seen_ < 8) return false;
    std::array<double, 8> latest{};
    for (std::size_t i = 0; i < latest.size(); ++i) latest[i] = ns_[(seen_ - 8 + i) % remembered];
    return median_of(latest.data() + 4, latest.data() + 8) >= 0.8 * median_of(latest.data(), latest.data() + 4);
}

double step_history::plain_ns(std::uint64_t step) const noexcept {
    const bool is_known = step < seen_ && seen_ - step <= remembered && is_plain_[step % remembered];
    return is_known ? ns_[step % remembered] : 0;
}

double step_history::predicted_ns(std::uint64_t step, std::uint64_t lag, std::size_t steps) const {
    std::array<double, steps_to_predict> found{};
    std::size_t count = 0;
    for (std::uint64_t back = lag; back <= step && seen_ - (step - back) <= remembered && count < steps; back += lag) {
        const double ns = plain_ns(step - back);
        if (ns > 0) found[count++] = ns;
    }
    return count == 0 ? 0 : median_of(found.data(), found.data() + count);
}

double step_history::ratio(std::uint64_t step, std::uint64_t lag) const {
    const double predicted = predicted_ns(step, lag, steps_to_predict);
    return predicted == 0 ? 0 : ns_[step % remembered] / predicted;
}

std::vector<double> step_history::plain_ratios(std::uint64_t step, std::uint64_t lag, std::size_t count) const {
    std::vector<double> out;
    for (std::uint64_t back = 1; back <= step && back < remembered && out.size() < count; ++back) {
        if (plain_ns(step - back) == 0) continue;
        const double found = ratio(step - back, lag);
        if (found > 0) out.push_back(found);
    }
    return out;
}

// The mean distance between the latest plain steps and their predictions from a few steps before, in logarithms.
double step_history::error_of(std::uint64_t lag, std::uint64_t steps) const {
    double sum = 0;
    std::uint64_t count = 0;
    for (std::uint64_t back = 1; back <= steps && back <= seen_; ++back) {
        const double ns = plain_ns(seen_ - back);
        if (ns == 0) continue;
        const double predicted = predicted_ns(seen_ - back, lag, few_steps);
        if (predicted == 0) continue;
        sum += std::abs(std::log(ns / predicted));
        ++count;
    }
    return count * 2 < steps ? HUGE_VAL : sum / static_cast<double>(count);
}

// The smallest lag that is about as good as the best one: its multiples predict as well, but from fewer steps.
std::uint64_t step_history::best_lag() const {
    const std::uint64_t known = std::min(seen_, remembered);
    std::uint64_t best = 1;
    double least = error_of(1, steps_to_choose_lag) * better_by;
    for (std::uint64_t lag = 2; lag <= longest_lag && lag * 4 <= known; ++lag) {
        const double error = error_of(lag, std::max(steps_to_choose_lag, lag));
        if (error >= least) continue;
        best = lag;
        least = error * better_by;
    }
    return best;
}

}  // namespace prof
