// SPDX-License-Identifier: Apache-2.0
// Children that are forked while their parent records, one scene a run, for forked_children_test.cpp. What a scene
// prints is the same with libprof in it and without, but for what it says of libprof's functions.
//
//   forked_victim SCENE [NUMBER]
#include <dirent.h>
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "session/scenes.hpp"
#include "session/train_steps.hpp"

namespace {

using namespace prof::test;

int number = 0;  // the scene's

using function = int();
using start_function = int(const char* const*);

int call(const char* name) {
    auto* const found = of_libprof<function>(name);
    return found == nullptr ? 0 : found();
}
int start(std::vector<const char*> settings) {
    settings.push_back(nullptr);
    auto* const found = of_libprof<start_function>("prof_start");
    return found == nullptr ? 0 : found(settings.data());
}

void ranges(const char* name, int count) {
    for (int i = 0; i < count; ++i) {
        nvtxRangePushA(name);
        nvtxRangePop();
    }
}

std::size_t entries_of(const char* directory) {
    DIR* const all = opendir(directory);
    std::size_t count = 0;
    while (readdir(all) != nullptr) ++count;
    closedir(all);
    return count;
}

void wait_for(pid_t child) { std::printf("a child ended with %d\n", status_of(child)); }

void worker(const char* name, int count, int status) {
    wait_for(child_that([=] { ranges(name, count); }, status));
}

// --- what a child records --------------------------------------------------------------------------------------------

// What the parent had made names of goes on in the child by the same handles.
void handles() {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("loader");
    const nvtxStringHandle_t fetch = nvtxDomainRegisterStringA(domain, "fetch");
    nvtxDomainNameCategoryA(domain, 7, "disk");
    nvtxEventAttributes_t event{};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.category = 7;
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = fetch;
    const auto round = [&] {
        nvtxDomainRangePushEx(domain, &event);
        nvtxDomainRangePop(domain);
    };
    round();
    wait_for(child_that(
        [&] {
            // The first thing that the child does is to make a name.
            const nvtxDomainHandle_t own = nvtxDomainCreateA("child's");
            nvtxEventAttributes_t other = event;
            other.category = 0;
            other.message.registered = nvtxDomainRegisterStringA(own, "decode");
            nvtxDomainRangePushEx(own, &other);
            round();
            nvtxDomainRangePop(own);
            ranges("fetch", 1);
        },
        0));
    round();
}

// Of ranges that are open at the fork the child ends some.
void open_ranges() {
    nvtxRangePushA("outer");
    nvtxRangePushA("inner");
    const nvtxRangeId_t process_wide = nvtxRangeStartA("process-wide");
    wait_for(child_that(
        [&] {  // no range of its own
            nvtxRangePop();
            nvtxRangeEnd(process_wide);
            nvtxRangePop();
        },
        1));
    wait_for(child_that(
        [] {
            nvtxRangePop();
            nvtxRangePushA("child's");
            nvtxRangePop();
            nvtxRangePop();
            nvtxRangePushA("child's");
            nvtxRangePop();
        },
        2));
    wait_for(child_that(
        [] {
            nvtxRangePop();
            nvtxRangePop();
            nvtxRangePop();  // this one is wrong
            ranges("child's", 1);
            nvtxRangePop();  // and so is this
        },
        3));
    nvtxRangeEnd(process_wide);
    nvtxRangePop();
    nvtxRangePop();
}

void idle_child() {
    ranges("parent's", 1);
    wait_for(child_that(
        [] {
            expect(entries_of("/proc/self/task") == 2 + 1, "a child without a range has no thread of libprof's");
            wait_for(child_that([] {}, 4));
        },
        5));
}

// libprof's own functions, each the first thing that a child does. Without libprof they do nothing.
void annotations() {
    auto* const push = of_libprof<int(const char*)>("prof_range_push");
    auto* const begin_phase = of_libprof<int(const char*, unsigned)>("prof_phase_push");
    auto* const begin = of_libprof<std::uint64_t(const char*, const void*)>("prof_range_start");
    auto* const mark = of_libprof<int(const char*, const void*)>("prof_mark");
    auto* const count = of_libprof<int(const char*, double)>("prof_counter");
    auto* const name_category = of_libprof<int(unsigned, const char*)>("prof_name_category");
    const bool is_there = push != nullptr;
    const auto record = [&] {
        expect(!is_there || push("parent's") == 0, "the parent records");
        expect(call("prof_range_pop") == 0, "and ends it");
    };
    const auto in_child = [&](int status, const std::function<void()>& what) {
        wait_for(child_that([&] { is_there ? what() : void(); }, status));
    };
    record();
    in_child(1, [&] { expect(push("pushed") == 0 && call("prof_range_pop") == 0, "a range"); });
    in_child(2, [&] { expect(begin("begun", nullptr) != 0, "a range of the process"); });
    in_child(3, [&] { expect(begin_phase("forward", 0) == 0 && call("prof_phase_pop") == 0, "a phase"); });
    in_child(4, [&] { expect(mark("marked", nullptr) == 0, "a mark"); });
    in_child(5, [&] { expect(count("counted", 1.5) == 0, "a value of a counter"); });
    in_child(6, [&] {
        std::thread([&] { expect(push("on a thread") == 0 && call("prof_range_pop") == 0, "a range"); }).join();
    });
    in_child(7, [&] {
        expect(name_category(3, "a kind") == 0, "a name");
        expect(push("named") == 0 && call("prof_range_pop") == 0, "a range");
    });
    std::thread([&] {
        in_child(8, [&] { expect(push("of a thread's child") == 0 && call("prof_range_pop") == 0, "a range"); });
    }).join();
    wait_for(child_that(
        [&] { in_child(9, [&] { expect(push("grandchild's") == 0 && call("prof_range_pop") == 0, "a range"); }); },
        10));
    record();
}

// What is open at the fork is ended in the child by libprof's own functions: that alone is no use of libprof.
void open_annotations() {
    auto* const push = of_libprof<int(const char*)>("prof_range_push");
    auto* const begin_phase = of_libprof<int(const char*, unsigned)>("prof_phase_push");
    auto* const adopt = of_libprof<int(std::uint64_t)>("prof_adopt_push");
    auto* const place = of_libprof<std::uint64_t()>("prof_parent_here");
    auto* const begin = of_libprof<std::uint64_t(const char*, const void*)>("prof_range_start");
    auto* const end = of_libprof<int(std::uint64_t)>("prof_range_end");
    std::uint64_t process_wide = 0;
    const auto end_all = [&] {
        call("prof_adopt_pop");
        call("prof_phase_pop");
        call("prof_range_pop");
        if (end != nullptr) end(process_wide);
    };
    if (push != nullptr) {
        expect(push("outer") == 0 && begin_phase("forward", 0) == 0 && adopt(place()) == 0, "the parent records");
        process_wide = begin("process-wide", nullptr);
    }
    wait_for(child_that(end_all, 1));
    wait_for(child_that(
        [&] {
            end_all();
            if (push != nullptr) expect(push("child's") == 0 && call("prof_range_pop") == 0, "a range");
        },
        2));
    wait_for(child_that(
        [&] {
            if (push != nullptr) expect(push("child's") == 0 && call("prof_range_pop") == 0, "a range");
            end_all();
        },
        3));
    end_all();
}

// The recording has begun, and nothing is recorded yet.
void before_the_first_record() {
    auto* const push = of_libprof<int(const char*)>("prof_range_push");
    expect(start({}) == 0, "a recording");
    wait_for(child_that(
        [&] {
            if (push != nullptr) expect(push("child's") == 0 && call("prof_range_pop") == 0, "a range");
        },
        1));
    wait_for(child_that([] {}, 2));
}

// One generation that records, one that does not, one that does.
void grandchildren() {
    ranges("parent's", 1);
    const nvtxStringHandle_t late = nvtxDomainRegisterStringA(nullptr, "late");
    wait_for(child_that(
        [&] {
            ranges("child's", 2);
            wait_for(child_that(
                [&] {
                    wait_for(child_that(
                        [&] {
                            nvtxEventAttributes_t event{};
                            event.version = NVTX_VERSION;
                            event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
                            event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
                            event.message.registered = late;
                            nvtxRangePushEx(&event);
                            nvtxRangePop();
                            ranges("of the third generation", 3);
                        },
                        6));
                },
                7));
        },
        8));
}

void several_threads() {
    ranges("parent's", 1);
    wait_for(child_that(
        [] {
            std::vector<std::thread> threads;
            for (int i = 0; i < 4; ++i) threads.emplace_back([] { ranges("thread's", 100); });
            for (std::thread& thread : threads) thread.join();
            ranges("thread's", 100);
        },
        9));
}

void ends_in_other_ways(const char* self) {
    ranges("parent's", 1);
    const auto ended = [](const std::function<void()>& end) {
        wait_for(child_that(
            [&] {
                ranges("child's", 10);
                end();
            },
            10));
    };
    ended([] { _exit(11); });
    ended([] { raise(SIGKILL); });
    ended([] { raise(SIGTERM); });
    ended([&] { execl(self, self, "exec_ed", nullptr); });
    ranges("parent's", 1);
    const pid_t vforked = vfork();
    if (vforked == 0) _exit(12);
    wait_for(vforked);
    pid_t spawned = 0;
    std::vector<char> scene{'e', 'x', 'e', 'c', '_', 'e', 'd', 0};
    std::string path = self;
    char* const arguments[] = {path.data(), scene.data(), nullptr};
    expect(posix_spawn(&spawned, self, nullptr, nullptr, arguments, environ) == 0, "a program is spawned");
    wait_for(spawned);
    ranges("parent's", 1);
}

// --- what governs it -------------------------------------------------------------------------------------------------

void by_settings() {
    expect(start({"name=told", "rank=5", "compress=1"}) == 0, "a recording with settings");
    ranges("parent's", 1);
    worker("child's", 3, 13);
    call("prof_stop");
    worker("not recorded", 3, 14);
}

void in_a_plan() {
    for (int step = 0; step < 6; ++step) {
        ranges("parent's", 1);
        call("prof_step");
        if (step % 3 == 1) worker("child's", 3, 15);
    }
}

void while_paused() {
    ranges("parent's", 1);
    call("prof_pause");
    worker("not recorded", 3, 16);
    wait_for(child_that(
        [] {
            ranges("not recorded", 1);
            expect(call("prof_resume") == 0, "the child resumes");
            ranges("child's", 2);
        },
        17));
    ranges("not recorded", 1);
    call("prof_resume");
    worker("child's", 3, 18);
}

// It has the functions of the C interface for itself.
void own_recordings() {
    ranges("parent's", 1);
    wait_for(child_that(
        [] {
            auto* const is_recording = of_libprof<function>("prof_is_recording");
            const auto records = [&] { return is_recording != nullptr ? is_recording() : -1; };
            expect(records() != 0, "the child records before its first range");
            ranges("child's", 2);
            expect(call("prof_sync") == 0, "sync");
            expect(call("prof_stop") == 0 && records() != 1, "stop");
            ranges("not recorded", 2);
            expect(start({"name=child"}) == 0, "start");
            ranges("child's", 3);
            expect(call("prof_stop") == 0, "stop");
            _exit(19);
        },
        0));
    wait_for(child_that(
        [] {
            expect(call("prof_stop") == 0, "what has not begun yet is stopped");
            ranges("not recorded", 1);
            expect(start({"name=restarted"}) == 0 && call("prof_step") == 0, "start");
            ranges("restarted", 4);
        },
        20));
    ranges("parent's", 1);
}

void gpu_in_the_child() {
    ranges("parent's", 1);
    wait_for(child_that([] { train(3); }, 21));
}

// CUDA is the parent's: the child's calls fail, as they do without libprof.
void gpu_in_the_parent() {
    train(1);
    wait_for(child_that(
        [] {
            expect(cudaDeviceSynchronize() != cudaSuccess, "CUDA cannot be used in the child");
            PROF_RANGE("child's");
            expect(fake_cuda_launch("forward_k", 3'000, nullptr) != 0, "nor this");
            nvtxNameCudaStreamA(nullptr, "a stream");
        },
        22));
    train(1);
}

// --- many ------------------------------------------------------------------------------------------------------------

// Short-lived ones, which end by exit and _exit, and are killed.
void many() {
    ranges("parent's", 1);
    const std::size_t descriptors = entries_of("/proc/self/fd");
    int ended = 0;
    for (int i = 0; i < number; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            ranges("child's", 2);
            if (i % 4 == 0) raise(SIGKILL);
            if (i % 4 == 1) _exit(23);
            std::exit(23);
        }
        const int status = status_of(child);
        ended += status == 23 || status == 100 + SIGKILL ? 1 : 0;
    }
    std::printf("%d children ended as they wanted\n", ended);
    expect(entries_of("/proc/self/fd") == descriptors, "no descriptor is left open");
    ranges("parent's", 1);
}

}  // namespace

int main(int argc, char** argv) {
    number = argc > 2 ? std::atoi(argv[2]) : 0;
    return play(argc > 1 ? argv[1] : "", {
                                             {"handles", handles},
                                             {"open_ranges", open_ranges},
                                             {"silent_child", idle_child},
                                             {"annotations", annotations},
                                             {"open_annotations", open_annotations},
                                             {"before_the_first_record", before_the_first_record},
                                             {"grandchildren", grandchildren},
                                             {"several_threads", several_threads},
                                             {"ends_in_other_ways", [&] { ends_in_other_ways(argv[0]); }},
                                             {"exec_ed", [] { ranges("another program's", 1); }},
                                             {"by_settings", by_settings},
                                             {"in_a_plan", in_a_plan},
                                             {"while_paused", while_paused},
                                             {"own_recordings", own_recordings},
                                             {"gpu_in_the_child", gpu_in_the_child},
                                             {"gpu_in_the_parent", gpu_in_the_parent},
                                             {"many", many},
                                         });
}
