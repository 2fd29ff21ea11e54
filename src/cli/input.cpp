#include "cli/input.hpp"

#include <filesystem>
#include <system_error>

#include "record/error.hpp"

namespace prof {

timeline load_capture(const std::string& path) {
    std::error_code failed;
    if (std::filesystem::is_directory(path, failed)) {
        throw error(path + " is a directory; name the captures in it: " + path + "/*.prof");
    }
    if (path.ends_with(".json") || path.ends_with(".json.gz")) {
        throw error(path + " is a trace; reports are made from the capture it came from (*.prof)");
    }
    return load_timeline(path);
}

attribution_options adoption_of(const std::string& value) {
    attribution_options out;
    if (value == "off") {
        out.adopt_pattern.clear();
    } else if (value != "auto") {
        out.adopt_pattern = value;
    }
    return out;
}

}  // namespace prof
