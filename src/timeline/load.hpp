// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/progress.hpp"
#include "timeline/reading_thread.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// The timeline of a capture, or of a trace that torch.profiler or libprof wrote (kineto/read_trace.hpp), as the file's
// content shows.
//
// Throws prof::error (one line) if the file cannot be opened or is neither. Damage inside the file is skipped and
// counted in `quality`; everything intact is kept.
// `progress`, which may be null, is informed of the bytes that were read.
timeline load_timeline(const std::string& path, progress_observer* progress = nullptr,
                       reading_thread thread = reading_thread::callers);
// The same, with words of its own for a directory.
timeline load_capture(const std::string& path, progress_observer* progress = nullptr,
                      reading_thread thread = reading_thread::callers);

}  // namespace prof
