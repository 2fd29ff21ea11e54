#include "cli/input.hpp"
#include "options/domain_list.hpp"

#include <filesystem>
#include <system_error>

#include "base/error.hpp"

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

void attribution_flags::add_to(command_arguments& arguments) {
    const accepted_values domains{"domain names or patterns with commas between", [](const std::string& list) {
                                      std::vector<std::string> patterns;
                                      return list.empty() || parse_domain_list(list, patterns);
                                  }};
    arguments
        .add("--adopt", adopt_,
             "Threads that work for others: auto (autograd's, the default), off, or a shell pattern of thread names")
        .takes({"auto, off, or a pattern of thread names", [](const std::string& text) { return !text.empty(); }})
        .value("PATTERN");
    arguments
        .add("--nvtx-domain-include", include_,
             "Ranges of these NVTX domains only: names or shell patterns with commas between; the default domain "
             "goes by default")
        .takes(domains)
        .value("LIST");
    arguments
        .add("--nvtx-domain-exclude", exclude_,
             "No ranges of these NVTX domains: their work counts for the range around them")
        .takes(domains)
        .value("LIST");
}

attribution_options attribution_flags::options() const {
    attribution_options out;
    if (adopt_ == "off") {
        out.adopt_pattern.clear();
    } else if (adopt_ != "auto") {
        out.adopt_pattern = adopt_;
    }
    // They were checked when they were given.
    if (!include_.empty()) (void)parse_domain_list(include_, out.domains.include);
    if (!exclude_.empty()) (void)parse_domain_list(exclude_, out.domains.exclude);
    return out;
}

}  // namespace prof
