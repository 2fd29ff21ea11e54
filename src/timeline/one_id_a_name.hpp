// SPDX-License-Identifier: Apache-2.0
// Makes name ids comparable. In a capture one text may have several ids, one after the other
// (docs/reference/capture-format.md); afterwards each text has one id.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

#include "timeline/contents.hpp"

namespace prof {

// Maps each duplicate id to the smallest id of the same text.
class name_doubles {
public:
    explicit name_doubles(const std::unordered_map<name_id, std::string>& names);

    bool any() const noexcept { return !first_ids_.empty(); }
    void replace(std::uint32_t& id) const;
    void replace(std::span<record> records) const;
    const std::unordered_map<name_id, name_id>& first_ids() const noexcept { return first_ids_; }

private:
    std::unordered_map<name_id, name_id> first_ids_;
};

// Replaces all references to duplicate ids, so that no two ids have the same text; except in stored records, whose
// reader does it. Linear in names and records. Temporary memory: some tens of bytes for each id.
name_doubles give_each_name_one_id(capture_contents& contents);

}  // namespace prof
