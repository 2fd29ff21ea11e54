// SPDX-License-Identifier: Apache-2.0
// What programs hand to libprof, and get from it, through its own headers and NVTX's; one scene a run, for
// interface_test.cpp.
//
//   interface_victim summary | empty | steps | messages | large | more-rights | place
#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <unistd.h>
#include <prof/range.hpp>
#include <prof/session.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "fakes/fake_gpu.h"
#include "hooks/nvtx_event.hpp"
#include "session/scenes.hpp"

namespace {

using prof::test::expect;

std::uint64_t register_schema(nvtxDomainHandle_t domain, const std::vector<nvtxPayloadSchemaEntry_t>& entries) {
    nvtxPayloadSchemaAttr_t schema{};
    schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                       NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES;
    schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
    schema.entries = entries.data();
    schema.numEntries = entries.size();
    return nvtxPayloadSchemaRegister(domain, &schema);
}

nvtxPayloadSchemaEntry_t entry(std::uint64_t flags, std::uint64_t type, std::uint64_t detail = 0,
                               const char* name = nullptr) {
    nvtxPayloadSchemaEntry_t out{};
    out.flags = flags;
    out.type = type;
    out.arrayOrUnionDetail = detail;
    out.name = name;
    return out;
}

// --- summary: each number of a row is another one --------------------------------------------------------------------

void compute() {}
void reduce() {}

void launch(void (*kernel)(), cudaStream_t stream) {
    (void)cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(1), dim3(32), nullptr, 0, stream);
}

void summary() {
    fake_gpu_register_kernel(reinterpret_cast<const void*>(compute), "compute", 30'000);
    fake_gpu_register_kernel(reinterpret_cast<const void*>(reduce), "ncclDevKernel_AllReduce", 20'000);
    prof::session session;
    cudaStream_t stream = nullptr;
    (void)cudaStreamCreate(&stream);
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("summary");
    const std::uint64_t schema = register_schema(domain, {entry(0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, 0, "bytes")});
    const std::uint64_t bytes = 7'000'000;
    const nvtxPayloadData_t payload{schema, sizeof bytes, &bytes};
    nvtxRangePushPayload(domain, &payload, 1);  // a range without a name
    launch(compute, stream);
    launch(reduce, stream);
    std::thread([&] {
        pthread_setname_np(pthread_self(), "pt_autograd_0");
        for (int i = 0; i < 3; ++i) launch(compute, stream);
    }).join();
    {
        PROF_RANGE("inner");
        launch(reduce, stream);
    }
    (void)cudaStreamSynchronize(stream);
    nvtxDomainRangePop(domain);

    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    (void)cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
    {
        PROF_RANGE("captured");
        launch(compute, stream);
    }
    (void)cudaStreamEndCapture(stream, &graph);
    (void)cudaGraphInstantiate(&exec, graph, 0);
    {
        PROF_RANGE("replay");
        (void)cudaGraphLaunch(exec, stream);
    }
    (void)cudaDeviceSynchronize();

    for (const prof::summary_row& r : session.summary().rows) {
        std::printf("%s;%u;%d;%llu;%lld;%lld;%lld;%lld;%lld;%lld;%llu;%llu;%llu;%lld;%lld;%lld;%llu;%u;%d;%s\n",
                    r.path.c_str(), r.depth, r.is_captured ? 1 : 0, static_cast<unsigned long long>(r.instances),
                    static_cast<long long>(r.host_ns), static_cast<long long>(r.gpu_sum_ns),
                    static_cast<long long>(r.gpu_self_ns), static_cast<long long>(r.gpu_child_ns),
                    static_cast<long long>(r.gpu_busy_ns), static_cast<long long>(r.gpu_span_ns),
                    static_cast<unsigned long long>(r.ops), static_cast<unsigned long long>(r.self_ops),
                    static_cast<unsigned long long>(r.adopted_ops), static_cast<long long>(r.adopted_ns),
                    static_cast<long long>(r.communication_ns), static_cast<long long>(r.wait_ns),
                    static_cast<unsigned long long>(r.payload_bytes), r.kind,
                    r.parent ? static_cast<int>(*r.parent) : -1, r.name.c_str());
    }

    // Callers that were compiled with other headers.
    prof_summary* const open = prof_summary_open();
    struct later {
        prof_summary_row row;
        std::uint64_t unknown;
        unsigned char beyond;
    } row;
    std::memset(&row, 0xAB, sizeof row);
    const std::size_t later_size = offsetof(later, beyond);
    expect(prof_summary_get_row(open, 0, &row.row, later_size) == PROF_OK, "a larger row is filled");
    expect(row.row.payload_bytes == bytes && row.unknown == 0, "what the library does not know is 0");
    expect(row.beyond == 0xAB, "nothing is written behind the row");
    expect(prof_summary_get_row(open, 0, &row.row, 127) == PROF_INVALID_ARGUMENT, "half a row is none");
    expect(std::string_view(prof_last_error()).find("128 bytes or more") != std::string_view::npos, "and said to be");
    expect(prof_summary_get_row(open, 100, &row.row, sizeof row.row) == PROF_INVALID_ARGUMENT, "there is no row 100");
    std::memset(&row, 0xAB, sizeof row);
    expect(prof_summary_get_row(open, 0, &row.row, 128) == PROF_OK, "the first version's row is filled");
    expect(row.row.payload_bytes == bytes && row.row.kind == 0xABABABAB, "and nothing behind it");

    // The capture of a recording that goes on has what is in the file.
    prof_capture* const capture = prof_capture_open(session.capture_path().c_str());
    expect(capture != nullptr, "it is read while it is written");
    prof_summary* const same = prof_capture_summary(capture, nullptr);
    expect(prof_summary_row_count(same) == prof_summary_row_count(open), "with the same rows");
    expect(prof_summary_total_gpu_ns(same) == prof_summary_total_gpu_ns(open), "and the same GPU time");
    prof_summary_close(same);
    prof_capture_close(capture);
    prof_summary_close(open);
    session.stop();
}

// --- empty: before the first recording, and in one that has no range yet
// ----------------------------------------------

void empty() {
    for (const char* const when : {"before", "without a range"}) {
        prof_summary* const open = prof_summary_open();
        expect(open != nullptr, when);
        for (std::size_t i = 0; i < prof_summary_row_count(open); ++i) {
            prof_summary_row row{};
            expect(prof_summary_get_row(open, i, &row, sizeof row) == PROF_OK, "a row");
            std::printf("%s;%u;%llu\n", row.path, row.kind, static_cast<unsigned long long>(row.ops));
        }
        prof_summary_close(open);
        if (prof_is_recording() == 0) expect(prof_start(nullptr) == PROF_OK, "it starts");
    }
    expect(prof_sync() == PROF_WRONG_STATE, "there is nothing to bring in");
    expect(prof_dump(nullptr) == PROF_WRONG_STATE, "nor to dump");
    expect(prof_stop() == PROF_OK, "it stops");
}

// --- steps: 2, 5, 8 and 11 of 0 to 11 are captured, and launch 2, 4, 6 and 8 kernels in their range, and a graph ---

const char* half(std::optional<double> width) {
    static std::string text;
    return (text = width ? std::to_string(*width) : "none").c_str();
}

void print_steps(const prof::step_summary& steps) {
    std::printf("%llu;%llu;%llu;%llu;%f;%s\n", static_cast<unsigned long long>(steps.captured_steps),
                static_cast<unsigned long long>(steps.windows), static_cast<unsigned long long>(steps.steps),
                static_cast<unsigned long long>(steps.stood_for), steps.gpu_ns, half(steps.gpu_half_width_ns));
    for (const prof::step_row& row : steps.rows) {
        std::printf("%s;%u;%d;%f;%s;", row.path.c_str(), row.depth, row.is_captured ? 1 : 0, row.gpu_ns,
                    half(row.gpu_half_width_ns));
        std::printf("%f;%s\n", row.instances, half(row.instances_half_width));
    }
}

void check_sizes_of_steps() {
    prof_summary* const open = prof_summary_open();
    struct later {
        prof_summary_step_row row;
        std::uint64_t unknown;
        unsigned char beyond;
    } row;
    std::memset(&row, 0xAB, sizeof row);
    expect(prof_summary_get_step_row(open, 0, &row.row, offsetof(later, beyond)) == PROF_OK, "a larger row is filled");
    expect(row.row.instances == 1 && row.unknown == 0 && row.beyond == 0xAB, "and nothing behind it");
    expect(prof_summary_get_step_row(open, 0, &row.row, 47) == PROF_INVALID_ARGUMENT, "half a row is none");
    expect(std::string_view(prof_last_error()).find("48 bytes or more") != std::string_view::npos, "and said to be");
    expect(prof_summary_get_step_row(open, 5, &row.row, sizeof row.row) == PROF_INVALID_ARGUMENT, "there is no row 5");
    prof_summary_steps steps{};
    expect(prof_summary_get_steps(open, &steps, sizeof steps - 1) == PROF_INVALID_ARGUMENT, "half of them are none");
    prof_summary_close(open);
}

void steps() {
    fake_gpu_register_kernel(reinterpret_cast<const void*>(compute), "compute", 10'000);
    fake_gpu_register_kernel(reinterpret_cast<const void*>(reduce), "reduce", 4'000);
    prof::session session{{{"schedule", "wait=2,active=1"}}};
    cudaStream_t stream = nullptr;
    (void)cudaStreamCreate(&stream);
    cudaGraphExec_t exec = nullptr;
    for (int i = 0; i < 12; ++i) {
        {
            PROF_RANGE("forward");
            for (int k = 0; k < 2 * (i / 3 + 1); ++k) launch(compute, stream);
            PROF_RANGE("norm");
            launch(reduce, stream);
        }
        launch(reduce, stream);
        if (i == 2) {
            PROF_RANGE("part");
            cudaGraph_t graph = nullptr;
            (void)cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
            launch(reduce, stream);
            (void)cudaStreamEndCapture(stream, &graph);
            (void)cudaGraphInstantiate(&exec, graph, 0);
        }
        if (i >= 2) (void)cudaGraphLaunch(exec, stream);
        session.step();
        if (i == 3) print_steps(session.summary().steps);
    }
    print_steps(session.summary().steps);
    check_sizes_of_steps();
    session.stop();
    print_steps(session.summary().steps);
}

// --- messages that stand in payloads
// ----------------------------------------------------------------------------------

template <typename TData>
void range(nvtxDomainHandle_t domain, const std::vector<nvtxPayloadSchemaEntry_t>& entries, const TData& data,
           std::size_t size = sizeof(TData)) {
    const nvtxPayloadData_t payload{register_schema(domain, entries), size, &data};
    nvtxRangePushPayload(domain, &payload, 1);
    nvtxDomainRangePop(domain);
}

constexpr std::uint64_t message = NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE;
constexpr std::uint64_t text = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING;
constexpr std::uint64_t fixed_size = NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE;
constexpr std::uint64_t to_zero = NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED;
constexpr std::uint64_t by_pointer = NVTX_PAYLOAD_ENTRY_FLAG_POINTER;

void named(nvtxDomainHandle_t domain) {
    const char* const words = "char pointer";
    range(domain, {entry(message, text)}, words);
    const char* const marked = "flagged pointer";
    range(domain, {entry(message | by_pointer, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF8)}, marked);
    const char* const longer = "eight of these";
    range(domain, {entry(message | by_pointer | fixed_size, text, 8)}, longer);
    const char* const characters = "characters";
    range(domain, {entry(message | by_pointer | to_zero, NVTX_PAYLOAD_ENTRY_TYPE_CHAR)}, characters);

    // Between other fields, with no offset given and no zero at its end.
    struct packet {
        std::uint16_t tag = 1;
        char name[9] = {'n', 'o', ' ', 'z', 'e', 'r', 'o', '!', '!'};
        std::uint64_t bytes = 4711;
    };
    range(domain,
          {entry(0, NVTX_PAYLOAD_ENTRY_TYPE_UINT16, 0, "tag"), entry(message, text, 9, "name"),
           entry(0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, 0, "bytes")},
          packet{});
    struct array {
        std::int32_t number = 1;
        char name[12] = "in an array";
    };
    range(domain,
          {entry(0, NVTX_PAYLOAD_ENTRY_TYPE_INT, 0, "number"),
           entry(message | fixed_size, NVTX_PAYLOAD_ENTRY_TYPE_CHAR, 12, "name")},
          array{});
    range(domain, {entry(0, NVTX_PAYLOAD_ENTRY_TYPE_INT, 0, "number"), entry(message | to_zero, text, 0, "name")},
          array{},
          sizeof(std::int32_t) + 5);  // the payload ends within the text
    struct handle {
        std::uint32_t number = 1;
        nvtxStringHandle_t name = nullptr;
    };
    range(domain,
          {entry(0, NVTX_PAYLOAD_ENTRY_TYPE_UINT32, 0, "number"),
           entry(message, NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE, 0, "name")},
          handle{1, nvtxDomainRegisterStringA(domain, "registered")});
}

void nameless(nvtxDomainHandle_t domain) {
    const char* const words = "not to be read";
    range(domain, {entry(0, text)}, words);                                         // no message
    range(domain, {entry(NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP, text)}, words);         // another purpose
    range(domain, {entry(message, text)}, words, sizeof words - 1);                 // cut short
    range(domain, {entry(message, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF16)}, words);  // not read
    range(domain, {entry(message | NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_BASE, text)}, words);
    range(domain, {entry(message | fixed_size, NVTX_PAYLOAD_ENTRY_TYPE_CHAR, 9)}, words, 8);
    range(domain, {entry(message | fixed_size, NVTX_PAYLOAD_ENTRY_TYPE_CHAR)}, words);
    range(domain, {entry(message, NVTX_PAYLOAD_ENTRY_TYPE_UINT64)}, words);
    const char* const nothing = nullptr;
    range(domain, {entry(message, text)}, nothing);
}

// Every call that takes payloads.
void everywhere(nvtxDomainHandle_t domain) {
    const char* const words = "everywhere";
    const std::uint64_t bytes = 4711;
    const nvtxPayloadData_t payloads[] = {
        {register_schema(domain, {entry(0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, 0, "bytes")}), sizeof bytes, &bytes},
        {register_schema(domain, {entry(message, text)}), sizeof words, &words}};
    nvtxEventAttributes_t event = prof::test::event_of("the event's own");
    event.messageType = NVTX_MESSAGE_UNKNOWN;
    event.payloadType = NVTX_PAYLOAD_TYPE_EXT;
    event.reserved0 = 2;
    event.payload.ullValue = reinterpret_cast<std::uintptr_t>(payloads);
    nvtxDomainRangePushEx(domain, &event);
    nvtxRangePopPayload(domain, payloads, 2);
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    nvtxDomainRangePushEx(domain, &event);
    nvtxDomainRangePop(domain);
    nvtxRangeEndPayload(domain, nvtxRangeStartPayload(domain, payloads, 2), payloads, 2);
    nvtxMarkPayload(domain, payloads, 2);
}

// A capture that takes 300 MB of its disk, most of it behind its end.
void large() {
    const char* const settings[] = {"export=trace,summary", nullptr};
    expect(prof_start(settings) == PROF_OK, "it starts");
    nvtxRangePushA("range");
    nvtxRangePop();
    expect(prof_sync() == PROF_OK, "it has a capture");
    char path[4096];
    (void)prof_capture_path(path, sizeof path);
    const int file = open(path, O_WRONLY);
    if (fallocate(file, FALLOC_FL_KEEP_SIZE, 0, 300 << 20) != 0) std::puts("no room");
    close(file);
    expect(prof_summary_open() == nullptr, "there is no summary of it");
    std::puts(prof_last_error());
    prof_summary* const asked_for = prof_summary_open_file(path);
    expect(prof_summary_row_count(asked_for) == 4, "there is one if the file is named");
    prof_summary_close(asked_for);
    expect(prof_stop() == PROF_OK, "it stops");
}

// What the environment asks for is not done, and nothing is left there.
void more_rights() {
    nvtxRangePushA("range");
    nvtxRangePop();
    expect(prof_start(nullptr) == PROF_WRONG_STATE, "it does not start");
    std::puts(prof_last_error());
    expect(prof_is_recording() == 0, "it does not record");
    expect(prof_parent_here() == 0, "there are no places");
    expect(prof_summary_open() == nullptr, "there is no summary");
    for (const char* const name : {"PROF_IMAGE", "PROF_IMAGE_LIBRARY", "NVTX_INJECTION64_PATH"}) {
        expect(std::getenv(name) == nullptr, name);
    }
}

// Before it is recorded it is known whether there can be a capture.
void place() {
    const auto start_in = [](const std::string& directory) {
        const std::string setting = "output_dir=" + directory;
        const char* const settings[] = {setting.c_str(), nullptr};
        return prof_start(settings);
    };
    for (const char* const directory : {"file", "file/below", "read-only/below"}) {
        expect(start_in(directory) == PROF_FAILED, directory);
        std::puts(prof_last_error());
        expect(prof_is_recording() == 0, "it does not record");
    }
    expect(start_in("new/below") == PROF_OK, "it starts where there can be a directory");
    nvtxRangePushA("range");
    nvtxRangePop();
    expect(prof_stop() == PROF_OK, "it stops");
}

}  // namespace

int main(int argc, char** argv) {
    const std::string scene = argc > 1 ? argv[1] : "";
    if (scene == "summary") {
        summary();
    } else if (scene == "empty") {
        empty();
    } else if (scene == "steps") {
        steps();
    } else if (scene == "messages") {
        const nvtxDomainHandle_t domain = nvtxDomainCreateA("messages");
        named(domain);
        everywhere(domain);
        nameless(domain);
    } else if (scene == "more-rights") {
        more_rights();
    } else if (scene == "place") {
        place();
    } else if (scene == "large") {
        large();
    } else {
        return 2;
    }
    return 0;
}
