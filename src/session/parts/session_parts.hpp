// SPDX-License-Identifier: Apache-2.0
// The parts of the session below window_control (session/recording.hpp lists them all). Each class above them has these
// references, and uses some. The parts outlive it. Any thread.
#pragma once

#include "session/parts/capture_in_progress.hpp"
#include "session/parts/export_thread.hpp"
#include "session/parts/gpu_session.hpp"
#include "session/parts/idle_observer.hpp"
#include "session/parts/process_exit.hpp"
#include "session/parts/recording_settings.hpp"
#include "session/parts/session_rings.hpp"
#include "session/parts/settling_thread.hpp"

namespace prof {

struct session_parts {
    recording_settings& settings;
    process_exit& exit;
    session_rings& rings;
    capture_in_progress& capture;
    gpu_session& gpu;
    idle_observer& idle;
    settling_thread& settling;
    export_thread& exports;
};

}  // namespace prof
