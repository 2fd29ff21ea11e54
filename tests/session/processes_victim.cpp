// SPDX-License-Identifier: Apache-2.0
// Processes and their ends, one scene a run, for processes_test.cpp. What a scene prints and its status are to be the
// same with libprof in it and without.
//
//   processes_victim SCENE
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "fakes/cuda/fake_cuda.h"
#include "fakes/fake_gpu.h"
#include "session/scenes.hpp"
#include "session/train_steps.hpp"

namespace {

using namespace prof::test;

// --- children --------------------------------------------------------------------------------------------------------

// The trainers are children of one that does nothing itself, as with multiprocessing.
void forked_trainers() {
    std::vector<pid_t> children;
    for (int rank = 0; rank < 3; ++rank) {
        children.push_back(child_that(
            [rank] {
                setenv("RANK", std::to_string(rank).c_str(), 1);
                train(2 + rank);
            },
            40 + rank));
    }
    for (const pid_t child : children) std::printf("a child ended with %d\n", status_of(child));
}

// Twice forked, all files closed, in a session of its own: only then it trains.
void daemon_that_trains() {
    int ends[2];
    expect(pipe(ends) == 0, "a pipe");
    const pid_t first = child_that(
        [&] {
            setsid();
            if (fork() != 0) _exit(0);
            constexpr int kept = 10;
            expect(dup2(ends[1], kept) == kept, "an end of the pipe that closes when the daemon has ended");
            close_range(0, kept - 1, 0);
            close_range(kept + 1, ~0U, 0);
            train(5);
            for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
                if (write(stream, "!", 1) != -1) (void)!write(kept, "!", 1);  // something has taken its number
            }
        },
        0);
    expect(status_of(first) == 0, "the first child ends");
    close(ends[1]);
    char nothing = 0;
    expect(read(ends[0], &nothing, 1) == 0, "the daemon ends, and nothing has the numbers of its standard streams");
}

// Takes a variable for another tool, as one that is loaded later does.
void takes_variable() {
    setenv(std::getenv("TAKEN"), std::getenv("OTHER_TOOL"), 1);
    train(4);
}

// Children of one that records: each has a recording of its own, and ends as it would.
void children_of_a_trainer() {
    train(2);
    std::vector<pid_t> children;
    for (int i = 0; i < 3; ++i) {
        children.push_back(child_that(
            [] {
                for (int range = 0; range < 10; ++range) {
                    PROF_RANGE("in the child");
                }
            },
            50));
    }
    children.push_back(child_that([] {}, 51));  // no range: no recording
    for (const pid_t child : children) std::printf("a child ended with %d\n", status_of(child));
    train(1);
}

// Children of one whose threads are in the middle of anything, as a DataLoader's workers are: one exits with its
// handlers, one without, one becomes another program.
void forks_among_threads(const char* self) {
    train(1);
    std::atomic<bool> ends{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            while (!ends) train(1);
        });
    }
    int ended[3] = {};
    for (int i = 0; i < 30; ++i) {
        const int way = i % 3;
        const pid_t child = fork();
        if (child == 0) {
            {
                PROF_RANGE("in the child");
                const std::vector<char> memory(1U << 20U, 'm');
            }
            if (way == 0) std::exit(60);
            // The others end without a word to libprof, and have a capture only if it was made in time.
            if (const auto sync = of_libprof<decltype(prof_sync)>("prof_sync")) expect(sync() == PROF_OK, "sync");
            if (way == 1) execl(self, self, "no_such_scene", nullptr);
            _exit(61);
        }
        ended[way] += status_of(child);
    }
    ends = true;
    for (std::thread& thread : threads) thread.join();
    std::printf("children ended with %d, %d and %d\n", ended[0], ended[1], ended[2]);
}

// Children that no handler of pthread_atfork sees, while their parent records: what they do is theirs alone.
void children_past_all_handlers() {
    train(1);
    std::vector<pid_t> children;
    for (int way = 0; way < 3; ++way) {
        const auto child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
        if (child == 0) {
            for (int i = 0; i < 2'000; ++i) {
                const prof::scoped_range named(("in child " + std::to_string(i)).c_str());
                PROF_RANGE("in the child");
            }
            if (const auto stop = of_libprof<decltype(prof_stop)>("prof_stop")) expect(stop() != PROF_OK, "no stop");
            if (way == 0) std::exit(70);
            if (way == 1) _exit(71);
            pthread_exit(nullptr);
        }
        children.push_back(child);
        for (int i = 0; i < 2'000; ++i) {
            PROF_RANGE("beside the child");
        }
    }
    for (const pid_t child : children) std::printf("a child ended with %d\n", status_of(child));
    train(1);
}

// As torchrun: the environment is handed on, and the launcher itself does nothing.
void launcher(const char* self) {
    for (int rank = 0; rank < 3; ++rank) {
        const pid_t child = fork();
        if (child == 0) {
            setenv("RANK", std::to_string(rank).c_str(), 1);
            setenv("WORLD_SIZE", "3", 1);
            execl(self, self, "trainer", nullptr);
            _exit(127);
        }
        std::printf("rank %d ended with %d\n", rank, status_of(child));
    }
}

// --- files -----------------------------------------------------------------------------------------------------------

// Closes all files and opens its own, which get the numbers that were closed.
void closes_all_files() {
    static std::vector<int> own;
    std::atexit([] {  // after libprof's, which is registered at the first range
        for (const int file : own) {
            struct stat status {};
            char text[5] = {};
            const bool is_whole = fstat(file, &status) == 0 && status.st_size == 4 && pread(file, text, 4, 0) == 4 &&
                                  std::strcmp(text, "mine") == 0;
            if (!is_whole) print_line("a file of its own was changed or closed");
        }
        print_line("its files were looked at");
    });
    train(2);
    // What was recorded until now is in the capture when this comes back.
    if (const auto read = of_libprof<decltype(prof_summary_open)>("prof_summary_open"))
        expect(read() != nullptr, "read");
    close_range(3, ~0U, 0);
    for (int i = 0; i < 20; ++i) {
        own.push_back(open(("own." + std::to_string(i)).c_str(), O_CREAT | O_RDWR | O_EXCL, 0600));
        expect(write(own.back(), "mine", 4) == 4, "a file of its own");
    }
    // More of everything that wants storage: threads, names, GPU records.
    for (int i = 0; i < 40; ++i) {
        std::thread([i] {
            for (int name = 0; name < 400; ++name) {
                const std::string text = std::string(100, 'n') + std::to_string(1000 * i + name);
                const prof::scoped_range range(text.c_str());
            }
            train_step();
        }).join();
    }
    train(50);
}

// --- ends ------------------------------------------------------------------------------------------------------------

std::atomic<int> rounds{0};

// Work and ranges without end, on threads that nobody waits for.
void start_endless_threads() {
    for (int i = 0; i < 4; ++i) {
        std::thread([] {
            for (;;) {
                train_step();
                rounds.fetch_add(1);
            }
        }).detach();
    }
    while (rounds.load() < 200) std::this_thread::yield();
}

// They go on while handlers run, and new ones begin.
void threads_outlive_main() {
    std::atexit([] {
        const int before = rounds.load();
        while (rounds.load() < before + 100) std::this_thread::yield();
        std::thread([] { train_step(); }).join();
        print_line("the handler ran");
    });
    start_endless_threads();
}

// A thread uses CUDA for the first time. When libcupti is loaded for it, the process exits; the last handler waits for
// the thread.
void exit_while_cupti_is_loaded() {
    static std::atomic<bool> is_done{false};
    std::atexit([] {
        while (!is_done) usleep(1000);
        print_line("the handler ran");
    });
    std::thread([] {
        train_step();
        is_done = true;
    }).detach();
    const char* const is_loading = std::getenv("FAKE_CUPTI_LOADED_IN_EXIT");
    while (!is_done && access(is_loading, F_OK) != 0) std::this_thread::yield();
}

void exit_on_another_thread() {
    std::thread([] {
        start_endless_threads();
        std::exit(4);
    }).detach();
    for (;;) train_step();
}

void end_main_before(void (*last)()) {
    std::thread([main_thread = pthread_self(), last] {
        pthread_join(main_thread, nullptr);
        for (int i = 0; i < 5; ++i) {
            PROF_RANGE("without main");
        }
        last();
        print_line("without main");
    }).detach();
    pthread_exit(nullptr);
}
void main_ends_first() {
    end_main_before([] {});
}
void main_ends_and_recording_stops() {
    end_main_before([] {
        if (const auto stop = of_libprof<decltype(prof_stop)>("prof_stop"); stop != nullptr) (void)stop();
    });
}

void goes_elsewhere() {
    train(1);
    expect(chdir("/tmp") == 0, "another directory");
    train(1);
    std::exit(3);
}

void exit_in_handler_before_first_record() {
    { PROF_RANGE("not recorded"); }
    signal(SIGUSR1, [](int) { std::exit(12); });
    raise(SIGUSR1);
}

// glibc goes on with the handlers that are left, and takes the new status.
void exit_within_exit() {
    std::atexit([] {
        train_step();
        std::exit(9);
    });
    train(2);
    std::atexit([] {
        train_step();
        std::exit(8);
    });
}

void abort_within_exit() {
    train(2);
    std::atexit([] {
        train_step();
        std::abort();
    });
}

struct at_destruction {
    ~at_destruction() { train(1); }
};

void ranges_in_handlers() {
    std::atexit([] {
        train(1);
        print_line("a handler from before");
    });
    static const at_destruction before_first_use;
    train(1);
    static const at_destruction after_first_use;
    std::atexit([] {
        train(1);
        print_line("a handler from after");
    });
}

void quick() {
    train(3);
    print_line("quick");
    std::quick_exit(6);
}

// The simulated GPU's waits are sleeps; prof_stop waits on a futex for the thread that waits for the GPU.
bool sleeps(pid_t thread) {
    const std::string path = "/proc/self/task/" + std::to_string(thread) + "/syscall";
    std::FILE* const file = std::fopen(path.c_str(), "r");
    expect(file != nullptr, "the kernel says in which system call a thread is");
    long call = -1;
    const bool is_in_one = std::fscanf(file, "%ld", &call) == 1;
    std::fclose(file);
    return is_in_one && (call == SYS_clock_nanosleep || call == SYS_futex);
}

// A handler that exits while the thread it interrupts is in prof_stop, which waits for a GPU that does not end.
void exit_while_stopping() {
    static const pthread_t main_thread = pthread_self();
    train(1);
    expect(fake_cuda_launch("endless_k", 3'600'000'000'000, nullptr) == 0, "a launch");
    const auto stop = of_libprof<decltype(prof_stop)>("prof_stop");
    const auto is_recording = of_libprof<decltype(prof_is_recording)>("prof_is_recording");
    signal(SIGUSR1, [](int) { std::exit(12); });
    std::thread([is_recording, main = gettid()] {
        while (is_recording != nullptr && (is_recording() != 0 || !sleeps(main))) std::this_thread::yield();
        pthread_kill(main_thread, SIGUSR1);
    }).detach();
    if (stop != nullptr) (void)stop();
    for (;;) pause();
}

// Started by a copy that has not got the session.
void starts_second_copy() {
    train(1);
    if (of_libprof<decltype(prof_stop)>("prof_stop") != nullptr) {
        void* const copy = dlopen(std::getenv("SECOND_COPY"), RTLD_NOW);
        expect(copy != nullptr, "a second copy is loaded");
        const auto start = reinterpret_cast<decltype(&prof_start)>(dlsym(copy, "prof_start"));
        const auto is_recording = reinterpret_cast<decltype(&prof_is_recording)>(dlsym(copy, "prof_is_recording"));
        expect(start(nullptr) == PROF_WRONG_STATE && is_recording() == 0, "it has no session");
    }
    train(3);
}

// --- ends in the middle of a call ------------------------------------------------------------------------------------

// Exits in a step, there: as a signal's handler that interrupts the thread would. Without libprof nobody asks CUPTI for
// anything, and a launch is the only such place.
void exit_there(fake_gpu_place place) {
    const bool is_recorded = of_libprof<decltype(prof_stop)>("prof_stop") != nullptr;
    fake_gpu_interrupt(is_recorded ? place : FAKE_GPU_IN_LAUNCH, [] {
        print_line("the handler exits");
        std::exit(13);
    });
}

void exit_in_launch() {
    train(2);
    exit_there(FAKE_GPU_IN_LAUNCH);
    train(1);
}

void exit_in_launch_among_threads() {
    start_endless_threads();
    exit_there(FAKE_GPU_IN_LAUNCH);
    for (;;) pause();
}

void exit_in_record() {
    train(2);
    exit_there(FAKE_GPU_IN_RECORD);
    train(1);
}

void sync() {
    if (const auto sync = of_libprof<decltype(prof_sync)>("prof_sync")) (void)sync();
}

void exit_in_buffer_request() {
    train(2);
    sync();  // the buffer before goes back
    exit_there(FAKE_GPU_GETTING_BUFFER);
    train(1);
}

// Whether the buffer comes back since it was asked for or since libprof asks now and then.
void exit_on_cuptis_thread() {
    train(2);
    exit_there(FAKE_GPU_RETURNING_BUFFER);
    for (;;) train(1);
}

void exit_while_synced() {
    train(2);
    exit_there(FAKE_GPU_RETURNING_BUFFER);
    sync();
    train(1);
    for (;;) pause();
}

void exit_in_subscription() {
    PROF_RANGE("before CUDA");
    exit_there(FAKE_GPU_IN_SUBSCRIPTION);
    train(1);
}

// --- ends in the allocator -------------------------------------------------------------------------------------------

pid_t exiting_thread = 0;

// Says nothing by stdio, which the signal may have interrupted as well. Who is held up is killed.
void exit_on_signal(int) {
    if (gettid() != exiting_thread) return;
    constexpr unsigned far_too_long = 60;
    alarm(far_too_long);
    constexpr char line[] = "the handler exits\n";
    (void)!write(STDOUT_FILENO, line, sizeof line - 1);
    std::exit(14);
}

void interrupt_this_thread() {
    exiting_thread = gettid();
    signal(SIGPROF, exit_on_signal);
    const itimerval each_10_ms = {{0, 10'000}, {0, 10'000}};  // of CPU time
    expect(setitimer(ITIMER_PROF, &each_10_ms, nullptr) == 0, "a timer");
}

// The allocator's lock is held nearly all the time: while all free pieces are counted.
void exit_in_allocator() {
    train(2);
    std::vector<void*> pieces;
    for (std::size_t i = 0; i < 200'000; ++i) pieces.push_back(std::malloc(1'200 + i % 64 * 16));
    for (std::size_t i = 0; i < pieces.size(); i += 2) std::free(pieces[i]);
    interrupt_this_thread();
    for (;;) (void)mallinfo2();
}

// In the middle of any call to it, while other threads launch.
void exit_in_allocator_among_threads() {
    start_endless_threads();
    std::vector<void*> pieces(1000);
    interrupt_this_thread();
    for (std::size_t i = 0;; i = (i + 7919) % pieces.size()) {
        std::free(pieces[i]);
        pieces[i] = std::malloc(1'200 + i * 64);
    }
}

}  // namespace

int main(int, char** argv) {
    return prof::test::play(argv[1], {
                                         {"trainer", [] { train(4); }},
                                         {"takes_variable", takes_variable},
                                         {"forked_trainers", forked_trainers},
                                         {"daemon_that_trains", daemon_that_trains},
                                         {"children_of_a_trainer", children_of_a_trainer},
                                         {"forks_among_threads", [&] { forks_among_threads(argv[0]); }},
                                         {"children_past_all_handlers", children_past_all_handlers},
                                         {"launcher", [&] { launcher(argv[0]); }},
                                         {"closes_all_files", closes_all_files},
                                         {"threads_outlive_main", threads_outlive_main},
                                         {"exit_while_cupti_is_loaded", exit_while_cupti_is_loaded},
                                         {"exit_on_another_thread", exit_on_another_thread},
                                         {"main_ends_first", main_ends_first},
                                         {"main_ends_and_recording_stops", main_ends_and_recording_stops},
                                         {"goes_elsewhere", goes_elsewhere},
                                         {"exit_in_handler_before_first_record", exit_in_handler_before_first_record},
                                         {"exit_within_exit", exit_within_exit},
                                         {"abort_within_exit", abort_within_exit},
                                         {"ranges_in_handlers", ranges_in_handlers},
                                         {"quick", quick},
                                         {"exit_while_stopping", exit_while_stopping},
                                         {"starts_second_copy", starts_second_copy},
                                         {"exit_in_launch", exit_in_launch},
                                         {"exit_in_launch_among_threads", exit_in_launch_among_threads},
                                         {"exit_in_record", exit_in_record},
                                         {"exit_in_buffer_request", exit_in_buffer_request},
                                         {"exit_on_cuptis_thread", exit_on_cuptis_thread},
                                         {"exit_while_synced", exit_while_synced},
                                         {"exit_in_subscription", exit_in_subscription},
                                         {"exit_in_allocator", exit_in_allocator},
                                         {"exit_in_allocator_among_threads", exit_in_allocator_among_threads},
                                     });
}
