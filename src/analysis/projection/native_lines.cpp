// SPDX-License-Identifier: Apache-2.0
#include "analysis/projection/native_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "symbols/address_lookup.hpp"
#include "symbols/short_name.hpp"

namespace prof {
namespace {

using address_key = std::pair<name_id, std::uint32_t>;  // name and line of the frame

bool contains(std::string_view text, std::string_view part) noexcept {
    return text.find(part) != std::string_view::npos;
}

constexpr std::string_view launch_stub = "__device_stub__";

// Code of the C++ library, or of CUDA's runtime inside the program itself.
bool is_of_library(const code_place& place) noexcept {
    const std::string_view file = place.file, function = place.function;
    if (contains(function, launch_stub) || function.starts_with("std::")) return true;
    if (place.line == 0) {  // its file is the module
        constexpr std::string_view runtime = "cuda";
        const bool is_runtime = function.starts_with(runtime) && function.size() > runtime.size() &&
                                function[runtime.size()] >= 'A' && function[runtime.size()] <= 'Z';
        return is_runtime || function.starts_with("__cuda") || function.starts_with("cudart::") ||
               function.starts_with("libcudart_static");
    }
    return file.starts_with("/usr/include/") || file.starts_with("/usr/lib/") || file.starts_with("/usr/local/cuda") ||
           contains(file, "/include/c++/") || contains(file, "/site-packages/");
}

class resolver {
public:
    explicit resolver(timeline& data) : data_(data) {
        for (const auto& [id, _] : data.name_table) next_id_ = std::max(next_id_, id + 1);
    }

    void run(bool may_run_programs) {
        std::vector<code_address> addresses;
        std::vector<address_key> keys;
        for (const code_line& each : data_.code_lines) {
            if (!each.is_native) continue;
            const address_key key{each.name, each.line};
            if (!places_.try_emplace(key).second) continue;
            keys.push_back(key);
            addresses.push_back(address_of(each));
        }
        if (keys.empty()) return;
        std::vector<std::vector<code_place>> found = places_of(addresses, may_run_programs);
        for (std::size_t i = 0; i < keys.size(); ++i) {
            std::vector<code_place>& places = found[i];
            for (code_place& each : places) {
                if (each.file.empty()) each.file = addresses[i].path;
                if (each.function.empty()) each.function = fmt::format("{:#x}", addresses[i].address);
            }
            if (places.empty()) places = {{fmt::format("{:#x}", addresses[i].address), addresses[i].path, 0}};
            places_[keys[i]] = std::move(places);
        }
        std::vector<code_line> lines;
        for (code_stack& stack : data_.code_stacks) rewrite(stack, lines);
        data_.code_lines = std::move(lines);
    }

private:
    code_address address_of(const code_line& line) const {
        const std::string_view text = data_.name(line.name);
        const std::size_t end = std::min(text.find('\n'), text.size());
        code_address out{std::string(text.substr(0, end)), std::string(text.substr(std::min(end + 1, text.size()))),
                         line.line};
        if (!out.path.starts_with('/')) out.path = data_.property("cwd") + "/" + out.path;
        return out;
    }

    void rewrite(code_stack& stack, std::vector<code_line>& lines) {
        const auto first = static_cast<std::uint32_t>(lines.size());
        std::uint32_t more = 0;  // frames of inlined functions so far
        std::string stub;        // the function that launches a kernel, if the frame before is one
        for (std::uint32_t i = 0; i < stack.count; ++i) {
            const code_line& frame = data_.code_lines[stack.first + i];
            if (!frame.is_native) {
                lines.push_back(frame);
                continue;
            }
            const std::vector<code_place>& places = places_.at({frame.name, frame.line});
            for (std::size_t k = 0; k < places.size(); ++k) {
                const code_place& place = places[k];
                if (k != 0) ++more;
                const std::string_view function = short_name(place.function);
                // nvcc makes a function of the kernel's name, on the kernel's line, which calls that.
                const bool is_of_launch = !stub.empty() && contains(stub, function);
                stub = contains(place.function, launch_stub) ? place.function : std::string{};
                lines.push_back({.name = name_of(function, place.file),
                                 .line = place.line,
                                 .index = static_cast<std::uint16_t>(std::min(frame.index + more, 0xFFFFU)),
                                 .is_library = frame.is_library || is_of_launch || is_of_library(place)});
            }
        }
        stack = {first, static_cast<std::uint32_t>(lines.size()) - first, stack.depth + more};
    }

    name_id name_of(std::string_view function, const std::string& file) {
        const auto [found, is_new] = names_.try_emplace(std::string(function) + "\n" + file, next_id_);
        if (is_new) data_.name_table[name_id(next_id_++)] = found->first;
        return found->second;
    }

    timeline& data_;
    std::uint32_t next_id_ = 1;
    std::map<address_key, std::vector<code_place>> places_;
    std::map<std::string, name_id> names_;
};

}  // namespace

void resolve_native_lines(timeline& data, bool may_run_programs) { resolver(data).run(may_run_programs); }

}  // namespace prof
