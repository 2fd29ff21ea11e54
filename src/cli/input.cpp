#include "cli/input.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "record/error.hpp"

namespace prof {

std::string refusal(const std::string& value, const std::string& accepts) {
    return '"' + value + "\" is not accepted; it takes " + accepts;
}

CLI::Validator takes(const std::string& accepts, const std::function<bool(const std::string&)>& is_good) {
    return {[=](const std::string& value) { return is_good(value) ? std::string() : refusal(value, accepts); }, ""};
}

CLI::Validator takes_one_of(const std::vector<std::string>& words) {
    std::string accepts = words.front();
    for (std::size_t i = 1; i < words.size(); ++i) accepts += (i + 1 < words.size() ? ", " : " or ") + words[i];
    return takes(accepts, [words](const std::string& value) {
        return std::find(words.begin(), words.end(), value) != words.end();
    });
}

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
    const CLI::Validator domains = takes("domain names or patterns with commas between", [](const std::string& list) {
        std::vector<std::string> patterns;
        return list.empty() || parse_domain_list(list, patterns);
    });
    app.add_option(
           "--adopt", adopt_,
           "Threads that work for others: auto (autograd's, the default), off, or a shell pattern of thread names")
        ->check(takes("auto, off, or a pattern of thread names", [](const std::string& text) { return !text.empty(); }))
        ->type_name("PATTERN");
    app.add_option("--nvtx-domain-include", include_,
                   "Ranges of these NVTX domains only: names or shell patterns with commas between; the default domain "
                   "goes by default")
        ->check(domains)
        ->type_name("LIST");
    app.add_option("--nvtx-domain-exclude", exclude_,
                   "No ranges of these NVTX domains: their work counts for the range around them")
        ->check(domains)
        ->type_name("LIST");
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
