// SPDX-License-Identifier: Apache-2.0
// fuzz_seeds FOLDER: what the fuzzers start from, each kind in a folder of its own that is made anew: a whole capture,
// a deflated one, one whose front was trimmed, the rings of a running process, names, symbols, settings.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string_view>

#include "base/error.hpp"
#include "capture/sample_capture.hpp"
#include "fuzz/gpu_buffer_seed.hpp"
#include "fuzz/training_seed.hpp"
#include "ring/producer.hpp"
#include "ring/region.hpp"

namespace {

void write_capture(const std::filesystem::path& path, bool deflate) {
    prof::capture_writer_options options;
    options.deflate = deflate;
    prof::capture_writer writer(path.string(), options);
    prof::test::write_sample(writer);
}

// Everything before the sample was trimmed.
void write_latest_part(const std::filesystem::path& path) {
    prof::capture_writer writer(path.string(), {});
    writer.property("hostname", "node17");
    const std::uint64_t begin = writer.position();
    writer.key_frame(prof::test::sample_values().key_frame);
    prof::test::write_sample(writer);
    writer.trim(begin);
}

void write_rings(const std::filesystem::path& folder) {
    prof::region_options options;
    options.place = folder.string();
    options.large_ring_bytes = 512;
    options.large_rings = 2;
    options.small_ring_bytes = 128;
    options.medium_rings = 0;
    options.small_rings = 1;
    options.name_bytes = 512;
    options.name_slots = 16;
    options.label_capacity = 4;
    options.buffer_bytes = prof::test::kernel_bytes + prof::test::copy_bytes;  // it is full
    options.buffer_count = 1;
    options.writing_bytes = 4096;
    prof::region rings(options);
    rings.publish();
    prof::capture_writer_options writing;
    writing.shared_memory = rings.writing_area();
    prof::capture_writer writer((folder / "unwritten.prof").string(), writing);
    writer.property("key", "value");
    writer.window({.epoch = 1});
    rings.add_label(prof::label_kind::domain, 1, rings.intern("data"));
    for (std::uint32_t tid = 1; tid <= 3; ++tid) {
        prof::producer out;
        out.attach(rings, *rings.claim_ring(tid), 1);
        for (int i = 0; i < 3; ++i) out.write({.name = rings.intern("step"), .kind = prof::record_kind::mark});
    }
    rings.rings()[0].counters.tail = 2;
    if (!rings.allocate_buffer(0)) throw prof::error("no room for a buffer");
    prof::test::fill_buffer(rings);
    std::filesystem::copy_file(rings.path(), folder / "seed.rings");
    std::filesystem::remove(folder / "unwritten.prof");
}

void write_texts(const std::filesystem::path& folder, std::initializer_list<std::string_view> texts) {
    int number = 0;
    for (const std::string_view text : texts) {
        std::ofstream(folder / std::to_string(number++), std::ios::binary) << text;
    }
}

// Traces of torch.profiler, and of libprof's own dialect.
constexpr std::initializer_list<std::string_view> trace_texts = {
    R"TRACE({"baseTimeNanoseconds": 1000, "deviceProperties": [{"id": 0, "name": "G"}], "traceEvents": [
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":1.000,"dur":90,"args":{"External id":1}},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":2.5,"dur":10,"args":{"Sequence number":3}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":3,"dur":1,"args":{"cbid":211,"correlation":5}},
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":9,"dur":4,"args":{"stream":7,"correlation":5,"grid":[1,2,3]}},
{"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"thread 1 (pt_autograd_0)"}}]})TRACE",
    R"TRACE([{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pinned -> Device)","pid":0,"tid":7,"ts":1,"dur":2,"args":{"bytes":8}}])TRACE",
    R"TRACE({"libprof": {"capture": {"pid": "1"}}, "traceEvents": [
{"ph":"b","cat":"user_annotation","name":"r","id":4,"pid":1,"tid":1,"ts":1},{"ph":"e","cat":"user_annotation","name":"r","id":4,"pid":1,"tid":2,"ts":3},
{"ph":"C","cat":"user_annotation","name":"loss","pid":1,"tid":1,"ts":2,"args":{"value":0.5}},
{"ph":"X","cat":"module","name":"m","pid":1,"tid":10000001,"ts":1,"dur":2,"args":{"payload":7,"open at end":true}}]})TRACE"};

}  // namespace

int main(int argc, char** argv) try {
    if (argc != 2) return 2;
    const std::filesystem::path folder = argv[1];
    for (const char* part : {"captures", "rings", "texts", "symbols", "options", "control", "traces"}) {
        std::filesystem::remove_all(folder / part);
        std::filesystem::create_directories(folder / part);
    }
    prof::test::write_training((folder / "captures" / "training.prof").string());
    write_capture(folder / "captures" / "plain.prof", false);
    write_capture(folder / "captures" / "deflated.prof", true);
    write_latest_part(folder / "captures" / "latest_part.prof");
    write_rings(folder / "rings");
    write_texts(folder / "texts",
                {"forward", "\\x41\\", "a\"b\n\t", "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", "\xC2\x85\xFF\x7F"});
    write_texts(folder / "traces", trace_texts);
    write_texts(folder / "symbols",
                {"4gemm", "N2at6native4copyIfLi4EEEvPT_", "3runIJidEEvDpT_", "NK3$_0clEv.part.0", "1fIXplLi1ELi2EEEvv",
                 "1gIiEDTcl1hfp_EET_",
                 // Each parameter is twice as long as the one before it; a little longer, and it is refused.
                 "1f1aIiiES_IS0_S0_ES_IS1_S1_ES_IS2_S2_ES_IS3_S3_ES_IS4_S4_ES_IS5_S5_ES_IS6_S6_ES_IS7_S7_E"});
    write_texts(folder / "options", {"memory=256M", "rank=3", "export=trace,summary", "activities=kernels,no_launches",
                                     "nvtx_domain_include=a*,b\\,c", "name=x", "fold=1", "fold=layer #,a\\,b #",
                                     "schedule=wait=1,warmup=1,active=3,repeat=2", "steps=10-12", "steps=0",
                                     "budget=0.5%", "capture_range_end=repeat:3", "step_range=step@data", "run_id=a1",
                                     "cuda_graphs=nodes", "control_signal=USR2", "adopt=pt_*", "output_dir=/tmp"});
    write_texts(folder / "control",
                {"prof-control 1 status json", "prof-control 1 start name=a%20b fold=1", "prof-control 1 done 2\nok",
                 "prof-control 1 refused 0\n", "prof-control 1 set x=%25%0A%FF"});
    return 0;
} catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 1;
}
