// SPDX-License-Identifier: Apache-2.0
// The name of a program by its arguments. Pure functions.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace prof {

using argument_list = std::vector<std::string>;

// `./trainer` is "trainer". A Python program has the name of its script or module, also where a launcher such as memray
// or torchrun starts it: `python -W ignore train.py`, `python -m memray run train.py` and `memray run train.py` are
// "train". A worker of Python's multiprocessing has the name of the program that started it; `ancestor` returns the
// arguments of the parent (1), of its parent (2) and so on, none where they are unknown.
std::string program_name(const argument_list& arguments, const std::function<argument_list(int)>& ancestor);

}  // namespace prof
