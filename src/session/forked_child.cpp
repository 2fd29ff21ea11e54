// A forked child. Of its parent's session, threads, locks and file it has copies that nobody goes on with: it leaves
// them alone and makes a session of its own. That begins at the child's first range, or its first use of CUDA where its
// parent had none: a child without any costs nothing and leaves nothing.
//
// The recording that it begins is the parent's at the moment of the fork: it has its options, but for those that follow
// the parent's steps. What the child needs to know for this the parent has left beforehand (heritage.hpp), so that no
// fork waits for a lock.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <new>

#include "base/helper_thread.hpp"
#include "ring/registry.hpp"
#include "session/control.hpp"
#include "session/heritage.hpp"
#include "session/recording.hpp"

namespace prof {
namespace {

std::atomic<recording_session*> the_session{nullptr};
std::atomic<const heritage*> latest_heritage{nullptr};

// In a forked child.
recording_session* session_of_parent = nullptr;  // for the address sanitizer, which looks for what nobody points to
pid_t parent_pid = 0;
bool cuda_is_parents = false;
const heritage* left_by_parent = nullptr;

// A process and all its descendants count together.
struct family {
    std::atomic<std::uint32_t> captures{0};     // begun by children
    std::atomic<std::uint32_t> named_rings{0};  // of children; one that is killed leaves them
};
family* the_family = nullptr;  // null: nobody counts

// A program that forks for each task would fill its disk with files. Where children are killed, /dev/shm would fill.
constexpr std::uint32_t most_captures_of_children = 4096;
constexpr std::uint32_t most_named_rings_of_children = 64;

constexpr std::chrono::milliseconds longest_wait_for_begin{5000};

__thread bool begins __attribute__((tls_model("initial-exec"))) = false;  // this thread, a child's recording

}  // namespace

const heritage* inherited() noexcept { return left_by_parent; }

bool has_gpu_of_its_own() noexcept { return !cuda_is_parents; }

session_options options_of_child(const session_options& parents, bool may_use_gpu) {
    session_options out = parents;
    const session_options none;
    out.schedule = none.schedule;
    out.step_range = none.step_range;
    out.capture_range = none.capture_range;
    out.nvtx_capture = none.nvtx_capture;
    out.steps = none.steps;
    out.capture_range_end = none.capture_range_end;
    out.budget = none.budget;
    out.dump_on_slow_step = none.dump_on_slow_step;
    out.export_each = none.export_each;
    out.idle_graph_nodes = false;
    out.exports = {.trace = false, .summary = false};
    if (!may_use_gpu) out.activities = {"none"};
    return out;
}

recording_session& recording_session::instance() {
    if (recording_session* const known = the_session.load()) return *known;
    auto made = std::unique_ptr<recording_session>(new recording_session);
    recording_session* first = nullptr;
    // Of two threads that are here at once one has made it for nothing. A lock might be held when somebody forks.
    return the_session.compare_exchange_strong(first, made.get()) ? *made.release() : *first;
}

void recording_session::at_exit() noexcept {
    if (gate_was_wiped()) return;  // a child that in_child() has not seen
    if (recording_session* const session = the_session.load()) session->end_with_process();
}

void recording_session::leave_to_children() {
    if (the_family == nullptr) {
        void* const page = mmap(nullptr, sizeof(family), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (page != MAP_FAILED) the_family = ::new (page) family;
    }
    auto now = std::make_unique<heritage>();
    now->environment = environment_;
    now->options = options_;
    now->folder = facts_.working_directory;
    now->records = recording() && !plan_is_over_ && options_.forked_children;
    now->is_paused = plan_ == nullptr && window_state_ == window_state::shut;
    latest_heritage.store(now.get());
    heritage_before_ = std::move(heritage_);
    heritage_ = std::move(now);
}

void recording_session::in_child() noexcept {
    if (gate_was_wiped()) guard_gate();
    forget_helper_threads();
    cuda_is_parents = cuda_is_parents || cuda_is_starting;
    abandon_control_in_child();
    parent_pid = getppid();
    if (recording_session* const parents = the_session.exchange(nullptr)) {
        session_of_parent = parents;
        cuda_is_parents = cuda_is_parents || parents->has_tracer_ || parents->cuda_seen;
        if (parents->has_tracer_) cupti_tracer::leave_to_parent();
    }
    if (region* const where = installed_region()) watch_ranges({}, *where, nullptr);
    const heritage* const left = latest_heritage.load();
    leave_region_in_child(left != nullptr && left->records && !left->is_paused, on_childs_first_use);
    left_by_parent = parents_region() == nullptr ? nullptr : left;
}

// The rest of a child's session is as any other's.
void recording_session::take_heritage(const heritage& from) {
    may_use_gpu_ = !cuda_is_parents;
    environment_ = from.environment;
    options_ = options_of_child(from.options, may_use_gpu_);
    inherited_folder_ = from.folder;
    recording_ = from.records;
    begins_paused_ = from.is_paused;
    prepared_ = true;
}

void recording_session::on_childs_first_use() noexcept {
    try {
        instance().begin_inherited();
    } catch (const std::exception&) {
        set_gate(recording_epoch, 0);  // no memory for a session
    }
}

void recording_session::begin_inherited() noexcept {
    if (!inherits_ || has_begun_.load() || begins) return;
    // Who comes while another thread is at it waits for that, or its first ranges would find the gate shut.
    const std::unique_lock lock(preparing_, longest_wait_for_begin);
    if (!lock.owns_lock() || has_begun_.load()) return;
    begins = true;
    try {
        begin_as_child();
    } catch (const std::exception&) {
        refuse_to_record();
    }
    begins = false;
    has_begun_.store(true);
}

void recording_session::begin_as_child() {
    const std::lock_guard lock(mutex_);
    environment_facts_ = read_environment_facts();
    make_region(options_);
    if (!recording()) return install_region(region_, nullptr);
    if (the_family != nullptr && the_family->captures.fetch_add(1) >= most_captures_of_children) {
        install_region(region_, nullptr);
        return refuse_to_record();
    }
    facts_ = read_process_facts(options_, environment_facts_);
    if (!inherited_folder_.empty()) facts_.working_directory = inherited_folder_;
    install_region(region_, on_first_use);
    if (!begins_paused_) open_window();
    leave_to_children();
}

// The parent's capture counts the child.
void recording_session::refuse_to_record() noexcept {
    recording_ = false;
    set_gate(recording_epoch, 0);
    parents_region()->count_drop(drop_cause::forked_child);
}

// Only where `prof run` comes afterwards, and not too many: else there are none when the process is killed.
bool recording_session::names_its_rings() {
    if (!inherits_ || rings_are_counted_) return true;
    if (options_.run_id.empty() || the_family == nullptr) return false;
    rings_are_counted_ = the_family->named_rings.fetch_add(1) < most_named_rings_of_children;
    if (!rings_are_counted_) the_family->named_rings.fetch_sub(1);
    return rings_are_counted_;
}

void recording_session::take_names_off_rings() noexcept {
    if (std::exchange(rings_are_counted_, false)) the_family->named_rings.fetch_sub(1);
    if (region_ != nullptr) region_->take_name_off();
}

// REQUIRES: drain_mutex_ is held.
void recording_session::describe_child(property_list& properties) {
    properties.emplace(properties.begin(), "forked_from", std::to_string(parent_pid));
    if (names_its_rings()) return;
    region_->take_name_off();
    rings_are_nameless_ = true;
    std::erase_if(properties, [](const auto& property) { return property.first == "rings_path"; });
}

}  // namespace prof
