// SPDX-License-Identifier: Apache-2.0
// The order in which a thread takes the session's locks, from the first to the last. Each lock is annotated with the
// levels around it, and clang refuses a function that takes two of them the wrong way round.
//
// Across functions the order follows from the classes: a class calls others under its lock only if their locks come
// after its own. A lock that is taken last has no level of its own: no other is taken under it.
#pragma once

#include "base/thread_annotations.hpp"

namespace prof::lock_order {

// Stands between the locks of two classes. Nobody holds it.
struct PROF_CAPABILITY("level") level {};

// preparation: held while the session is prepared, or a forked child's recording begins.
inline level below_preparation;
// recording_commands: a command holds it to its end.
inline level below_commands PROF_ACQUIRED_AFTER(below_preparation);
// window_control: the state of windows and plan.
inline level below_windows PROF_ACQUIRED_AFTER(below_commands);
// dump_writer and idle_observer; neither is taken under the other.
inline level below_windows_parts PROF_ACQUIRED_AFTER(below_windows);
// capture_in_progress.
inline level below_capture PROF_ACQUIRED_AFTER(below_windows_parts);
// The last: recording_settings, session_rings, settling_thread, export_thread, end_thread, and the queue of events.

}  // namespace prof::lock_order
