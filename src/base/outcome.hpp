// SPDX-License-Identifier: Apache-2.0
// The outcome of a function that may fail. libprof reports a failure in one of two ways:
//
//   outcome, result<T>
//       In code that runs inside the profiled process, and for the settings of a recording. It throws nothing.
//   prof::error (base/error.hpp)
//       In code that reads captures and writes files, where an exception unwinds over many calls. A caller of the first
//       kind catches it and makes it an outcome.
//
// Both carry one line for the user: what went wrong, where, and what to do. Hooks use neither; they count. An outcome
// without a message allocates nothing. Any thread; a value belongs to one thread at a time.
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <utility>

namespace prof {

enum class outcome_code : unsigned char {
    ok,
    wrong_state,  // the call does not fit the present state of the process; nothing was changed
    failed,
};

class [[nodiscard]] outcome {
public:
    outcome() noexcept = default;

    static outcome failed(std::string message) { return {outcome_code::failed, std::move(message)}; }
    static outcome wrong_state(std::string message) { return {outcome_code::wrong_state, std::move(message)}; }

    bool ok() const noexcept { return code_ == outcome_code::ok; }
    outcome_code code() const noexcept { return code_; }
    // One line without a newline; "" if ok().
    const std::string& message() const& noexcept { return message_; }
    std::string message() && noexcept { return std::move(message_); }

    // Marks a failure that does not matter, so that a reader of the code knows that it was considered.
    void ignore() const noexcept {}

private:
    outcome(outcome_code code, std::string message) noexcept : code_(code), message_(std::move(message)) {}

    outcome_code code_ = outcome_code::ok;
    std::string message_;
};

// A value, or the reason why there is none.
template <typename TValue>
class [[nodiscard]] result {
public:
    result(TValue value) : value_(std::move(value)) {}
    // REQUIRES: !failure.ok().
    result(outcome failure) : failure_(std::move(failure)) { assert(!failure_.ok()); }

    bool ok() const noexcept { return value_.has_value(); }
    // REQUIRES: ok().
    TValue& value() & { return *value_; }
    const TValue& value() const& { return *value_; }
    TValue&& value() && { return *std::move(value_); }
    // ok if there is a value.
    const outcome& failure() const noexcept { return failure_; }

private:
    std::optional<TValue> value_;
    outcome failure_;
};

}  // namespace prof
