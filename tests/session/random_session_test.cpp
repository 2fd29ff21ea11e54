// SPDX-License-Identifier: Apache-2.0
// Random programs through libprof.so as it is shipped, on threads of their own and one recording after the other in one
// process. What stands in each capture is what the oracle and the simulated GPU's journal say. PROF_RANDOM_SEED and
// PROF_RANDOM_PROGRAMS as in tests/collect.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <prof/prof.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "capture/capture_files.hpp"
#include "collect/actor.hpp"
#include "collect/random_program.hpp"
#include "fakes/fake_gpu.h"
#include "session/task_thread.hpp"
#include "support/sanitized.hpp"
#include "timeline/load.hpp"

namespace prof::test {
namespace {

constexpr std::uint32_t quick_count = 200;

// The shipped library, loaded at run time and made the tool of the NVTX and CUDA in this program.
class shipped_library {
public:
    explicit shipped_library(const std::string& directory) {
        setenv("PROF_AUTOSTART", "0", 1);
        setenv("PROF_EXPORT", "none", 1);
        setenv("PROF_OUTPUT_DIR", directory.c_str(), 1);
        setenv("PROF_CUPTI_LIBRARY", PROF_TEST_FAKE_CUPTI, 1);
        setenv("PROF_MEMORY", "16M", 1);
        setenv("NVTX_INJECTION64_PATH", PROF_TEST_LIBRARY, 1);
        setenv("CUDA_INJECTION64_PATH", PROF_TEST_LIBRARY, 1);
        loaded_ = dlopen(PROF_TEST_LIBRARY, RTLD_NOW);
        if (loaded_ == nullptr) throw std::runtime_error(dlerror());
    }
    template <typename TFunction>
    TFunction* find(const char* name) const {
        return reinterpret_cast<TFunction*>(dlsym(loaded_, name));
    }
    std::string capture_path() const {
        const auto path_of = find<decltype(prof_capture_path)>("prof_capture_path");
        std::string path(path_of(nullptr, 0), '\0');
        path_of(path.data(), path.size() + 1);
        return path;
    }

private:
    void* loaded_ = nullptr;
};

TEST(RandomSessions, AreReportedAsTheyRan) {
    const scratch_directory folder;
    const shipped_library library(folder.path);
    const auto start = library.find<decltype(prof_start)>("prof_start");
    const auto stop = library.find<decltype(prof_stop)>("prof_stop");
    const auto last_error = library.find<decltype(prof_last_error)>("prof_last_error");
    const auto open_summary = library.find<decltype(prof_summary_open)>("prof_summary_open");
    const auto close_summary = library.find<decltype(prof_summary_close)>("prof_summary_close");
    const auto summary_total = library.find<decltype(prof_summary_total_gpu_ns)>("prof_summary_total_gpu_ns");
    fake_gpu_set_device_count(device_count);
    fake_gpu_set_clock(FAKE_GPU_CLOCK_VIRTUAL);
    actor plays;

    const std::uint32_t count = program_count(random_cases(quick_count));
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t seed = first_seed() + i;
        SCOPED_TRACE("seed " + std::to_string(seed));
        random_program program(seed, {.unseen_launches = false});
        std::mt19937 random{seed};

        ASSERT_EQ(start(nullptr), PROF_OK) << last_error();
        std::vector<std::unique_ptr<task_thread>> threads;
        for (const std::string& name : program.threads) threads.push_back(std::make_unique<task_thread>(name));
        for (const captured_graph& graph : program.graphs) {
            (*threads[static_cast<std::size_t>(graph.thread)])([&] { plays.capture(graph); });
        }
        for (const program_step& step : program.steps) {
            (*threads[static_cast<std::size_t>(step.thread)])([&] { program.ran(step, plays.perform(step)); });
            if (random() % 64 != 0) continue;
            if (prof_summary* summary = open_summary()) close_summary(summary);  // flushes, drains, reads
        }
        if (random() % 2 == 0) threads.clear();  // else they live on into the end of the recording
        plays.wait_for_gpu();
        std::int64_t executed_ns = 0;
        for (const oracle::gpu_work& w : oracle::all_work(program.truth())) executed_ns += w.end - w.start;
        if (prof_summary* summary = open_summary()) {
            EXPECT_EQ(summary_total(summary), executed_ns);
            close_summary(summary);
        }
        ASSERT_EQ(stop(), PROF_OK) << last_error();
        threads.clear();
        plays.forget_program();

        const std::string path = library.capture_path();
        const timeline data = load_timeline(path);
        std::filesystem::remove(path);
        program.check(data);
        if (HasFatalFailure()) return;
    }
    std::printf("%u programs, seeds %u to %u\n", count, first_seed(), first_seed() + count - 1);
}

}  // namespace
}  // namespace prof::test
