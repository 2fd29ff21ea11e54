// SPDX-License-Identifier: Apache-2.0
// Any bytes as a name: JSON that another library reads back to the same bytes, and text that moves no cursor.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/json_text.hpp"
#include "export/report/text_table.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto check = [](bool holds) {
        if (!holds) std::abort();
    };
    const std::string_view name{reinterpret_cast<const char*>(data), size};
    const std::string read = nlohmann::json::parse(prof::json_string(name)).get<std::string>();
    check(prof::original_bytes(read) == name);
    check(read == prof::printable(name));

    const std::string shown = prof::terminal_safe(name);
    check(nlohmann::json::accept(nlohmann::json(shown).dump()));  // throws where it is no UTF-8
    check(prof::original_bytes(shown) == name);
    for (std::size_t i = 0; i < shown.size(); ++i) {
        const auto byte = static_cast<std::uint8_t>(shown[i]);
        check(byte >= 0x20 && byte != 0x7F);
        if (byte == 0xC2) check(static_cast<std::uint8_t>(shown[i + 1]) >= 0xA0);
    }
    const std::size_t width = size % 40;
    check(prof::display_width(prof::shortened(shown, width)) <= width);
    return 0;
}
