// SPDX-License-Identifier: Apache-2.0
// The oracle's verdicts as the rows of a projection, and their comparison with the library's.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/oracle.hpp"
#include "analysis/projection/projection.hpp"

namespace prof::oracle {

using folding = std::map<std::string, std::string>;  // a range's name → its segment
using verdicts = std::map<std::uint64_t, verdict>;   // by id of the work

// What the rows should say, by path.
struct expected_row {
    std::int64_t sum = 0;
    std::int64_t self = 0;
    std::uint64_t ops = 0;
    std::uint64_t adopted_ops = 0;
    std::uint64_t instances = 0;
    std::vector<gpu_work> works;
    std::int64_t span = 0;

    void count(const gpu_work& w, bool adopted) {
        sum += w.end - w.start;
        ops += 1;
        adopted_ops += adopted ? 1 : 0;
        works.push_back(w);
    }

    // Every stretch of time between two moments at which anything began or ended, asked by itself.
    std::int64_t busy() const {
        std::set<std::int64_t> moments;
        std::set<std::uint32_t> devices;
        for (const gpu_work& w : works) {
            moments.insert({w.start, w.end});
            devices.insert(w.device);
        }
        std::int64_t total = 0;
        for (const std::uint32_t device : devices) {
            for (auto from = moments.begin(); from != moments.end() && std::next(from) != moments.end(); ++from) {
                const bool is_busy = std::any_of(works.begin(), works.end(), [&](const gpu_work& w) {
                    return w.device == device && w.start <= *from && *from < w.end;
                });
                if (is_busy) total += *std::next(from) - *from;
            }
        }
        return total;
    }
};

using expected_rows = std::map<std::string, expected_row>;

inline verdicts judge_all(const program& program, const naming& names) {
    verdicts all;
    for (const launch& l : program.launches) {
        if (l.work.empty()) continue;
        const verdict v = program.judge(l, names);
        for (const gpu_work& w : l.work) program.judge_capture(w, all[w.id] = v);
    }
    for (const gpu_work& w : program.unmatched) all[w.id] = {.where = "(unmatched)", .open = {}};
    return all;
}

inline std::vector<gpu_work> all_work(const program& program) {
    std::vector<gpu_work> works = program.unmatched;
    for (const launch& l : program.launches) works.insert(works.end(), l.work.begin(), l.work.end());
    return works;
}

// The row of the captured ranges of some work lies below where its launch's self time is.
inline std::string above_captured(const std::string& where) { return where == "(no range)" ? std::string() : where; }

// The segments by fold_mode::counters: with every number folded, what is in each row?
inline naming naming_by_counters(const program& program, const folding& folded) {
    naming names{folded};
    std::map<std::string, names_of_row> rows;
    for (const range& r : program.ranges) ++rows[program.path(r, names)][r.name][r.thread];
    std::set<std::pair<std::size_t, std::vector<std::uint64_t>>> seen;  // launch, captured ranges
    for (const auto& [id, v] : judge_all(program, names)) names.folded_where[id] = v.where;
    for (std::size_t i = 0; i < program.launches.size(); ++i) {
        const launch& l = program.launches[i];
        if (l.work.empty()) continue;
        const verdict launched = program.judge(l, names);
        for (const gpu_work& w : l.work) {
            verdict v = launched;
            program.judge_capture(w, v);
            std::string row = above_captured(v.where);
            std::vector<std::uint64_t> chain;
            for (const std::uint64_t range_id : v.captured) {
                const range& r = program.ranges[range_id - 1];
                row += '|' + folded.at(r.name);
                chain.push_back(range_id);
                if (seen.emplace(i, chain).second) ++rows[row][r.name][r.thread];
            }
        }
    }
    for (const auto& [row, in_it] : rows) {
        if (name_different_things(in_it)) names.apart.insert(row);
    }
    return names;
}

inline expected_rows expect_rows(const program& program, const verdicts& judged, const naming& names) {
    expected_rows rows;
    for (const char* always : {"(no range)", "(ambiguous)", "(unmatched)"}) rows[always];
    std::map<std::uint64_t, std::string> paths;
    for (const range& r : program.ranges) {
        paths[r.id] = program.path(r, names);
        rows[paths[r.id]].instances += 1;
    }
    std::map<std::uint64_t, std::pair<std::int64_t, std::int64_t>> spans;
    // By launch and the captured ranges from the outermost one on.
    std::map<std::pair<std::uint64_t, std::vector<std::uint64_t>>, std::pair<std::int64_t, std::int64_t>>
        replayed_spans;
    std::map<std::pair<std::uint64_t, std::vector<std::uint64_t>>, std::string> replayed_paths;
    std::map<std::uint64_t, std::uint64_t> launch_of;
    for (std::size_t i = 0; i < program.launches.size(); ++i) {
        for (const gpu_work& w : program.launches[i].work) launch_of[w.id] = i;
    }
    for (const gpu_work& w : all_work(program)) {
        const verdict& v = judged.at(w.id);
        std::string self = v.captured.empty() ? v.where : above_captured(v.where);
        std::string folded_row = names.apart.empty() ? "" : above_captured(names.folded_where.at(w.id));
        std::vector<std::uint64_t> chain;
        for (const std::uint64_t id : v.captured) {
            chain.push_back(id);
            const std::string& name = program.ranges[id - 1].name;
            folded_row += '|' + names.folded.at(name);
            self += '|' + names.segment(name, folded_row);
            rows[self].count(w, v.adopted);
            const auto key = std::pair{launch_of.at(w.id), chain};
            replayed_paths[key] = self;
            auto& [first, last] = replayed_spans.try_emplace(key, w.start, w.end).first->second;
            first = std::min(first, w.start);
            last = std::max(last, w.end);
        }
        rows[self].self += w.end - w.start;
        for (const std::uint64_t id : v.open) {
            rows[paths[id]].count(w, v.adopted);
            auto& [first, last] = spans.try_emplace(id, w.start, w.end).first->second;
            first = std::min(first, w.start);
            last = std::max(last, w.end);
        }
        if (v.where.starts_with("(ambiguous)")) {
            rows["(ambiguous)"].count(w, v.adopted);
        } else if (v.where.starts_with('(') && v.captured.empty()) {
            rows[v.where].count(w, v.adopted);
        }
    }
    for (const auto& [id, span] : spans) rows[paths[id]].span += span.second - span.first;
    for (const auto& [key, span] : replayed_spans) {
        rows[replayed_paths[key]].span += span.second - span.first;
        rows[replayed_paths[key]].instances += 1;
    }
    return rows;
}

inline void check_rows(const projection& p, const expected_rows& expected) {
    ASSERT_EQ(p.rows.size(), expected.size());
    std::vector<std::string> keys;  // the paths, with '|' before captured names
    for (const projection_row& row : p.rows) {
        std::string key = row.parent == npos ? "" : keys[row.parent];
        if (row.is_captured) {
            key += '|';
        } else if (row.parent != npos) {
            key += '/';
        }
        keys.push_back(key + row.name);
        const auto found = expected.find(keys.back());
        ASSERT_NE(found, expected.end()) << keys.back();
        const expected_row& e = found->second;
        ASSERT_EQ(row.gpu_sum_ns, e.sum) << row.path;
        ASSERT_EQ(row.gpu_self_ns, e.self) << row.path;
        ASSERT_EQ(row.gpu_child_ns, e.sum - e.self) << row.path;
        ASSERT_EQ(row.ops, e.ops) << row.path;
        ASSERT_EQ(row.adopted_ops, e.adopted_ops) << row.path;
        ASSERT_EQ(row.instances, e.instances) << row.path;
        ASSERT_EQ(row.gpu_busy_ns, e.busy()) << row.path;
        ASSERT_EQ(row.gpu_span_ns, e.span) << row.path;
        ASSERT_TRUE(!row.is_captured || row.host_ns == 0) << row.path;
        ASSERT_TRUE(row.parent == npos || row.gpu_sum_ns <= p.rows[row.parent].gpu_sum_ns || !row.is_captured);
    }
}

}  // namespace prof::oracle
