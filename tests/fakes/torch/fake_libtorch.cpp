// SPDX-License-Identifier: Apache-2.0
// What the stand-in for torch has of libtorch_cpu.so, under PyTorch's names: record functions with their global
// callbacks, and the profiler state of a thread. The latter is looked at when the thread has ended, later than anything
// that Python knows of: PyTorch complains of a state that is still on then.
#include <pthread.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace c10 {
struct FunctionSchema;
}

namespace torch::profiler::impl {
enum class ActiveProfilerType : std::uint8_t { NONE, LEGACY, KINETO, NVTX };
namespace {
thread_local ActiveProfilerType active = ActiveProfilerType::NONE;
}
ActiveProfilerType profilerType() { return active; }
}  // namespace torch::profiler::impl

namespace at {

struct RecordFunction;
struct ObserverContext {
    virtual ~ObserverContext() = default;
};

class RecordFunctionCallback {
public:
    std::unique_ptr<ObserverContext> (*start)(const RecordFunction&);
    void (*end)(const RecordFunction&, ObserverContext*);
    double sampling_probability;
    std::array<bool, 10> scopes;
    bool needs_inputs, needs_outputs, needs_ids;
};

namespace {
struct added_callback {
    RecordFunctionCallback callback;
    std::uint64_t handle;
};
std::mutex callbacks_mutex;
std::vector<added_callback> callbacks;
std::uint64_t next_handle = 1;
}  // namespace

std::uint64_t addGlobalCallback(RecordFunctionCallback callback) {
    const std::lock_guard lock{callbacks_mutex};
    if (callback.sampling_probability != 1 || callback.needs_inputs || callback.needs_outputs || callback.needs_ids) {
        std::fputs("fake libtorch: the callback has other settings than expected\n", stderr);
    }
    callbacks.push_back({callback, next_handle});
    return next_handle++;
}

void removeCallback(std::uint64_t handle) {
    const std::lock_guard lock{callbacks_mutex};
    std::erase_if(callbacks, [&](const added_callback& each) { return each.handle == handle; });
}

struct RecordFunction {
    RecordFunction(std::string name, std::uint8_t scope, std::int64_t sequence)
        : name_{std::move(name)}, sequence_{sequence} {
        {
            const std::lock_guard lock{callbacks_mutex};
            for (const added_callback& each : callbacks) {
                if (each.callback.scopes[scope]) called_.push_back(each.callback);
            }
        }
        for (const RecordFunctionCallback& each : called_) contexts_.push_back(each.start(*this));
    }
    virtual ~RecordFunction() {
        for (std::size_t i = 0; i != called_.size(); ++i) called_[i].end(*this, contexts_[i].get());
    }
    const char* name() const;

private:
    std::vector<RecordFunctionCallback> called_;
    std::vector<std::unique_ptr<ObserverContext>> contexts_;
    std::variant<std::string, std::reference_wrapper<const c10::FunctionSchema>> name_;
    [[maybe_unused]] std::int64_t sequence_;
    [[maybe_unused]] std::array<std::uint64_t, 32> others_{};
};
const char* RecordFunction::name() const { return std::get<std::string>(name_).c_str(); }

}  // namespace at

namespace {

pthread_key_t state;

void complain(void* is_on) {
    if (is_on != nullptr) std::fputs("[W observer.cpp:122] Warning: Leaked callback handle: 1\n", stderr);
}

struct library {
    library() { pthread_key_create(&state, complain); }
    ~library() { complain(pthread_getspecific(state)); }
} const here;

}  // namespace

extern "C" {
void set_state(int type) {
    torch::profiler::impl::active = static_cast<torch::profiler::impl::ActiveProfilerType>(type);
    pthread_setspecific(state, type != 0 ? &state : nullptr);
}
void* begin_record_function(const char* name, std::uint8_t scope, std::int64_t sequence) {
    return new at::RecordFunction(name, scope, sequence);
}
void end_record_function(void* function) { delete static_cast<at::RecordFunction*>(function); }
}
