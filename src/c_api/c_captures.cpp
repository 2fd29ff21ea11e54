// SPDX-License-Identifier: Apache-2.0
// Capture files through the C interface (prof/read.h). Nothing throws across it.
#include "analysis/projection/native_lines.hpp"
#include "analysis/quality/capture_notes.hpp"
#include "analysis/quality/drop_causes.hpp"
#include "base/export_symbol.hpp"
#include "c_api/c_reading.hpp"
#include "timeline/load.hpp"

namespace prof {

int no_such(std::string_view kind, std::size_t index, std::size_t count) {
    return fail(PROF_INVALID_ARGUMENT,
                "there is no " + std::string(kind) + " " + std::to_string(index) + " of " + std::to_string(count));
}

std::nullptr_t null_of(int) noexcept { return nullptr; }

named_counts drops_of(const timeline& data) { return {data.quality.dropped.begin(), data.quality.dropped.end()}; }

int fill_drop(const named_counts& drops, std::size_t index, prof_drop* out, std::size_t size) {
    if (index >= drops.size()) return no_such("cause", index, drops.size());
    const drop_description& known = describe_drop(drops[index].first);
    const prof_drop drop{drops[index].first.c_str(), drops[index].second, known.what.data(), known.remedy.data()};
    return fill_struct<32, 32>(drop, "prof_drop", out, size);
}

namespace {

std::unique_ptr<prof_capture> opened(const char* path) {
    auto out = std::make_unique<prof_capture>();
    timeline loaded = load_capture(path);
    resolve_native_lines(loaded);
    out->read = std::make_shared<const read_capture>(read_capture{path, std::move(loaded)});
    const timeline& data = out->read->data;
    out->title = capture_title(data);
    out->windows = windows_line(data);
    out->notes = texts_of(capture_notes(data), every_weight);
    for (const auto& [key, value] : data.properties) out->keys.push_back(&key);
    out->drops = drops_of(data);
    return out;
}

const char* no_capture() noexcept { return null_of(refuse_null("capture")); }

}  // namespace
}  // namespace prof

using namespace prof;

PROF_EXPORT prof_capture* prof_capture_open(const char* path) {
    if (path == nullptr) return null_of(refuse_null("path"));
    return caught([&] { return opened(path).release(); }, nullptr);
}

PROF_EXPORT void prof_capture_close(prof_capture* capture) { delete capture; }

PROF_EXPORT const char* prof_capture_title(const prof_capture* capture) {
    return capture == nullptr ? no_capture() : capture->title.c_str();
}

PROF_EXPORT const char* prof_capture_windows(const prof_capture* capture) {
    return capture == nullptr ? no_capture() : capture->windows.c_str();
}

PROF_EXPORT const char* prof_capture_property(const prof_capture* capture, const char* key) {
    if (capture == nullptr) return no_capture();
    if (key == nullptr) return null_of(refuse_null("key"));
    return caught(
        [&]() -> const char* {
            const auto& properties = capture->read->data.properties;
            const auto found = properties.find(key);
            return found == properties.end() ? nullptr : found->second.c_str();
        },
        nullptr);
}

PROF_EXPORT size_t prof_capture_property_count(const prof_capture* capture) {
    return capture == nullptr ? 0 : capture->keys.size();
}

PROF_EXPORT const char* prof_capture_property_key(const prof_capture* capture, size_t index) {
    if (capture == nullptr) return no_capture();
    return caught(
        [&]() -> const char* {
            const auto& keys = capture->keys;
            return index < keys.size() ? keys[index]->c_str() : null_of(no_such("property", index, keys.size()));
        },
        nullptr);
}

PROF_EXPORT size_t prof_capture_note_count(const prof_capture* capture) {
    return capture == nullptr ? 0 : capture->notes.size();
}

PROF_EXPORT const char* prof_capture_note(const prof_capture* capture, size_t index) {
    if (capture == nullptr) return no_capture();
    return caught(
        [&]() -> const char* {
            const auto& notes = capture->notes;
            return index < notes.size() ? notes[index].c_str() : null_of(no_such("note", index, notes.size()));
        },
        nullptr);
}

PROF_EXPORT size_t prof_capture_drop_count(const prof_capture* capture) {
    return capture == nullptr ? 0 : capture->drops.size();
}

PROF_EXPORT int prof_capture_get_drop(const prof_capture* capture, size_t index, prof_drop* drop, size_t drop_size) {
    if (capture == nullptr) return refuse_null("capture");
    return caught([&] { return fill_drop(capture->drops, index, drop, drop_size); }, int{PROF_FAILED});
}
