// Which steps are slow: `dump_on_slow_step` times as long as the median of those before. One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace prof {

class slow_steps {
public:
    static constexpr std::size_t compared = 64;        // the latest steps, of which the median is
    static constexpr std::size_t least_compared = 16;  // before there are so many, no step is slow
    static constexpr double least_factor = 1.1;
    static constexpr double most_factor = 1000;

    explicit slow_steps(double factor) noexcept : factor_(factor) {}

    // A step begins: the one before has ended. If that was slow, one line that says how slow. `number`: of the one that
    // has ended; where numbers are missing none is compared. `now_ns`: monotonic. A microsecond.
    std::optional<std::string> begin_step(std::uint64_t number, std::uint64_t now_ns);
    // What comes until the next step is none: a window began, or nothing was recorded.
    void forget_begin() noexcept { begun_ns_ = 0; }

private:
    double median() const noexcept;

    const double factor_;
    std::array<std::uint64_t, compared> lengths_{};
    std::size_t seen_ = 0;
    std::uint64_t begun_ns_ = 0;  // of the step that is under way; 0: none is
    std::uint64_t number_ = 0;    // of the one that ended last
};

// The value of the option dump_on_slow_step. False if it is none.
bool parse_slow_factor(std::string_view text, double& out);

}  // namespace prof
