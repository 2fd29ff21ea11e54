// SPDX-License-Identifier: Apache-2.0
#include "ring/region.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "ring/registry.hpp"
#include "ring/storage.hpp"
#include "support/scratch_directory.hpp"

namespace prof::region_test {
namespace {

using test::scratch_directory;

region_options tiny(const std::string& place) {
    region_options options;
    options.place = place;
    options.large_rings = 2;
    options.large_ring_bytes = 4096;
    options.medium_rings = 0;
    options.small_rings = 2;
    options.small_ring_bytes = 1024;
    options.name_bytes = 1U << 16;
    options.name_slots = 256;
    options.label_capacity = 8;
    return options;
}

TEST(Region, HasAFileOnlyWhilePublished) {
    scratch_directory scratch;
    {
        region where(tiny(scratch.path));
        EXPECT_EQ(where.notice(), "");
        EXPECT_EQ(scratch.entry_count(), 0U);
        where.publish();
        where.publish();
        EXPECT_EQ(scratch.entry_count(), 1U);
        struct stat status {};
        ASSERT_EQ(stat(where.path().c_str(), &status), 0);
        EXPECT_EQ(status.st_mode & 0777, 0600U);
    }
    EXPECT_EQ(scratch.entry_count(), 0U);
}

TEST(Region, FallsBackToMemoryWithAReason) {
    region where(tiny("/nonexistent/folder"));
    EXPECT_EQ(where.path(), "");
    EXPECT_NE(where.notice().find("/nonexistent/folder: No such file or directory"), std::string::npos)
        << where.notice();
    EXPECT_NE(where.claim_ring(1), nullptr);
}

// f_type of statfs(2).
TEST(Region, RefusesPlacesWherePageWritesMayFail) {
    constexpr std::int64_t tmpfs = 0x01021994;
    constexpr std::int64_t ext4 = 0xEF53;
    constexpr std::int64_t xfs = 0x58465342;
    constexpr std::int64_t overlay = 0x794C7630;
    constexpr std::int64_t btrfs = 0x9123683E;
    constexpr std::int64_t zfs = 0x2FC12FC1;
    constexpr std::int64_t bcachefs = 0xCA451A4E;
    constexpr std::int64_t f2fs = 0xF2F52010;
    constexpr std::int64_t nfs = 0x6969;
    constexpr std::int64_t fuse = 0x65735546;
    constexpr std::int64_t ramfs = 0x858458F6;
    constexpr std::int64_t lustre = 0x0BD00BD0;
    for (const std::int64_t good : {tmpfs, ext4, xfs}) EXPECT_TRUE(keeps_allocated_blocks(good, false)) << good;
    for (const std::int64_t bad : {btrfs, zfs, bcachefs, f2fs, nfs, fuse, ramfs, lustre, std::int64_t{0}}) {
        EXPECT_FALSE(keeps_allocated_blocks(bad, true)) << bad;
    }
    EXPECT_TRUE(keeps_allocated_blocks(overlay, true));
    EXPECT_FALSE(keeps_allocated_blocks(overlay, false));
}

TEST(Region, GivesLargeRingsFirstThenMediumThenSmallThenNone) {
    region_options options = tiny("memory");
    options.medium_rings = 1;
    options.medium_ring_bytes = 2048;
    region where(options);
    std::vector<std::uint32_t> capacities;
    std::set<std::uint64_t> uids;
    while (ring_header* ring = where.claim_ring(7)) {
        capacities.push_back(ring->capacity);
        uids.insert(ring->thread_uid.load());
    }
    EXPECT_EQ(capacities, (std::vector<std::uint32_t>{128, 128, 64, 32, 32}));
    EXPECT_EQ(uids.size(), 5U);
}

TEST(Region, GivesAFreedRingToTheNextThreadUnderANewUid) {
    region where(tiny("memory"));
    ring_header* first = where.claim_ring(7);
    const std::uint64_t uid = first->thread_uid.load();
    where.retire_ring(*first);
    EXPECT_NE(where.claim_ring(8), first);  // retired: not yet drained
    where.free_ring(*first);
    EXPECT_EQ(where.claim_ring(9), first);
    EXPECT_NE(first->thread_uid.load(), uid);
    EXPECT_EQ(first->tid.load(), 9U);
}

TEST(Region, GivesADomainOfOneNameOneIndex) {
    region where(tiny("memory"));
    const std::uint32_t nccl = where.domain("NCCL");
    EXPECT_EQ(nccl, 1U);
    EXPECT_EQ(where.domain("cuDNN"), 2U);
    EXPECT_EQ(where.domain("NCCL"), nccl);
    label found;
    ASSERT_TRUE(where.label_at(0, found));
    EXPECT_EQ(found.kind, label_kind::domain);
    EXPECT_EQ(found.key, nccl);
    EXPECT_EQ(where.names().text(found.name), "NCCL");
}

TEST(Region, CountsLabelsBeyondItsTable) {
    region where(tiny("memory"));
    for (std::uint32_t i = 0; i < 10; ++i) where.add_label(label_kind::thread, i, 1);
    EXPECT_EQ(where.drops()[static_cast<std::size_t>(drop_cause::labels_full)], 2U);
}

TEST(Region, RepeatedLabelTakesNoPlace) {
    region where(tiny("memory"));
    for (int i = 0; i < 100; ++i) where.add_label(label_kind::category, 1, 5);
    for (const std::uint32_t name : {6U, 6U, 5U, 5U}) where.add_label(label_kind::category, 1, name);
    where.add_label(label_kind::thread, 1, 5);
    std::vector<std::uint32_t> names;
    label found;
    for (std::uint32_t i = 0; where.label_at(i, found); ++i) names.push_back(found.name);
    EXPECT_EQ(names, (std::vector<std::uint32_t>{5, 6, 5, 5})) << "the latest holds";
    EXPECT_EQ(where.drops()[static_cast<std::size_t>(drop_cause::labels_full)], 0U);
}

TEST(Region, KeepsDomainNamesWhenTheLabelTableIsFull) {
    region_options options = tiny("memory");
    options.label_capacity = 4096;
    options.name_slots = 1024;
    region where(options);
    for (std::uint64_t i = 0; i < 5000; ++i) where.add_label(label_kind::thread, i, 1);
    EXPECT_LE(where.header().labels_reserved.load(), options.label_capacity);
    for (int round = 0; round < 2; ++round) {
        for (std::uint32_t i = 1; i < domain_limit; ++i) EXPECT_EQ(where.domain("domain " + std::to_string(i)), i);
        EXPECT_EQ(where.domain("one too many"), domain_limit);
    }
    std::set<std::string> named;
    label found;
    for (std::uint32_t i = 0; where.label_at(i, found); ++i) {
        if (found.kind == label_kind::domain) named.insert(std::string{where.names().text(found.name)});
    }
    EXPECT_EQ(named.size(), domain_limit - 1);
}

// None of those beyond its table takes an index: it is the same domain each time.
TEST(Region, KeepsOneIndexForADomainWhoseNameFindsNoPlace) {
    region where(tiny("memory"));
    for (std::uint64_t i = 0; i < 10; ++i) where.add_label(label_kind::thread, i, 1);
    const std::uint32_t mine = where.domain("mine");
    for (int i = 0; i < 300; ++i) EXPECT_EQ(where.domain("mine"), mine);
}

// --- registry ------------------------------------------------------------------------------------------------------

std::atomic<int> first_uses{0};

struct installed {
    explicit installed(region& where) {
        install_region(
            &where, +[]() noexcept {
                first_uses.fetch_add(1);
                return first_use_outcome::begun;
            });
        recording_epoch.store(1);
    }
    ~installed() {
        recording_epoch.store(0);
        install_region(nullptr, nullptr);
    }
};

// While a thread makes the first record of a recording, that is ended and the next is begun.
TEST(Registry, RecordsInTheNextEpochIfTheFirstUseOutlastsItsOwn) {
    region where(tiny("memory"));
    static region* next = nullptr;
    static std::atomic<int> next_uses{0};
    next = &where;
    next_uses = 0;
    const installed in_use(where);
    install_region(
        &where, +[]() noexcept {
            install_region(
                next, +[]() noexcept {
                    next_uses.fetch_add(1);
                    return first_use_outcome::begun;
                });
            recording_epoch.store(2);
            return first_use_outcome::begun;
        });
    std::thread([] {
        producer* const out = recording_producer();
        ASSERT_NE(out, nullptr);
        EXPECT_EQ(out->epoch(), 2U);
    }).join();
    EXPECT_EQ(next_uses.load(), 1);
    EXPECT_EQ(where.drops()[static_cast<std::size_t>(drop_cause::signal_handler)], 0U);
}

TEST(Registry, RecordsNothingIfTheRecordingEndsDuringTheFirstUse) {
    region where(tiny("memory"));
    const installed in_use(where);
    install_region(
        &where, +[]() noexcept {
            recording_epoch.store(0);
            return first_use_outcome::begun;
        });
    std::thread([] { EXPECT_EQ(recording_producer(), nullptr); }).join();
    EXPECT_TRUE(where.rings().empty());
    EXPECT_TRUE(first_use_was_met());
}

TEST(Registry, CallsAgainForAFirstUseThatWasPutOff) {
    region where(tiny("memory"));
    const installed in_use(where);
    static std::atomic<int> calls{0};
    calls = 0;
    install_region(
        &where,
        +[]() noexcept { return calls.fetch_add(1) == 0 ? first_use_outcome::put_off : first_use_outcome::begun; });
    std::thread([&] {
        EXPECT_EQ(recording_producer(), nullptr);
        EXPECT_FALSE(first_use_was_met());
        EXPECT_NE(recording_producer(), nullptr);
    }).join();
    EXPECT_EQ(calls.load(), 2);
    EXPECT_EQ(where.drops()[static_cast<std::size_t>(drop_cause::signal_handler)], 1U);
}

TEST(Registry, AttachesEachThreadOnceAndRetiresItsRingAtItsEnd) {
    region where(tiny("memory"));
    const installed in_use(where);
    first_uses = 0;
    std::uint64_t uid = 0;
    std::thread([&] {
        producer* out = recording_producer();
        ASSERT_NE(out, nullptr);
        EXPECT_EQ(recording_producer(), out);
        uid = out->ring()->thread_uid.load();
    }).join();
    EXPECT_EQ(first_uses.load(), 1);
    ring_header& ring = where.rings().front();
    EXPECT_EQ(ring.thread_uid.load(), uid);
    EXPECT_EQ(ring.state.load(), static_cast<std::uint32_t>(ring_state::retired));
}

TEST(Registry, GivesNoProducerWhileTheGateIsShut) {
    region where(tiny("memory"));
    const installed in_use(where);
    recording_epoch.store(0);
    EXPECT_EQ(recording_producer(), nullptr);
}

TEST(Registry, KeepsAThreadsRingThroughTheNextRecording) {
    region where(tiny("memory"));
    const installed in_use(where);
    std::thread([] {
        producer* out = recording_producer();
        ring_header* ring = out->ring();
        out->push({});
        recording_epoch.store(2);
        producer* again = recording_producer();
        EXPECT_EQ(again->ring(), ring);
        EXPECT_EQ(again->epoch(), 2U);
        EXPECT_LT(again->pop({}), 0);  // the push belongs to the recording before
    }).join();
}

// It costs no memory, its records are counted, and the next recording has a ring for it if one is free by then.
TEST(Registry, GivesNoProducerToAThreadWithoutARing) {
    region_options options = tiny("memory");
    options.large_rings = 1;
    options.medium_rings = options.small_rings = 0;
    region where(options);
    const installed in_use(where);
    ring_header* taken = where.claim_ring(1);
    ASSERT_NE(taken, nullptr);
    std::thread([&] {
        for (int i = 0; i < 3; ++i) EXPECT_EQ(recording_producer(), nullptr);
        EXPECT_EQ(this_thread.out, nullptr);
        EXPECT_EQ(where.drops()[static_cast<std::size_t>(drop_cause::no_ring)], 3U);
        where.free_ring(*taken);
        EXPECT_EQ(recording_producer(), nullptr) << "not before the next recording";
        recording_epoch.store(2);
        EXPECT_NE(recording_producer(), nullptr);
    }).join();
}

TEST(Registry, ReusesRingsForThreadsThatComeAndGo) {
    region where(tiny("memory"));
    const installed in_use(where);
    for (int i = 0; i < 100; ++i) {
        std::thread([] { recording_producer()->write({}); }).join();
        for (ring_header& ring : where.rings()) {
            if (ring.state.load() == static_cast<std::uint32_t>(ring_state::retired)) where.free_ring(ring);
        }
    }
    EXPECT_EQ(where.rings().size(), 1U);
    EXPECT_EQ(where.drops()[static_cast<std::size_t>(drop_cause::no_ring)], 0U);
}

// A word of the gate that another thread changes just before it is stored.
struct meddled_word {
    std::uint32_t load() const { return value; }
    void store(std::uint32_t to) {
        if (const auto meddle = std::exchange(before_store, nullptr)) meddle();
        value = to;
    }
    std::uint32_t value = 0;
    std::function<void()> before_store;
};

TEST(Gate, PlainNumberIsTheLastOneSetByAnyThread) {
    const std::atomic<bool> unwatched{false};
    for (const auto& [first, second] : {std::pair{5U, 0U}, {0U, 6U}, {5U, 6U}}) {
        meddled_word gate{first, nullptr};
        meddled_word plain;
        plain.before_store = [&, other = second] {
            gate.value = other;
            follow_gate(gate, unwatched, plain);
        };
        follow_gate(gate, unwatched, plain);
        EXPECT_EQ(plain.value, second == 0 ? no_plain_epoch : second);
    }
}

TEST(Gate, HasNoPlainNumberWhileRangesAreWatched) {
    EXPECT_EQ(plain_epoch.load(), no_plain_epoch);
    set_gate(recording_epoch, 7);
    EXPECT_EQ(plain_epoch.load(), 7U);
    watch_all_ranges(true);
    EXPECT_EQ(plain_epoch.load(), no_plain_epoch);
    set_gate(recording_epoch, 8);
    EXPECT_EQ(plain_epoch.load(), no_plain_epoch);
    watch_all_ranges(false);
    EXPECT_EQ(plain_epoch.load(), 8U);
    set_gate(recording_epoch, 0);
    EXPECT_EQ(plain_epoch.load(), no_plain_epoch);
}

// Whatever is named with its tid: the thread of now, whether it has a ring already or gets one later, and no later
// thread.
TEST(Registry, GivesTheThreadOfAName) {
    region where(tiny("memory"));
    const installed use(where);
    const std::uint32_t name = where.intern("loader");
    std::uint32_t tid = 0;
    std::uint64_t uid = 0;
    std::thread([&] {
        tid = static_cast<std::uint32_t>(gettid());
        name_thread(where, tid, name);
        label none;
        EXPECT_FALSE(where.label_at(0, none)) << "it has recorded nothing, and may never";
        uid = attach_this_thread(1)->ring()->thread_uid.load();
        EXPECT_EQ(where.thread_label_key(tid), thread_key(uid, tid));
        name_thread(where, tid, name);  // known: it takes no place
    }).join();
    name_thread(where, tid, name);  // there is none any more
    const std::vector<std::uint64_t> expected = {thread_key(uid, tid), thread_key(0, tid)};
    for (std::uint32_t i = 0; i < expected.size(); ++i) {
        label found;
        ASSERT_TRUE(where.label_at(i, found)) << i;
        EXPECT_EQ(found.kind, label_kind::thread);
        EXPECT_EQ(found.key, expected[i]) << i;
        EXPECT_EQ(found.name, name);
    }
}

}  // namespace
}  // namespace prof::region_test
