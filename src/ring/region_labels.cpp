// SPDX-License-Identifier: Apache-2.0
// The labels in the mapping, and the domains, whose names are labels.
#include <algorithm>

#include "ring/region.hpp"

namespace prof {

// Programs set the same label again and again, so only a new one takes an entry. Some entries are reserved for domains
// that are yet to come, because a range whose domain has no name would appear in another one.
void region::add_label(label_kind kind, std::uint64_t key, std::uint32_t name) noexcept {
    // relaxed: hands out disjoint entries; each is published by its kind.
    std::uint32_t used = header_->labels_reserved.load(std::memory_order_relaxed);
    label known;
    for (std::uint32_t i = used; i-- > 0;) {
        if (!label_at(i, known) || known.kind != kind || known.key != key) continue;
        if (known.name == name) return;
        break;  // the latest label of a key is the valid one
    }
    const std::uint32_t domains = header_->domain_count.load(std::memory_order_relaxed);
    const std::uint32_t to_come = domain_limit - std::min(domains, domain_limit);
    const std::uint32_t kept = kind == label_kind::domain ? 0 : std::min(to_come, header_->label_capacity / 16);
    do {
        if (used >= header_->label_capacity - kept) {
            count_drop(drop_cause::labels_full);
            return;
        }
    } while (!header_->labels_reserved.compare_exchange_weak(used, used + 1, std::memory_order_relaxed));
    labels_[used].name = name;
    labels_[used].key = key;
    // release: pairs with label_at's acquire.
    labels_[used].kind.store(static_cast<std::uint32_t>(kind), std::memory_order_release);
}

std::uint64_t region::thread_label_key(std::uint32_t tid) noexcept {
    for (const ring_header& ring : rings()) {
        // acquire: the tid was written before the uid.
        const std::uint64_t uid = ring.thread_uid.load(std::memory_order_acquire);
        // relaxed: the thread may end meanwhile; the name then belongs to no thread.
        const bool is_claimed =
            ring.state.load(std::memory_order_relaxed) == static_cast<std::uint32_t>(ring_state::claimed);
        if (is_claimed && ring.tid.load(std::memory_order_relaxed) == tid) return thread_key(uid, tid);
    }
    return thread_key(0, tid);
}

std::uint32_t region::domain(std::string_view name) noexcept {
    const std::uint32_t id = keep(name);
    // relaxed: a plain number; no other data depends on it.
    const std::uint32_t known = header_->domain_count.load(std::memory_order_relaxed);
    for (std::uint32_t i = 1; i < std::min(known, domain_limit); ++i) {
        if (domain_names_[i].load(std::memory_order_relaxed) == id + 1) return i;
    }
    // Two threads that create the same domain at the same instant get two indices for one name. The reader merges them
    // by name. relaxed: a plain counter.
    const std::uint32_t index = header_->domain_count.fetch_add(1, std::memory_order_relaxed);
    if (index >= domain_limit) {
        // relaxed: as above; the counter must not wrap.
        header_->domain_count.store(domain_limit, std::memory_order_relaxed);
        return domain_limit;
    }
    domain_names_[index].store(id + 1, std::memory_order_relaxed);
    add_label(label_kind::domain, index, id);
    return index;
}

bool region::label_at(std::uint32_t index, label& out) const noexcept {
    if (index >= header_->label_capacity) return false;
    // acquire: pairs with add_label's release.
    const std::uint32_t kind = labels_[index].kind.load(std::memory_order_acquire);
    if (kind == 0) return false;
    out = {static_cast<label_kind>(kind), labels_[index].name, labels_[index].key};
    return true;
}

}  // namespace prof
