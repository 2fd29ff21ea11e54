// Any "name=value" as a setting: taken, and then it is taken again as it stands; or refused in a line that names what
// is accepted, and then nothing has changed.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/domain_filter.hpp"
#include "session/options.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace prof;
    const auto check = [](bool holds) {
        if (!holds) std::abort();
    };
    const std::string line(reinterpret_cast<const char*>(data), size);
    // The first byte chooses an option, or the text before "=" names one.
    const auto table = option_table();
    const std::size_t equals = line.find('=');
    const bool is_named = equals != std::string::npos;
    if (line.empty()) return 0;
    const std::string name = is_named ? line.substr(0, equals) : std::string(table[data[0] % table.size()].name);
    const std::string value = line.substr(is_named ? equals + 1 : 1);

    session_options options;
    const std::string problem = set_option(options, name, value);
    if (problem.empty()) {
        session_options again = options;
        check(set_option(again, name, value).empty());
        check(options.memory >= 1U << 20 && (options.memory & (options.memory - 1)) == 0);
        check(options.name.find('/') == std::string::npos);
        (void)activities_of(options);
    } else {
        check(problem.find("it takes") != std::string::npos || problem.find("there are") != std::string::npos);
        const session_options fresh;
        check(options.memory == fresh.memory && options.activities == fresh.activities && options.rank == fresh.rank);
    }
    std::vector<std::string> patterns;
    if (parse_domain_list(value, patterns)) check(!patterns.empty());
    return 0;
}
