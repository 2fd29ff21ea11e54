#include "timeline/timeline.hpp"

#include "record/number.hpp"
#include "timeline/build.hpp"
#include "timeline/contents.hpp"

namespace prof {

const std::string& timeline::property(const std::string& key) const {
    static const std::string none;
    const auto found = properties.find(key);
    return found == properties.end() ? none : found->second;
}

std::optional<std::int64_t> timeline::number(const std::string& key) const {
    return parse_number<std::int64_t>(property(key), 0);
}

timeline load_timeline(const std::string& path) { return build_timeline(read_contents(path)); }

}  // namespace prof
