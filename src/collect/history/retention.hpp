// SPDX-License-Identifier: Apache-2.0
// The state that a capture with limits must repeat in each key frame, beside records: properties, windows, devices, the
// clock and what is open. Such a capture keeps only its latest part. The program's texts (prof_keep_text) may be large:
// they are repeated only before the part with their latest copy is trimmed. Used by the drain thread only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "capture/writer.hpp"
#include "collect/history/key_frames.hpp"
#include "collect/history/open_records.hpp"

namespace prof {

using property_list = std::vector<std::pair<std::string, std::string>>;

class retention {
public:
    // `written`: the properties that the capture already contains.
    retention(const keep_limits& limits, const property_list& written);

    // `position`: of the property's chunk in the capture.
    void note_property(const std::string& key, const std::string& value, std::uint64_t position);
    void note_window(const format::window_entry& window) {
        windows_[window.epoch] = window;
        open_.cut(std::max(window.begin_ticks, window.end_ticks));
    }
    void note_records(std::uint64_t thread, std::uint64_t first_number, std::span<const record> records);
    void note_gpu_records(std::uint64_t count) noexcept { gpu_records_ += count; }
    void note_devices(std::span<const device_record> devices);
    void note_clock(const clock_snapshot& now) noexcept { clock_ = now; }
    open_records& open() noexcept { return open_; }
    const std::map<std::uint32_t, device_record>& devices() const noexcept { return devices_; }

    // Whether a key frame is due and anything was recorded since the previous one.
    bool wants_key_frame(std::uint64_t now_ns, const capture_writer& out) const noexcept;
    // Writes the key frame except names, labels, threads and drops, which the caller adds. `begin_ticks`: see
    // format::key_frame_entry.
    void begin_key_frame(std::uint64_t begin_ticks, std::uint64_t now_ns, const open_by_thread& open,
                         capture_writer& out);
    void end_key_frame(capture_writer& out);
    // Trims what need not be kept. REQUIRES: `out` is flushed.
    void trim(std::uint64_t now_ns, capture_writer& out);

private:
    struct kept_text {
        std::string text;
        std::uint64_t position = 0;  // of its latest copy
    };

    void write_texts_before(std::uint64_t position, capture_writer& out);

    key_frames frames_;
    open_records open_;
    std::map<std::string, std::string> properties_;  // without texts
    std::map<std::string, kept_text> texts_;
    std::map<std::uint32_t, format::window_entry> windows_;  // key: epoch
    std::map<std::uint32_t, device_record> devices_;
    clock_snapshot clock_;
    std::uint64_t records_ = 0;
    std::uint64_t gpu_records_ = 0;
    std::uint64_t in_latest_frame_ = 0;  // records_ + gpu_records_ before it
    std::uint64_t frame_ns_ = 0;         // of the key frame that is being written
    std::uint64_t frame_position_ = 0;
};

}  // namespace prof
