#include "session/recording.hpp"

#include <chrono>
#include <cstdlib>
#include <new>
#include <utility>

#include "base/clock.hpp"
#include "base/json_text.hpp"
#include "hooks/cupti/library.hpp"
#include "hooks/nvtx/nvtx_hooks.hpp"
#include "options/plans.hpp"
#include "ring/registry.hpp"
#include "session/control.hpp"
#include "session/export_bound.hpp"
#include "session/heritage.hpp"
#include "session/injections.hpp"
#include "session/memory_plan.hpp"

namespace prof {
namespace {

constexpr std::chrono::milliseconds longest_wait_for_start{5000};

// Whether this thread is the one that prepares the session.
__thread bool prepares __attribute__((tls_model("initial-exec"))) = false;

}  // namespace

recording_session::recording_session() : inherits_(inherited() != nullptr) {
    if (inherits_) {
        take_heritage(*inherited());
        return;
    }
    may_use_gpu_ = has_gpu_of_its_own();
    auto [options, complaint] = options_from_environment();
    environment_ = std::move(options);
    options_ = environment_;
    // A variable's value may have lines, and a terminal's commands.
    if (!complaint.ok()) warn_once(terminal_safe(complaint.message()) + "; the default is used");
}

recording_session::~recording_session() = default;

void recording_session::make_region(const session_options& options) {
    if (region_ != nullptr) return;
    region_options wanted;
    wanted.place = options.rings;
    wanted.fallback_directory = options.output_dir;
    wanted.id = random_id();
    divide_memory(options.memory, wanted, tracer_options_);
    if (inherits_) {
        wanted.fallback_directory.clear();  // it may be far away, and there may be many
        divide_childs_memory(*parents_region(), wanted);
    }
    region_ = new region(wanted);
    if (inherits_) region_->inherit(*parents_region(), may_use_gpu_);
    changed_ns_ = clock_ns(CLOCK_MONOTONIC);
    memory_ = std::make_unique<graph_history>(*region_);
    if (!inherits_) std::atexit(at_exit);  // else the parent's is there
}

// A thread that comes while another prepares waits for it, or its first ranges would find the gate shut. A call from
// inside the preparation, as CUDA's start-up may make, does not wait.
void recording_session::prepare() {
    if (prepares) return;
    if (prepared_.load()) return end_preparation();
    // Whoever prepares may be waiting for what this thread holds, as CUDA's start-up does.
    const std::unique_lock lock(preparing_, longest_wait_for_start);
    if (!lock.owns_lock()) return;
    if (prepared_.load()) return end_preparation();
    prepares = true;
    begin_to_prepare();
    try {
        make_ready();
    } catch (...) {
        prepares = false;
        end_preparation();
        throw;
    }
    prepares = false;
    prepared_.store(true);
    end_preparation();
}

void recording_session::hold_for_preparation() noexcept {
    if (!prepared_.load()) begin_to_prepare();
}

void recording_session::begin_to_prepare() noexcept {
    if (cuda_is_initialised()) cuda_is_starting = true;
    begin_preparation(await_preparation);
}

void recording_session::await_preparation() noexcept {
    try {
        instance().prepare();
    } catch (const std::exception&) {
        // Said by who came first; nothing is recorded.
    }
}

void recording_session::make_ready() {
    session_options environment;
    {
        const std::lock_guard state_lock(mutex_);
        environment = environment_;
        environment_facts_ = read_environment_facts();
        make_region(environment_);
        leave_to_children();
        split_torch_texts(environment_.pytorch != pytorch_detail::off);
        if (!recording()) {  // else start() came first, and waits for its first record
            install_region(region_, nullptr);
            if (!environment_.autostart) observe_while_idle();
        }
    }
    std::string problem;
    if (environment.autostart && start(environment, requester::program, problem) == session_result::failed) {
        warn_once(terminal_safe(problem));  // it may name a directory
    }
    open_control();
}

// In a forked child the loader is not asked: who was loading a library in the parent has its lock for ever.
bool recording_session::has_cuda() const noexcept {
    return may_use_gpu_ && (cuda_seen || (!inherits_ && cuda_is_initialised()));
}

void recording_session::on_cuda_init() {
    cuda_is_starting = true;
    try {
        instance().prepare_for_cuda();
    } catch (...) {
        cuda_seen = true;  // whoever prepares later, with more success, has to know
        throw;
    }
}

void recording_session::prepare_for_cuda() {
    prepare();
    if (!may_use_gpu_) return;
    begin_inherited();
    const bool is_new = !cuda_seen.exchange(true);
    // As in prepare(): whoever has it may be waiting for what this thread holds.
    const std::unique_lock lock(mutex_, longest_wait_for_start);
    constexpr const char* held_up =
        "CUDA began while libprof was held up: GPU work is recorded from the next window on";
    if (!lock.owns_lock()) return warn_once(held_up);
    try {
        environment_facts_ = read_environment_facts();  // the rank may have been set since
    } catch (const std::bad_alloc&) {
        // Then it is what it was before.
    }
    if (window_state_ == window_state::open) return attach_tracer(is_new);
    const bool is_warming_up = window_state_ == window_state::warming_up && is_new;
    if (!is_warming_up && completes_) return;  // who completes the recording listens then
    // For what the last window has left to be done.
    const bool waits = is_warming_up || observes_idle_graphs(options_);
    if (waits && !background_.wait_until_idle(longest_wait_for_start)) return warn_once(held_up);
    if (is_warming_up) return attach_tracer(is_new);
    if (observes_) listen();
    observe_idle_graphs();
}

// What stayed in the rings when the last recording ended: a thread was between its look at the gate and its write.
void recording_session::discard_leftovers() {
    for (ring_header& ring : region_->rings()) {
        auto found = glance<record>(ring, region_->slots(ring));
        if (found.state == ring_state::free) continue;
        // relaxed: whoever wrote these records wrote the uid before.
        const std::uint64_t uid = ring.thread_uid.load(std::memory_order_relaxed);
        for (const std::span<const record> part : {found.view.first, found.view.second}) {
            if (!part.empty() && observes_idle_graphs(options_)) memory_->hear(uid, part, false);
        }
        found.consumer.release(found.view.end);
        if (found.state == ring_state::retired) {
            memory_->end_thread(uid, ticks_now());
            region_->free_ring(ring);
        }
    }
}

session_result recording_session::start(const session_options& options, requester who, std::string& problem) {
    const auto command = begin_command(false);
    const std::lock_guard lock(mutex_);
    if (who == requester::program) environment_facts_ = read_environment_facts();
    if (process_ends_) {
        problem = "the process is about to end";
        return session_result::failed;
    }
    if (recording()) {
        problem = "a recording is running already";
        return session_result::wrong_state;
    }
    try {
        make_region(options);
    } catch (const std::exception& failure) {
        problem = failure.what();
        return session_result::failed;
    }
    if (problem = plan_problem(options).message(); !problem.empty()) return session_result::failed;
    if (!observes_idle_graphs(options)) {
        stop_observing();
        memory_ = std::make_unique<graph_history>(*region_);  // from now on it would miss what becomes of graphs
        if (tracer_ != nullptr) tracer_->detach(false);
    }
    options_ = options;
    completes_ = false;
    split_torch_texts(options.pytorch != pytorch_detail::off);
    facts_ = read_process_facts(options, environment_facts_);
    steps_.store(0);
    windows_passed_over_ = 0;
    {
        const std::lock_guard drain_lock(drain_mutex_);
        capture_path_.clear();
        capture_base_.clear();
        export_problem_.clear();
        missing_.clear();
        graphs_notice_.clear();
        attached_ = nullptr;
        totals_ = {};
        was_refused_ = false;
    }
    install_region(region_, on_first_use);
    recording_.store(true);
    changed_ns_ = clock_ns(CLOCK_MONOTONIC);
    plan_is_over_ = false;
    begin_plan();
    leave_to_children();
    return session_result::ok;
}

// To the capture, once there is one.
void recording_session::note_window() {
    const std::lock_guard lock(drain_mutex_);
    if (drain_ != nullptr) drain_->set_window(window_);
}

// Whether no capture is under way. Then none begins until the window is open, whatever the last one, in which there may
// have been no record, has left behind.
bool recording_session::close_to_stragglers() {
    const std::lock_guard lock(drain_mutex_);
    if (drain_ == nullptr) accepting_ = false;
    return drain_ == nullptr;
}

void recording_session::open_window() {
    const bool warm = window_state_ == window_state::warming_up;
    if (!warm) ++epoch_;
    leave_failed_capture();
    const bool begins_graph_capture = close_to_stragglers();
    if (begins_graph_capture) {
        stop_observing();
        discard_leftovers();
    }
    {
        const std::lock_guard lock(drain_mutex_);
        accepting_ = true;
        if (begins_graph_capture) drops_before_ = region_->drops();
        const drawn_steps drawn = plan_ == nullptr ? drawn_steps{} : plan_->drawn_among();
        window_ = {.epoch = epoch_,
                   .warmup_calls = warm ? cupti_tracer::last_unrecorded_call() : 0,
                   .begin_ticks = ticks_now(),
                   .first_step = current_step(),
                   .drawn_first = drawn.first,
                   .drawn_among = drawn.count};
    }
    // Not before: a thread that comes late from the recording before may be the first.
    if (begins_graph_capture) install_region(region_, on_first_use);
    note_window();
    window_state_ = window_state::open;
    changed_ns_ = clock_ns(CLOCK_MONOTONIC);
    set_gate(recording_epoch, epoch_);
    if (!warm && has_cuda()) attach_tracer(false);
}

// No GPU work that is launched from here on is recorded, then no launch either: neither side lacks the other.
void recording_session::close_window(std::uint64_t last_step, bool ends_with_step) {
    if (tracer_ != nullptr) tracer_->stop_recording();
    {
        const std::lock_guard lock(drain_mutex_);
        // Again: a launch may have been under way when the window opened.
        if (window_.warmup_calls != 0) window_.warmup_calls = cupti_tracer::last_unrecorded_call();
        window_.end_ticks = ticks_now();
        window_.last_step = last_step;
        window_.ends_with_step = ends_with_step ? 1 : 0;
    }
    set_gate(recording_epoch, next_idle_epoch());
    note_window();
    window_state_ = window_state::shut;
    changed_ns_ = clock_ns(CLOCK_MONOTONIC);
}

session_result recording_session::pause(std::string& problem) {
    const std::lock_guard lock(mutex_);
    if (plan_ != nullptr || window_state_ != window_state::open) {
        problem = refusal("the recording is paused already");
        return session_result::wrong_state;
    }
    end_window(current_step(), false, options_.export_each == capture_unit::window);
    leave_to_children();
    return session_result::ok;
}

session_result recording_session::resume(std::string& problem) {
    const auto lock = lock_settled(longest_wait_for_disk);
    if (!lock.owns_lock()) {
        problem = "the capture's disk does not answer: the window before is not taken in yet";
        return session_result::failed;
    }
    if (plan_ != nullptr || !recording() || window_state_ == window_state::open) {
        problem = refusal("the recording is not paused");
        return session_result::wrong_state;
    }
    open_window();
    leave_to_children();
    return session_result::ok;
}

std::string recording_session::capture_path() {
    const std::lock_guard lock(drain_mutex_);
    return capture_path_;
}

std::shared_ptr<drain_thread> recording_session::draining() {
    const std::lock_guard lock(drain_mutex_);
    return drain_;
}

}  // namespace prof
