// SPDX-License-Identifier: Apache-2.0
#include "timeline/labels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <unordered_map>

#include "timeline/collectives.hpp"

namespace prof {
void grow_domains(timeline& out, std::uint64_t index) {
    while (out.domains.size() <= index) {
        const std::size_t next = out.domains.size();
        out.domains.push_back({next == 0 ? std::string{} : fmt::format("domain {}", next)});
    }
}

void take_labels(timeline& out, const std::vector<label>& labels) {
    grow_domains(out, 0);
    std::unordered_map<std::uint64_t, std::size_t> of_threads;  // key → index of the latest label
    for (std::size_t i = 0; i < labels.size(); ++i) {
        const label& l = labels[i];
        switch (l.kind) {
            case label_kind::domain:
                if (l.key == 0 || l.key > UINT16_MAX) break;
                grow_domains(out, l.key);
                if (!out.name(name_id(l.name)).empty()) out.domains[l.key].name = out.name(name_id(l.name));
                break;
            case label_kind::category:
                out.category_names[l.key] = name_id(l.name);
                break;
            case label_kind::thread:
                of_threads[l.key] = i;
                break;
            case label_kind::stream:
                out.stream_names[l.key] = name_id(l.name);
                break;
            case label_kind::communicator:
                take_communicator(out, l.key, out.name(name_id(l.name)));
                break;
            case label_kind::none:
                break;
        }
    }
    for (timeline_thread& thread : out.threads) {
        const auto own = of_threads.find(thread_key(thread.uid, thread.tid));
        const auto of_tid = of_threads.find(thread_key(0, thread.tid));
        const bool has_own = own != of_threads.end();
        const bool has_of_tid = of_tid != of_threads.end();
        if (!has_own && !has_of_tid) continue;
        const std::size_t latest = std::max(has_own ? own->second : 0, has_of_tid ? of_tid->second : 0);
        thread.name = out.name(name_id(labels[latest].name));
    }
}

}  // namespace prof
