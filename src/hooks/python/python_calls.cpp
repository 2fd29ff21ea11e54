// SPDX-License-Identifier: Apache-2.0
#include "hooks/python/python_calls.hpp"

#include <prof/prof.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <map>
#include <new>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/export_symbol.hpp"
#include "base/thread_object.hpp"
#include "hooks/nvtx/nvtx_hooks.hpp"
#include "hooks/python/python_places.hpp"
#include "hooks/python/python_steps.hpp"
#include "record/label.hpp"
#include "record/phase_parts.hpp"

namespace prof::observed_python {
namespace {

// Set once, before the first event; the interpreter's lock orders it.
prof_python_runtime runtime{};
std::atomic<bool> is_observing{false};
const python_functions& python = runtime.functions;
const python_objects& objects = runtime.objects;

python_object retained(python_object object) noexcept {
    if (object != nullptr) python.retain(object);
    return object;
}
python_object nothing() noexcept { return retained(objects.none); }

// Names that are looked up in frames and attributes: str objects, kept for ever.
struct names {
    python_object self = python.new_text("self"), args = python.new_text("args"),
                  optimizer = python.new_text("optimizer"), fn = python.new_text("fn"), code = python.new_text("code"),
                  locals = python.new_text("locals"), trigger = python.new_text("trigger"),
                  src = python.new_text("src"), n = python.new_text("n"),
                  sampler_iter = python.new_text("sampler_iter"), name = python.new_text("name"),
                  reason = python.new_text("recompile_reason");
};
const names& known_names() {
    static const auto& known = *new names;
    return known;
}

enum class phase : std::uint8_t {
    none,
    data,
    forward,
    evaluation,
    backward,
    recompute,
    optimizer,
    zero_grad,
    clip_grad,
    loss_scaling,
    compilation,
    compiled,  // a compiled function: no phase, but the calls in it are not traced
};
constexpr std::array<const char*, 12> phase_names{"",          "data",         "forward",     "evaluation",
                                                  "backward",  "recompute",    "optimizer",   "zero_grad",
                                                  "clip_grad", "loss_scaling", "compilation", ""};

// A call that is under way. Modules' calls within a module's call are counted only.
struct call_under_way {
    const void* code = nullptr;
    phase kind = phase::none;
    bool is_open = false;        // its phase is
    bool has_suspended = false;  // the optimizer's phase around it
    bool has_name = false;       // of what is compiled: a phase in its phase
    std::uint32_t modules = 0;
    python_object subject = nullptr;  // an address only
};

struct calls_of_this_thread {
    static constexpr std::uint32_t most = 128;
    std::array<call_under_way, most> calls{};
    std::uint32_t count = 0;
    std::uint32_t beyond = 0;  // calls within the last that there is room for
    python_steps::thread thread;
    std::uint32_t epoch = 0;
    // Which calls of modules, one within another, have a range to be ended. Calls deeper than `deepest` have none.
    static constexpr std::uint32_t deepest = 1024;
    std::uint32_t depth = 0;
    std::array<std::uint64_t, deepest / 64> has_range{};
    void* outermost = nullptr;    // its module; an address only, for it may be gone
    const char* begun = nullptr;  // the name of the range that has just begun, until any begins or ends

    ~calls_of_this_thread() { python_steps::thread_ended(thread.number); }
    call_under_way* top() noexcept { return count == 0 ? nullptr : &calls[count - 1]; }
};
// Calls of an earlier epoch are forgotten.
constinit std::atomic<std::uint32_t> epoch_of_calls{1};
constinit std::atomic<std::uint64_t> thread_numbers{0};
bool is_off = false;  // in a DataLoader's worker, and at the end

calls_of_this_thread& calls_here() {
    calls_of_this_thread* const object = thread_object<calls_of_this_thread>::here();
    if (object == nullptr) throw std::bad_alloc();
    calls_of_this_thread& calls = *object;
    const std::uint32_t now = epoch_of_calls.load(std::memory_order_relaxed);
    if (calls.epoch != now) {
        if (calls.thread.number == 0) calls.thread.number = ++thread_numbers;
        calls.thread.is_main = gettid() == getpid();
        calls.count = calls.beyond = calls.depth = 0;
        calls.has_range = {};
        calls.outermost = nullptr;
        calls.begun = nullptr;
        calls.epoch = now;
    }
    return calls;
}

// A phase may wait for a window to open; other threads run meanwhile.
template <typename TCall>
void without_interpreter(TCall call) noexcept {
    void* const state = runtime.may_wait == 0 ? nullptr : python.save_thread();
    call();
    if (state != nullptr) python.restore_thread(state);
}

bool push(const char* name, std::uint32_t category) noexcept {
    int result = 0;
    without_interpreter([&] { result = prof_phase_push(name, category); });
    return result == PROF_OK;
}
void pop() noexcept {
    without_interpreter([] { (void)prof_phase_pop(); });
}

python_places& places() {
    static auto& known = *new python_places(runtime.functions, runtime.instructions);
    return known;
}
python_steps& steps() {
    static auto& known = *new python_steps(runtime.functions, places(), {push, pop});
    return known;
}

// ---- What an event is about ----

python_reference variable_of(python_object frame, python_object name) noexcept {
    if (python.variable != nullptr) return {python, python.variable(frame, name)};
    const python_reference variables{python, python.attribute(frame, "f_locals")};  // before Python 3.12
    const std::string_view text = text_of(python, name);
    return {python, variables ? retained(python.item(variables.get(), text.data())) : nullptr};
}

python_reference variable(python_object name) noexcept {  // of the call that begins, or of the frame that runs
    if (is_watched_call()) return {python, watched_argument(name)};
    const python_object frame = python.frame();
    if (frame == nullptr) return {python, nullptr};
    return variable_of(frame, name);
}

bool is_of(python_object object, python_object type, bool or_subtype = false) noexcept {
    if (object == nullptr) return false;
    const python_reference object_type{python, python.type(object)};
    return object_type.get() == type || (or_subtype && object_type && python.is_subtype(object_type.get(), type) != 0);
}

// An attribute that is the object's own: borrowed from the object, or null.
python_object own_attribute(python_object object, const char* name) noexcept {
    const python_reference attributes{python, object == nullptr ? nullptr : python.own_attributes(object, nullptr)};
    if (!attributes) return nullptr;
    const python_object found = python.item(attributes.get(), name);
    if (found == nullptr) python.clear_error();
    return found;
}

bool number_of(python_object object, long long& out) noexcept {
    if (!is_of(object, objects.number)) return false;
    out = python.value(object);
    return true;
}

python_event event_of(const void* code) noexcept {
    for (const prof_python_code* entry = runtime.codes; entry != runtime.codes + runtime.code_count; ++entry) {
        if (entry->code == code) return static_cast<python_event>(entry->event);
    }
    return python_event::none;
}

bool has_gradients() noexcept { return runtime.has_gradients == nullptr || runtime.has_gradients(); }
bool is_in_backward() noexcept { return runtime.graph_task != nullptr && runtime.graph_task() != -1; }

// Whether this thread is compiling: a call is traced then, and does not run.
bool is_compiling() noexcept {
    if (objects.thread_of_compiler == nullptr) return false;
    const python_reference context{python, python.attribute(objects.thread_of_compiler, "tracing_context")};
    return context && context.get() != objects.none;
}

bool is_evaluated(python_object module) noexcept {
    if (!has_gradients()) return true;
    const python_object training = own_attribute(module, "training");
    if (training == objects.no) return true;
    long long value = 1;
    return number_of(training, value) && value == 0;
}

// ---- The end of a DataLoader's data, before it is reached ----

python_reference frame_of_generator(python_object generator) noexcept {
    return {python, is_of(generator, objects.generator) ? python.attribute(generator, "gi_frame") : nullptr};
}

// How many elements PyTorch's own samplers and Python's iterators still have; -1: not known. `taken`: how many were.
long long left_in(python_object iterator, long long taken) noexcept {
    if (is_of(iterator, objects.list_iterator) || is_of(iterator, objects.range_iterator)) {
        const std::ptrdiff_t left = python.length_hint(iterator, -1);
        if (left < 0) python.clear_error();
        return left;
    }
    const python_reference frame = frame_of_generator(iterator);
    if (!frame) return -1;
    if (frame.get() == objects.none) return 0;
    const python_reference code{python, python.frame_code(frame.get())};
    if (event_of(code.get()) != python_event::sampler) return -1;
    const python_reference self = variable_of(frame.get(), known_names().self);
    const python_reference size = variable_of(frame.get(), known_names().n);
    const python_object indices = own_attribute(self.get(), "indices");
    long long total = -1;
    if (!number_of(own_attribute(self.get(), "num_samples"), total) &&
        !number_of(own_attribute(self.get(), "_num_samples"), total) && !number_of(size.get(), total)) {
        if (is_of(indices, objects.list)) total = python.length_hint(indices, -1);
    }
    return total < 0 ? -1 : std::max<long long>(total - taken, 0);
}

std::unordered_map<const void*, long long>& lengths_of_samplers() {
    static auto& known = *new std::unordered_map<const void*, long long>;
    return known;
}

// Whether the next call of the DataLoader's iterator raises StopIteration, as far as can be known.
bool is_at_end(python_object iterator) noexcept {
    long long kind = -1, yielded = 0, sent = 0, received = 0;
    if (!number_of(own_attribute(iterator, "_dataset_kind"), kind) || kind != 0 ||
        !number_of(own_attribute(iterator, "_num_yielded"), yielded))
        return false;
    if (number_of(own_attribute(iterator, "_send_idx"), sent) &&
        number_of(own_attribute(iterator, "_rcvd_idx"), received))
        return received >= sent;
    const python_object indices = own_attribute(iterator, "_sampler_iter");
    const python_object sampler = own_attribute(iterator, "_index_sampler");
    long long left = -1;
    const python_reference frame = frame_of_generator(indices);
    if (frame && frame.get() == objects.none) return true;
    const python_reference code{python, frame ? python.frame_code(frame.get()) : nullptr};
    if (code && event_of(code.get()) == python_event::batch_sampler) {
        long long size = 0;
        const python_reference within = variable_of(frame.get(), known_names().sampler_iter);
        if (yielded > 0 && within && number_of(own_attribute(sampler, "batch_size"), size)) {
            left = left_in(within.get(), yielded * size);
            if (left >= 0 && own_attribute(sampler, "drop_last") == objects.yes) left /= std::max(size, 1LL);
        }
    } else {
        left = left_in(indices, yielded);
    }
    if (left >= 0) return left == 0;
    const auto learned = lengths_of_samplers().find(sampler);  // as in the last epoch
    return yielded > 0 && learned != lengths_of_samplers().end() && yielded == learned->second;
}

// A sampler without a known length had so many batches.
void learn_length(python_object iterator) {
    long long yielded = 0;
    const python_object sampler = own_attribute(iterator, "_index_sampler");
    if (number_of(own_attribute(iterator, "_num_yielded"), yielded) && steps().guard(sampler))
        lengths_of_samplers()[sampler] = yielded;
}

// ---- What is compiled ----

struct compiled_name {
    std::string name;
    long long line = 0;
};

// The name of a function that is compiled. Dynamo puts a function of its own around a module's call.
compiled_name name_of_code(python_object code, python_object variables) {
    const auto attribute = [](python_object object, const char* name) {
        return python_reference{python, python.attribute(object, name)};
    };
    const auto ends = [](std::string_view text, std::string_view end) {
        return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
    };
    {
        const python_reference file = attribute(code, "co_filename");
        if (ends(text_of(python, file.get()), "external_utils.py") && variables != nullptr) {
            python_object inner = python.item(variables, "fn");
            if (inner == nullptr) python.clear_error();
            if (is_of(inner, objects.method)) inner = python.method_function(inner);
            if (is_of(inner, objects.function)) {
                code = python.function_code(inner);
            } else if (inner != nullptr && inner != objects.none) {
                const python_reference type{python, python.type(inner)};
                const python_reference name{python, python.qualified_name(type.get())};
                return {std::string{text_of(python, name.get())}, 0};
            }
        }
    }
    const python_reference name = attribute(code, "co_qualname"), plain = attribute(code, "co_name"),
                           file = attribute(code, "co_filename"), line = attribute(code, "co_firstlineno");
    compiled_name found;
    found.name = text_of(python, name ? name.get() : plain.get());
    constexpr std::string_view locals = "<locals>.";
    for (std::size_t position = found.name.find(locals); position != std::string::npos;
         position = found.name.find(locals, position))
        found.name.erase(position, locals.size());
    std::string_view path = text_of(python, file.get());
    path.remove_prefix(path.rfind('/') + 1);
    found.name.append(" (").append(path).append(")");
    if (line) (void)number_of(line.get(), found.line);
    return found;
}

// Why functions were compiled again. Kept with the capture as lines: function, line, count, reason.
class recompilations {
public:
    void clear() noexcept { counts_.clear(); }
    void add(const compiled_name& compiled, std::string_view reason) {
        std::string line;
        bool is_gap = false;
        for (const char character : reason) {
            if (character == ' ' || (character >= '\t' && character <= '\r') || character == '\0') {
                is_gap = !line.empty();
                continue;
            }
            if (line.size() >= longest) break;
            if (std::exchange(is_gap, false)) line += ' ';
            line += character;
        }
        while (!line.empty() && line.size() >= longest && (line.back() & 0xC0) == 0x80) line.pop_back();
        const std::tuple key{compiled.name, compiled.line, line};
        if (!counts_.contains(key)) {
            if (counts_.size() >= most) return;
            order_.push_back(key);
        }
        ++counts_[key];
        std::string text;
        for (const auto& entry : order_) {
            const auto found = counts_.find(entry);
            if (found == counts_.end()) continue;
            if (!text.empty()) text += '\n';
            text += std::get<0>(entry) + "\t" + std::to_string(std::get<1>(entry)) + "\t" +
                    std::to_string(found->second) + "\t" + std::get<2>(entry);
        }
        (void)prof_keep_text("torch_recompilations", text.c_str());
    }

private:
    static constexpr std::size_t most = 32, longest = 300;
    std::map<std::tuple<std::string, long long, std::string>, std::uint64_t> counts_;
    std::vector<std::tuple<std::string, long long, std::string>> order_;
};
recompilations& known_recompilations() {
    static auto& known = *new recompilations;
    return known;
}

compiled_name what_is_compiled(python_event event) {
    switch (event) {
        case python_event::compile: {
            const python_reference code = variable(known_names().code), variables = variable(known_names().locals);
            if (!code) return {"compilation", 0};
            return name_of_code(code.get(), variables.get() == objects.none ? nullptr : variables.get());
        }
        case python_event::compile_other: {
            const python_reference trigger = variable(known_names().trigger);
            std::string name{text_of(python, own_attribute(trigger.get(), "_name_"))};
            if (name.empty()) name = "compilation";
            for (char& character : name) {
                if (character >= 'A' && character <= 'Z') character = static_cast<char>(character - 'A' + 'a');
                if (character == '_') character = ' ';
            }
            return {name, 0};
        }
        case python_event::compile_triton: {
            const python_reference source = variable(known_names().src);
            const std::string name{text_of(python, own_attribute(source.get(), "name"))};
            return {name.empty() ? "Triton kernel" : name, 0};
        }
        case python_event::precompile:
            return {"Triton kernels", 0};
        case python_event::autotune:
            return {"Triton autotuning", 0};
        default:
            return {};
    }
}

// ---- Phases ----

call_under_way* enter(calls_of_this_thread& calls, const void* code, phase kind) noexcept {
    if (calls.count == calls_of_this_thread::most) {
        ++calls.beyond;
        return nullptr;
    }
    call_under_way& call = calls.calls[calls.count++];
    call = {};
    call.code = code;
    call.kind = kind;
    return &call;
}

// The kind of the innermost call around, but for compiled functions.
phase kind_around(const calls_of_this_thread& calls) noexcept {
    for (std::uint32_t index = calls.count; index-- > 0;) {
        if (calls.calls[index].kind != phase::compiled) return calls.calls[index].kind;
    }
    return phase::none;
}

bool is_in_compiled(const calls_of_this_thread& calls) noexcept {
    return std::any_of(calls.calls.begin(), calls.calls.begin() + calls.count,
                       [](const call_under_way& open_call) { return open_call.kind == phase::compiled; });
}

call_under_way* suspendable(calls_of_this_thread& calls) noexcept {
    for (std::uint32_t index = calls.count; index-- > 0;) {
        if (calls.calls[index].kind != phase::compiled) return &calls.calls[index];
    }
    return nullptr;
}

void open_phase(call_under_way& call, std::uint32_t category = 0) noexcept {
    call.is_open = true;
    if (!push(phase_names[static_cast<std::size_t>(call.kind)], category)) call.is_open = false;
}

bool is_module_phase(phase kind) noexcept { return kind == phase::forward || kind == phase::evaluation; }

// `zero_grad`, `clip_grad` and so on within a step of an optimizer belong to its closure, and end the optimizer's
// phase.
bool is_in_closure(phase kind) noexcept {
    return is_module_phase(kind) || kind == phase::backward || kind == phase::zero_grad || kind == phase::clip_grad;
}

// Begins a call. A module's call inside another module's does not come here. `subject`: the iterator, optimizer or
// compiled function.
void begin(calls_of_this_thread& calls, const void* code, phase kind, python_object subject, std::uint32_t category) {
    const phase outer = kind_around(calls);
    const bool is_within_compiled = is_in_compiled(calls);
    call_under_way* const around = suspendable(calls);
    call_under_way* const call = enter(calls, code, kind);
    if (call == nullptr || is_off) return;
    call->subject = subject;
    if (outer == phase::compilation) return;  // the compiler traces: what it calls does not run
    if (kind == phase::compiled) {
        if (outer != phase::none) return;
        if (!steps().begin_compiled(calls.thread, subject) && !steps().has_optimizers())
            steps().call(calls.thread, !has_gradients());
        return;
    }
    const bool is_part_of_backward = outer == phase::backward || outer == phase::recompute || is_in_backward();
    if ((is_module_phase(kind) || kind == phase::backward) && is_part_of_backward) {
        if (kind == phase::backward) return;  // a part of the backward under way
        call->kind = phase::recompute;
    } else if (outer == phase::none && kind != phase::compilation) {
        const bool is_call_of_compiled = is_within_compiled && !steps().has_optimizers();
        if (kind == phase::data) {
            if (steps().is_begun_by_fetch(calls.thread, has_gradients()) && !is_at_end(subject))
                steps().begin_fetched();
        } else if (is_module_phase(kind)) {
            if (!is_call_of_compiled) steps().call(calls.thread, kind == phase::evaluation);
        } else if (kind == phase::zero_grad) {
            steps().zero_grad(calls.thread, subject);
        } else if (kind == phase::backward) {
            steps().backward(calls.thread);
        } else if (kind == phase::optimizer && subject != nullptr) {
            steps().begin_optimizer(calls.thread, subject);
        }
    } else if (outer == phase::optimizer && is_in_closure(kind)) {
        if (around->is_open) {
            around->is_open = false;
            call->has_suspended = true;
            pop();
        }
    } else if (kind != phase::compilation && (kind != phase::backward || !is_module_phase(outer) || is_compiling())) {
        return;  // a part of the phase around it
    }
    open_phase(*call, kind == phase::backward ? category : 0);
}

void begin_compilation(calls_of_this_thread& calls, const void* code, const compiled_name& compiled) {
    begin(calls, code, phase::compilation, nullptr, 0);
    call_under_way* const call = calls.top();
    if (call == nullptr || call->code != code || !call->is_open || calls.beyond != 0) return;
    call->has_name = true;
    if (!push(compiled.name.c_str(), 0)) call->has_name = false;
}

void begin_step(calls_of_this_thread& calls, const void* code, python_object optimizer) {
    const bool is_nested = kind_around(calls) == phase::optimizer;
    const bool is_traced = kind_around(calls) == phase::compilation;
    begin(calls, code, phase::optimizer, optimizer, 0);
    if (!is_off && !is_traced && optimizer != nullptr) steps().step(calls.thread, optimizer, is_nested);
}

// Ends the innermost call.
void finish(calls_of_this_thread& calls) noexcept {
    call_under_way& call = calls.calls[calls.count - 1];
    if (std::exchange(call.has_name, false)) pop();
    if (std::exchange(call.is_open, false)) pop();
    const bool has_suspended = call.has_suspended;
    if (call.kind == phase::compiled && !is_off && kind_around(calls) != phase::compilation)
        steps().end_compiled(calls.thread, call.subject);
    --calls.count;
    if (!has_suspended) return;
    if (call_under_way* const around = suspendable(calls); around != nullptr && around->kind == phase::optimizer)
        open_phase(*around, continues);
}

// ---- Modules ----

struct known_module {
    const char* name = nullptr;
    void* reference = nullptr;
    std::uint32_t flags = 0;
};
// Never freed: a thread may still call a module when the process ends.
struct known_modules {
    std::unordered_map<const void*, known_module> by_module;
    std::unordered_map<const void*, const void*> by_reference;
};
known_modules& known() {
    static auto& modules = *new known_modules;
    return modules;
}

// False, with an exception set in Python, if the call has raised one.
template <typename... TArguments>
bool call_python(void* callable, TArguments... arguments) noexcept {
    void* const result = python.call(callable, arguments..., nullptr);
    if (result != nullptr) python.release(result);
    return result != nullptr;
}

// As call_python. Where there was no room for one more Python function, the module has no name yet.
template <typename... TArguments>
bool name_by_python(TArguments... arguments) noexcept {
    if (call_python(arguments...)) return true;
    if (python.error_is(objects.no_room) == 0) return false;
    python.clear_error();
    return true;
}

std::int64_t next_sequence() noexcept {
    return runtime.next_sequence == nullptr ? -1 : static_cast<std::int64_t>(runtime.next_sequence());
}

bool is_to_be_named(const known_module* module, bool is_outermost) noexcept {
    if (module == nullptr) return true;
    return is_outermost ? module->name == nullptr : (module->flags & module_is_root) != 0;
}

const known_module* find(const void* module) noexcept {
    const auto found = known().by_module.find(module);
    return found == known().by_module.end() ? nullptr : &found->second;
}

// False where call_python() is false.
bool name_called(const calls_of_this_thread& calls, void* module, bool is_outermost) noexcept {
    const python_reference around{python, is_outermost ? nothing() : python.address(calls.outermost)};
    return !around || name_by_python(runtime.on_module, module, around.get());
}

void enter_module(calls_of_this_thread& calls) noexcept {
    const std::uint32_t depth = calls.depth++;
    if (depth < calls_of_this_thread::deepest) calls.has_range[depth / 64] &= ~(std::uint64_t{1} << depth % 64);
}

// False where call_python() is false.
bool begin_module(calls_of_this_thread& calls, python_object module) noexcept {
    const std::uint32_t depth = calls.depth - 1;
    if (depth >= calls_of_this_thread::deepest || module == nullptr) return true;
    const bool is_outermost = depth == 0;
    bool is_good = true;
    if (is_to_be_named(find(module), is_outermost)) is_good = name_called(calls, module, is_outermost);
    if (is_outermost) calls.outermost = module;
    const known_module* const found = is_good ? find(module) : nullptr;
    const char* const begun = std::exchange(calls.begun, nullptr);
    if (found == nullptr || found->name == nullptr || *found->name == '\0') return is_good;
    if ((found->flags & module_is_wrapped) != 0 && begun == found->name)
        return true;  // the wrapper's range stands for it
    if (push_module(found->name, next_sequence())) {
        calls.has_range[depth / 64] |= std::uint64_t{1} << depth % 64;
        calls.begun = found->name;
    }
    return true;
}

void end_module(calls_of_this_thread& calls) noexcept {
    if (calls.depth == 0) return;
    const std::uint32_t depth = --calls.depth;
    calls.begun = nullptr;
    if (depth < calls_of_this_thread::deepest && (calls.has_range[depth / 64] >> depth % 64 & 1) != 0) {
        pop_module(next_sequence());
    }
}

// ---- Events ----

bool has_end(python_event event) noexcept { return event < python_event::make_optimizer; }

// A compiled function's own identity: its code. An optimizer's method: the optimizer.
struct compiled_function {
    python_object code = nullptr, optimizer = nullptr;
};
compiled_function function_compiled(python_object function) noexcept {
    if (is_of(function, objects.method)) {
        const python_object self = python.method_self(function);
        if (is_of(self, objects.optimizer, true)) {
            return {nullptr, self};
        }
        function = python.method_function(function);
    }
    if (is_of(function, objects.function)) return {python.function_code(function), nullptr};
    return {};
}

bool is_step_of_optimizer(python_object method) noexcept {
    python_object function = python.method_function(method);
    if (!is_of(function, objects.function)) return false;
    const python_reference name{python, python.attribute(function, "__name__")};
    return text_of(python, name.get()) == "step";
}

void begin_compiled(calls_of_this_thread& calls, const void* code) {
    const python_reference function = variable(known_names().fn);
    const compiled_function compiled = function_compiled(function.get());
    if (compiled.optimizer != nullptr && is_step_of_optimizer(function.get())) {
        begin_step(calls, code, compiled.optimizer);
    } else {
        begin(calls, code, phase::compiled, compiled.code, 0);
    }
}

// The compiler traces a call of an optimizer's method: the function around is compiled with the optimizer's step.
void meet_compiled_step(calls_of_this_thread& calls) {
    const python_reference variable_of_compiler = variable(known_names().self), name = variable(known_names().name);
    const std::string_view method = text_of(python, name.get());
    if (method != "step" && method != "_init_group") return;
    const python_object optimizer = own_attribute(variable_of_compiler.get(), "value");
    if (!is_of(optimizer, objects.optimizer, true)) return;
    for (std::uint32_t index = calls.count; index-- > 0;) {
        const call_under_way& call = calls.calls[index];
        if (call.kind == phase::optimizer) return;
        if (call.kind == phase::compiled && call.subject != nullptr)
            return steps().meet_compiled(call.subject, optimizer);
    }
}

// What the profiler or the program calls ProfilerStep#N.
bool is_profilers_step(python_object range) noexcept {
    return text_of(python, own_attribute(range, "name")).substr(0, 13) == "ProfilerStep#";
}

// Python's result; null, with an exception, where a call of Python code has raised one.
python_object on_event(calls_of_this_thread& calls, const void* code, python_event event) {
    const names& name = known_names();
    switch (event) {
        case python_event::module_call: {
            call_under_way* const top = calls.beyond == 0 ? calls.top() : nullptr;
            if (runtime.on_module != nullptr) enter_module(calls);
            const bool is_within = top != nullptr && top->modules != 0;
            if (is_within && runtime.on_module == nullptr) {
                ++top->modules;
                return nothing();
            }
            const python_reference module = variable(name.self);
            if (is_within) {
                ++top->modules;
            } else {
                begin(calls, code, is_evaluated(module.get()) ? phase::evaluation : phase::forward, nullptr, 0);
                if (call_under_way* const call = calls.top(); call != nullptr && calls.beyond == 0) call->modules = 1;
            }
            if (runtime.on_module != nullptr && !begin_module(calls, module.get())) return nullptr;
            return nothing();
        }
        case python_event::fetch:
            begin(calls, code, phase::data, variable(name.self).get(), 0);
            break;
        case python_event::backward: {
            // Gradients, retain_graph, create_graph, …
            const python_reference arguments = variable(name.args);
            bool makes = false;
            if (runtime.on_module != nullptr && arguments) {
                makes = python.count(arguments.get()) > 2 && python.element(arguments.get(), 2) == objects.yes;
                python.clear_error();
            }
            begin(calls, code, phase::backward, nullptr, makes ? makes_graph : 0);
            break;
        }
        case python_event::step: {
            const python_reference arguments = variable(name.args);
            const python_object optimizer = arguments ? python.element(arguments.get(), 0) : nullptr;
            if (optimizer == nullptr) python.clear_error();
            begin_step(calls, code, optimizer);
            break;
        }
        case python_event::scaled_step: {
            const python_reference given = variable(name.optimizer);
            const python_object inner = own_attribute(given.get(), "optimizer");
            begin_step(calls, code, is_of(inner, objects.optimizer, true) ? inner : given.get());
            break;
        }
        case python_event::zero_grad:
            begin(calls, code, phase::zero_grad, variable(name.self).get(), 0);
            break;
        case python_event::clip_grad:
            begin(calls, code, phase::clip_grad, nullptr, 0);
            break;
        case python_event::loss_scaling:
            begin(calls, code, phase::loss_scaling, nullptr, 0);
            break;
        case python_event::compile:
        case python_event::compile_other:
        case python_event::compile_triton:
        case python_event::precompile:
        case python_event::autotune:
            begin_compilation(calls, code, what_is_compiled(event));
            break;
        case python_event::compiled:
            begin_compiled(calls, code);
            break;
        case python_event::make_optimizer:
            if (!is_off) steps().make(calls.thread, variable(name.self).get());
            break;
        case python_event::make_module:
        case python_event::move_module:
        case python_event::ask_for_parameters: {
            // The compiler makes modules of its own.
            if (event != python_event::ask_for_parameters && !is_off && kind_around(calls) != phase::compilation)
                steps().prepare(calls.thread);
            if (event == python_event::make_module || runtime.on_meeting == nullptr) return retained(objects.disable);
            const python_reference module = variable(name.self);
            if (module && find(module.get()) == nullptr && !name_by_python(runtime.on_meeting, module.get()))
                return nullptr;
            break;
        }
        case python_event::work_for_loader:
            is_off = true;
            break;
        case python_event::capture_graph:
            steps().capture(calls.thread, variable(name.self).get());
            break;
        case python_event::end_capture:
            steps().capture(calls.thread, nullptr);
            break;
        case python_event::replay_graph:
            if (calls.count == 0) steps().replay(calls.thread, variable(name.self).get());
            break;
        case python_event::enter_range:
            if (calls.count == 0 && !is_off && is_profilers_step(variable(name.self).get())) steps().mark(calls.thread);
            break;
        case python_event::step_profiler: {
            // If it records steps there is a range of that name.
            const python_reference profiler = variable(name.self);
            if (calls.count == 0 && !is_off && own_attribute(profiler.get(), "record_steps") == objects.no)
                steps().mark(calls.thread);
            break;
        }
        case python_event::stop_profiler:
            steps().end_marking(calls.thread);
            break;
        case python_event::compile_step:
            meet_compiled_step(calls);
            break;
        case python_event::sampler:
        case python_event::batch_sampler:
        case python_event::none:
            break;
    }
    return nothing();
}

void* on_start(void*, void* const* arguments, std::ptrdiff_t count) noexcept {
    if (count < 2) return nothing();
    try {
        return on_event(calls_here(), arguments[0], event_of(arguments[0]));
    } catch (const std::exception&) {  // no memory
        return nothing();
    }
}

// The frame of the call is still there.
void before_end(call_under_way& call) {
    if (call.kind != phase::compilation || event_of(call.code) != python_event::compile) return;
    const python_reference reason = variable(known_names().reason);
    if (const std::string_view text = text_of(python, reason.get()); !text.empty())
        known_recompilations().add(what_is_compiled(python_event::compile), text);
}

// `error`: what leaves the call, or null.
void end_call(calls_of_this_thread& calls, const void* code, python_event event, python_object error) {
    if (event == python_event::module_call && runtime.on_module != nullptr) end_module(calls);
    if (calls.beyond != 0) {
        --calls.beyond;
        return;
    }
    call_under_way* call = calls.top();
    if (call == nullptr || call->code != code) {
        // Its beginning was not observed, or the ends of those in it were not.
        std::uint32_t index = calls.count;
        while (index != 0 && calls.calls[index - 1].code != code) --index;
        if (index == 0) return;
        while (calls.count > index) finish(calls);
        call = calls.top();
    }
    if (call->modules > 1) {
        --call->modules;
        return;
    }
    before_end(*call);
    const bool is_end_of_data =
        call->kind == phase::data && error != nullptr && is_of(error, objects.end_of_iteration, true);
    if (is_end_of_data) learn_length(call->subject);
    finish(calls);
    if (is_end_of_data) steps().end_data(calls.thread);
}

void end_noexcept(const void* code, python_object error) noexcept {
    const python_event event = event_of(code);
    if (!has_end(event)) return;
    try {
        end_call(calls_here(), code, event, error);
    } catch (const std::exception&) {  // no memory
    }
}

void* on_end(void*, void* const* arguments, std::ptrdiff_t count) noexcept {
    if (count >= 1) end_noexcept(arguments[0], nullptr);
    return nothing();
}

// For any function that an exception leaves.
void* on_unwind(void*, void* const* arguments, std::ptrdiff_t count) noexcept {
    if (count >= 3) end_noexcept(arguments[0], arguments[2]);
    return nothing();
}

// ---- Objects that die, and control ----

void* on_death(void*, void* const* arguments, std::ptrdiff_t count) noexcept {
    if (count >= 1) lengths_of_samplers().erase(steps().object_died(arguments[0]));
    return nothing();
}

void set_on_death(void* callable) noexcept { steps().set_on_death(callable); }
void set_steps_of_program(int are_the_programs) noexcept { steps().set_programs(are_the_programs != 0); }

// A recording has begun. What was open before it does not belong to it.
void attach() noexcept {
    epoch_of_calls.fetch_add(1, std::memory_order_relaxed);
    steps().start_over(calls_here().thread);
    known_recompilations().clear();
}

// Before a recording ends: what is open ends with it.
void detach() noexcept { steps().leave(calls_here().thread); }

void forget() noexcept {
    epoch_of_calls.fetch_add(1, std::memory_order_relaxed);
    steps().forget();
}

void end() noexcept {
    is_off = true;
    steps().end(calls_here().thread);
}

// ---- The tool of sys.monitoring ----

struct monitoring_tool {
    enum function : std::uint8_t {
        use,
        free,
        get,
        register_callback,
        set_events,
        set_local_events,
        get_events,
        get_local_events,
        all_events,
        clear,  // not before Python 3.14
        end_of_functions
    };
    int number = -1;
    std::array<python_object, end_of_functions> functions{};
    python_object name = nullptr;
    std::array<python_object, 3> callbacks{};  // start, end, unwind
    // The program's, for a tool that it does not use: a number keeps them when it is free.
    std::array<python_object, 3> earlier{};
    std::array<int, 3> events{};
    bool are_on = false;

    template <typename... TArguments>
    bool call(function which, int tool, TArguments... arguments) const noexcept {
        const python_reference number_given{python, python.number(tool)};
        return number_given && call_python(functions[which], number_given.get(), arguments...);
    }
    bool set(int tool, bool to_on) const noexcept {
        bool is_good = true;
        for (const prof_python_code* code = runtime.codes; code != runtime.codes + runtime.code_count; ++code) {
            if (code->code == nullptr) continue;
            const auto event = static_cast<python_event>(code->event);
            if (event >= python_event::sampler) continue;
            const int mask = events[0] | (has_end(event) ? events[1] : 0);
            const python_reference given{python, python.number(to_on ? mask : 0)};
            is_good = given && call(set_local_events, tool, const_cast<void*>(code->code), given.get()) && is_good;
        }
        return set_unwind(tool, to_on) && is_good;
    }
    // There is no local event of this kind.
    bool set_unwind(int tool, bool to_on) const noexcept {
        const python_reference given{python, python.number(to_on ? events[2] : 0)};
        return given && call(set_events, tool, given.get());
    }
    // What was registered before.
    python_object registered(int tool, int event, python_object callback) const noexcept {
        const python_reference number_given{python, python.number(tool)};
        const python_reference event_given{python, python.number(event)};
        if (!number_given || !event_given) return nullptr;
        return python.call(functions[register_callback], number_given.get(), event_given.get(), callback, nullptr);
    }
    bool begin(int tool) noexcept {
        if (!call(use, tool, name)) return false;
        number = tool;
        for (std::size_t index = 0; index < callbacks.size(); ++index) {
            earlier[index] = registered(tool, events[index], callbacks[index]);
            if (earlier[index] == nullptr) return false;
        }
        return set(tool, are_on);
    }
    void end() noexcept {
        const int tool = std::exchange(number, -1);
        bool is_good = set(tool, false);
        for (std::size_t index = 0; index < callbacks.size(); ++index) {
            const python_reference before{python, std::exchange(earlier[index], nullptr)};
            const python_reference own{python, registered(tool, events[index], before ? before.get() : objects.none)};
        }
        if (!call(free, tool) || !is_good) python.clear_error();
    }
    bool is_free(int tool) const noexcept {
        const python_reference given{python, python.number(tool)};
        const python_reference used{python, given ? python.call(functions[get], given.get(), nullptr) : nullptr};
        return used.get() == objects.none;
    }
    // Where the program wants the tool's number.
    void give_way() noexcept {
        const int left = number;
        end();
        for (int other = 5; other >= 0; --other) {
            if (other == left || !is_free(other)) continue;
            if (begin(other)) return;
            python.clear_error();
        }
    }
    bool has(python_object asked) const noexcept {
        long long value = -1;
        if (number < 0 || !number_of(asked, value)) return false;
        if (value == -1) python.clear_error();  // a large number
        return value == number;
    }
};
monitoring_tool tool;

template <std::size_t... indices>
void* call_with(python_object function, void* const* arguments, std::index_sequence<indices...>) noexcept {
    return python.call(function, arguments[indices]..., nullptr);
}

void* pass_on(monitoring_tool::function which, void* const* arguments, std::ptrdiff_t count) noexcept {
    python_object const function = tool.functions[which];
    switch (count) {
        case 0:
            return call_with(function, arguments, std::make_index_sequence<0>());
        case 1:
            return call_with(function, arguments, std::make_index_sequence<1>());
        case 2:
            return call_with(function, arguments, std::make_index_sequence<2>());
        case 3:
            return call_with(function, arguments, std::make_index_sequence<3>());
        default:  // one too many for all of them
            return call_with(function, arguments, std::make_index_sequence<4>());
    }
}

// The arguments of a call, the first as an int: Python's function would make one of an IntEnum or of an object that has
// __index__, which is called once here as there. With a wrong number of arguments they are as given.
class monitoring_arguments {
public:
    monitoring_arguments(monitoring_tool::function which, void* const* arguments, std::ptrdiff_t count) noexcept
        : given_(arguments), count_(count) {
        if (count != counts[which]) return;
        number_ = python.index(arguments[0]);
        is_valid_ = number_ != nullptr;
        std::copy_n(arguments, count, converted_.begin());
        converted_.front() = number_;
    }
    ~monitoring_arguments() {
        if (number_ != nullptr) python.release(number_);
    }
    monitoring_arguments(const monitoring_arguments&) = delete;
    monitoring_arguments& operator=(const monitoring_arguments&) = delete;

    // False: Python's error for the first argument is set.
    bool is_valid() const noexcept { return is_valid_; }
    bool ask_for_own_tool() const noexcept { return number_ != nullptr && tool.has(number_); }
    void* pass_to(monitoring_tool::function which) const noexcept {
        return pass_on(which, number_ == nullptr ? given_ : converted_.data(), count_);
    }

private:
    // By function; -1: has no number of a tool.
    static constexpr std::array<std::ptrdiff_t, monitoring_tool::end_of_functions> counts{2, 1, 1, 3,  2,
                                                                                          3, 1, 2, -1, 1};
    void* const* given_;
    std::ptrdiff_t count_;
    python_object number_ = nullptr;
    bool is_valid_ = true;
    std::array<void*, 3> converted_{};
};

// sys.monitoring's functions, for programs. To them the number of libprof's tool is free and has no events. Where they
// do anything with that number, libprof's tool has another by then.
template <monitoring_tool::function which>
void* with_number(void*, void* const* arguments, std::ptrdiff_t count) noexcept {
    const monitoring_arguments given(which, arguments, count);
    if (!given.is_valid()) return nullptr;
    if (given.ask_for_own_tool()) tool.give_way();
    return given.pass_to(which);
}

// get_tool and free_tool_id.
template <monitoring_tool::function which>
void* with_free_number(void*, void* const* arguments, std::ptrdiff_t count) noexcept {
    const monitoring_arguments given(which, arguments, count);
    if (!given.is_valid()) return nullptr;
    return given.ask_for_own_tool() ? nothing() : given.pass_to(which);
}

template <monitoring_tool::function what>
void* events_of(void*, void* const* arguments, std::ptrdiff_t count) noexcept {
    const monitoring_arguments given(what, arguments, count);
    if (!given.is_valid()) return nullptr;
    void* const events = given.pass_to(what);
    if (events == nullptr || !given.ask_for_own_tool()) return events;
    python.release(events);
    return python.number(0);
}

void* all_events(void*, void* const* arguments, std::ptrdiff_t count) noexcept {
    const bool has_events = tool.number >= 0 && tool.are_on;
    if (has_events && !tool.set_unwind(tool.number, false)) python.clear_error();
    void* const given = pass_on(monitoring_tool::all_events, arguments, count);
    if (given != nullptr && has_events && !tool.set_unwind(tool.number, true)) python.clear_error();
    return given;
}

int use_tool(int number, void* const* functions, void* name, void* const* callbacks, const int* events) noexcept {
    // A second time these would be libprof's own, which pass on to them.
    if (tool.functions.front() == nullptr) std::copy_n(functions, tool.functions.size(), tool.functions.begin());
    std::copy_n(callbacks, tool.callbacks.size(), tool.callbacks.begin());
    std::copy_n(events, tool.events.size(), tool.events.begin());
    tool.name = name;
    return tool.begin(number) ? 1 : 0;
}

int set_events(int are_on) noexcept {
    tool.are_on = are_on != 0;
    return tool.number < 0 || tool.set(tool.number, tool.are_on) ? 1 : 0;
}

void name_module(void* module, const char* name, void* reference, std::uint32_t flags) noexcept {
    try {
        known().by_reference[reference] = module;
        known().by_module[module] = {name, reference, flags};
    } catch (const std::exception&) {  // no memory
    }
}

void* forget_module(void*, void* const* reference, std::ptrdiff_t count) noexcept {
    if (count < 1) return nothing();
    const auto found = known().by_reference.find(reference[0]);
    if (found == known().by_reference.end()) return nothing();
    known().by_module.erase(found->second);
    known().by_reference.erase(found);
    return nothing();
}

void set_compiler(void* thread_of_compiler) noexcept { runtime.objects.thread_of_compiler = thread_of_compiler; }

const prof_python_watch_functions* watch(const prof_python_fields* fields) noexcept {
    return python_watch(python, *fields, {on_start, on_end, on_unwind, objects.end_of_iteration, objects.none});
}

constexpr prof_python_functions given_functions{on_start,
                                                on_end,
                                                on_unwind,
                                                on_death,
                                                forget_module,
                                                with_number<monitoring_tool::use>,
                                                with_free_number<monitoring_tool::free>,
                                                with_free_number<monitoring_tool::get>,
                                                with_number<monitoring_tool::register_callback>,
                                                with_number<monitoring_tool::set_events>,
                                                with_number<monitoring_tool::set_local_events>,
                                                events_of<monitoring_tool::get_events>,
                                                events_of<monitoring_tool::get_local_events>,
                                                all_events,
                                                with_number<monitoring_tool::clear>,
                                                set_on_death,
                                                set_steps_of_program,
                                                attach,
                                                detach,
                                                forget,
                                                end,
                                                use_tool,
                                                set_events,
                                                name_module,
                                                set_compiler,
                                                watch};

}  // namespace
}  // namespace prof::observed_python

bool prof::observes_pytorch() noexcept { return prof::observed_python::is_observing.load(); }

// Private to libprof's own Python files, and may change with them. What `given` points to must live for ever.
PROF_EXPORT const prof_python_functions* prof_python_calls(const prof_python_runtime* given) {
    prof::observed_python::runtime = *given;
    prof::observed_python::is_observing = true;
    return &prof::observed_python::given_functions;
}
