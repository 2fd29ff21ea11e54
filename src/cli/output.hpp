// Checks the file that `prof report` or `prof export` is to write. One thread.
#pragma once

#include <string>
#include <vector>

namespace prof {

// Why `output` is refused, in one line; "" if it is not. Refused are the files of `inputs`, under any name, and every
// other capture: what it contains could not be made again.
std::string output_problem(const std::string& output, const std::vector<std::string>& inputs);

}  // namespace prof
