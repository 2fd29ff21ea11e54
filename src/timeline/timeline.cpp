#include "timeline/timeline.hpp"

#include "base/number.hpp"
#include "record/label.hpp"
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

std::string_view timeline::stream_name(std::uint32_t context, std::uint32_t stream) const noexcept {
    auto found = stream_names.find(stream_key(context, stream));
    if (found == stream_names.end()) found = stream_names.find(stream_key(0, stream));
    return found == stream_names.end() ? std::string_view{} : name(found->second);
}

timeline load_timeline(const std::string& path) { return build_timeline(read_contents(path)); }

}  // namespace prof
