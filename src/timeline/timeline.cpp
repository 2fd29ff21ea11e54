#include "timeline/timeline.hpp"

#include "timeline/build.hpp"
#include "timeline/contents.hpp"

namespace prof {

timeline load_timeline(const std::string& path) { return build_timeline(read_contents(path)); }

}  // namespace prof
