// SPDX-License-Identifier: Apache-2.0
// The first screen for formats without lines and cells: the same blocks with the same texts. Plain data, which
// screen_blocks_of() makes.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "export/report/screen/screen_table.hpp"
#include "report/report_document.hpp"

namespace prof {

// Texts are ready for a terminal.
struct screen_blocks {
    struct gain {
        std::string time{};   // "12.90 ms"
        std::string share{};  // "59 %"
        std::string what{};
        std::string advice{};  // "": none, or that of the gain above
    };
    std::string program{};
    std::string gpus{};
    // "Step" and what the screen says behind it, then "GPU" or "CPU", and "Run".
    std::vector<std::pair<std::string, std::string>> facts{};
    std::vector<bar_part> bar{};
    screen_grid table{};
    std::string gains_heading{};  // "": it is not known what would be gained
    std::vector<gain> gains{};    // all of them
    std::string next{};           // commands; "": none
};

// None if the document has no first screen. As many rows as on a screen without end.
std::optional<screen_blocks> screen_blocks_of(const report_document& document);

}  // namespace prof
