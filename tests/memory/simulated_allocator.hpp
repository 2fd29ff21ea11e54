// SPDX-License-Identifier: Apache-2.0
// An allocator's records for tests: it knows what is alive, and writes each change into a thread's script as the hook
// does (hooks/allocator).
#pragma once

#include <cstdint>
#include <map>

#include "record/memory.hpp"
#include "support/capture_builder.hpp"

namespace prof {

class simulated_allocator {
public:
    explicit simulated_allocator(std::uint8_t device = 0) : device_(packed_device(1, device)) {}

    // The address of a new block.
    std::uint64_t take(thread_script& on, std::uint64_t ns, std::uint64_t bytes) {
        const std::uint64_t address = next_;
        next_ += bytes + 512;
        take_at(on, ns, address, bytes);
        return address;
    }
    void take_at(thread_script& on, std::uint64_t ns, std::uint64_t address, std::uint64_t bytes) {
        alive[address] = bytes;
        allocated += bytes;
        reserved = std::max(reserved, allocated);
        write(on, ns, {address, bytes, allocated, reserved, false});
    }
    void free(thread_script& on, std::uint64_t ns, std::uint64_t address) {
        const std::uint64_t bytes = alive.at(address);
        alive.erase(address);
        allocated -= bytes;
        write(on, ns, {address, bytes, allocated, reserved, true});
    }
    void fail(thread_script& on, std::uint64_t ns, std::uint64_t bytes) {
        record r = begun(record_kind::out_of_memory, ns);
        r.value = bytes;
        on.add(r);
        on.add(totals(ns));
    }

    std::map<std::uint64_t, std::uint64_t> alive;  // address → bytes
    std::uint64_t allocated = 0;
    std::uint64_t reserved = 0;
    bool writes = true;  // else nobody records

private:
    record begun(record_kind kind, std::uint64_t ns) const {
        record r;
        r.ticks = ns;
        r.kind = kind;
        r.domain = device_;
        return r;
    }
    record totals(std::uint64_t ns) const {
        record r = begun(record_kind::memory_totals, ns);
        pack_totals(r, allocated, reserved);
        return r;
    }
    void write(thread_script& on, std::uint64_t ns, const memory_change& change) {
        if (!writes) return;
        record r = begun(record_kind::memory_block, ns);
        pack(r, change);
        on.add(r);
        if ((r.flags & memory_totals_follow) != 0) on.add(totals(ns));
    }

    std::uint16_t device_;
    std::uint64_t next_ = 0x7F00'0000'0000;
};

}  // namespace prof
