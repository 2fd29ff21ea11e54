// SPDX-License-Identifier: Apache-2.0
// simulated_gpu: launching, the passing of time and the journal.
#include <unistd.h>

#include <algorithm>

#include "fakes/gpu/simulated_gpu.hpp"

namespace fake {
namespace {

std::uint64_t later(std::uint64_t start_ns, std::uint64_t duration_ns) {
    return duration_ns > FAKE_GPU_NEVER - start_ns ? FAKE_GPU_NEVER : start_ns + duration_ns;
}

std::uint64_t take_duration_ns(std::uint64_t duration_ns) {
    const next_operation next = std::exchange(next_on_this_thread(), {});
    if (next.never_completes) {
        return FAKE_GPU_NEVER;
    }
    return next.duration_ns == 0 ? duration_ns : next.duration_ns;
}

constexpr auto ends_later = [](const auto& one, const auto& other) {
    return one.end_ns != other.end_ns ? one.end_ns > other.end_ns : one.index > other.index;
};

}  // namespace

simulated_gpu::issued simulated_gpu::issue(fake_gpu_operation operation) {
    operation.submitted_ns = clock.now_ns();
    operation.thread_id = static_cast<std::uint32_t>(gettid());
    operation.end_ns = operation.start_ns = FAKE_GPU_NEVER;
    {
        const std::scoped_lock lock{mutex_};
        operation.index = journal_.size();
        journal_.push_back(operation);
    }
    tool* attached = attached_tool();
    operation.end_ns = operation.start_ns = 0;
    return {operation.index, attached == nullptr ? 0 : attached->operation_issued(operation)};
}

std::uint64_t simulated_gpu::ready_ns(const CUstream_st& stream) const {
    std::uint64_t ready = stream.free_at_ns;
    if (stream.is_legacy_default) {
        for (const auto& other : streams_) {
            if (other->is_blocking && other->context == stream.context) {
                ready = std::max(ready, other->free_at_ns);
            }
        }
    } else if (stream.is_blocking) {
        ready = std::max(ready, default_streams_.at({stream.context->id, 0})->free_at_ns);
    }
    return ready;
}

std::uint64_t simulated_gpu::schedule(issued what, std::uint64_t start_ns, std::uint64_t duration_ns) {
    fake_gpu_operation& operation = journal_[what.index];
    const tool* attached = tool_;
    const bool is_serialized =
        operation.kind == FAKE_GPU_KERNEL && attached != nullptr && attached->serializes_kernels();
    operation.start_ns = is_serialized ? std::max(start_ns, kernels_free_at_ns_) : start_ns;
    operation.end_ns = later(operation.start_ns, duration_ns);
    if (is_serialized) {
        kernels_free_at_ns_ = operation.end_ns;
    }
    in_flight_.push_back({operation.end_ns, what.index, what.ticket});
    std::ranges::push_heap(in_flight_, ends_later);
    return operation.end_ns;
}

void simulated_gpu::launch(CUstream stream, fake_gpu_operation operation, std::uint64_t duration_ns) {
    duration_ns = take_duration_ns(duration_ns);
    operation.device = stream->context->device;
    operation.context = stream->context->id;
    operation.stream = stream->id;
    CUgraphNode node = nullptr;
    CUgraph graph = nullptr;
    {
        const std::scoped_lock lock{mutex_};
        graph = stream->capture;
        if (graph != nullptr) {
            node = add_node(stream, operation, duration_ns);
        }
    }
    if (node != nullptr) {
        announce(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, graph, node);
        return;
    }
    const issued what = issue(operation);
    const std::scoped_lock lock{mutex_};
    const std::uint64_t start_ns = std::max(ready_ns(*stream), journal_[what.index].submitted_ns + launch_latency_ns);
    stream->free_at_ns = schedule(what, start_ns, duration_ns);
}

// --- the passing of time, the journal -----------------------------------------------------------

void simulated_gpu::settle() {
    const std::scoped_lock handing_on{settling_};
    const std::uint64_t now_ns = clock.now_ns();
    while (true) {
        in_flight ended{};
        fake_gpu_operation operation{};
        {
            const std::scoped_lock lock{mutex_};
            if (in_flight_.empty() || in_flight_.front().end_ns > now_ns ||
                in_flight_.front().end_ns == FAKE_GPU_NEVER) {
                return;
            }
            ended = in_flight_.front();
            std::ranges::pop_heap(in_flight_, ends_later);
            in_flight_.pop_back();
            operation = journal_[ended.index];
        }
        if (tool* attached = attached_tool()) {
            attached->operation_ended(ended.ticket, operation);
        }
    }
}

bool simulated_gpu::has_operations_in_flight() const {
    const std::scoped_lock lock{mutex_};
    return std::ranges::any_of(in_flight_,
                               [](const in_flight& operation) { return operation.end_ns != FAKE_GPU_NEVER; });
}

std::size_t simulated_gpu::journal_size() const {
    const std::scoped_lock lock{mutex_};
    return journal_.size();
}

bool simulated_gpu::journal_entry(std::size_t index, fake_gpu_operation& operation) const {
    const std::scoped_lock lock{mutex_};
    if (index >= journal_.size()) {
        return false;
    }
    operation = journal_[index];
    return true;
}

void simulated_gpu::set_record_state(std::uint64_t index, fake_gpu_record_state state) {
    const std::scoped_lock lock{mutex_};
    if (index < journal_.size()) {
        journal_[index].record = state;
    }
}

}  // namespace fake
