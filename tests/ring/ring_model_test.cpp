// SPDX-License-Identifier: Apache-2.0
// The ring, its life and the gate on all executions that release and acquire allow, within small bounds: the code of
// src/ring with the atomics of a memory model. That each of its orders is needed is shown by taking them away in turn.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <string>

#include "ring/gate.hpp"
#include "ring/memory_model.hpp"
#include "ring/ring_life.hpp"
#include "ring/spsc_ring.hpp"

namespace prof::ring_model_test {
namespace {

namespace model = test::model;
using model::expect;
using model::scenario;

using slot = model::plain<int>;
using model_producer = ring_producer<slot, std::uint8_t, model::atomic>;
using model_consumer = ring_consumer<slot, std::uint8_t, model::atomic>;

// What the ring's header (ring/region_layout.hpp) has, with the model's atomics.
struct model_ring {
    static constexpr std::size_t most_slots = 4;

    explicit model_ring(std::size_t slot_count) : capacity(static_cast<std::uint32_t>(slot_count)) {
        state.call("state");
        thread_uid.call("thread_uid");
        counters.head.call("head");
        counters.tail.call("tail");
    }

    model::atomic<std::uint32_t> state{0};
    std::uint32_t capacity;
    model::atomic<std::uint64_t> thread_uid{0};
    model::plain<int> tid;
    ring_counters<std::uint8_t, model::atomic> counters;
    std::array<slot, most_slots> slots{};
};

// Calls visit(value) for each record, oldest first.
template <typename TView, typename TVisit>
void for_each_record(const TView& view, TVisit&& visit) {
    for (const auto part : {view.first, view.second}) {
        for (const slot& s : part) visit(s.get());
    }
}

// All of `make`'s executions are right; and each acquire and release of it is needed, but for those of a location that
// another scenario needs.
void expect_right_and_tight(const std::function<void(scenario&)>& make, const std::string& but_for = {}) {
    const model::verdict found = explore(make);
    EXPECT_EQ(found.bug, "");
    EXPECT_GT(found.executions, 10U);
    EXPECT_FALSE(found.ordered.empty());
    for (const model::ordered_access& order : found.ordered) {
        if (order.first == but_for) continue;
        model::search_limits limits;
        limits.weakened = order;
        EXPECT_NE(explore(make, limits).bug, "")
            << "nothing is wrong with relaxed access " << static_cast<int>(order.second) << " to " << order.first;
    }
    testing::Test::RecordProperty("executions", std::to_string(found.executions));
}

// ---- one producer, one consumer

void producer_and_consumer(scenario& made, std::size_t capacity, int writes, int reads) {
    struct shared_state : model_ring {
        using model_ring::model_ring;
        int written = 0;
        int read = 0;
    };
    const auto shared = std::make_shared<shared_state>(capacity);
    made.thread([=] {
        model_producer out{&shared->counters, shared->slots.data(), capacity};
        for (int i = 0; i < writes; ++i) {
            if (out.write(shared->written)) ++shared->written;
        }
    });
    made.thread([=] {
        model_consumer in{&shared->counters, shared->slots.data(), capacity};
        for (int i = 0; i < reads; ++i) {
            const auto view = in.peek();
            expect(view.size() <= capacity, "more records than slots");
            for_each_record(view,
                            [&](int value) { expect(value == shared->read++, "a record is not what was written"); });
            in.release(view.end);
        }
    });
    made.at_end([=] {
        model_consumer in{&shared->counters, shared->slots.data(), capacity};
        for_each_record(in.peek(), [&](int value) { expect(value == shared->read++, "a record was overwritten"); });
        expect(shared->read == shared->written, "a record was lost or invented");
    });
}

TEST(RingModel, TwoSlotsHandOverWhatWasWritten) {
    expect_right_and_tight([](scenario& made) { producer_and_consumer(made, 2, 5, 3); });
}

TEST(RingModel, FourSlotsHandOverWhatWasWritten) {
    expect_right_and_tight([](scenario& made) { producer_and_consumer(made, 4, 6, 2); });
}

TEST(RingModel, FindsARecordPublishedBeforeItIsWritten) {
    const model::verdict found = model::explore([](scenario& made) {
        const auto ring = std::make_shared<model_ring>(2);
        made.thread([=] {
            model_producer out{&ring->counters, ring->slots.data(), 2};
            slot* to = nullptr;
            out.put([&](slot& next) { to = &next; });
            to->set(1);
        });
        made.thread([=] {
            for_each_record(model_consumer{&ring->counters, ring->slots.data(), 2}.peek(), [](int) {});
        });
    });
    EXPECT_NE(found.bug.find("race"), std::string::npos) << found.bug;
}

// ---- threads that come and go

struct ring_of_threads : model_ring {
    ring_of_threads() : model_ring(2) {}

    std::array<int, 3> written{};
    std::array<int, 3> drained{};
};

// A thread that claims the ring, writes two records and ends. Its records are 10 × uid, 10 × uid + 1.
void short_life(ring_of_threads& ring, int uid) {
    if (!claim(ring)) return;
    ring.tid.set(100 + uid);
    set_owner(ring, static_cast<std::uint64_t>(uid));
    model_producer out{&ring.counters, ring.slots.data(), ring.capacity};
    int& written = ring.written[static_cast<std::size_t>(uid)];
    for (int i = 0; i < 2; ++i) {
        if (out.write(10 * uid + written)) ++written;
    }
    retire(ring);
}

void drain(ring_of_threads& ring, bool frees_too_early = false) {
    auto found = glance<slot, std::uint8_t, model::atomic>(ring, ring.slots.data());
    if (found.state == ring_state::free) return;
    if (frees_too_early && found.state == ring_state::retired) set_free(ring);
    // As the collector does: the uid belongs to the records that are there.
    const std::uint64_t uid = ring.thread_uid.load(std::memory_order_relaxed);
    for_each_record(found.view, [&](int value) {
        expect(value / 10 == static_cast<int>(uid), "a record is given to another thread");
        expect(value % 10 == ring.drained[uid]++, "a record is lost or comes twice");
    });
    if (const std::uint64_t known = ring.thread_uid.load(std::memory_order_acquire); known != 0) {
        expect(ring.tid.get() == 100 + static_cast<int>(known), "the thread is another");
    }
    found.consumer.release(found.view.end);
    if (found.state == ring_state::retired && !frees_too_early) set_free(ring);
}

void lives_of_two_threads(scenario& made, bool frees_too_early = false) {
    const auto ring = std::make_shared<ring_of_threads>();
    made.thread([=] { short_life(*ring, 1); });
    made.thread([=] { short_life(*ring, 2); });
    made.thread([=] {
        drain(*ring, frees_too_early);
        drain(*ring, frees_too_early);
    });
    made.at_end([=] {
        drain(*ring);
        expect(ring->drained == ring->written, "records were lost");
    });
}

TEST(RingModel, KeepsRecordsWhenAThreadTakesOverARing) {
    // No thread writes more than the slots of its ring, so that it never waits for the tail.
    expect_right_and_tight([](scenario& made) { lives_of_two_threads(made); }, "tail");
}

TEST(RingModel, FindsARingFreedBeforeItIsDrained) {
    EXPECT_NE(model::explore([](scenario& made) { lives_of_two_threads(made, true); }).bug, "");
}

// The counters are looked at before the state: what is written in between is lost to the next owner.
TEST(RingModel, FindsARingStateThatIsReadTooLate) {
    const model::verdict found = model::explore([](scenario& made) {
        const auto ring = std::make_shared<ring_of_threads>();
        made.thread([=] { short_life(*ring, 1); });
        made.thread([=] {
            model_consumer in{&ring->counters, ring->slots.data(), ring->capacity};
            const auto view = in.peek();
            for_each_record(view, [&](int) { ++ring->drained[1]; });
            in.release(view.end);
            if (ring->state.load(std::memory_order_acquire) == static_cast<std::uint32_t>(ring_state::retired)) {
                set_free(*ring);
            }
        });
        made.at_end([=] {
            const bool is_free = ring->state.load() == static_cast<std::uint32_t>(ring_state::free);
            expect(!is_free || ring->drained == ring->written, "records were lost");
        });
    });
    EXPECT_NE(found.bug.find("records were lost"), std::string::npos) << found.bug;
}

// ---- the gate

void gate_scenario(scenario& made) {
    struct shared_state {
        shared_state() {
            gate.call("gate");
            region.call("region");
        }
        model::plain<int> contents;
        model::atomic<std::uint32_t> region{0};
        model::atomic<std::uint32_t> gate{0};
    };
    const auto shared = std::make_shared<shared_state>();
    made.thread([=] {  // a session: started, stopped, started again
        shared->contents.set(7);
        shared->region.store(1, std::memory_order_relaxed);
        set_gate(shared->gate, 1);
        set_gate(shared->gate, 0);
        set_gate(shared->gate, 2);
    });
    made.thread([=] {  // a hook
        std::uint32_t latest = 0;
        for (int i = 0; i < 3; ++i) {
            if (is_shut(shared->gate)) continue;
            const std::uint32_t epoch = epoch_of(shared->gate);
            if (epoch == 0) continue;
            expect(epoch >= latest, "an earlier recording comes back");
            latest = epoch;
            expect(shared->region.load(std::memory_order_relaxed) == 1, "there is no region behind the open gate");
            expect(shared->contents.get() == 7, "the region is not ready");
        }
    });
}

TEST(RingModel, OpenGateImpliesARegion) { expect_right_and_tight(gate_scenario); }

}  // namespace
}  // namespace prof::ring_model_test
