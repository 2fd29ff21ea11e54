// SPDX-License-Identifier: Apache-2.0
// Every macro of <prof/range.hpp>, in every kind of function. range_macros_test.py compiles it with ranges and without.
#include <prof/range.hpp>

#include <cstdio>
#include <string>
#include <string_view>

namespace {

int evaluations = 0;
int counted(int value) {
    ++evaluations;
    return value;
}

// The parameters are used in macros alone.
void in_a_function(int number, const std::string& string, std::string_view view, const char* name) {
    PROF_RANGE("literal");
    PROF_RANGE("with attributes", prof::payload(counted(number)), prof::color(0xFF76B900), prof::category(3));
    PROF_RANGE("with a struct", prof::range_attributes{0xFF76B900, 3, true, 7});
    PROF_RANGE_DYNAMIC(string);
    PROF_RANGE_DYNAMIC(view, prof::payload(0.5));
    PROF_RANGE_DYNAMIC(name);
    { PROF_RANGE_DYNAMIC(std::string_view(name)); }
    PROF_RANGE_FORMAT("layer %d of %s", counted(number), name);
    PROF_FUNCTION_RANGE();
    { PROF_FUNCTION_RANGE(prof::payload(counted(number))); }
    PROF_PHASE("forward");
    auto request = PROF_RANGE_START("request", prof::payload(static_cast<unsigned>(number)));
    prof::process_range later = PROF_RANGE_START_DYNAMIC(view);
    later = PROF_RANGE_START("another");
    PROF_RANGE_END(request);
    PROF_MARK("mark", prof::category(2));
    PROF_MARK_DYNAMIC(string, prof::payload(number));
    PROF_MARK_FORMAT("epoch %d", counted(number));
    PROF_COUNTER("loss", 0.25F);
    PROF_COUNTER_DYNAMIC(view, counted(number));
    static const prof::range_site site("a site of one's own");
    const prof::scoped_range range(site);
    const prof::scoped_range with_payload(site, prof::payload(number));
    prof::mark("without a macro");
    prof::counter("without a macro", 1ULL);
    prof::name_category(3, "category");
}

template <typename TNumber>
void in_a_template(TNumber number) {
    PROF_RANGE("in a template", prof::payload(number));
    const auto lambda = [&] { PROF_RANGE("in a lambda", prof::payload(number)); };
    lambda();
    const auto generic = [](auto value) { PROF_RANGE("in a generic lambda", prof::payload(value)); };
    generic(number);
}

struct layer {
    layer() { PROF_FUNCTION_RANGE(); }
    ~layer() { PROF_RANGE("in a destructor"); }
    static void forward() { PROF_RANGE("in a member"); }
};

}  // namespace

inline void in_an_inline_function() {
    // clang-format off
    PROF_RANGE("two on"); PROF_RANGE("one line");
    // clang-format on
    PROF_FUNCTION_RANGE();
}

extern "C" void run_all();
extern "C" void run_all() {
    for (const char* name : {"a", "b", "c"}) in_a_function(1, name, name, name);
    in_a_template(1);
    in_a_template(2.0);
    in_a_template('c');
    in_an_inline_function();
    layer::forward();
    const layer made;
    const bool is_deep = evaluations > 0;
    if (is_deep) {
        PROF_RANGE("in a branch");
    }
    std::printf("%d\n", evaluations);
}

#if !defined(AS_LIBRARY)
int main() { run_all(); }
#endif
