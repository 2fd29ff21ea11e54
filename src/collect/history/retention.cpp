// SPDX-License-Identifier: Apache-2.0
#include "collect/history/retention.hpp"

#include <system_error>

namespace prof {

retention::retention(const keep_limits& limits, const property_list& written)
    : frames_(limits, clock_ns(CLOCK_MONOTONIC)) {
    for (const auto& [key, value] : written) properties_[key] = value;
}

void retention::note_property(const std::string& key, const std::string& value, std::uint64_t position) {
    if (key.starts_with(format::text_prefix)) {
        texts_[key] = {value, position};
    } else {
        properties_[key] = value;
    }
}

void retention::note_records(std::uint64_t thread, std::uint64_t first_number, std::span<const record> records) {
    records_ += records.size();
    open_.follow(thread, first_number, records);
}

void retention::note_devices(std::span<const device_record> devices) {
    for (const device_record& device : devices) devices_[device.device] = device;
}

bool retention::wants_key_frame(std::uint64_t now_ns, const capture_writer& out) const noexcept {
    return records_ + gpu_records_ != in_latest_frame_ && frames_.is_due(now_ns, out.position());
}

void retention::begin_key_frame(std::uint64_t begin_ticks, std::uint64_t now_ns, const open_by_thread& open,
                                capture_writer& out) {
    frame_ns_ = now_ns;
    frame_position_ = out.position();
    in_latest_frame_ = records_ + gpu_records_;
    // No record of an ended window follows the key frame. The latest window is kept all the same: it identifies the
    // steps of the run.
    while (windows_.size() > 1 && windows_.begin()->second.end_ticks != 0) windows_.erase(windows_.begin());
    out.key_frame({begin_ticks, open_.latest_call(), records_, gpu_records_});
    for (const auto& [key, value] : properties_) out.property(key, value);
    for (const auto& [epoch, window] : windows_) out.window(window);
    for (const auto& [index, device] : devices_) out.gpu<device_record>({&device, 1});
    if (clock_.ticks != 0) out.clocks({&clock_, 1});
    for (const auto& [thread, state] : open) out.open(thread, state.next_number, state.records);
}

void retention::end_key_frame(capture_writer& out) { frames_.add(frame_ns_, frame_position_, out.position()); }

// A text whose latest copy is before `position` is written again.
void retention::write_texts_before(std::uint64_t position, capture_writer& out) {
    for (auto& [key, kept] : texts_) {
        if (kept.position >= position) continue;
        kept.position = out.position();
        out.property(key, kept.text);
    }
    out.flush();
}

void retention::trim(std::uint64_t now_ns, capture_writer& out) {
    const std::uint64_t position = frames_.begin(now_ns, out.position());
    if (position == 0) return;
    // A reader that finds the first key frame damaged, or trimmed meanwhile, begins with the one after it.
    write_texts_before(frames_.after_begin(), out);
    if (out.failed()) return;
    const int result = out.trim(position);
    if (result == 0 || properties_.contains("keep_notice")) return;
    const std::string notice =
        "keep: older records could not be removed, and the capture grew: " + std::generic_category().message(result);
    properties_["keep_notice"] = notice;
    out.property("keep_notice", notice);
}

}  // namespace prof
