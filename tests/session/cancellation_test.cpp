// SPDX-License-Identifier: Apache-2.0
// A thread that was asked to end (pthread_cancel) calls a function of libprof's, or makes its first range. Without
// libprof there would be no cancellation point in it. So the function does all of its work, and the thread is cancelled
// where the program has its next cancellation point.
#include <gtest/gtest.h>
#include <nvtx3/nvToolsExt.h>
#include <prof/prof.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <prof/range.hpp>

#include "support/scratch_directory.hpp"

// The entry points, which CUDA's driver and NVTX search for.
extern "C" int InitializeInjection();
extern "C" int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t);
extern "C" int InitializeInjectionNvtxExtension(void*);

namespace prof::test {
namespace {

using function = std::function<void()>;

// Made before any child is forked, and used there.
struct read_objects {
    prof_capture* capture = prof_capture_open(PROF_TEST_CAPTURE);
    prof_report* report = prof_report_open(capture, prof_report_name(0), nullptr);
    prof_summary* summary = prof_capture_summary(capture, nullptr);
} read;

char text[64];

// A result that the process takes with it.
template <typename TObject>
void leave(TObject*) {}

// All functions of cmake/libprof.map.
const std::map<std::string, function> all_functions = {
    {"prof_version", [] { prof_version(); }},
    {"prof_version_number", [] { prof_version_number(); }},
    {"prof_last_error", [] { prof_last_error(); }},
    {"prof_result_text", [] { prof_result_text(0); }},
    {"prof_start", [] { prof_start(nullptr); }},
    {"prof_autostart", [] { prof_autostart(); }},
    {"prof_stop", [] { prof_stop(); }},
    {"prof_step", [] { prof_step(); }},
    {"prof_pause", [] { prof_pause(); }},
    {"prof_resume", [] { prof_pause(), prof_resume(); }},
    {"prof_sync", [] { prof_sync(); }},
    {"prof_before_exit", [] { prof_before_exit(); }},
    {"prof_keep_text", [] { prof_keep_text("key", "text"); }},
    {"prof_dump", [] { prof_dump(nullptr); }},
    {"prof_dump_to", [] { prof_dump_to(nullptr, text, sizeof text); }},
    {"prof_is_recording", [] { prof_is_recording(); }},
    {"prof_capture_path", [] { prof_capture_path(text, sizeof text); }},
    {"prof_get_status",
     [] {
         prof_status status;
         prof_get_status(&status, sizeof status);
     }},
    {"prof_status_json", [] { prof_status_json(text, sizeof text); }},
    {"prof_get_option", [] { prof_get_option("keep", text, sizeof text, nullptr); }},
    {"prof_set_option", [] { prof_set_option("export", "none"); }},
    {"prof_set_options",
     [] {
         const char* const settings[] = {"export=none", nullptr};
         prof_set_options(settings);
     }},
    {"prof_option_count", [] { prof_option_count(); }},
    {"prof_describe_option",
     [] {
         prof_option option;
         prof_describe_option(0, &option, sizeof option);
     }},
    {"prof_set_callback", [] { prof_set_callback([](const prof_event*, void*) {}, nullptr, PROF_EVENT_ALL); }},
    {"prof_set_log", [] { prof_set_log([](int, const char*, void*) {}, nullptr); }},
    {"prof_range_push", [] { prof_range_push("range"); }},
    {"prof_range_push_with", [] { prof_range_push_with("range", nullptr); }},
    {"prof_range_pop", [] { prof_range_pop(); }},
    {"prof_range_start", [] { prof_range_start("range", nullptr); }},
    {"prof_range_end", [] { prof_range_end(1); }},
    {"prof_mark", [] { prof_mark("mark", nullptr); }},
    {"prof_counter", [] { prof_counter("counter", 1); }},
    {"prof_name_category", [] { prof_name_category(1, "category"); }},
    {"prof_parent_here", [] { prof_parent_here(); }},
    {"prof_adopt_push", [] { prof_adopt_push(1); }},
    {"prof_adopt_pop", [] { prof_adopt_pop(); }},
    {"prof_phase_push", [] { prof_phase_push("phase", 0); }},
    {"prof_phase_pop", [] { prof_phase_pop(); }},
    {"prof_capture_open", [] { leave(prof_capture_open(PROF_TEST_CAPTURE)); }},
    {"prof_capture_close", [] { prof_capture_close(read.capture); }},
    {"prof_capture_title", [] { prof_capture_title(read.capture); }},
    {"prof_capture_windows", [] { prof_capture_windows(read.capture); }},
    {"prof_capture_property", [] { prof_capture_property(read.capture, "steps"); }},
    {"prof_capture_property_count", [] { prof_capture_property_count(read.capture); }},
    {"prof_capture_property_key", [] { prof_capture_property_key(read.capture, 0); }},
    {"prof_capture_note_count", [] { prof_capture_note_count(read.capture); }},
    {"prof_capture_note", [] { prof_capture_note(read.capture, 0); }},
    {"prof_capture_drop_count", [] { prof_capture_drop_count(read.capture); }},
    {"prof_capture_get_drop",
     [] {
         prof_drop drop;
         prof_capture_get_drop(read.capture, 0, &drop, sizeof drop);
     }},
    {"prof_capture_summary", [] { leave(prof_capture_summary(read.capture, nullptr)); }},
    {"prof_summary_open", [] { leave(prof_summary_open()); }},
    {"prof_summary_open_file", [] { leave(prof_summary_open_file(PROF_TEST_CAPTURE)); }},
    {"prof_summary_close", [] { prof_summary_close(read.summary); }},
    {"prof_summary_total_gpu_ns", [] { prof_summary_total_gpu_ns(read.summary); }},
    {"prof_summary_row_count", [] { prof_summary_row_count(read.summary); }},
    {"prof_summary_get_row",
     [] {
         prof_summary_row row;
         prof_summary_get_row(read.summary, 0, &row, sizeof row);
     }},
    {"prof_summary_dropped", [] { prof_summary_dropped(read.summary); }},
    {"prof_summary_drop_count", [] { prof_summary_drop_count(read.summary); }},
    {"prof_summary_get_drop",
     [] {
         prof_drop drop;
         prof_summary_get_drop(read.summary, 0, &drop, sizeof drop);
     }},
    {"prof_summary_get_steps",
     [] {
         prof_summary_steps steps;
         prof_summary_get_steps(read.summary, &steps, sizeof steps);
     }},
    {"prof_summary_step_row_count", [] { prof_summary_step_row_count(read.summary); }},
    {"prof_summary_get_step_row",
     [] {
         prof_summary_step_row row;
         prof_summary_get_step_row(read.summary, 0, &row, sizeof row);
     }},
    {"prof_report_count", [] { prof_report_count(); }},
    {"prof_report_name", [] { prof_report_name(0); }},
    {"prof_report_purpose", [] { prof_report_purpose(0); }},
    {"prof_format_count", [] { prof_format_count(); }},
    {"prof_format_name", [] { prof_format_name(0); }},
    {"prof_report_open", [] { leave(prof_report_open(read.capture, prof_report_name(1), nullptr)); }},
    {"prof_report_close", [] { prof_report_close(read.report); }},
    {"prof_report_note_count", [] { prof_report_note_count(read.report); }},
    {"prof_report_note", [] { prof_report_note(read.report, 0); }},
    {"prof_report_table_count", [] { prof_report_table_count(read.report); }},
    {"prof_report_get_table",
     [] {
         prof_report_table table;
         prof_report_get_table(read.report, 0, &table, sizeof table);
     }},
    {"prof_report_get_column",
     [] {
         prof_report_column column;
         prof_report_get_column(read.report, 0, 0, &column, sizeof column);
     }},
    {"prof_report_get_cell",
     [] {
         prof_report_cell cell;
         prof_report_get_cell(read.report, 0, 0, 0, &cell, sizeof cell);
     }},
    {"prof_report_total_key", [] { prof_report_total_key(read.report, 0, 0); }},
    {"prof_report_get_total",
     [] {
         prof_report_cell cell;
         prof_report_get_total(read.report, 0, 0, &cell, sizeof cell);
     }},
    {"prof_report_read_integers", [] { prof_report_read_integers(read.report, 0, 0, 0, 0, nullptr, nullptr); }},
    {"prof_report_read_reals", [] { prof_report_read_reals(read.report, 0, 0, 0, 0, nullptr, nullptr); }},
    {"prof_report_read_texts", [] { prof_report_read_texts(read.report, 0, 0, 0, 0, nullptr, nullptr); }},
    {"prof_report_render",
     [] {
         std::size_t size = 0;
         leave(prof_report_render(read.report, "text", &size));
     }},
    {"prof_capture_export", [] { prof_capture_export(read.capture, nullptr, nullptr); }},
    {"prof_free_text", [] { prof_free_text(nullptr); }},
    {"prof_python_calls",
     [] {
         static const long runtime[256] = {};  // more than it takes
         prof_python_calls(reinterpret_cast<const prof_python_runtime*>(&runtime));
     }},
    {"prof_python_torch",
     [] {
         static const long runtime[256] = {};
         prof_python_torch(reinterpret_cast<const prof_torch_runtime*>(&runtime));
     }},
    {"prof_python_annotations",
     [] {
         static const long runtime[256] = {};
         prof_python_annotations(reinterpret_cast<const prof_annotation_runtime*>(&runtime));
     }},
    {"InitializeInjection", [] { InitializeInjection(); }},
    {"InitializeInjectionNvtx2",
     [] { InitializeInjectionNvtx2([](std::uint32_t) -> const void* { return nullptr; }); }},
    {"InitializeInjectionNvtxExtension", [] { InitializeInjectionNvtxExtension(nullptr); }},
};

// What reaches libprof by its hooks.
const std::map<std::string, function> all_hooks = {
    {"nvtxRangePushA", [] { nvtxRangePushA("range"); }},
    {"nvtxMarkA", [] { nvtxMarkA("mark"); }},
    {"nvtxRangeStartA", [] { nvtxRangeStartA("range"); }},
    {"nvtxNameOsThreadA", [] { nvtxNameOsThreadA(1, "thread"); }},
    {"nvtxDomainCreateA", [] { nvtxDomainRegisterStringA(nvtxDomainCreateA("domain"), "string"); }},
    {"PROF_RANGE", [] { PROF_RANGE("range"); }},
    {"many names",
     [] {
         for (int i = 0; i < 40'000; ++i) nvtxDomainRegisterStringA(nullptr, std::to_string(1'000'000 + i).c_str());
     }},
    {"the step range",
     [] {
         for (int i = 0; i < 8; ++i) {
             nvtxRangePushA("step");
             nvtxRangePop();
         }
     }},
    {"exit", [] { std::atexit([] { _exit(0); }), std::exit(1); }},
};

struct cancelled_thread {
    const function& work;
    bool has_returned = false;

    static void* run(void* self) {
        auto& thread = *static_cast<cancelled_thread*>(self);
        pthread_cancel(pthread_self());  // takes effect at the next cancellation point
        thread.work();
        thread.has_returned = true;
        pthread_testcancel();
        return nullptr;
    }
};

void record() {
    const char* const settings[] = {"export=none", nullptr};
    if (prof_start(settings) != PROF_OK) _exit(10);
    nvtxRangePushA("first");
    nvtxRangePop();
}
void record_by_schedule() {
    const char* const settings[] = {"schedule=wait=1,active=1", "export=none", nullptr};
    if (prof_start(settings) != PROF_OK) _exit(10);
}
void record_by_step_range() {
    const char* const settings[] = {"schedule=wait=1,active=1", "step_range=step", "export=none", nullptr};
    if (prof_start(settings) != PROF_OK) _exit(10);
}

struct Cancellation : testing::Test {
    scratch_directory scratch;
    Cancellation() { setenv("PROF_OUTPUT_DIR", scratch.path.c_str(), 1); }

    // In a process of its own. "": as without libprof.
    static std::string outcome_of(const function& prepare, const function& work) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(30);
            if (prepare) prepare();
            cancelled_thread thread{work};
            pthread_t id{};
            void* result = nullptr;
            pthread_create(&id, nullptr, cancelled_thread::run, &thread);
            pthread_join(id, &result);
            if (!thread.has_returned) _exit(11);
            _exit(result == PTHREAD_CANCELED ? 0 : 12);
        }
        int status = 0;
        waitpid(child, &status, 0);
        if (WIFSIGNALED(status)) return "killed by signal " + std::to_string(WTERMSIG(status));
        switch (WEXITSTATUS(status)) {
            case 0:
                return "";
            case 11:
                return "the thread was cancelled inside";
            case 12:
                return "the thread was not cancelled";
            default:
                return "status " + std::to_string(WEXITSTATUS(status));
        }
    }
};

TEST_F(Cancellation, TakesEffectInNoFunctionOfTheInterface) {
    for (const auto& [name, work] : all_functions) {
        EXPECT_EQ(outcome_of(nullptr, work), "") << name << ", as the first";
        EXPECT_EQ(outcome_of(record, work), "") << name << ", while recording";
    }
    EXPECT_EQ(outcome_of(record_by_schedule,
                         [] {
                             for (int i = 0; i < 8; ++i) prof_step();
                         }),
              "")
        << "prof_step, which opens and ends windows";
}

TEST_F(Cancellation, TakesEffectInNoHook) {
    for (const auto& [name, work] : all_hooks) {
        EXPECT_EQ(outcome_of(nullptr, work), "") << name << ", without a recording";
        EXPECT_EQ(outcome_of([] { prof_autostart(); }, work), "") << name << ", as the first";
        EXPECT_EQ(outcome_of(record, work), "") << name << ", while recording";
        EXPECT_EQ(outcome_of(record_by_step_range, work), "") << name << ", with a step range";
    }
}

TEST_F(Cancellation, IsTestedForEachFunctionOfTheInterface) {
    std::ifstream in(PROF_TEST_MAP);
    std::stringstream whole;
    whole << in.rdbuf();
    const std::string map = std::regex_replace(whole.str(), std::regex("#[^\n]*"), "");
    const std::regex name("\\b(prof_\\w+|Initialize\\w+);");
    std::set<std::string> listed;
    for (auto at = std::sregex_iterator(map.begin(), map.end(), name); at != std::sregex_iterator(); ++at) {
        listed.insert((*at)[1]);
    }
    std::set<std::string> tested;
    for (const auto& [function_name, work] : all_functions) tested.insert(function_name);
    EXPECT_EQ(tested, listed);
}

}  // namespace
}  // namespace prof::test
