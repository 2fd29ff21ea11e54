// SPDX-License-Identifier: Apache-2.0
#include "lab/bench/synthetic_capture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "record/collective.hpp"
#include "record/label.hpp"
#include "support/capture_builder.hpp"

namespace prof::bench {
namespace {

constexpr cuda_function cuda_launch_kernel{api_domain::runtime, 211};
constexpr cuda_function driver_launch_kernel{api_domain::driver, 307};
constexpr cuda_function driver_copy_to_host{api_domain::driver, 279};
constexpr cuda_function driver_synchronize_stream{api_domain::driver, 126, api_class::wait};
constexpr std::uint64_t ns_a_call = 2500;
constexpr std::uint64_t ns_a_kernel = 1900;
constexpr std::uint64_t gpu_lag_ns = 20'000;
constexpr std::uint64_t launch_to_start_ns = 5'000;  // on a free GPU
constexpr std::size_t drained_records = 4096;        // what the drain thread takes from one ring at a time, about

struct thread_ring {
    std::uint64_t uid = 0;
    std::uint64_t written = 0;
    std::vector<record> records;
};

class writer {
public:
    writer(const std::string& path, std::uint64_t wanted, const synthetic_rank& in_job)
        : file_(path, {}), wanted_(wanted), job_(in_job) {
        file_.property("pid", std::to_string(4242 + in_job.rank));
        file_.property("command", "synthetic");
        if (job_.ranks != 0) {
            const std::string host = std::to_string(job_.rank / 8);
            now_ += job_.rank / 8 * 1'000'000;
            file_.property("rank", std::to_string(job_.rank));
            file_.property("local_rank", std::to_string(job_.rank % 8));
            file_.property("world_size", std::to_string(job_.ranks));
            file_.property("hostname", "host" + host);
            file_.property("process_start", "boot" + host + " 17");
            // Its id, its ranks, this one, its hosts, and its name.
            const std::string text = fmt::format("d0d0 {} {} {} dp", job_.ranks, job_.rank, (job_.ranks + 7) / 8);
            const label of{.kind = label_kind::communicator, .name = name(text), .key = 0};
            file_.labels({&of, 1});
        }
        clock();
        device_record gpu = h200_properties();
        gpu.name = name("NVIDIA H200");
        file_.gpu<device_record>({&gpu, 1});
    }

    std::size_t add_thread(std::string_view system_name) {
        const std::uint64_t uid = threads_.size() + 1;
        file_.thread(thread_entry_of(uid, static_cast<std::uint32_t>(4241 + uid), system_name));
        threads_.push_back({.uid = uid, .written = 0, .records = {}});
        return threads_.size() - 1;
    }

    void property(std::string_view key, std::string_view value) { file_.property(key, value); }
    std::uint32_t name(std::string_view text) {
        const std::pair<std::uint32_t, std::string_view> entry{++names_, text};
        file_.names({&entry, 1});
        return names_;
    }
    std::uint32_t kernel_symbol(std::uint64_t number) {
        return name("_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm" +
                    std::to_string(number) + "EEEEviT0_T1_");
    }

    void label_domain(std::uint16_t domain, std::string_view text) {
        const label of{.kind = label_kind::domain, .name = name(text), .key = domain};
        file_.labels({&of, 1});
    }

    bool is_full() const { return counts_.records >= wanted_; }
    void pass(std::uint64_t ns) { now_ += ns; }

    void push(std::size_t thread, std::uint32_t name) {
        ++counts_.ranges;
        add(thread, {.ticks = now_, .name = name, .kind = record_kind::range_push});
    }
    // A range of a domain, with a payload or PyTorch's numbers.
    void push(std::size_t thread, record of) {
        ++counts_.ranges;
        of.ticks = now_;
        of.kind = record_kind::range_push;
        add(thread, of);
    }
    void pop(std::size_t thread, record of) {
        of.ticks = now_;
        of.kind = record_kind::range_pop;
        add(thread, of);
    }
    void pop(std::size_t thread) { add(thread, {.ticks = now_, .kind = record_kind::range_pop}); }
    void start(std::size_t thread, std::uint32_t name, std::uint64_t id) {
        ++counts_.ranges;
        add(thread, {.ticks = now_, .value = id, .name = name, .kind = record_kind::range_start});
    }
    void end(std::size_t thread, std::uint64_t id) {
        add(thread, {.ticks = now_, .value = id, .kind = record_kind::range_end});
    }
    void node(std::size_t thread, std::uint64_t id) { add(thread, node_record(now_, id)); }

    // A long kernel beside others, on a stream of its own. CUPTI reports it when it has ended, after the others.
    void launch_beside(std::size_t thread, std::uint32_t symbol, std::uint32_t stream) {
        if (late_.correlation != 0) take(late_);
        if (job_.ranks != 0) begin_all_reduce(thread);
        call(thread, symbol);
        late_ = kernel_of(symbol, stream, now_ + gpu_lag_ns, 10 * ns_a_kernel);
        if (job_.ranks == 0) return;
        const packed_work work{8, collective_algorithm::ring, collective_protocol::ll, collective_function::all_reduce};
        add(thread, {.ticks = now_,
                     .value = collectives_ - 1,
                     .name = static_cast<std::uint32_t>(collectives_),
                     .category = pack(work),
                     .kind = record_kind::collective_work});
    }
    // What a rank takes for a step beyond others; at its end it has waited for them.
    void pass_own(std::uint64_t step, bool is_end) {
        if (job_.ranks == 0) return;
        const std::uint64_t own = (job_.rank * 7919 + step * 104'729) % 97;
        now_ += 50 * (is_end ? 97 - own : own);
    }
    // A call, and what it launches on `stream`.
    void launch(std::size_t thread, std::uint32_t symbol, std::uint32_t stream) {
        call(thread, symbol);
        kernel(symbol, stream, 0, 0);
    }
    void launch_graph(std::size_t thread, std::uint32_t graph, std::uint64_t first_node, std::uint64_t nodes,
                      std::uint32_t symbol) {
        call(thread, 0);
        for (std::uint64_t i = 0; i < nodes; ++i) kernel(symbol, 7, graph, first_node + i);
    }
    // A launch by a host that is slower than the GPU: the kernel begins soon after the call, on a free GPU.
    void launch_starved(std::size_t thread, std::uint32_t symbol, std::uint64_t host_ns, std::uint64_t kernel_ns) {
        now_ += host_ns;
        call(thread, symbol, driver_launch_kernel);
        add(starved_kernel(symbol, kernel_ns));
    }
    // The value of a loss: the host waits for it.
    void copy_to_host_and_wait(std::size_t thread) {
        call(thread, 0, driver_copy_to_host);
        const std::uint64_t start_ns = std::max(gpu_free_ + 100, now_ + launch_to_start_ns);
        gpu_free_ = start_ns + ns_a_kernel;
        counts_.gpu_ns += static_cast<std::int64_t>(ns_a_kernel);
        add_copy(start_ns, 2, 3, 2);
        const std::uint64_t key = correlation_key(1, ++correlation_);
        add(thread, enter_record(now_, key, driver_synchronize_stream));
        now_ = std::max(now_ + 1'000, gpu_free_ + 5'000);
        add(thread, exit_record(now_, key));
    }
    void copy(std::size_t thread) {
        call(thread, 0);
        add_copy(gpu_turn(), 1, 2, 3);
    }

    synthetic_counts finish() {
        clock();
        if (late_.correlation != 0) take(late_);
        for (thread_ring& ring : threads_) drain(ring);
        drain_gpu();
        file_.end(format::end_reason::exited);
        if (file_.failed()) throw error(file_.failure());
        counts_.bytes = file_.bytes_written();
        return counts_;
    }

private:
    void begin_all_reduce(std::size_t thread) {
        ++collectives_;
        add(thread, {.ticks = now_,
                     .value = pack(packed_call{1U << 20, collective_function::all_reduce, collective_type::f32}),
                     .name = static_cast<std::uint32_t>(collectives_),
                     .color = static_cast<std::uint32_t>(collectives_),
                     .kind = record_kind::collective_call});
        add(thread, {.ticks = now_, .value = collectives_, .kind = record_kind::collective_launch});
    }

    void clock() {
        const clock_snapshot snapshot{.ticks = now_, .realtime_ns = now_, .cupti_ns = now_};
        file_.clocks({&snapshot, 1});
    }

    void add(std::size_t thread, const record& r) {
        thread_ring& ring = threads_[thread];
        ring.records.push_back(r);
        now_ += 40;
        ++counts_.records;
        if (ring.records.size() >= drained_records) drain(ring);
    }

    void call(std::size_t thread, std::uint32_t symbol, const cuda_function& called = cuda_launch_kernel) {
        const std::uint64_t key = correlation_key(1, ++correlation_);
        add(thread, enter_record(now_, key, called, symbol));
        now_ += ns_a_call;
        add(thread, exit_record(now_, key));
    }

    // One thing after another on the main stream, and nothing before it was ordered.
    std::uint64_t gpu_turn() {
        gpu_free_ = std::max(gpu_free_ + 100, now_ + gpu_lag_ns);
        counts_.gpu_ns += static_cast<std::int64_t>(ns_a_kernel);
        return std::exchange(gpu_free_, gpu_free_ + ns_a_kernel);
    }

    void add_copy(std::uint64_t start_ns, std::uint8_t copy_kind, std::uint8_t source, std::uint8_t destination) {
        const std::uint64_t key = correlation_key(1, correlation_);
        transfer_record copy =
            transfer_between(transfer_kind::memcpy, start_ns, start_ns + ns_a_kernel, key, 1U << 20, {.stream = 7});
        copy.copy_kind = copy_kind;
        copy.source_kind = source;
        copy.destination_kind = destination;
        copies_.push_back(copy);
        ++counts_.records;
        ++counts_.copies;
    }

    kernel_record starved_kernel(std::uint32_t symbol, std::uint64_t ns) {
        const std::uint64_t start_ns = std::max(gpu_free_ + 1'000, now_ - ns_a_call + launch_to_start_ns);
        gpu_free_ = start_ns + ns;
        counts_.gpu_ns += static_cast<std::int64_t>(ns);
        return kernel_of(symbol, 7, start_ns, ns);
    }

    kernel_record kernel_of(std::uint32_t symbol, std::uint32_t stream, std::uint64_t start_ns,
                            std::uint64_t ns) const {
        const std::uint64_t key = correlation_key(1, correlation_);
        kernel_record k = kernel_between(start_ns, start_ns + ns, key, symbol, {.stream = stream});
        k.grid[0] = static_cast<std::uint32_t>(256 + counts_.kernels % 16);
        k.grid[1] = k.grid[2] = k.block[1] = k.block[2] = 1;
        k.block[0] = 128;
        k.registers_per_thread = 40;
        return k;
    }

    void kernel(std::uint32_t symbol, std::uint32_t stream, std::uint32_t graph, std::uint64_t node) {
        kernel_record k = kernel_of(symbol, stream, gpu_turn(), ns_a_kernel);
        k.graph_id = graph;
        k.graph_node_id = node;
        add(k);
        if (late_.correlation != 0 && late_.end_ns < k.end_ns) take(late_);
    }

    void take(kernel_record& late) {
        counts_.gpu_ns += static_cast<std::int64_t>(late.end_ns - late.start_ns);
        add(std::exchange(late, {}));
    }

    void add(const kernel_record& k) {
        kernels_.push_back(k);
        ++counts_.records;
        ++counts_.kernels;
        if (kernels_.size() >= drained_records) drain_gpu();
    }

    void drain(thread_ring& ring) {
        file_.records(ring.uid, ring.written, ring.records);
        ring.written += ring.records.size();
        ring.records.clear();
    }
    void drain_gpu() {
        file_.gpu<kernel_record>(kernels_);
        file_.gpu<transfer_record>(copies_);
        kernels_.clear();
        copies_.clear();
    }

    capture_writer file_;
    std::uint64_t wanted_;
    synthetic_rank job_;
    std::uint64_t collectives_ = 0;
    synthetic_counts counts_;
    std::uint64_t now_ = 1'700'000'000'000'000'000;
    std::uint64_t gpu_free_ = 0;
    std::uint32_t names_ = 0;
    std::uint32_t correlation_ = 0;
    std::vector<thread_ring> threads_;
    std::vector<kernel_record> kernels_;
    std::vector<transfer_record> copies_;
    kernel_record late_;  // CUPTI has not reported it yet
};

std::vector<std::uint32_t> some_symbols(writer& out, int count) {
    std::vector<std::uint32_t> symbols;
    for (int i = 0; i < count; ++i) symbols.push_back(out.kernel_symbol(static_cast<std::uint64_t>(i)));
    return symbols;
}

void train(writer& out, capture_shape shape) {
    const bool own_names = shape == capture_shape::names;
    const int launches = shape == capture_shape::layers ? 1 : 10;
    const std::size_t main = out.add_thread("python");
    const std::size_t autograd = out.add_thread("pt_autograd_0");
    const std::vector<std::uint32_t> symbols = some_symbols(out, 60);
    const std::uint32_t all_reduce = out.name("_Z40ncclDevKernel_AllReduce_Sum_f32_RING_LLPv");
    const std::uint32_t forward = out.name("forward");
    const std::uint32_t backward = out.name("backward");
    std::vector<std::uint32_t> layer_names;
    for (int i = 0; i < 12; ++i) {
        layer_names.push_back(out.name(shape == capture_shape::layers ? "layer " + std::to_string(i) : "layer"));
    }
    const std::uint32_t operation = out.name("attention");
    const auto layers = [&](std::size_t thread, std::uint64_t& number) {
        for (const std::uint32_t layer : layer_names) {
            out.push(thread, own_names ? out.name("layer of its own " + std::to_string(number)) : layer);
            for (int j = 0; j < 3; ++j) {
                out.push(thread, own_names ? out.name("operation of its own " + std::to_string(++number)) : operation);
                if (thread == autograd) out.launch_beside(thread, all_reduce, 13);
                for (int k = 0; k < launches; ++k, ++number) {
                    const bool is_new = own_names && number % 30 == 0;
                    out.launch(thread, is_new ? out.kernel_symbol(number) : symbols[number % symbols.size()], 7);
                }
                out.pop(thread);
            }
            out.pop(thread);
        }
    };
    std::uint64_t number = 0;
    for (std::uint64_t step = 0; !out.is_full(); ++step) {
        out.push(main, out.name("iteration " + std::to_string(step)));
        out.pass_own(step, false);
        for (int i = 0; i < 2; ++i) out.copy(main);
        out.push(main, forward);
        layers(main, number);
        out.pop(main);
        out.push(main, backward);
        layers(autograd, number);
        out.pop(main);
        out.pass_own(step, true);
        out.pop(main);
    }
}

constexpr std::uint16_t phases = 1;
constexpr std::uint16_t modules = 2;

// One step of PyTorch after the other. Figures are those of recordings on an H200 (GPT-2 and ResNet-50): per 900
// launches about 140 calls of modules, 560 backward nodes of which two in five launch nothing, two launches in five on
// the main thread; the host needs 5 to 40 us a launch, and a kernel 3 to 12 us.
class pytorch_steps {
public:
    explicit pytorch_steps(writer& out)
        : out_(out), main_(out.add_thread("python3")), autograd_(out.add_thread("pt_autograd_0")) {
        out.label_domain(phases, "prof.phases");
        out.label_domain(modules, "prof.modules");
        symbols_ = some_symbols(out, 60);
        for (const char* const text : {"step", "data", "forward", "backward", "optimizer", "zero_grad"}) {
            phase_names_.push_back(out.name(text));
        }
        for (const char* const text :
             {"AddmmBackward0", "ViewBackward0", "torch::autograd::AccumulateGrad", "ToCopyBackward0", "MulBackward0",
              "NativeLayerNormBackward0", "TransposeBackward0", "GeluBackward0", "AddBackward0"}) {
            node_names_.push_back(out.name(text));
        }
        model_ = out.name("GPT (GPT)");
        for (int block = 0; block < blocks; ++block) {
            const std::string path = "GPT.blocks." + std::to_string(block);
            block_names_.push_back(out.name(path + " (Block)"));
            for (const char* const text :
                 {".attn (Attention)", ".attn.c_attn (Linear)", ".attn.c_proj (Linear)", ".attn.drop (Dropout)",
                  ".ln_1 (LayerNorm)", ".ln_2 (LayerNorm)", ".mlp (MLP)", ".mlp.c_fc (Linear)", ".mlp.act (GELU)",
                  ".mlp.c_proj (Linear)"}) {
                module_names_.push_back(out.name(path + text));
            }
        }
    }

    void step() {
        push_phase(0, optimizer_witness);
        push_phase(1);
        out_.pass(700'000);
        out_.copy(main_);
        pop_phase();
        const std::uint64_t first_of_step = sequence_;
        push_phase(2);
        forward();
        pop_phase();
        push_phase(3);
        out_.pass(30'000);
        backward(first_of_step);
        out_.pass(30'000);
        pop_phase();
        push_phase(4);
        for (int i = 0; i < optimizer_launches; ++i) launch(main_);
        pop_phase();
        push_phase(5);
        out_.pass(50'000);
        pop_phase();
        out_.copy_to_host_and_wait(main_);
        pop_phase();
    }

private:
    static constexpr int blocks = 12;
    static constexpr int optimizer_launches = 96;
    static constexpr std::size_t modules_of_block = 10;

    void push_phase(std::size_t phase, std::uint32_t category = 0) {
        out_.push(main_, record{.name = phase_names_[phase], .category = category, .domain = phases});
    }
    void pop_phase() { out_.pop(main_, record{.domain = phases}); }

    record of_module(std::uint32_t name) const {
        return {
            .value = sequence_, .name = name, .domain = modules, .flags = static_cast<std::uint8_t>(payload_type::u64)};
    }

    void forward() {
        out_.push(main_, of_module(model_));
        for (int block = 0; block < blocks; ++block) {
            out_.push(main_, of_module(block_names_[static_cast<std::size_t>(block)]));
            for (std::size_t i = 0; i < modules_of_block; ++i) {
                const std::size_t module = static_cast<std::size_t>(block) * modules_of_block + i;
                out_.push(main_, of_module(module_names_[module]));
                for (std::size_t j = 0; j < 1 + i % 3; ++j) launch(main_);
                sequence_ += 3;
                out_.pop(main_, of_module(0));
            }
            out_.pop(main_, of_module(0));
        }
        out_.pop(main_, of_module(0));
    }

    void backward(std::uint64_t first_of_step) {
        // Latest first; two nodes in five launch nothing. Nodes that add up gradients have no number.
        for (std::uint64_t i = sequence_; i-- > first_of_step;) {
            node(node_names_[i % node_names_.size()], static_cast<std::int64_t>(i), i % 5 < 3 ? 2 + i % 2 : 0);
            if (i % 3 == 0) node(node_names_[2], -1, 1);
        }
    }

    void node(std::uint32_t name, std::int64_t sequence, std::uint64_t launches) {
        record of{.value = ++nodes_, .name = name, .flags = static_cast<std::uint8_t>(payload_type::torch)};
        if (sequence >= 0) {
            of.flags = static_cast<std::uint8_t>(payload_type::torch_sequence);
            of.category = static_cast<std::uint32_t>(sequence);
        }
        out_.push(autograd_, of);
        for (std::uint64_t i = 0; i < launches; ++i) launch(autograd_);
        out_.pop(autograd_, record{});
    }

    void launch(std::size_t thread) {
        random_ = random_ * 6364136223846793005 + 1442695040888963407;
        const std::uint64_t drawn = random_ >> 33;
        // Few take much longer than most.
        const std::uint64_t host_ns = 5'000 + drawn % 16'000 + (drawn % 64 == 0 ? 100'000 : 0);
        out_.launch_starved(thread, symbols_[drawn % symbols_.size()], host_ns, 3'000 + drawn % 9'000);
    }

    writer& out_;
    std::size_t main_;
    std::size_t autograd_;
    std::vector<std::uint32_t> symbols_;
    std::vector<std::uint32_t> phase_names_;
    std::vector<std::uint32_t> node_names_;
    std::uint32_t model_ = 0;
    std::vector<std::uint32_t> block_names_;
    std::vector<std::uint32_t> module_names_;
    std::uint64_t sequence_ = 0;
    std::uint64_t nodes_ = 0;
    std::uint64_t random_ = 1;
};

void run_pytorch(writer& out) {
    out.property("modules", "all");
    pytorch_steps steps(out);
    while (!out.is_full()) steps.step();
}

void run_threads(writer& out) {
    constexpr std::size_t count = 64;
    for (std::size_t i = 0; i < count; ++i) out.add_thread("worker " + std::to_string(i));
    const std::vector<std::uint32_t> symbols = some_symbols(out, 60);
    const std::uint32_t task = out.name("task");
    for (std::uint64_t number = 0; !out.is_full();) {
        for (std::size_t thread = 0; thread < count; ++thread) out.push(thread, task);
        for (std::size_t i = 0; i < 8 * count; ++i, ++number) {
            out.launch(i % count, symbols[number % symbols.size()], static_cast<std::uint32_t>(7 + i % count));
        }
        for (std::size_t thread = 0; thread < count; ++thread) out.pop(thread);
    }
}

void nest_deeply(writer& out) {
    constexpr int depth = 100;
    const std::size_t main = out.add_thread("python");
    const std::vector<std::uint32_t> symbols = some_symbols(out, 60);
    std::vector<std::uint32_t> names;
    for (int i = 0; i < depth; ++i) names.push_back(out.name("level " + std::string(static_cast<std::size_t>(i), 'x')));
    while (!out.is_full()) {
        for (int i = 0; i < depth; ++i) out.push(main, names[static_cast<std::size_t>(i)]);
        for (std::size_t i = 0; i < 100; ++i) out.launch(main, symbols[i % symbols.size()], 7);
        for (int i = 0; i < depth; ++i) out.pop(main);
    }
}

void replay_graphs(writer& out) {
    constexpr std::uint64_t graphs = 50;
    constexpr std::uint64_t nodes = 200;
    const std::size_t main = out.add_thread("python");
    const std::vector<std::uint32_t> symbols = some_symbols(out, 60);
    const std::uint32_t capture = out.name("capture");
    const std::uint32_t forward = out.name("forward");
    const std::uint32_t replay = out.name("replay");
    std::uint64_t id = 0;
    for (std::uint64_t graph = 0; graph < graphs; ++graph) {
        out.push(main, capture);
        out.push(main, forward);
        for (std::uint64_t i = 0; i < nodes; ++i) out.node(main, ++id);
        out.pop(main);
        out.pop(main);
    }
    for (std::uint64_t number = 0; !out.is_full(); ++number) {
        const std::uint64_t graph = number % graphs;
        out.push(main, replay);
        out.launch_graph(main, static_cast<std::uint32_t>(graph + 1), graph * nodes + 1, nodes,
                         symbols[number % symbols.size()]);
        out.pop(main);
        out.pass(nodes * (ns_a_kernel + 100));
    }
}

void serve_requests(writer& out) {
    constexpr std::uint64_t open_at_once = 500;
    const std::size_t main = out.add_thread("server");
    const std::vector<std::uint32_t> symbols = some_symbols(out, 60);
    const std::uint32_t request = out.name("request");
    std::uint64_t number = 0;
    for (; !out.is_full(); ++number) {
        out.start(main, request, number + 1);
        if (number >= open_at_once) out.end(main, number + 1 - open_at_once);
        for (std::size_t i = 0; i < 3; ++i) out.launch(main, symbols[(number + i) % symbols.size()], 7);
    }
    for (std::uint64_t i = number < open_at_once ? 0 : number - open_at_once; i < number; ++i) out.end(main, i + 1);
}

}  // namespace

synthetic_counts write_synthetic_capture(const std::string& path, capture_shape shape, std::uint64_t records,
                                         const synthetic_rank& in_job) {
    writer out(path, records, in_job);
    switch (shape) {
        case capture_shape::training:
        case capture_shape::names:
        case capture_shape::layers:
            train(out, shape);
            break;
        case capture_shape::threads:
            run_threads(out);
            break;
        case capture_shape::pytorch:
            run_pytorch(out);
            break;
        case capture_shape::deep:
            nest_deeply(out);
            break;
        case capture_shape::requests:
            serve_requests(out);
            break;
        case capture_shape::graphs:
            replay_graphs(out);
            break;
    }
    return out.finish();
}

}  // namespace prof::bench
