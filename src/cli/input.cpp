#include "cli/input.hpp"

#include <filesystem>
#include <system_error>
#include <vector>

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

void attribution_flags::add_to(CLI::App& app) {
    app.add_option(
           "--adopt", adopt_,
           "Threads that work for others: auto (autograd's, the default), off, or a shell pattern of thread names")
        ->type_name("PATTERN");
    app.add_option("--nvtx-domain-include", include_,
                   "Ranges of these NVTX domains only: names or shell patterns with commas between; the default domain "
                   "goes by default")
        ->type_name("LIST");
    app.add_option("--nvtx-domain-exclude", exclude_,
                   "No ranges of these NVTX domains: their work counts for the range around them")
        ->type_name("LIST");
}

attribution_options attribution_flags::options() const {
    attribution_options out;
    if (adopt_ == "off") {
        out.adopt_pattern.clear();
    } else if (adopt_ != "auto") {
        out.adopt_pattern = adopt_;
    }
    const auto set_domains = [](const char* flag, const std::string& list, std::vector<std::string>& patterns) {
        if (list.empty() || parse_domain_list(list, patterns)) return;
        throw CLI::ValidationError(std::string(flag) + ": \"" + list +
                                   "\" is not accepted; it takes domain names or patterns with commas between");
    };
    set_domains("--nvtx-domain-include", include_, out.domains.include);
    set_domains("--nvtx-domain-exclude", exclude_, out.domains.exclude);
    return out;
}

}  // namespace prof
