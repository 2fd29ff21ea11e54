// SPDX-License-Identifier: Apache-2.0
// What makes up the GPU work that is in no range: the largest kernels, copies and sets, with the thread and the call
// that launched them. A pure function; linear in the operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "report/report_document.hpp"

namespace prof {

struct report_input;

// Of operations whose self time is in the row "(no range)": those with most GPU time, largest first.
std::vector<no_range_work> largest_without_range(const timeline& data, const attribution& att,
                                                 const report_input& input, std::size_t most = 3);

// "largest in (no range): 11.502 ms Memcpy HtoD (…) by cudaMemcpyAsync on python (2 operations); …", ready for a
// terminal; "" if there is none.
std::string no_range_note(const std::vector<no_range_work>& largest);

}  // namespace prof
