#include "stage.hpp"

#include <cstdio>
#include <cstdlib>

namespace truth {

void must(cudaError_t result, const char* what) {
    if (result == cudaSuccess) return;
    std::fprintf(stderr, "truth: %s: %s\n", what, cudaGetErrorString(result));
    std::exit(1);
}

nvtxDomainHandle_t library_domain() {
    static const nvtxDomainHandle_t domain = nvtxDomainCreateA("truth_library");
    return domain;
}

void stage::prepare(int devices) {
    devices_ = devices;
    for (int device = 0; device < devices; ++device) {
        must(cudaSetDevice(device), "cudaSetDevice");
        stamp_memory& memory = memory_[device];
        void* bytes = nullptr;
        must(cudaMalloc(&bytes, most_stamps * sizeof(stamp)), "cudaMalloc");
        memory.stamps = static_cast<stamp*>(bytes);
        must(cudaMalloc(&bytes, most_stamps * sizeof(std::uint32_t)), "cudaMalloc");
        memory.turns = static_cast<std::uint32_t*>(bytes);
        for (cudaStream_t& stream : streams_[device]) {
            must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
        }
        open_ranges in;
        const open_range setup(*this, in, "setup");
        set(in, device, 0, memory.turns, most_stamps * sizeof(std::uint32_t));
        // Each kernel once: the driver loads it at its first launch, which may wait for the GPU.
        for (int i = 0; i < kernel_count; ++i) spin_on(in, device, 0, static_cast<kernel>(i), 0);
        must(cudaStreamSynchronize(stream(device, 0)), "cudaStreamSynchronize");
    }
    must(cudaSetDevice(0), "cudaSetDevice");
}

void stage::note(operation op, const open_ranges& in) {
    op.open.insert(op.open.begin(), in.instances.begin(), in.instances.end());
    op.open.insert(op.open.end(), process_ranges_.begin(), process_ranges_.end());
    op.is_adopted = in.adopted != 0;
    out_.add(op);
}

void stage::spin_on(const open_ranges& in, int device, int stream_index, kernel which, std::uint64_t ns) {
    const spin what = out_.new_spin(device, which, ns);
    if (what.first >= most_stamps) must(cudaErrorMemoryAllocation, "no room for more stamps");
    must(launch(what, memory_[device], stream(device, stream_index)), name_of(which));
    operation op;
    op.kernel = name_of(which);
    op.device = device;
    op.requested_ns = ns;
    op.stamp = what.first;
    note(op, in);
}

void stage::copy(const open_ranges& in, int device, int stream_index, void* to, const void* from, std::size_t bytes,
                 cudaMemcpyKind kind) {
    must(cudaMemcpyAsync(to, from, bytes, kind, stream(device, stream_index)), "cudaMemcpyAsync");
    operation op;
    op.what = operation::kind::copy;
    op.device = device;
    op.bytes = bytes;
    note(op, in);
}

void stage::set(const open_ranges& in, int device, int stream_index, void* to, std::size_t bytes) {
    must(cudaMemsetAsync(to, 0, bytes, stream(device, stream_index)), "cudaMemsetAsync");
    operation op;
    op.what = operation::kind::set;
    op.device = device;
    op.bytes = bytes;
    note(op, in);
}

void stage::copy_peer(const open_ranges& in, void* to, int to_device, const void* from, int from_device,
                      std::size_t bytes) {
    must(cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, stream(from_device, 0)), "cudaMemcpyPeerAsync");
    operation op;
    op.what = operation::kind::peer;
    op.device = from_device;
    op.bytes = bytes;
    note(op, in);
}

void stage::wait() {
    for (int device = 0; device < devices_; ++device) {
        must(cudaSetDevice(device), "cudaSetDevice");
        must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }
    must(cudaSetDevice(0), "cudaSetDevice");
}

void stage::read_stamps(const open_ranges& in) {
    for (int device = 0; device < devices_; ++device) {
        const std::uint32_t used = out_.stamps_used(device);
        if (used == 0) continue;
        must(cudaSetDevice(device), "cudaSetDevice");
        std::vector<stamp> stamps;
        must(read_back(stamps, memory_[device], used), "cudaMemcpy");
        out_.set_stamps(device, stamps);
        operation op;
        op.what = operation::kind::copy;
        op.device = device;
        op.bytes = used * sizeof(stamp);
        note(op, in);
    }
}

open_range::open_range(stage& on, open_ranges& in, const std::string& name, style how)
    : in_(in), path_before_(in.path), how_(how) {
    in.path += (in.path.empty() ? "" : "/") + (how == style::library ? "truth_library:" + name : name);
    in.instances.push_back(on.out().open(in.path));
    nvtxEventAttributes_t event{};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = name.c_str();
    switch (how) {
        case style::own:
            nvtxDomainRangePushEx(prof::detail::the_tool().domain, &event);
            break;
        case style::default_domain:
            nvtxRangePushA(name.c_str());
            break;
        case style::library:
            nvtxDomainRangePushEx(library_domain(), &event);
            break;
    }
}

open_range::~open_range() {
    switch (how_) {
        case style::own:
            nvtxDomainRangePop(prof::detail::the_tool().domain);
            break;
        case style::default_domain:
            nvtxRangePop();
            break;
        case style::library:
            nvtxDomainRangePop(library_domain());
            break;
    }
    in_.path = path_before_;
    in_.instances.pop_back();
}

}  // namespace truth
