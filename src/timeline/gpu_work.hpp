// SPDX-License-Identifier: Apache-2.0
// The GPU operations of a capture while its timeline is built: their own times and correlation, and once what
// operations have in common (distinct_records.hpp). A plain value; used by one thread.
#pragma once

#include <cstdint>
#include <map>
#include <type_traits>
#include <vector>

#include "record/gpu_record.hpp"
#include "timeline/distinct_records.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// Operations of one type of record, in the order of add(). Their times are as the record has them, and may be unusable.
template <typename TRecord>
struct gpu_work_of {
    std::vector<gpu_op> ops;
    distinct_records<TRecord> details;

    const TRecord& detail(const gpu_op& op) const noexcept { return details[op.detail]; }
};

class gpu_work {
public:
    gpu_work_of<kernel_record> kernels;
    gpu_work_of<transfer_record> transfers;
    gpu_work_of<graph_record> graphs;

    template <typename TRecord>
    void add(const TRecord& r) {
        gpu_work_of<TRecord>& to = of<TRecord>();
        gpu_op& op = to.ops.emplace_back();
        op.start_ns = static_cast<std::int64_t>(r.start_ns);
        op.end_ns = static_cast<std::int64_t>(r.end_ns);
        if (is_of_the_host(r) && op.start_ns < op.end_ns) op.start_ns = op.end_ns;
        op.correlation = r.correlation;
        op.place = place_of(r);
        op.kind = kind_of(r);
        op.set_detail(to.details.index_of(r));
    }

    // Visits gpu_work_of<TRecord> of each type.
    template <typename TVisit>
    void for_each(TVisit&& visit) {
        visit(kernels);
        visit(transfers);
        visit(graphs);
    }

    template <typename TRecord>
    gpu_work_of<TRecord>& of() noexcept {
        if constexpr (std::is_same_v<TRecord, kernel_record>) {
            return kernels;
        } else if constexpr (std::is_same_v<TRecord, transfer_record>) {
            return transfers;
        } else {
            return graphs;
        }
    }

    const row_table<gpu_place>& places() const noexcept { return places_; }

private:
    // A copy from host to host, one side of which is pageable memory, that no GPU can reach: the CPU makes it in its
    // call, after a wait for the stream, and CUPTI's times are those of the call (measured with XLA's copies of 8
    // bytes, which "took" 4 us to 4 ms). It takes no time of the GPU, and ends when it is made.
    static constexpr bool is_of_the_host(const transfer_record& r) noexcept {
        constexpr std::uint8_t host_to_host = 9;
        constexpr std::uint8_t pageable = 1;
        constexpr std::uint8_t pinned = 2;
        const auto is_host = [](std::uint8_t kind) { return kind == pageable || kind == pinned; };
        return r.kind == transfer_kind::memcpy && r.copy_kind == host_to_host && is_host(r.source_kind) &&
               is_host(r.destination_kind) && (r.source_kind == pageable || r.destination_kind == pageable);
    }
    static constexpr bool is_of_the_host(const kernel_record&) noexcept { return false; }
    static constexpr bool is_of_the_host(const graph_record&) noexcept { return false; }

    static constexpr op_kind kind_of(const kernel_record&) noexcept { return op_kind::kernel; }
    static constexpr op_kind kind_of(const transfer_record& r) noexcept {
        return r.kind == transfer_kind::memset ? op_kind::memset : op_kind::memcpy;
    }
    static constexpr op_kind kind_of(const graph_record&) noexcept { return op_kind::graph; }

    template <typename TRecord>
    place_id place_of(const TRecord& r) {
        const gpu_place place{r.device, r.context, r.stream};
        if (latest_ < places_.size() && places_[latest_] == place) return latest_;
        const auto [found, is_new] = place_index_.try_emplace(place, places_.end_id());
        if (is_new) places_.push_back(place);
        return latest_ = found->second;
    }

    row_table<gpu_place> places_;
    std::map<gpu_place, place_id> place_index_;
    place_id latest_{0};
};

}  // namespace prof
