// SPDX-License-Identifier: Apache-2.0
// Reads a Chrome trace that PyTorch's profiler (Kineto) or libprof wrote, plain or compressed with gzip, as the
// contents that a capture of the same run would have. docs/guide/kineto.md describes what becomes of it.
//
// The file is read once, piece by piece; what is kept is about 150 bytes an event. Time is that of inflating, plus
// about 3 ns a byte of text. One thread.
#pragma once

#include <string>

#include "base/progress.hpp"
#include "timeline/contents.hpp"

namespace prof {

// Whether the file begins like JSON, or like JSON compressed with gzip. False if it cannot be read.
bool may_be_trace(const std::string& path);

// Whether such a file also has a word of a trace's head, or of an event, in its first 64 KB of text.
bool begins_like_trace(const std::string& path);

// What the file is, and what to do: it has a format that is known and not read. "": it is nothing known, or cannot be
// read.
std::string foreign_format(const std::string& path);

// Throws prof::error if the file cannot be opened, is no trace, or is a trace of something else. Damage is skipped and
// described in `warnings`; everything intact is kept.
capture_contents read_trace(const std::string& path, progress_observer* progress = nullptr);

}  // namespace prof
