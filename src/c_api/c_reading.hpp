// SPDX-License-Identifier: Apache-2.0
// What the functions of prof/read.h share: the objects behind its handles, and the checks of what a caller hands in.
// The objects never change once they are made, so any number of threads may read one.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prof/read.h>

#include "base/cancellation_guard.hpp"
#include "base/error.hpp"
#include "c_api/c_border.hpp"
#include "report/make_reports.hpp"
#include "timeline/timeline.hpp"

namespace prof {

struct read_capture {
    std::string path;
    timeline data;
};

using named_counts = std::vector<std::pair<std::string, std::uint64_t>>;

}  // namespace prof

struct prof_capture {
    // Shared with the reports, which are made again for people (prof_report_render).
    std::shared_ptr<const prof::read_capture> read;
    std::string title;
    std::string windows;
    std::vector<std::string> notes;
    std::vector<const std::string*> keys;  // of the properties
    prof::named_counts drops;
};

namespace prof {

// As guarded() (c_border.hpp), for functions that need nothing of the process: they work in any copy of libprof, and in
// any child. Returns `on_failure` if `action` throws; errno is then that of a file's failure, else 0.
template <typename TAction>
auto caught(TAction&& action, decltype(action()) on_failure) noexcept {
    const cancellation_guard guard;
    int reason = 0;
    try {
        return action();
    } catch (const file_error& failure) {
        (void)fail(PROF_FAILED, failure.what());
        reason = failure.number();
    } catch (const std::bad_alloc&) {
        (void)fail(PROF_FAILED, "out of memory");
    } catch (const std::exception& failure) {
        (void)fail(PROF_FAILED, failure.what());
    }
    errno = reason;
    return on_failure;
}

// There are no `count` of them: `kind` is the plural.
int no_such(std::string_view kind, std::size_t index, std::size_t count);
// The same where a pointer is returned.
std::nullptr_t null_of(int failure) noexcept;

int fill_drop(const named_counts& drops, std::size_t index, prof_drop* out, std::size_t size);
named_counts drops_of(const timeline& data);

}  // namespace prof
