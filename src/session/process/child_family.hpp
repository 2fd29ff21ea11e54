// SPDX-License-Identifier: Apache-2.0
// A process and all its forked descendants count together what the children leave on disk and in memory, in a page that
// they share. Lock-free; where there is no page, nothing is counted.
#pragma once

namespace prof::child_family {

// Before a fork may happen: makes the page, if there is none yet. By one thread at a time.
void begin() noexcept;

// Whether another child may begin a capture. A program that forks for each task would fill its disk with files.
bool may_begin_capture() noexcept;

// Whether another child's rings may have a name. A child that is killed leaves them, and /dev/shm would fill. False
// where nothing is counted. Each true is followed by one release_name().
bool may_name_rings() noexcept;
void release_name() noexcept;

}  // namespace prof::child_family
