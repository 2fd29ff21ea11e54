// SPDX-License-Identifier: Apache-2.0
#include "fakes/gpu/simulated_gpu.hpp"

#include <cupti_activity.h>
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace fake {
namespace {

constexpr std::uint32_t first_default_stream_id = 7;  // as the real driver numbers them

std::string_view environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

fake_gpu_device simulated_device() {
    fake_gpu_device device{};
    std::strcpy(device.name, "Simulated GPU");
    device.memory_bytes = std::uint64_t{16} << 30;
    device.compute_major = 9;
    device.multiprocessors = 132;
    return device;
}

template <class T>
void destroy(std::vector<std::unique_ptr<T>>& owned, const T* object) {
    std::erase_if(owned, [object](const auto& each) { return each.get() == object; });
}

}  // namespace

next_operation& next_on_this_thread() {
    static thread_local next_operation next;
    return next;
}

simulated_gpu& simulated_gpu::instance() {
    static simulated_gpu& gpu = *[] {
        auto* created = new simulated_gpu;
        created->reset();
        return created;
    }();
    return gpu;
}

void simulated_gpu::reset() {
    if (void (*also)() = at_reset_) {
        also();
    }
    for (auto& handler : handlers_) {
        handler = nullptr;
    }
    const std::scoped_lock lock{mutex_};
    clock.reset(environment("FAKE_GPU_CLOCK") == "virtual");
    api_cost_ns = 1'000;
    launch_latency_ns = 2'000;
    const std::string given{environment("FAKE_GPU_CALLS_BEFORE")};
    last_correlation_id_ = given.empty() ? 0 : static_cast<std::uint32_t>(std::stoul(given));
    const std::string devices{environment("FAKE_GPU_DEVICES")};
    device_count_ = devices.empty() ? 1 : std::atoi(devices.c_str());
    devices_.fill(simulated_device());
    contexts_ = {};
    default_streams_.clear();
    streams_.clear();
    events_.clear();
    functions_.clear();
    functions_at_.clear();
    for (const auto& [address, block] : allocations_) {
        std::free(reinterpret_cast<void*>(address));
    }
    allocations_.clear();
    graphs_.clear();
    graph_execs_.clear();
    last_stream_id_ = first_default_stream_id - 1;
    last_graph_id_ = 0;
    broken_after_ = 0;
    broken_up_to_ = 0;
    conditions_.clear();
    kernels_free_at_ns_ = 0;
    journal_.clear();
    in_flight_.clear();
    next_on_this_thread() = {};
}

// --- devices, contexts, streams, events --------------------------------------------------------

fake_gpu_device simulated_gpu::device(int index) const {
    const std::scoped_lock lock{mutex_};
    return devices_.at(static_cast<std::size_t>(index));
}

void simulated_gpu::set_device(int index, const fake_gpu_device& device) {
    const std::scoped_lock lock{mutex_};
    devices_.at(static_cast<std::size_t>(index)) = device;
}

CUcontext simulated_gpu::existing_context(int device) const {
    const std::scoped_lock lock{mutex_};
    return contexts_.at(static_cast<std::size_t>(device)).get();
}

CUcontext simulated_gpu::primary_context(int device) {
    CUcontext context = nullptr;
    CUstream default_stream = nullptr;
    {
        const std::scoped_lock lock{mutex_};
        auto& slot = contexts_.at(static_cast<std::size_t>(device));
        if (slot != nullptr) {
            return slot.get();
        }
        const auto index = static_cast<std::uint32_t>(device);
        slot = std::make_unique<CUctx_st>(CUctx_st{.id = index + 1, .device = index});
        context = slot.get();
        auto& stream = default_streams_[{context->id, 0}];
        stream = std::make_unique<CUstream_st>(
            CUstream_st{.id = ++last_stream_id_, .context = context, .is_legacy_default = true});
        default_stream = stream.get();
    }
    if (tool* attached = attached_tool()) {
        attached->resource_changed(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, context, default_stream, nullptr);
    }
    return context;
}

CUstream simulated_gpu::create_stream(CUcontext context, bool is_blocking) {
    const std::scoped_lock lock{mutex_};
    streams_.push_back(std::make_unique<CUstream_st>(
        CUstream_st{.id = ++last_stream_id_, .context = context, .is_blocking = is_blocking}));
    return streams_.back().get();
}

void simulated_gpu::destroy_stream(CUstream stream) {
    const std::scoped_lock lock{mutex_};
    destroy(streams_, stream);
}

CUstream simulated_gpu::resolve_stream(CUstream handle, CUcontext context) {
    const std::scoped_lock lock{mutex_};
    if (handle == nullptr || handle == CU_STREAM_LEGACY) {
        return default_streams_[{context->id, 0}].get();
    }
    if (handle == CU_STREAM_PER_THREAD) {
        auto& stream = default_streams_[{context->id, gettid()}];
        if (stream == nullptr) {
            stream = std::make_unique<CUstream_st>(
                CUstream_st{.id = ++last_stream_id_, .context = context, .is_blocking = true});
        }
        return stream.get();
    }
    const auto known = std::ranges::find(streams_, handle, &std::unique_ptr<CUstream_st>::get);
    return known == streams_.end() ? nullptr : known->get();
}

CUevent simulated_gpu::create_event() {
    const std::scoped_lock lock{mutex_};
    events_.push_back(std::make_unique<CUevent_st>());
    return events_.back().get();
}

void simulated_gpu::destroy_event(CUevent event) {
    const std::scoped_lock lock{mutex_};
    destroy(events_, event);
}

void simulated_gpu::record_event(CUevent event, CUstream stream) {
    const std::scoped_lock lock{mutex_};
    event->capture = stream->capture;
    event->capture_tail = stream->capture_tail;
    event->is_recorded = true;
    event->time_ns = std::max(ready_ns(*stream), clock.now_ns());
}

void simulated_gpu::wait_event(CUstream stream, CUevent event) {
    const std::scoped_lock lock{mutex_};
    if (event->capture != nullptr) {
        stream->capture = event->capture;
        stream->capture_tail.insert(stream->capture_tail.end(), event->capture_tail.begin(), event->capture_tail.end());
    } else if (event->is_recorded) {
        stream->free_at_ns = std::max(stream->free_at_ns, event->time_ns);
    }
}

std::uint64_t simulated_gpu::stream_end_ns(CUstream stream) const {
    const std::scoped_lock lock{mutex_};
    return ready_ns(*stream);
}

std::uint64_t simulated_gpu::context_end_ns(CUcontext context) const {
    const std::scoped_lock lock{mutex_};
    std::uint64_t end_ns = 0;
    const auto see = [&](const CUstream_st& stream) {
        if (stream.context == context) {
            end_ns = std::max(end_ns, stream.free_at_ns);
        }
    };
    for (const auto& [key, stream] : default_streams_) {
        see(*stream);
    }
    for (const auto& stream : streams_) {
        see(*stream);
    }
    return end_ns;
}

std::uint64_t simulated_gpu::event_end_ns(CUevent event) const {
    const std::scoped_lock lock{mutex_};
    return event->time_ns;
}

// --- functions and memory ----------------------------------------------------------------------

CUfunction simulated_gpu::function(const std::string& name) {
    const std::scoped_lock lock{mutex_};
    auto& known = functions_[name];
    if (known == nullptr) {
        known = std::make_unique<CUfunc_st>();
        known->name = name;
    }
    return known.get();
}

CUfunction simulated_gpu::function_at(const void* address) {
    {
        const std::scoped_lock lock{mutex_};
        if (const auto known = functions_at_.find(address); known != functions_at_.end()) {
            return known->second;
        }
    }
    Dl_info info{};
    const bool has_symbol = dladdr(address, &info) != 0 && info.dli_sname != nullptr;
    return function(has_symbol ? info.dli_sname : "unregistered_kernel");
}

void simulated_gpu::register_kernel(const void* address, const std::string& name, std::uint64_t duration_ns) {
    const CUfunction registered = function(name);
    const std::scoped_lock lock{mutex_};
    if (duration_ns != 0) {
        registered->duration_ns = duration_ns;
    }
    functions_at_[address] = registered;
}

void* simulated_gpu::allocate(std::size_t bytes, std::uint8_t kind) {
    void* block = std::calloc(std::max<std::size_t>(bytes, 1), 1);
    const std::scoped_lock lock{mutex_};
    allocations_[reinterpret_cast<std::uintptr_t>(block)] = {bytes, kind};
    return block;
}

bool simulated_gpu::release(void* address, std::uint8_t kind) {
    const std::scoped_lock lock{mutex_};
    const auto block = allocations_.find(reinterpret_cast<std::uintptr_t>(address));
    if (block == allocations_.end() || block->second.kind != kind) {
        return false;
    }
    allocations_.erase(block);
    std::free(address);
    return true;
}

std::uint8_t simulated_gpu::memory_kind(const void* address) const {
    const std::scoped_lock lock{mutex_};
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    const auto after = allocations_.upper_bound(wanted);
    if (after == allocations_.begin()) {
        return CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
    }
    const auto& [start, block] = *std::prev(after);
    return wanted < start + std::max<std::size_t>(block.bytes, 1) ? block.kind
                                                                  : std::uint8_t{CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE};
}

}  // namespace fake
