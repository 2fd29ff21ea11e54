// SPDX-License-Identifier: Apache-2.0
// Which captures the words of a command line name, and how they are read: files, directories, standard input and
// pipes. One thread.
#pragma once

#include <string>
#include <vector>

#include "cli/progress_line.hpp"
#include "timeline/timeline.hpp"

namespace prof {

struct capture_inputs {
    std::vector<std::string> files{};
    bool are_listed = true;  // each was named; else some are of a directory or of a run
    bool all_found = true;   // false: a directory has no capture, which was reported on stderr
    std::size_t runs = 0;    // of `prof run`, with captures in one directory
};

// Where `prof run` puts captures without the option -o: $PROF_OUTPUT_DIR or ./prof-captures.
std::string directory_of_runs();

// Of `words` that are files, directories (their *.prof) or standard_input (stream_copy.hpp). A file that is there twice
// is left out once, and reported on stderr.
capture_inputs named_captures(const std::vector<std::string>& words);

// The same; without words the captures of the newest run in directory_of_runs(), which is reported on stderr. Throws
// usage_error if there is none.
capture_inputs captures_or_newest_run(const std::vector<std::string>& words);

// Whether it is standard input or a pipe, which can be read once and has no folder beside it.
bool is_stream(const std::string& file);

// load_capture() of a file or a stream. Throws prof::error.
timeline load_input(const std::string& file, const progress_display& progress);

}  // namespace prof
