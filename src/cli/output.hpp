// Where `prof report` and `prof export` write.
#pragma once

#include <string>
#include <vector>

namespace prof {

// Why `output` is refused, in one line; empty if it is not. Neither one of `inputs`, by whatever name, nor any other
// capture is written over: what is in it cannot be had again.
std::string output_problem(const std::string& output, const std::vector<std::string>& inputs);

}  // namespace prof
