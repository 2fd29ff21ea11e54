// SPDX-License-Identifier: Apache-2.0
// Whether a function runs in a signal handler. There it must not wait for what the interrupted thread may hold: a lock
// of the allocator's, of the dynamic linker's, of libprof's own.
#pragma once

namespace prof {

// Whether the calling thread is in a signal handler, or in a function that the handler called. Unwinds the innermost 64
// calls at most: some microseconds, not for the hot path.
bool is_in_signal_handler() noexcept;

}  // namespace prof
