// SPDX-License-Identifier: Apache-2.0
// Works on the simulated GPU until it dies, and says what it has done in a journal of its own.
//
//   process_death_victim JOURNAL WAY ENTRIES: dies by itself when its first thread has made so many entries.
//   WAY: segv, abort, _exit, throw, terminate; wait: until somebody kills it.
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "fakes/fake_gpu.h"
#include "hooks/nvtx_event.hpp"
#include "session/death_journal.hpp"

namespace {

using prof::test::death_journal;
using prof::test::journal_area;
using prof::test::journal_event;

void main_k() {}
void other_k() {}

void push(journal_area& journal, std::uint64_t serial) {
    prof::test::push_numbered("work", serial);
    journal.add(journal_event::pushed, serial);
}

void pop(journal_area& journal) {
    nvtxRangePop();
    journal.add(journal_event::popped);
}

void launch(journal_area& journal, void (*kernel)(), cudaStream_t stream) {
    (void)cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(1), dim3(32), nullptr, 0, stream);
    journal.add(journal_event::launched);
}

[[noreturn]] void terminate_on_a_thread() {
    std::thread([] { std::terminate(); }).join();
    std::abort();
}

void die(const std::string& way) {
    if (way == "segv") *reinterpret_cast<volatile int*>(8) = 1;
    if (way == "abort") std::abort();
    if (way == "_exit") _exit(5);
    if (way == "throw") throw std::runtime_error("of the program's own");
    if (way == "terminate") terminate_on_a_thread();
}

// Until its area is full, or `entries` are in it.
void work(journal_area& journal, void (*kernel)(), std::uint64_t serial, std::uint64_t entries) {
    cudaStream_t stream = nullptr;
    (void)cudaStreamCreate(&stream);
    while (!journal.is_full() && journal.count.load() < entries) {
        push(journal, ++serial);
        for (int i = 0; i < 3; ++i) {
            push(journal, ++serial);
            launch(journal, kernel, stream);
            pop(journal);
        }
        (void)cudaStreamSynchronize(stream);
        pop(journal);
    }
}

// What has ended is handed to CUPTI, which writes it into our buffers; then the journal has it, too. It is chosen
// before that: a launch that was held up makes work that has ended already.
[[noreturn]] void watch_gpu(journal_area& journal) {
    std::size_t next = 0;
    std::set<std::size_t> running;
    for (;;) {
        for (const std::size_t size = fake_gpu_journal_size(); next < size; ++next) running.insert(next);
        std::vector<fake_gpu_operation> ended;
        const std::uint64_t now = fake_gpu_now_ns();
        for (auto each = running.begin(); each != running.end();) {
            fake_gpu_operation operation{};
            const bool has_ended = fake_gpu_journal_entry(*each, &operation) == 1 && operation.end_ns <= now;
            if (has_ended) ended.push_back(operation);
            each = has_ended ? running.erase(each) : std::next(each);
        }
        fake_gpu_settle();
        for (const fake_gpu_operation& each : ended) journal.add(journal_event::ran, each.start_ns, each.end_ns);
    }
}

}  // namespace

int main(int, char** argv) {
    const rlimit no_core{};
    setrlimit(RLIMIT_CORE, &no_core);
    death_journal& journal = prof::test::map_journal(argv[1]);
    fake_gpu_register_kernel(reinterpret_cast<const void*>(main_k), "main_k", 20'000);
    fake_gpu_register_kernel(reinterpret_cast<const void*>(other_k), "other_k", 30'000);
    (void)cudaFree(nullptr);
    std::thread([&] { watch_gpu(journal.gpu); }).detach();
    std::thread([&] { work(journal.threads[1], other_k, std::uint64_t{1} << 32, UINT64_MAX); }).detach();
    const std::string way = argv[2];
    work(journal.threads[0], main_k, 0, way == "wait" ? UINT64_MAX : std::stoull(argv[3]));
    // Whoever meets the first record waits for the capture to be made, the other does not.
    while (journal.threads[1].count.load() == 0) std::this_thread::yield();
    die(way);
    for (;;) pause();
}
