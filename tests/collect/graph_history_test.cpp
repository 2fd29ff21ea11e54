// SPDX-License-Identifier: Apache-2.0
// A capture with the graph history, compared with a capture of everything: live nodes have the same attribution,
// however the threads' records reached the history and however often it swept.
#include "collect/history/graph_history.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <random>
#include <string>

#include "analysis/attribution/attribution.hpp"
#include "support/capture_builder.hpp"
#include "support/sanitized.hpp"

namespace prof::test::graph_history_test {
namespace {

region_options small_region() {
    region_options options;
    options.place = "memory";
    options.large_rings = 1;
    options.medium_rings = 0;
    options.small_rings = 1;
    return options;
}

// Threads that open ranges, capture nodes, copy and destroy graphs, and work for each other; a tick for each act.
class graph_program {
public:
    explicit graph_program(std::uint32_t seed) : random_(seed) {
        for (const char* name : {"trainer a", "trainer b", "pt_autograd_0", "pool"}) capture_.thread(name);
        const std::uint32_t acts = 20 + below(300);
        for (std::uint32_t i = 0; i < acts; ++i) act();
        for (std::size_t t = 0; t < thread_count; ++t) before_window_.push_back(thread(t).records().size());
        if (below(2) == 0) retired_ = 3;
        finish();
    }

    // All records in one capture, which has a window for the observed part and one for the replays.
    timeline whole() const { return build_timeline(with_windows(capture_.contents())); }

    // A capture of the replays alone, with the history's records.
    timeline replayed_only(const graph_history::limits& bounds) {
        region where(small_region());
        graph_history history(where, bounds);
        observe_all(history);
        history.begin_capture();
        capture_contents contents = with_windows(capture_.contents());
        for (record_run& run : contents.runs) {
            const auto observed = static_cast<std::ptrdiff_t>(before_window_.at(run.thread_uid - 1));
            run.records.erase(run.records.begin(), run.records.begin() + observed);
        }
        contents.windows.erase(1);
        history.emit([&](const format::thread_entry& thread, std::span<const record> section) {
            contents.graph_context.push_back({thread.uid, 0, {section.begin(), section.end()}});
        });
        kept = history.record_count();
        nodes = history.node_count();
        return build_timeline(std::move(contents));
    }

    // As far as events could be observed.
    std::size_t live_nodes() const { return live_.size() + gone_unobserved_.size(); }
    std::size_t kept = 0;
    std::size_t nodes = 0;

private:
    static constexpr std::size_t thread_count = 4;

    std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
    thread_script& thread(std::size_t index) { return capture_.thread_at(index); }

    // None that lives has it. One that is gone may have had it.
    std::uint64_t unused_id() {
        if (gone_.empty() || below(2) == 0) return ++last_id_;
        const std::uint64_t id = gone_.back();
        gone_.pop_back();
        std::erase(gone_unobserved_, id);
        return id;
    }

    void act() {
        thread_script& by = thread(below(thread_count));
        const std::uint64_t now = now_++;
        const auto domain = static_cast<std::uint16_t>(below(2));
        switch (below(17)) {
            case 0:
            case 1:
            case 2:
            case 3:
                by.push(now, "range " + std::string(1, static_cast<char>('a' + below(6))), domain);
                break;
            case 4:
            case 5:
            case 6:
            case 7:
                by.pop(now, domain);
                break;
            case 8:
            case 9:
                live_.push_back(unused_id());
                by.node(now, live_.back());
                break;
            case 10:
                if (live_.empty()) break;
                live_.push_back(unused_id());
                by.copy(now, live_.back(), live_[below(static_cast<std::uint32_t>(live_.size() - 1))]);
                break;
            case 11:
            case 12: {
                if (live_.empty()) break;
                const std::size_t which = below(static_cast<std::uint32_t>(live_.size()));
                if (below(8) == 0) {  // while CUPTI was finalized
                    gone_unobserved_.push_back(live_[which]);
                } else {
                    by.add({.ticks = now, .value = live_[which], .kind = record_kind::graph_node_gone});
                }
                gone_.push_back(live_[which]);
                live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(which));
                break;
            }
            case 13:
                by.begin_capture(now, 1000 + now);
                break;
            case 14:
                by.here(now, ++last_place_);
                break;
            case 15:
                if (live_.size() < 2) break;
                std::swap(live_.back(), live_[below(static_cast<std::uint32_t>(live_.size()))]);
                by.update(now, live_.back(), live_[below(static_cast<std::uint32_t>(live_.size() - 1))]);
                break;
            default:
                if (last_place_ == 0 || below(2) == 0) {
                    by.leave(now);
                } else {
                    by.adopt(now, 1 + below(static_cast<std::uint32_t>(last_place_)));
                }
        }
    }

    // Every thread enters the second window; each node that lives is replayed, on a stream that the trainers know.
    void finish() {
        window_ = now_ += 10;
        for (std::size_t t = 0; t < thread_count; ++t) {
            thread(t).add({.ticks = now_++, .value = 2, .kind = record_kind::window});
        }
        for (const std::size_t trainer : {std::size_t{0}, std::size_t{1}}) {
            thread(trainer).push(now_, "tail").launch(now_ + 1, correlation(++launches_)).pop(now_ + 5);
            capture_.kernel(correlation(launches_), now_ + 2, now_ + 3);
            now_ += 10;
        }
        for (const std::uint64_t id : live_) {
            thread(0).push(now_, "iteration").launch(now_ + 1, correlation(++launches_), "").pop(now_ + 3);
            capture_.kernel(correlation(launches_), now_ + 4, now_ + 5, {.graph_node = id});
            now_ += 10;
        }
    }
    static std::uint64_t correlation(std::uint32_t id) { return correlation_key(2, id); }

    capture_contents with_windows(capture_contents contents) const {
        contents.windows[1] = {.epoch = 1, .end_ticks = window_ - 5};
        contents.windows[2] = {.epoch = 2, .begin_ticks = window_ - 5, .end_ticks = now_};
        return contents;
    }

    // Rings are drained one after the other, while the program continues.
    void observe_all(graph_history& history) {
        std::vector<std::size_t> observed(thread_count, 0);
        for (std::uint64_t now = 0; now < window_ + 200; now += 1 + below(30)) {
            std::vector<std::size_t> order{0, 1, 2, 3};
            std::shuffle(order.begin(), order.end(), random_);
            for (const std::size_t t : order) {
                now += below(4);
                const std::vector<record>& records = thread(t).records();
                const std::size_t from = observed[t];
                while (observed[t] < before_window_[t] && records[observed[t]].ticks <= now) ++observed[t];
                history.observe(t + 1, std::span(records).subspan(from, observed[t] - from), false);
                if (t == retired_ && observed[t] == before_window_[t]) {
                    history.end_thread(t + 1, std::min(now, window_ - 5));
                }
            }
            history.end_round();
        }
    }

    std::mt19937 random_;
    capture_builder capture_;
    std::vector<std::size_t> before_window_;  // records of each thread
    std::vector<std::uint64_t> live_;
    std::vector<std::uint64_t> gone_;
    std::vector<std::uint64_t> gone_unobserved_;
    std::uint64_t last_id_ = 0;
    std::uint64_t last_place_ = 0;
    std::uint64_t now_ = 1;
    std::uint64_t window_ = 0;
    std::uint32_t launches_ = 0;
    std::size_t retired_ = thread_count;
};

// Of each operation the captured ranges it counts for, with the moments they were opened.
std::vector<std::string> captured_paths(const timeline& data) {
    const attribution att = attribute(data);
    std::vector<std::string> paths;
    for (const op_id op : data.ops.ids()) {
        std::string path = data.ops[op].graph_node == graph_capture_unseen ? "unseen" : "";
        for_each_replayed_range(att, op, [&](replayed_id i) {
            const timeline_range& range = data.ranges[att.replayed[i].range];
            path += std::string(data.name(range.name)) + '@' + std::to_string(range.start_ns) + ' ';
        });
        paths.push_back(path);
    }
    paths.push_back("ambiguous: " + std::to_string(att.ops_of_ambiguous_captures));
    return paths;
}

TEST(GraphHistory, GivesWhatACaptureOfEverythingShows) {
    PROF_TESTS_ONE_THREAD();
    std::size_t nodes = 0;
    std::size_t in_ranges = 0;
    for (std::uint32_t seed = 1; seed <= random_cases(2'000); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        graph_program program(seed);
        const auto expected = captured_paths(program.whole());
        const timeline replayed_only = program.replayed_only({.sweep_from = 1 + seed % 40});
        ASSERT_EQ(captured_paths(replayed_only), expected);
        ASSERT_EQ(program.nodes, program.live_nodes());
        nodes += program.live_nodes();
        for (const std::string& path : expected) in_ranges += path.find('@') != std::string::npos ? 1 : 0;
    }
    EXPECT_GT(nodes, random_cases(10'000));
    EXPECT_GT(in_ranges, random_cases(5'000));
}

struct GraphHistoryLimits : testing::Test {
    region where{small_region()};
    std::uint64_t ticks = 0;

    record made(record_kind kind, std::uint64_t value = 0) { return {.ticks = ++ticks, .value = value, .kind = kind}; }
    void observe(graph_history& history, const std::vector<record>& records) {
        history.observe(1, records, false);
        history.end_round();
    }
    std::uint64_t dropped() const { return where.drops()[static_cast<std::size_t>(drop_cause::graph_memory_full)]; }
};

TEST_F(GraphHistoryLimits, StaySmallWithoutGraphCaptures) {
    graph_history history(where, {.sweep_from = 64});
    record other = made(record_kind::range_push);
    for (int i = 0; i < 10'000; ++i) {
        // The ranges of two domains interleave.
        other.ticks = ++ticks;
        other.kind = record_kind::range_push;
        other.domain = 1;
        const std::vector<record> some = {made(record_kind::range_push), other, made(record_kind::range_pop)};
        observe(history, some);
        other.ticks = ++ticks;
        other.kind = record_kind::range_pop;
        observe(history, {other});
    }
    EXPECT_LE(history.record_count(), 64U);
    history.begin_capture();
    EXPECT_FALSE(history.has_unemitted());
}

// A thread for each request or task, for months, beside a graph that lives.
TEST_F(GraphHistoryLimits, ForgetEndedThreads) {
    constexpr std::uint64_t threads = 20'000;
    graph_history history(where, {.most_records = 4096, .sweep_from = 512});
    observe(history, {made(record_kind::range_push), made(record_kind::graph_node, 77), made(record_kind::range_pop)});
    for (std::uint64_t uid = 2; uid < 2 + threads; ++uid) {
        const auto push = record_kind::range_push;
        const auto pop = record_kind::range_pop;
        const std::vector<record> two_ranges = {made(push), made(pop), made(push), made(pop)};
        history.describe({.uid = uid, .tid = static_cast<std::uint32_t>(uid)});
        history.observe(uid, two_ranges, false);
        history.end_thread(uid, ++ticks);
        if (uid % 10 == 0) history.end_round();
        ASSERT_LE(history.record_count(), 1200U) << uid;
        ASSERT_LE(history.thread_count(), 300U) << uid;
    }
    EXPECT_EQ(history.node_count(), 1U);
    EXPECT_EQ(dropped(), 0U);
    EXPECT_FALSE(history.keeps_thread(2));
    history.end_round();
    history.end_round();
    history.begin_capture();
    std::vector<std::uint64_t> replayed_only;
    history.emit(
        [&](const format::thread_entry& thread, std::span<const record>) { replayed_only.push_back(thread.uid); });
    EXPECT_EQ(replayed_only, std::vector<std::uint64_t>{1});
}

TEST_F(GraphHistoryLimits, CountNodesBeyondTheLimit) {
    graph_history history(where, {.most_nodes = 10});
    for (std::uint64_t id = 1; id <= 13; ++id) observe(history, {made(record_kind::graph_node, id)});
    observe(history, {made(record_kind::graph_node_gone, 4)});
    observe(history, {made(record_kind::graph_node, 14)});
    observe(history, {});
    EXPECT_EQ(history.node_count(), 10U);
    EXPECT_EQ(dropped(), 3U);
}

TEST_F(GraphHistoryLimits, CountForgottenRanges) {
    graph_history history(where, {.most_records = 100, .sweep_from = 16});
    for (std::uint64_t id = 1; id <= 80; ++id) {
        observe(history,
                {made(record_kind::range_push), made(record_kind::graph_node, id), made(record_kind::range_pop)});
    }
    observe(history, {});
    observe(history, {made(record_kind::parent_here, 1)});
    EXPECT_GT(dropped(), 0U);
    EXPECT_EQ(dropped() + history.node_count(), 80U);
    EXPECT_LE(history.record_count(), 200U);
}

// The limit of docs/reference/overhead.md holds for any program.
TEST_F(GraphHistoryLimits, BoundTheMemory) {
    PROF_TESTS_ONE_THREAD();
    const auto allocated = [] {
        const auto all = mallinfo2();
        return all.uordblks + all.hblkhd;
    };
    for (const std::uint64_t nodes_a_range : {8U, 100U}) {
        for (const bool copied : {false, true}) {
            graph_history history(where);
            const std::size_t before = allocated();
            std::size_t most = 0;
            for (std::uint64_t id = 1; id <= 300'000;) {
                std::vector<record> some;
                for (int range = 0; range < 100; ++range) {
                    some.push_back(made(record_kind::range_push));
                    for (std::uint64_t i = 0; i < nodes_a_range; ++i, ++id) {
                        some.push_back(made(record_kind::graph_node, id));
                        if (!copied) continue;
                        some.push_back(made(record_kind::graph_node, 1'000'000 + id));
                        some.push_back(made(record_kind::graph_clone, 1'000'000 + id));
                        some.back().name = static_cast<std::uint32_t>(id);
                        some.push_back(made(record_kind::graph_node_gone, id));
                    }
                    some.push_back(made(record_kind::range_pop));
                }
                observe(history, some);
                if (allocated() > before) most = std::max(most, allocated() - before);
            }
            EXPECT_LT(most, 64'000'000U) << nodes_a_range << (copied ? ", copied" : "");
        }
    }
    EXPECT_GT(dropped(), 0U);
}

// One that was instantiated unheard is known from its first update on; not if there is no room.
TEST_F(GraphHistoryLimits, HoldForUpdates) {
    graph_history history(where, {.most_nodes = 3});
    const auto update = [&](std::uint64_t id, std::uint32_t by) {
        record r = made(record_kind::graph_clone, id);
        r.name = by;
        r.flags = replaces_what_it_was;
        return r;
    };
    observe(history,
            {made(record_kind::graph_node, 1), made(record_kind::graph_node, 2), update(71, 1), update(72, 99)});
    observe(history, {});
    EXPECT_EQ(history.node_count(), 3U);
    observe(history, {update(71, 2), update(73, 2)});
    observe(history, {});
    EXPECT_EQ(history.node_count(), 3U);
    EXPECT_EQ(dropped(), 1U);
    observe(history, {update(71, 98)});
    observe(history, {});
    EXPECT_EQ(history.node_count(), 2U) << "nobody knows what it stands for";
}

TEST_F(GraphHistoryLimits, WriteTheirNoticeOnceACapture) {
    graph_history history(where);
    history.begin_capture();
    const std::vector<record> in_capture = {made(record_kind::graph_node, 1)};
    history.observe(1, in_capture, true);
    observe(history, {made(record_kind::graph_node, 2)});
    observe(history, {});
    std::vector<std::uint64_t> replayed_only;
    const auto ask = [&] {
        replayed_only.clear();
        history.emit([&](const format::thread_entry&, std::span<const record> section) {
            for (const record& r : section.subspan(1)) replayed_only.push_back(r.value);
        });
        return replayed_only;
    };
    EXPECT_TRUE(history.has_unemitted());
    EXPECT_EQ(ask(), std::vector<std::uint64_t>{2});
    EXPECT_FALSE(history.has_unemitted());
    EXPECT_TRUE(ask().empty());
    history.begin_capture();
    EXPECT_EQ(ask(), (std::vector<std::uint64_t>{1, 2}));
}

}  // namespace
}  // namespace prof::test::graph_history_test
