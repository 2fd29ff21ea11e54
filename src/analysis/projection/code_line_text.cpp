// SPDX-License-Identifier: Apache-2.0
#include "analysis/projection/code_line_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

namespace prof {
namespace {

constexpr std::string_view arrow = " → ";

}  // namespace

std::string_view function_of(const timeline& data, const code_line& line) noexcept {
    constexpr std::string_view local = "<locals>.";
    const std::string_view text = data.name(line.name);
    std::string_view function = text.substr(0, text.find('\n'));
    if (const std::size_t at = function.rfind(local); at != std::string_view::npos) {
        function.remove_prefix(at + local.size());
    }
    return function;
}

std::string_view file_of(const timeline& data, const code_line& line) noexcept {
    const std::string_view text = data.name(line.name);
    const std::size_t end = text.find('\n');
    return end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
}

std::string_view short_file(const timeline& data, std::string_view file) noexcept {
    std::string_view folder = data.property("cwd");
    while (folder.ends_with('/')) folder.remove_suffix(1);
    const bool is_inside =
        !folder.empty() && file.starts_with(folder) && file.size() > folder.size() + 1 && file[folder.size()] == '/';
    constexpr std::array<std::string_view, 2> of_packages = {"/site-packages/", "/dist-packages/"};
    for (const std::string_view each : of_packages) {
        if (const std::size_t at = file.rfind(each); at != std::string_view::npos) {
            return file.substr(at + each.size());
        }
    }
    if (is_inside) return file.substr(folder.size() + 1);
    // Python's own: from its folder on.
    for (const std::string_view each : {std::string_view("/lib/python3."), std::string_view("/lib64/python3.")}) {
        const std::size_t at = file.rfind(each);
        if (at == std::string_view::npos) continue;
        return file.substr(std::min(file.find('/', at + each.size()) + 1, file.size()));
    }
    if (file.starts_with("./")) file.remove_prefix(2);
    return file;
}

std::string line_text(const timeline& data, const code_line& line) {
    const std::string_view file = short_file(data, file_of(data, line));
    if (line.line == 0) return std::string(file);
    return fmt::format("{}:{}", file, line.line);
}

std::string code_text(const timeline& data, stack_id stack, const code_line& line) {
    std::string out{function_of(data, line)};
    const std::span<const code_line> lines = lines_of(data, stack);
    const auto at = std::find(lines.begin(), lines.end(), line);
    if (at == lines.begin() || at == lines.end()) return out;
    const code_line& called = *(at - 1);
    if (called.index + 1 == line.index) out += std::string(arrow) + std::string(function_of(data, called));
    return out;
}

std::string stack_text(const timeline& data, stack_id stack) {
    std::string out;
    const std::span<const code_line> lines = lines_of(data, stack);
    std::uint32_t next = data.code_stacks[stack].depth;
    for (auto each = lines.rbegin(); each != lines.rend(); ++each) {
        if (!out.empty()) out += arrow;
        if (each->index + 1U != next) out += "… → ";
        next = each->index;
        out += fmt::format("{} {}", line_text(data, *each), function_of(data, *each));
    }
    return out;
}

}  // namespace prof
