// SPDX-License-Identifier: Apache-2.0
// A directory of the test's own. Its destructor removes it with everything in it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace prof::test {

struct scratch_directory {
    scratch_directory() {
        if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("cannot make a directory like " + path);
    }
    ~scratch_directory() { std::filesystem::remove_all(path); }
    scratch_directory(const scratch_directory&) = delete;
    scratch_directory& operator=(const scratch_directory&) = delete;

    std::string operator/(const std::string& name) const { return path + "/" + name; }
    std::size_t entry_count() const {
        return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path), {}));
    }
    // Files below it whose names end so, sorted.
    std::vector<std::string> files(const std::string& ending) const {
        std::vector<std::string> found;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
            const std::string name = entry.path();
            if (entry.is_regular_file() && name.ends_with(ending)) found.push_back(name);
        }
        std::sort(found.begin(), found.end());
        return found;
    }

    std::string path = std::filesystem::temp_directory_path() / "prof-test-XXXXXX";
};

}  // namespace prof::test
