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
#include "analysis/projection.hpp"

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

inline verdicts judge_all(const program& program, const folding& folded) {
    verdicts all;
    for (const launch& l : program.launches) {
        if (l.work.empty()) continue;
        const verdict v = program.judge(l, folded);
        for (const gpu_work& w : l.work) all[w.id] = v;
    }
    for (const gpu_work& w : program.unmatched) all[w.id] = {.where = "(unmatched)", .open = {}};
    return all;
}

inline std::vector<gpu_work> all_work(const program& program) {
    std::vector<gpu_work> works = program.unmatched;
    for (const launch& l : program.launches) works.insert(works.end(), l.work.begin(), l.work.end());
    return works;
}

inline expected_rows expect_rows(const program& program, const verdicts& judged, const folding& folded) {
    expected_rows rows;
    for (const char* always : {"(no range)", "(ambiguous)", "(unmatched)"}) rows[always];
    std::map<std::uint64_t, std::string> paths;
    for (const range& r : program.ranges) {
        paths[r.id] = program.path(r, folded);
        rows[paths[r.id]].instances += 1;
    }
    std::map<std::uint64_t, std::pair<std::int64_t, std::int64_t>> spans;
    for (const gpu_work& w : all_work(program)) {
        const verdict& v = judged.at(w.id);
        rows[v.where].self += w.end - w.start;
        for (const std::uint64_t id : v.open) {
            rows[paths[id]].count(w, v.adopted);
            auto& [first, last] = spans.try_emplace(id, w.start, w.end).first->second;
            first = std::min(first, w.start);
            last = std::max(last, w.end);
        }
        if (v.where.starts_with("(ambiguous)")) {
            rows["(ambiguous)"].count(w, v.adopted);
        } else if (v.where.starts_with('(')) {
            rows[v.where].count(w, v.adopted);
        }
    }
    for (const auto& [id, span] : spans) rows[paths[id]].span += span.second - span.first;
    return rows;
}

inline void check_rows(const projection& p, const expected_rows& expected) {
    ASSERT_EQ(p.rows.size(), expected.size());
    for (const projection_row& row : p.rows) {
        const auto found = expected.find(row.path);
        ASSERT_NE(found, expected.end()) << row.path;
        const expected_row& e = found->second;
        ASSERT_EQ(row.gpu_sum_ns, e.sum) << row.path;
        ASSERT_EQ(row.gpu_self_ns, e.self) << row.path;
        ASSERT_EQ(row.gpu_child_ns, e.sum - e.self) << row.path;
        ASSERT_EQ(row.ops, e.ops) << row.path;
        ASSERT_EQ(row.adopted_ops, e.adopted_ops) << row.path;
        ASSERT_EQ(row.instances, e.instances) << row.path;
        ASSERT_EQ(row.gpu_busy_ns, e.busy()) << row.path;
        ASSERT_EQ(row.gpu_span_ns, e.span) << row.path;
    }
}

}  // namespace prof::oracle
