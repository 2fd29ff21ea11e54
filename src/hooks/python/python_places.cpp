// SPDX-License-Identifier: Apache-2.0
#include "hooks/python/python_places.hpp"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace prof {

// Offsets are in bytes.
struct python_places::code_loops {
    struct range {
        std::int32_t head, end;
    };
    std::vector<range> loops;
    std::vector<std::int32_t> heads_of_for;
    std::vector<std::int32_t> steps;    // where an attribute `step` is read
    std::int32_t handlers = INT32_MAX;  // the first of the code that runs after an exception only
};

namespace {

constexpr std::size_t most_codes = 512;

bool is_within(std::int32_t offset, std::int32_t head, std::int32_t end) noexcept {
    return head <= offset && offset <= end;
}

}  // namespace

bool python_loop::contains(const python_loop& other) const noexcept {
    if (!is_known() || !other.is_known()) return false;
    if (level != other.level) return level < other.level;
    return code == other.code && head <= other.head && other.end <= end && !(*this == other);
}

bool python_loop::contains(const python_place& place) const noexcept {
    if (!is_known() || level >= place.depth) return false;
    const python_place::level& place_level = place.levels[level];
    return place_level.code == code && is_within(place_level.offset, head, end);
}

void python_places::locate(python_place& out) noexcept {
    out.depth = 0;
    if (python_.frame_offset == nullptr) return;
    python_object frame = python_.frame();
    if (frame == nullptr) return;
    python_.retain(frame);
    std::uint32_t depth = 0;
    while (frame != nullptr) {
        if (depth < python_place::most) {
            const python_object code = python_.frame_code(frame);
            out.levels[depth] = {frame, code, python_.frame_offset(frame)};
            python_.release(code);  // the frame has a reference, too
        }
        ++depth;
        const python_object back = python_.frame_back(frame);
        python_.release(frame);
        frame = back;
    }
    if (depth > python_place::most) return;
    std::reverse(out.levels.begin(), out.levels.begin() + depth);
    out.depth = depth;
}

const python_places::code_loops* python_places::loops_of(const void* code) noexcept {
    // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): once, some 60 bytes
    static auto& known = *new std::unordered_map<const void*, code_loops>;
    if (const auto found = known.find(code); found != known.end()) return &found->second;
    const python_object object = const_cast<void*>(code);
    const python_reference bytes{python_, python_.code_bytes(object)};
    const python_reference names{python_, python_.attribute(object, "co_names")};
    if (!bytes || !names) return nullptr;
    try {
        code_loops found;
        const auto* const text = reinterpret_cast<const unsigned char*>(python_.bytes(bytes.get()));
        const std::ptrdiff_t size = python_.size(bytes.get());
        std::int64_t argument = 0;
        for (std::ptrdiff_t position = 0; position + 1 < size; position += 2) {
            const std::int32_t instruction = text[position];
            argument = argument << 8 | text[position + 1];
            const auto offset = static_cast<std::int32_t>(position);
            if (instruction == instructions_.extended_arg) continue;
            if (instruction == instructions_.jump_backward && found.handlers == INT32_MAX) {
                const auto head = static_cast<std::int32_t>(
                    position + 2 + std::ptrdiff_t{2} * instructions_.jump_caches - 2 * argument);
                const auto same = std::find_if(found.loops.begin(), found.loops.end(),
                                               [&](const code_loops::range& loop) { return loop.head == head; });
                if (same == found.loops.end()) {
                    found.loops.push_back({head, offset});
                } else {
                    same->end = offset;
                }
            } else if (instruction == instructions_.for_iter) {
                found.heads_of_for.push_back(offset);
            } else if (instruction == instructions_.push_exc_info) {
                found.handlers = std::min(found.handlers, offset);
            } else if (instruction == instructions_.load_attribute) {
                const std::int64_t index = argument >> 1;
                if (index < python_.count(names.get()) &&
                    text_of(python_, python_.element(names.get(), static_cast<std::ptrdiff_t>(index))) == "step")
                    found.steps.push_back(offset);
            }
            argument = 0;
        }
        if (known.size() >= most_codes) {
            for (const auto& [known_code, _] : known) python_.release(const_cast<void*>(known_code));
            known.clear();
        }
        python_.retain(object);  // its address stays its own
        return &known.emplace(code, std::move(found)).first->second;
    } catch (const std::exception&) {  // no memory
        return nullptr;
    }
}

// The innermost loop around the level's offset and `other`.
python_loop python_places::innermost(const python_place& place, std::uint32_t level, std::int32_t other) noexcept {
    const python_place::level& place_level = place.levels[level];
    const code_loops* const code = loops_of(place_level.code);
    python_loop found;
    if (code == nullptr || place_level.offset >= code->handlers || other >= code->handlers) return found;
    for (const auto& [head, end] : code->loops) {
        if (!is_within(place_level.offset, head, end) || !is_within(other, head, end)) continue;
        if (!found.is_known() || end - head < found.end - found.head) found = {level, place_level.code, head, end};
    }
    return found;
}

python_way python_places::way(const python_place& before_place, const python_place& now_place) noexcept {
    python_way way;
    const std::uint32_t depth = std::min(before_place.depth, now_place.depth);
    std::uint32_t level = 0;
    while (level < depth && before_place.levels[level].code == now_place.levels[level].code &&
           before_place.levels[level].frame == now_place.levels[level].frame &&
           before_place.levels[level].offset == now_place.levels[level].offset)
        ++level;
    const auto is_called_by_for = [&](const python_loop& loop) {
        const code_loops* const code = loops_of(loop.code);
        const std::int32_t offset = now_place.levels[loop.level].offset;
        return code != nullptr && offset >= loop.head && offset <= loop.head + 2 &&
               std::any_of(code->heads_of_for.begin(), code->heads_of_for.end(),
                           [&](std::int32_t head) { return offset == head || offset == head + 2; });
    };
    if (level < depth && before_place.levels[level].code == now_place.levels[level].code &&
        before_place.levels[level].frame == now_place.levels[level].frame) {
        const std::int32_t before = before_place.levels[level].offset, now = now_place.levels[level].offset;
        if (const python_loop loop = innermost(now_place, level, before); loop.is_known()) {
            way.turn = now > before ? python_way::kind::within : python_way::kind::around;
            way.loop = loop;
            way.is_at_head = is_called_by_for(loop);
            return way;
        }
        if (now > before) return way;
    }
    while (level-- > 0) {
        if (const python_loop loop = innermost(now_place, level, now_place.levels[level].offset); loop.is_known()) {
            way.turn = python_way::kind::around;
            way.loop = loop;
            way.is_at_head = is_called_by_for(loop);
            return way;
        }
    }
    return way;
}

bool python_places::has_step_around(const python_place& place, const python_loop& inner) noexcept {
    for (std::uint32_t level = 0; level <= inner.level && level < place.depth; ++level) {
        const code_loops* const code = loops_of(place.levels[level].code);
        if (code == nullptr) continue;
        const std::int32_t offset = place.levels[level].offset;
        for (const auto& [head, end] : code->loops) {
            if (!is_within(offset, head, end)) continue;
            const bool is_inner = level == inner.level && head >= inner.head && end <= inner.end;
            if (is_inner) continue;
            for (const std::int32_t step : code->steps) {
                const bool is_in_inner = level == inner.level && is_within(step, inner.head, inner.end);
                if (is_within(step, head, end) && !is_in_inner) return true;
            }
        }
    }
    return false;
}

}  // namespace prof
