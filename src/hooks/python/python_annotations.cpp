// SPDX-License-Identifier: Apache-2.0
#include "hooks/python/python_annotations.hpp"

#include <prof/annotate.h>
#include <prof/prof.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/export_symbol.hpp"

namespace prof {
namespace python_annotations {
namespace {

// Set once, before the first annotation; the interpreter's lock orders it.
prof_annotation_runtime python{};

constexpr const char* key = "_libprof_range";  // in an annotation's __dict__
constexpr const char* of_annotation = "libprof.annotation";
constexpr const char* of_stage = "libprof.stage";

// A reference to an object, or null.
class object {
public:
    explicit object(void* owned) noexcept : address_(owned) {}
    ~object() {
        if (address_ != nullptr) python.release(address_);
    }
    object(object&& other) noexcept : address_(std::exchange(other.address_, nullptr)) {}
    object(const object&) = delete;
    object& operator=(const object&) = delete;
    object& operator=(object&& other) noexcept {
        std::swap(address_, other.address_);
        return *this;
    }

    void* get() const noexcept { return address_; }
    explicit operator bool() const noexcept { return address_ != nullptr; }
    void* leave() noexcept { return std::exchange(address_, nullptr); }

private:
    void* address_;
};

// What an annotation of the program's is in a capture. Lives in a capsule in the annotation's __dict__.
struct annotation {
    struct open_range {
        pthread_t thread;
        bool has_range;
        bool has_step;
    };
    std::string name;
    bool is_step = false;
    bool is_compilation = false;
    std::vector<open_range> open;  // the latest is the last: an annotation may be entered again
};

// A stage with the phases that were begun for it. The outermost of a thread has phases.
struct stage {
    std::string name;
    bool is_open = false;
    int phases = 0;
};
constinit thread_local unsigned stages_open = 0;

// A range may wait for a window to open; other threads run meanwhile.
template <typename TCall>
void without_interpreter(TCall call) noexcept {
    void* const state = python.save_thread == nullptr ? nullptr : python.save_thread();
    call();
    if (state != nullptr) python.restore_thread(state);
}

bool is_a(void* instance, void* type) noexcept {
    const object own(python.type_of(instance));
    return own.get() == type;
}

bool derives_from(void* instance, void* type) noexcept {
    const object own(python.type_of(instance));
    return own && python.is_subtype(own.get(), type) != 0;
}

// The text of a str or of bytes; false for anything else.
bool read_text(void* text, std::string& out) {
    if (text == nullptr) return false;
    const bool is_text = derives_from(text, python.str_type);
    if (!is_text && !is_a(text, python.bytes_type)) return false;
    if (is_text) {
        const object encoded(python.encoded(text, "utf-8", "replace"));
        if (!encoded) return false;
        out.assign(python.bytes(encoded.get()), static_cast<std::size_t>(python.byte_count(encoded.get())));
    } else {
        out.assign(python.bytes(text), static_cast<std::size_t>(python.byte_count(text)));
    }
    return true;
}

// The arguments of a call, as a builtin gets them.
struct given_arguments {
    void* const* values;
    std::ptrdiff_t count;
    void* names;

    std::ptrdiff_t name_count() const noexcept { return names == nullptr ? 0 : python.tuple_size(names); }
    std::size_t total() const noexcept { return static_cast<std::size_t>(count + name_count()); }
    void* named(const char* name) const noexcept {
        for (std::ptrdiff_t i = 0; i < name_count(); ++i) {
            if (python.compare(python.tuple_item(names, i), name) == 0) return values[count + i];
        }
        return nullptr;
    }
    void* at(std::ptrdiff_t index, const char* name) const noexcept {
        return index < count ? values[index] : named(name);
    }
};

// Calls the framework's own method.
object call_method(void* method, void* self, const given_arguments& given) noexcept {
    try {
        std::vector<void*> values{self};
        values.insert(values.end(), given.values, given.values + given.total());
        return object(python.call(method, values.data(), static_cast<std::size_t>(given.count) + 1, given.names));
    } catch (const std::exception&) {
        return object(python.no_memory());
    }
}

// --- whose an annotation is -------------------------------------------------------------------------------------

bool is_own_package(std::string_view module) noexcept {
    const std::string_view package = module.substr(0, module.find('.'));
    for (std::string_view rest = python.own_packages; !rest.empty();) {
        const std::size_t end = rest.find(':');
        if (rest.substr(0, end) == package) return true;
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    return false;
}

// "": the frame has none.
std::string module_of_frame(void* frame) {
    std::string module;
    const object globals(python.attribute(frame, "f_globals"));
    if (globals) (void)read_text(python.item(globals.get(), "__name__"), module);
    return module;
}

// The module of the function that a decorator of the framework's calls: false if the frame is no such decorator's.
bool read_decorated(void* frame, std::string& module) {
    const object variables(python.attribute(frame, "f_locals"));
    const object function(variables ? python.mapped(variables.get(), "func") : nullptr);
    if (!function) {
        python.clear_error();
        return false;
    }
    module.clear();
    if (is_a(function.get(), python.function_type)) (void)read_text(python.module_of(function.get()), module);
    return true;
}

// Whether the framework made the annotation itself (for compilation, for its calls), and not the program.
bool is_of_framework() {
    void* const current = python.frame();
    if (current == nullptr) return false;
    python.retain(current);
    std::string module;
    for (object frame(current); frame && frame.get() != python.none;
         frame = object(python.attribute(frame.get(), "f_back"))) {
        module = module_of_frame(frame.get());
        if (module != python.own_module || read_decorated(frame.get(), module)) break;
    }
    return is_own_package(module);
}

// --- annotations ------------------------------------------------------------------------------------------------

void destroy_annotation(void* capsule) noexcept {
    delete static_cast<annotation*>(python.content(capsule, of_annotation));
}

annotation* annotation_of(void* self) noexcept {
    const object attributes(python.dictionary_of(self, nullptr));
    void* const capsule = attributes ? python.item(attributes.get(), key) : nullptr;
    void* const content = capsule == nullptr ? nullptr : python.content(capsule, of_annotation);
    if (content == nullptr) python.clear_error();
    return static_cast<annotation*>(content);
}

std::unique_ptr<annotation> read_annotation(void* self, const given_arguments& given) {
    auto made = std::make_unique<annotation>();
    if (!read_text(given.at(0, "name"), made->name)) return nullptr;
    if (is_of_framework()) {
        if (!made->name.starts_with(python.compilation)) return nullptr;
        made->is_compilation = true;
        return made;
    }
    const bool has_number = derives_from(self, python.step_type);
    made->is_step = has_number && python.makes_steps != nullptr;
    void* const number = has_number ? given.named("step_num") : nullptr;
    if (number == nullptr || !is_a(number, python.int_type)) return made;
    const object digits(python.digits(number));
    std::string text;
    if (digits && read_text(digits.get(), text)) made->name += " " + text;
    return made;
}

void keep_annotation(void* self, const given_arguments& given) {
    const object attributes(python.dictionary_of(self, nullptr));
    if (!attributes) return;
    if (python.item(attributes.get(), key) != nullptr) (void)python.delete_item(attributes.get(), key);
    std::unique_ptr<annotation> made = read_annotation(self, given);
    if (made == nullptr) return;
    const object capsule(python.capsule(made.get(), of_annotation, destroy_annotation));
    if (!capsule) return;
    (void)made.release();
    (void)python.set_item(attributes.get(), key, capsule.get());
}

void begin(annotation& range) noexcept {
    if (range.is_compilation) return;
    annotation::open_range begun{pthread_self(), false, false};
    without_interpreter([&] {
        begun.has_step = range.is_step && prof_phase_push("step", PROF_STEP_ANNOTATION) == PROF_OK;
        begun.has_range = prof_range_push(range.name.c_str()) == PROF_OK;
    });
    try {
        range.open.push_back(begun);
    } catch (const std::exception&) {
        if (begun.has_range) (void)prof_range_pop();
        if (begun.has_step) (void)prof_phase_pop();
    }
}

void end(annotation& range) noexcept {
    if (range.open.empty()) return;
    const annotation::open_range ended = range.open.back();
    range.open.pop_back();
    if (pthread_equal(ended.thread, pthread_self()) == 0) return;  // it was pushed on another thread's stack
    if (ended.has_range) (void)prof_range_pop();
    if (ended.has_step) (void)prof_phase_pop();
}

void* init(void* self, void* const* arguments, std::ptrdiff_t count, void* names) noexcept {
    const given_arguments given{arguments, count, names};
    object result = call_method(python.init, self, given);
    if (!result) return nullptr;
    try {
        keep_annotation(self, given);
    } catch (const std::exception&) {  // no memory: there is no range
    }
    python.clear_error();
    return result.leave();
}

void* enter(void* self, void* const* arguments, std::ptrdiff_t count, void* names) noexcept {
    object result = call_method(python.enter, self, {arguments, count, names});
    if (!result) return nullptr;
    if (annotation* const range = annotation_of(self)) begin(*range);
    return result.leave();
}

void* exit(void* self, void* const* arguments, std::ptrdiff_t count, void* names) noexcept {
    annotation* const range = annotation_of(self);
    const bool is_compilation = range != nullptr && range->is_compilation;
    object result = call_method(python.exit, self, {arguments, count, names});
    if (range != nullptr) end(*range);
    if (!result || !is_compilation || python.on_compiled == nullptr) return result.leave();
    if (const object done(python.call(python.on_compiled, nullptr, 0, nullptr)); done) return result.leave();
    if (python.error_is(python.no_room) == 0) return nullptr;  // of a signal handler of the program
    python.clear_error();
    return result.leave();
}

// --- stages -----------------------------------------------------------------------------------------------------

std::string_view verb_of(std::string_view event) noexcept {
    using row = std::pair<std::string_view, std::string_view>;
    constexpr auto verbs = std::to_array<row>({{"jaxpr_trace_duration", "tracing "},
                                               {"jaxpr_to_mlir_module_duration", "lowering "},
                                               {"backend_compile_duration", "compiling "}});
    event.remove_prefix(event.rfind('/') + 1);
    const auto* const found =
        std::find_if(verbs.begin(), verbs.end(), [&](const row& verb) { return verb.first == event; });
    return found == verbs.end() ? std::string_view() : found->second;
}

void destroy_stage(void* capsule) noexcept { delete static_cast<stage*>(python.content(capsule, of_stage)); }

void begin(stage& begun) noexcept {
    begun.is_open = true;
    if (++stages_open > 1) return;
    without_interpreter([&] {
        for (const char* const name : {"compilation", begun.name.c_str()}) {
            if (prof_phase_push(name, 0) == PROF_OK) ++begun.phases;
        }
    });
}

void end(stage& ended) noexcept {
    if (!std::exchange(ended.is_open, false)) return;
    --stages_open;
    for (; ended.phases > 0; --ended.phases) (void)prof_phase_pop();
}

// The framework's context manager with a stage around it; null, without an error, if there is none to be made.
object make_stage(void* range, const given_arguments& given) {
    std::string event;
    auto made = std::make_unique<stage>();
    if (!read_text(given.at(2, "event"), event) || !read_text(given.at(1, "fun_name"), made->name))
        return object(nullptr);
    const std::string_view verb = verb_of(event);
    if (verb.empty()) return object(nullptr);
    std::erase(made->name, '\0');
    made->name.insert(0, verb);
    object around(python.call(python.stage_type, nullptr, 0, nullptr));
    const object capsule(around ? python.capsule(made.get(), of_stage, destroy_stage) : nullptr);
    if (!capsule) return object(nullptr);
    (void)made.release();
    const bool is_whole = python.set_attribute(around.get(), "of", range) == 0 &&
                          python.set_attribute(around.get(), "state", capsule.get()) == 0;
    return is_whole ? std::move(around) : object(nullptr);
}

void* call_stage(void*, void* const* arguments, std::ptrdiff_t count, void* names) noexcept {
    object of(python.call(python.stage, arguments, static_cast<std::size_t>(count), names));
    if (!of) return nullptr;
    try {
        object around = make_stage(of.get(), {arguments, count, names});
        python.clear_error();
        return around ? around.leave() : of.leave();
    } catch (const std::exception&) {
        python.clear_error();
        return of.leave();
    }
}

// Calls a method of the context manager within `self`.
object call_inner(void* self, const char* method, const given_arguments& given) noexcept {
    const object stage(python.attribute(self, "of"));
    const object bound(stage ? python.attribute(stage.get(), method) : nullptr);
    if (!bound) return object(nullptr);
    return object(python.call(bound.get(), given.values, static_cast<std::size_t>(given.count), given.names));
}

stage* stage_of(void* self) noexcept {
    const object capsule(python.attribute(self, "state"));  // `self` has a reference, too
    void* const content = capsule ? python.content(capsule.get(), of_stage) : nullptr;
    if (content == nullptr) python.clear_error();
    return static_cast<stage*>(content);
}

void* enter_stage(void* self, void* const* arguments, std::ptrdiff_t count, void* names) noexcept {
    stage* const begun = stage_of(self);
    if (begun != nullptr) begin(*begun);
    object result = call_inner(self, "__enter__", {arguments, count, names});
    if (!result && begun != nullptr) end(*begun);
    return result.leave();
}

void* exit_stage(void* self, void* const* arguments, std::ptrdiff_t count, void* names) noexcept {
    stage* const ended = stage_of(self);
    object result = call_inner(self, "__exit__", {arguments, count, names});
    if (ended != nullptr) end(*ended);
    return result.leave();
}

// A builtin runs no signal handler, so that what it raises is its own. A function of Python's may run one.
void* attempt(void*, void* const* arguments, std::ptrdiff_t count) noexcept {
    if (count < 1) return python.no_memory();
    const bool is_builtin = !is_a(arguments[0], python.function_type) && !is_a(arguments[0], python.method_type);
    object result(python.call(arguments[0], nullptr, 0, nullptr));
    if (result || !is_builtin) return result.leave();
    python.clear_error();
    python.retain(python.none);
    return python.none;
}

constexpr prof_annotation_methods methods{init, enter, exit, call_stage, enter_stage, exit_stage, attempt};

}  // namespace
}  // namespace python_annotations

}  // namespace prof

// Private to libprof's own Python files, and may change with them. Once in a process. The texts in `given` must live
// for ever.
PROF_EXPORT const prof_annotation_methods* prof_python_annotations(const prof_annotation_runtime* given) {
    prof::python_annotations::python = *given;
    return &prof::python_annotations::methods;
}
