// SPDX-License-Identifier: Apache-2.0
// CUDA's own memory, of captures worked by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "memory/cuda_memory_rows.hpp"
#include "memory/memory_summary.hpp"
#include "memory/simulated_allocator.hpp"
#include "report/make_reports.hpp"
#include "report/memory_answer.hpp"
#include "report/reports.hpp"

namespace prof::cuda_memory_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::uint64_t mib = std::uint64_t{1} << 20;
constexpr std::uint64_t base = 0x7E00'0000'0000;

// What the hook writes (hooks/cupti/memory_calls.cpp).
struct cuda_calls {
    capture_builder& capture;

    void had(thread_script& on, std::uint64_t ns, cuda_memory_kind kind, std::uint64_t address, std::uint64_t bytes,
             const std::string& module = {}, std::uint8_t device = 0) {
        on.add(piece(ns, kind, address, bytes, false, device));
        if (module.empty()) return;
        on.add({.ticks = ns,
                .value = address,
                .name = capture.name("ab12\n" + module),
                .color = 0x1000,
                .category = 1U << 16,
                .kind = record_kind::code_line,
                .flags = static_cast<std::uint8_t>(static_cast<std::uint8_t>(stack_role::caller) | native_line |
                                                   library_line)});
    }
    void gave_back(thread_script& on, std::uint64_t ns, std::uint64_t address,
                   cuda_memory_kind kind = cuda_memory_kind::freed) {
        on.add(piece(ns, kind, address, 0, true, 0));
    }
    void failed(thread_script& on, std::uint64_t ns, std::uint64_t bytes) {
        record r = piece(ns, cuda_memory_kind::device, 0, 0, false, 0);
        r.kind = record_kind::out_of_memory;
        r.value = bytes;
        r.name = r.color = 0;
        on.add(r);
    }

private:
    static record piece(std::uint64_t ns, cuda_memory_kind kind, std::uint64_t address, std::uint64_t bytes,
                        bool is_freed, std::uint8_t device) {
        record r;
        r.ticks = ns;
        r.kind = record_kind::memory_block;
        r.domain = packed_device(static_cast<std::uint8_t>(kind), device);
        pack_own(r, address, bytes, is_freed);
        return r;
    }
};

// "pool libnccl.so.2 forward 3 2": kind, caller, "(allocator)", path, MiB at the peak and at the end.
std::vector<std::string> rows_of(const timeline& data) {
    const attribution att = attribute(data);
    std::vector<std::string> out;
    for (const cuda_memory_row& row : cuda_memory_rows(data, att, {}, measure_memory(data, att))) {
        out.push_back(std::string(to_string(row.kind)) + ' ' + row.caller +
                      (row.is_of_allocator ? " (allocator)" : "") + (row.path.empty() ? "" : ' ' + row.path) + ' ' +
                      std::to_string(row.at_peak / mib) + ' ' + std::to_string(row.at_end / mib));
    }
    return out;
}

// Without an allocator it is the memory of the program: each kind of a GPU's counts, the host's does not.
TEST(CudaMemory, IsTheAnswerWhereNoAllocatorReports) {
    capture_builder capture;
    cuda_calls calls{capture};
    thread_script& main = capture.thread("program");
    thread_script& other = capture.thread("other");
    main.push(10, "forward");
    calls.had(main, 20, cuda_memory_kind::device, base, 8 * mib, "/opt/app/program");
    calls.had(main, 30, cuda_memory_kind::pool, base + 100 * mib, 3 * mib, "/usr/lib/libnccl.so.2");
    calls.had(main, 40, cuda_memory_kind::pinned, base + 200 * mib, 64 * mib, "/opt/app/program");
    calls.had(main, 50, cuda_memory_kind::physical, 7, 2 * mib, "/usr/lib/libnccl.so.2");
    main.pop(60);
    calls.gave_back(other, 70, base + 100 * mib);
    calls.had(main, 80, cuda_memory_kind::managed, base + 300 * mib, mib);
    calls.gave_back(main, 90, 7, cuda_memory_kind::physical);
    calls.gave_back(main, 95, base + 200 * mib);
    calls.gave_back(main, 96, base + 900 * mib);  // had before the recording
    const timeline data = capture.build();
    ASSERT_TRUE(data.is_memory_of_cuda);
    EXPECT_EQ(data.cuda_memory.size(), 8U);
    EXPECT_EQ(data.memory.size(), 6U);
    const memory_summary found = measure_memory(data, attribute(data));
    ASSERT_EQ(found.devices.size(), 1U);
    const memory_device& device = found.devices.front();
    EXPECT_EQ(device.steps.front().peak, 13 * mib) << "8, 3 and 2";
    EXPECT_EQ(device.end_allocated, 9 * mib);
    EXPECT_EQ(found.doubtful, 0U);
    EXPECT_THAT(rows_of(data),
                ElementsAre("pinned host program forward 64 0", "device program forward 8 8",
                            "pool libnccl.so.2 forward 3 0", "physical libnccl.so.2 forward 2 0", "managed  0 1"));
}

// PyTorch's blocks lie in what its allocator has of CUDA: that is its reserved memory, and outside of nothing.
TEST(CudaMemory, OfTheAllocatorIsNotCountedTwice) {
    capture_builder capture;
    cuda_calls calls{capture};
    thread_script& main = capture.thread("python");
    simulated_allocator gpu;
    calls.had(main, 10, cuda_memory_kind::device, 0x7F00'0000'0000, 20 * mib,
              "/site-packages/torch/lib/libc10_cuda.so");
    gpu.reserved = 20 * mib;
    calls.had(main, 20, cuda_memory_kind::device, base, 5 * mib, "/usr/lib/libcublas.so.12");
    // A copy of the allocator that is called otherwise: its blocks say what it is.
    calls.had(main, 30, cuda_memory_kind::device, base + 50 * mib, 2 * mib, "/site-packages/torch/lib/libother.so");
    (void)gpu.take(main, 40, 6 * mib);
    gpu.take_at(main, 50, base + 51 * mib, mib);
    const timeline data = capture.build();
    EXPECT_FALSE(data.is_memory_of_cuda);
    EXPECT_EQ(data.memory.size(), 2U) << "the allocator's blocks";
    EXPECT_THAT(rows_of(data), ElementsAre("device libc10_cuda.so (allocator) 20 20", "device libcublas.so.12 5 5",
                                           "device libother.so (allocator) 2 2"));
    const attribution att = attribute(data);
    EXPECT_EQ(known_outside_text(cuda_memory_rows(data, att, {}, measure_memory(data, att)), 0),
              "5.24 MB by libcublas.so.12");
}

// An address that is had twice was given back in between; without its record it is only known from then on.
TEST(CudaMemory, WhatIsHadTwiceWasGivenBack) {
    capture_builder capture;
    cuda_calls calls{capture};
    thread_script& main = capture.thread("program");
    calls.had(main, 10, cuda_memory_kind::device, base, 8 * mib);
    calls.had(main, 20, cuda_memory_kind::device, base, 4 * mib);
    // A handle is no address.
    calls.had(main, 30, cuda_memory_kind::physical, base, mib);
    const timeline data = capture.build();
    ASSERT_EQ(data.cuda_memory.size(), 4U);
    EXPECT_EQ(data.cuda_memory[1].of.kind, memory_kind::freed);
    EXPECT_EQ(data.cuda_memory[1].begins, 0U);
    EXPECT_EQ(measure_memory(data, attribute(data)).devices.front().end_allocated, 5 * mib);
}

TEST(CudaMemory, OfTwoGpusHasEach) {
    capture_builder capture;
    cuda_calls calls{capture};
    thread_script& main = capture.thread("program");
    calls.had(main, 10, cuda_memory_kind::device, base, 8 * mib, "/opt/a", 0);
    calls.had(main, 20, cuda_memory_kind::device, base + 100 * mib, 3 * mib, "/opt/a", 1);
    calls.gave_back(main, 30, base + 100 * mib);  // whatever device is current then
    const memory_summary found = measure_memory(capture.build(), attribute(capture.build()));
    ASSERT_EQ(found.devices.size(), 2U);
    EXPECT_EQ(found.devices[0].end_allocated, 8 * mib);
    EXPECT_EQ(found.devices[1].end_allocated, 0U);
    EXPECT_EQ(found.devices[1].steps.front().peak, 3 * mib);
}

// Nine steps; in each a piece is had and kept, and an error ends them.
TEST(CudaMemory, ReportsSpeakOfCudaAndNotOfAnAllocator) {
    capture_builder capture;
    capture.parts().properties["allocations"] = "on";
    cuda_calls calls{capture};
    thread_script& main = capture.thread("program");
    const std::uint16_t domain = capture.domain("prof");
    calls.had(main, 10, cuda_memory_kind::device, base, 100 * mib, "/opt/app/program");
    for (std::uint64_t i = 0; i < 9; ++i) {
        const std::uint64_t at = 1000 * (i + 1);
        main.step(at, i, domain);
        main.push(at + 1, "solve").launch(at + 2, i + 1);
        capture.kernel(i + 1, at + 5, at + 45);
        calls.had(main, at + 10, cuda_memory_kind::pool, base + (200 + 10 * i) * mib, mib, "/opt/app/libsolver.so");
        main.pop(at + 50);
    }
    calls.failed(main, 9'500, 3'000 * mib);
    main.step(10'000, 9, domain);
    capture.h200();
    const timeline data = capture.build();
    const report_kind* const kinds[] = {find_report("memory"), find_report("memory_findings"),
                                        find_report("memory_pieces")};
    const report_document document = make_reports(data, "x.prof", {}, kinds);
    const table& memory = *block_in<table>(document.parts[0]);
    EXPECT_THAT(memory.notes, Contains(HasSubstr("no allocator reported: these are pieces of CUDA's own memory")));
    EXPECT_THAT(memory.notes, Not(Contains(HasSubstr("reserved"))));
    EXPECT_THAT(document.capture.warnings, Contains(HasSubstr("3.15 GB were asked for, with 114.29 MB allocated, of")));
    const table& findings = *block_in<table>(document.parts[1]);
    ASSERT_EQ(findings.rows.size(), 2U) << "no retries, and no reserving in steps";
    EXPECT_EQ(std::get<std::string>(findings.rows[0][1].value), "out_of_memory");
    EXPECT_EQ(std::get<std::string>(findings.rows[1][1].value), "memory_growth");
    EXPECT_THAT(std::get<std::string>(findings.rows[1].back().value), HasSubstr("give it back"));
    const table& own = *block_in<table>(document.parts[2]);
    ASSERT_EQ(own.rows.size(), 2U);
    EXPECT_EQ(std::get<std::string>(own.rows[1][2].value), "libsolver.so");
    EXPECT_EQ(std::get<std::string>(own.rows[1][4].value), "solve");
    EXPECT_EQ(std::get<std::int64_t>(own.rows[1][6].value), static_cast<std::int64_t>(9 * mib));
}

// What JAX said itself stands in the first screen, in place of the piece that its allocator has of CUDA.
TEST(CudaMemory, OfJaxIsWhatItsAllocatorSays) {
    capture_builder capture;
    cuda_calls calls{capture};
    thread_script& main = capture.thread("python");
    const std::uint16_t domain = capture.domain("prof");
    calls.had(main, 10, cuda_memory_kind::device, base, 60'000 * mib, "/site-packages/jaxlib/xla_extension.so");
    for (std::uint64_t i = 0; i < 4; ++i) {
        const std::uint64_t at = 1000 * (i + 1);
        main.step(at, i, domain);
        main.push(at + 1, "step").launch(at + 2, i + 1);
        capture.kernel(i + 1, at + 5, at + 45);
        main.pop(at + 50);
    }
    main.step(5000, 4, domain);
    capture.h200();
    const auto screen_of = [&](const std::string& figures) {
        capture.parts().properties["text.jax_devices"] = figures;
        const timeline data = capture.build();
        const report_kind* const kinds[] = {find_report("gpu-projection")};
        const report_document document = make_reports(data, "x.prof", {}, kinds);
        return block_in<answer_block>(document.parts.front())->memory;
    };
    EXPECT_EQ(screen_of("cuda:0\t2000000000\t5000000000\t60000000000\t\t7"),
              "5.00 GB of 60.00 GB in JAX's allocator at most, 2.00 GB at the end");
    // Without figures, and with what is none, it is CUDA's.
    for (const char* const none : {"cuda:0\t\t\t\t\t", "cuda:0\tx\t1e9\t-5\t\t", "\n\t\n", ""}) {
        EXPECT_THAT(screen_of(none), HasSubstr("62.91 GB of ")) << none;
    }
}

}  // namespace
}  // namespace prof::cuda_memory_test
