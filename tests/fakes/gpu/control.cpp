// SPDX-License-Identifier: Apache-2.0
// fake_gpu.h.
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "fakes/fake_gpu.h"
#include "fakes/gpu/driver.hpp"
#include "fakes/gpu/simulated_gpu.hpp"

using fake::simulated_gpu;

namespace {

const char* kind_name(std::uint32_t kind) {
    constexpr const char* names[] = {"?", "kernel", "memcpy", "memset", "memcpy_peer", "graph"};
    return names[kind < std::size(names) ? kind : 0];
}

const char* record_name(std::uint32_t state) {
    constexpr const char* names[] = {"none", "pending", "delivered", "incomplete", "dropped"};
    return names[state < std::size(names) ? state : 0];
}

struct journal_at_exit {
    ~journal_at_exit() {
        const char* path = std::getenv("FAKE_GPU_JOURNAL");
        if (path != nullptr && simulated_gpu::instance().journal_size() > 0) {
            fake_gpu_write_journal(path);
        }
    }
} const at_exit;

}  // namespace

extern "C" {

void fake_gpu_reset(void) {
    simulated_gpu::instance().reset();
    fake::reset_driver();
}

void fake_gpu_set_clock(fake_gpu_clock clock) {
    simulated_gpu::instance().clock.reset(clock == FAKE_GPU_CLOCK_VIRTUAL);
}

uint64_t fake_gpu_now_ns(void) { return simulated_gpu::instance().clock.now_ns(); }

void fake_gpu_set_now_ns(uint64_t now_ns) { simulated_gpu::instance().clock.set_ns(now_ns); }

void fake_gpu_advance_ns(uint64_t ns) { simulated_gpu::instance().clock.advance_ns(ns); }

void fake_gpu_set_api_cost_ns(uint64_t ns) { simulated_gpu::instance().api_cost_ns = ns; }

void fake_gpu_set_launch_latency_ns(uint64_t ns) { simulated_gpu::instance().launch_latency_ns = ns; }

void fake_gpu_interrupt(fake_gpu_place place, void (*handler)(void)) {
    simulated_gpu::instance().interrupt(place, handler);
}

void fake_gpu_settle(void) {
    simulated_gpu& gpu = simulated_gpu::instance();
    gpu.settle();
    if (fake::tool* attached = gpu.attached_tool()) {
        attached->wait_until_delivered();
    }
}

void fake_gpu_set_device_count(int count) { simulated_gpu::instance().set_device_count(count); }

void fake_gpu_set_device(int index, const fake_gpu_device* device) {
    simulated_gpu::instance().set_device(index, *device);
}

void fake_gpu_register_kernel(const void* function, const char* name, uint64_t duration_ns) {
    simulated_gpu::instance().register_kernel(function, name, duration_ns);
}

void fake_gpu_next_duration_ns(uint64_t duration_ns) { fake::next_on_this_thread().duration_ns = duration_ns; }

void fake_gpu_next_kernel_duration_ns(uint64_t duration_ns) { fake_gpu_next_duration_ns(duration_ns); }

void fake_gpu_set_condition(uint64_t handle, uint32_t value) { simulated_gpu::instance().set_condition(handle, value); }

void fake_gpu_next_never_completes(void) { fake::next_on_this_thread().never_completes = true; }

size_t fake_gpu_journal_size(void) { return simulated_gpu::instance().journal_size(); }

int fake_gpu_journal_entry(size_t index, fake_gpu_operation* operation) {
    return simulated_gpu::instance().journal_entry(index, *operation) ? 1 : 0;
}

int fake_gpu_write_journal(const char* path) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::fopen(path, "w"), std::fclose};
    if (file == nullptr) {
        return 0;
    }
    std::fputs(
        "index,kind,name,correlation,thread,device,context,stream,submitted_ns,start_ns,end_ns,"
        "bytes,copy_kind,grid_x,grid_y,grid_z,block_x,block_y,block_z,graph_id,graph_node_id,"
        "record\n",
        file.get());
    fake_gpu_operation each{};
    for (std::size_t index = 0; fake_gpu_journal_entry(index, &each) == 1; ++index) {
        std::fprintf(file.get(), "%lu,%s,%s,%u,%u,%u,%u,%u,%lu,%lu,%lu,%lu,%u,%u,%u,%u,%u,%u,%u,%u,%lu,%s\n",
                     each.index, kind_name(each.kind), each.name == nullptr ? "" : each.name, each.correlation_id,
                     each.thread_id, each.device, each.context, each.stream, each.submitted_ns, each.start_ns,
                     each.end_ns, each.bytes, unsigned{each.copy_kind}, each.grid[0], each.grid[1], each.grid[2],
                     each.block[0], each.block[1], each.block[2], each.graph_id, each.graph_node_id,
                     record_name(each.record));
    }
    return 1;
}

}  // extern "C"
