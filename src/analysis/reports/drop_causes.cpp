// SPDX-License-Identifier: Apache-2.0
#include "analysis/reports/drop_causes.hpp"

#include <algorithm>
#include <iterator>

namespace prof {
namespace {

constexpr drop_description descriptions[] = {
    {"ring_full", "records: the drain thread came too late", "more memory, fewer ranges, a free core"},
    {"enclosing_range_dropped", "ranges inside a dropped one", "as for ring_full"},
    {"no_ring", "records of threads beyond the rings", "more memory, or room in /dev/shm"},
    {"names_full", "names; the range is there without one", "more memory"},
    {"labels_full", "names of threads, streams, categories beyond 4096", "name fewer"},
    {"domains_full", "ranges of too many NVTX domains", "make a domain once"},
    {"pop_without_push", "pops of ranges begun before the recording, on another thread, or never", "usual in windows"},
    {"end_without_start", "ends of start/end ranges begun before the recording, or never", "usual in windows"},
    {"nested_too_deep", "time of ranges between the 32 outermost and the latest", "look for missing pops"},
    {"unknown_parent", "work for places of another recording", "take places while recording"},
    {"cupti_dropped", "GPU records: CUPTI had no buffer", "more memory"},
    {"cupti_no_buffer", "GPU records: CUPTI had no buffer", "more memory"},
    {"cupti_no_timestamp", "GPU records without times", "nothing: CUPTI gave none"},
    {"cupti_unknown_record", "GPU records of kinds that libprof did not ask for", "look for another CUPTI client"},
    {"cupti_error", "a CUPTI call failed, or a buffer came late", "launches without a GPU record show the loss"},
    {"write_failed", "records that the capture's disk refused", "make room"},
    {"forked_child", "children that could not be recorded", "see the limits of forked children"},
    {"graph_memory_full", "nodes of CUDA graphs beyond 262 144 (inside graphs 65 280)",
     "their work counts for the launch"},
    {"signal_handler", "ranges of a handler that interrupted a record", "make none in handlers"},
};
constexpr drop_description of_another_version = {"cause_N", "what a newer libprof counts", "use its prof"};

}  // namespace

const drop_description& describe_drop(std::string_view cause) noexcept {
    const auto* const found = std::find_if(std::begin(descriptions), std::end(descriptions),
                                           [&](const drop_description& of) { return of.cause == cause; });
    return found == std::end(descriptions) ? of_another_version : *found;
}

}  // namespace prof
