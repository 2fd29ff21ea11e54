// SPDX-License-Identifier: Apache-2.0
#include "compare/t_distribution.hpp"

#include <cmath>

namespace prof {
namespace {

// The continued fraction of the incomplete beta function, by Lentz's method: it converges within some dozen terms for
// x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
    constexpr int most_terms = 500;
    constexpr double enough = 1e-15;
    constexpr double tiny = 1e-300;
    const auto away_from_zero = [](double value) { return std::abs(value) < tiny ? tiny : value; };
    double c = 1;
    double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
    double out = d;
    for (int m = 1; m < most_terms; ++m) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 / away_from_zero(1 + even * d);
        c = away_from_zero(1 + even / c);
        out *= d * c;
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / away_from_zero(1 + odd * d);
        c = away_from_zero(1 + odd / c);
        const double change = d * c;
        out *= change;
        if (std::abs(change - 1) < enough) break;
    }
    return out;
}

// lgamma() writes a global of the C library.
double log_gamma(double x) {
    int sign = 0;
    return lgamma_r(x, &sign);
}

// The regularised incomplete beta function.
double beta_share(double a, double b, double x) {
    if (x <= 0) return 0;
    if (x >= 1) return 1;
    const double front =
        std::exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * std::log(x) + b * std::log1p(-x));
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

}  // namespace

double student_t_probability(double t, double degrees) {
    const double tail = beta_share(degrees / 2, 0.5, degrees / (degrees + t * t)) / 2;
    return t > 0 ? 1 - tail : tail;
}

double student_t_quantile(double probability, double degrees) {
    if (probability < 0.5) return -student_t_quantile(1 - probability, degrees);
    double low = 0;
    double high = 1;
    while (student_t_probability(high, degrees) < probability && high < 1e12) high *= 2;
    for (int i = 0; i < 200 && high - low > 1e-12 * high; ++i) {
        const double middle = (low + high) / 2;
        (student_t_probability(middle, degrees) < probability ? low : high) = middle;
    }
    return (low + high) / 2;
}

}  // namespace prof
