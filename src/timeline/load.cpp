// SPDX-License-Identifier: Apache-2.0
#include "timeline/load.hpp"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/error.hpp"
#include "timeline/build.hpp"
#include "timeline/contents.hpp"
#include "timeline/kineto/read_trace.hpp"
#include "timeline/walked_thread.hpp"

namespace prof {

timeline load_timeline(const std::string& path, progress_observer* progress, reading_thread thread) {
    if (may_be_trace(path)) return build_timeline(read_trace(path, progress));
    if (const std::string other = foreign_format(path); !other.empty()) {
        throw error("cannot read " + path + ": it is " + other);
    }
    try {
        return build_timeline(read_compactly(path, progress, thread));
    } catch (const capture_has_changed&) {
        return build_timeline(read_contents(path, progress));
    }
}

timeline load_capture(const std::string& path, progress_observer* progress, reading_thread thread) {
    std::error_code failed;
    if (std::filesystem::is_directory(path, failed)) {
        throw file_error(path + " is a directory; name the captures in it: " + path + "/*.prof", EISDIR);
    }
    return load_timeline(path, progress, thread);
}

}  // namespace prof
